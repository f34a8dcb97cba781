package slack

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"platform.dev/platform/bots"
)

const (
	// findSlack allows for Slack's clock being another one.
	findSlack = 5 * time.Second
	// findPages bounds a search: a place where more was said since is given up, and the message sent.
	findPages = 10
	findPage  = 200
)

// Find tells whether an earlier attempt to send arrived: it looks for every part
// by its metadata. A message of which only some parts arrived is not found; Send completes it.
func (t *Transport) Find(ctx context.Context, out bots.Outgoing) (string, bool, error) {
	to, ok, err := t.spot(ctx, out, false)
	if err != nil || !ok {
		return "", false, retryOrNil(err)
	}
	content, err := digest(out.Message)
	if err != nil {
		return "", false, err
	}
	mine, err := t.mine(ctx, to, out.Since)
	if err != nil {
		return "", false, retry(err)
	}
	for f := range forms {
		if posted, whole := f.among(mine, out, content); whole {
			return joinID(to.channel, posted...), true, nil
		}
	}
	return "", false, nil
}

// Recall finds the newest message that was posted under a key, whatever it says. The id lists the parts that are there.
func (t *Transport) Recall(ctx context.Context, out bots.Outgoing) (string, bool, error) {
	to, ok, err := t.spot(ctx, out, false)
	if err != nil || !ok {
		return "", false, retryOrNil(err)
	}
	mine, err := t.mine(ctx, to, out.Since)
	if err != nil {
		return "", false, retry(err)
	}
	slices.SortFunc(mine, func(a, b own) int { return strings.Compare(a.TS, b.TS) })
	key := hash([]byte(out.Key))
	var posted []string
	for _, m := range mine {
		switch p := m.Metadata.Payload; {
		case m.Metadata.Type != metaMessage || p.Key != key:
		case p.Part == 0:
			posted = []string{m.TS}
		case p.Part == len(posted):
			posted = append(posted, m.TS)
		}
	}
	return joinID(to.channel, posted...), len(posted) > 0, nil
}

func retryOrNil(err error) error {
	if err == nil {
		return nil
	}
	return retry(err)
}

// among finds the parts of a message in a form, from the first on without a gap, and tells whether they are all.
func (f form) among(mine []own, out bots.Outgoing, content string) (posted []string, whole bool) {
	key := hash([]byte(out.Key))
	there := make([]string, len(f.written(out.Message)))
	for _, m := range mine {
		p := m.Metadata.Payload
		i := p.Part
		if m.Metadata.Type == metaMessage && p.Key == key && p.Content == content && p.Form == f && i >= 0 && i < len(there) && there[i] == "" {
			there[i] = m.TS
		}
	}
	for i, ts := range there {
		if ts == "" {
			return there[:i], false
		}
	}
	return there, true
}

// own is what is read of a message of the bot's own.
type own struct {
	User     string `json:"user"`
	Bot      string `json:"bot_id"`
	TS       string `json:"ts"`
	Metadata struct {
		Type    string `json:"event_type"`
		Payload struct {
			Key     string `json:"key"`
			Form    form   `json:"form"`
			Part    int    `json:"part"`
			Content string `json:"content"`
			Topic   string `json:"topic"`
		} `json:"event_payload"`
	} `json:"metadata"`
}

// mine are the bot's own messages in a spot since an instant, with their metadata.
func (t *Transport) mine(ctx context.Context, in spot, since time.Time) ([]own, error) {
	me, err := t.me(ctx)
	if err != nil {
		return nil, err
	}
	method, form := "conversations.history", url.Values{
		"channel": {in.channel}, "oldest": {stamp(since.Add(-findSlack))}, "limit": {strconv.Itoa(findPage)}, "inclusive": {"true"}, "include_all_metadata": {"true"},
	}
	if in.thread != "" {
		method = "conversations.replies"
		form.Set("ts", in.thread)
	}
	var mine []own
	cursor := ""
	for range findPages {
		var page struct {
			result
			Messages []json.RawMessage `json:"messages"`
		}
		err := t.call(ctx, method, with(form, cursor), &page)
		if is(err, codesNowhere...) {
			return mine, nil // nothing arrived where nothing is
		}
		if err != nil {
			return nil, err
		}
		for _, text := range page.Messages {
			var m own
			if json.Unmarshal(text, &m) != nil {
				continue // somebody else's metadata may have any shape
			}
			if m.User == me.user || m.Bot != "" && m.Bot == me.bot {
				mine = append(mine, m)
			}
		}
		if cursor = page.Metadata.Cursor; cursor == "" {
			break
		}
	}
	return mine, nil
}
