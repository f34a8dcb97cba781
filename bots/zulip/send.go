package zulip

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"platform.dev/platform/bots"
	"platform.dev/platform/commands"
)

// fatalPause is how long a message waits while the server refuses the account:
// Run ends with the reason, and the message must still be there after it was mended.
const fatalPause = time.Minute

// Send posts a message, in as many parts as its length needs, in order. Parts
// that an earlier attempt brought there are found, not posted again. The id
// lists the parts: "31" or "31,32".
func (t *Transport) Send(ctx context.Context, out bots.Outgoing) (string, error) {
	if err := t.ready(ctx); err != nil {
		return "", err
	}
	to, err := t.address(out.Place)
	if err != nil {
		return "", err
	}
	ways := t.divisions(out.Message)
	parts, ids := ways[0], []int64(nil)
	if !out.Since.IsZero() && (len(ways) > 1 || len(parts) > 1) {
		if parts, ids, err = t.locate(ctx, to, out, ways); err != nil {
			return "", retry(err)
		}
	}
	for i := len(ids); i < len(parts); i++ {
		id, err := t.post(ctx, to, out, parts[i], i)
		if err != nil {
			return "", err
		}
		ids = append(ids, id)
	}
	return joinIDs(ids), nil
}

// post posts one part, making its channel when there is none.
func (t *Transport) post(ctx context.Context, to Post, out bots.Outgoing, content string, part int) (int64, error) {
	t.mu.Lock()
	to.QueueID, to.LocalID = t.queue, localID(out.Key, part, content)
	if n := utf8.RuneCountInString(content); n > t.limits.Message {
		t.cfg.Log.Warn("the server will cut this message", "key", out.Key, "length", n, "limit", t.limits.Message)
	}
	t.mu.Unlock()
	to.Content = content
	id, err := t.client.Post(ctx, to)
	if is(err, codeNoStream) && to.Stream != "" {
		if err := t.create(ctx, to.Stream); err != nil {
			return 0, retry(err)
		}
		id, err = t.client.Post(ctx, to)
	}
	if err != nil {
		return 0, retry(err)
	}
	t.claim(out.Key, id)
	t.mu.Lock()
	t.posted.Put(id, t.cfg.Now())
	t.mu.Unlock()
	if t.cfg.Reactions && to.Stream != "" {
		t.join(ctx, to.Stream)
	}
	return id, nil
}

// create makes a channel and subscribes the bot and the people it is for.
// When the people cannot be subscribed, the bot still posts.
func (t *Transport) create(ctx context.Context, stream string) error {
	self, err := t.me(ctx)
	if err != nil {
		return err
	}
	description := "Made by the " + t.cfg.Name + " bot."
	if t.cfg.Describe != nil {
		description = t.cfg.Describe(stream)
	}
	principals := []int64{self.ID}
	if t.cfg.Principals != nil {
		principals = append(principals, t.cfg.Principals(stream)...)
	}
	slices.Sort(principals)
	streams := []NewStream{{Name: stream, Description: description}}
	err = t.client.Subscribe(ctx, streams, slices.Compact(principals)...)
	var e *Error
	if errors.As(err, &e) && e.Status == http.StatusBadRequest {
		t.cfg.Log.Warn("people could not be subscribed", "stream", stream, "error", err)
		err = t.client.Subscribe(ctx, streams)
	}
	return err
}

// address makes a Post of a place, its names within the server's limits.
func (t *Transport) address(p commands.Place) (Post, error) {
	if p.Direct != "" {
		ids, err := splitIDs(p.Direct)
		if err != nil {
			return Post{}, fmt.Errorf("direct message to %q: %w", p.Direct, err)
		}
		return Post{Direct: ids}, nil
	}
	if p.Stream == "" {
		return Post{}, errors.New("a message needs a stream or a person")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return Post{Stream: shorten(p.Stream, t.limits.Stream), Topic: shorten(p.Topic, t.limits.Topic)}, nil
}

// shorten cuts a name to n code points, its last one an ellipsis. The server
// would cut it too, and the message would then not be found where it was sent.
func shorten(name string, n int) string {
	name = strings.TrimSpace(name)
	if utf8.RuneCountInString(name) <= n || n < 1 {
		return name
	}
	return strings.TrimSpace(string([]rune(name)[:n-1])) + "…"
}

// claim remembers that messages are the delivery of what has the key, so that
// they are not taken for the delivery of something else with the same words.
func (t *Transport) claim(key string, ids ...int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range ids {
		t.claimed.Put(id, key)
	}
}

// retry turns an error of the client into the transport's answer: what a later
// attempt may mend is a *bots.RetryError, anything else is final.
func retry(err error) error {
	var e *Error
	answered := errors.As(err, &e)
	switch {
	case answered && e.Fatal():
		return &bots.RetryError{After: fatalPause, Err: err}
	case retryAfter(err) > 0:
		return &bots.RetryError{After: retryAfter(err), Err: err}
	case lost(err):
		return &bots.RetryError{Unknown: true, Err: err}
	case answered && e.Code != codeNotZulip:
		return err
	default: // the connection was never made, or something in front of the server answered
		return &bots.RetryError{Err: err}
	}
}

// localID names one part of one message with one content, within the chat's queue.
func localID(key string, part int, content string) string {
	sum := sha256.Sum256([]byte(key + "\x00" + strconv.Itoa(part) + "\x00" + content))
	return hex.EncodeToString(sum[:12])
}

// joinIDs and splitIDs write and read a list of ids, "31,32".
func joinIDs(ids []int64) string {
	text := make([]string, len(ids))
	for i, id := range ids {
		text[i] = strconv.FormatInt(id, 10)
	}
	return strings.Join(text, ",")
}

func splitIDs(list string) ([]int64, error) {
	var ids []int64
	for text := range strings.SplitSeq(list, ",") {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || id <= 0 {
			return nil, fmt.Errorf("%q is no id", text)
		}
		ids = append(ids, id)
	}
	return ids, nil
}
