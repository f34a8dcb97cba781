package slack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/slack-go/slack"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// form is how a message is written. A workspace that refuses the blocks of one is
// sent the next, so that an answer is never lost to its looks.
type form int

const (
	formFull  form = iota
	formBasic      // without the newer blocks
	formText       // without any
	forms
)

// written are the parts of a message in a form.
func (f form) written(m markup.Message) []markup.SlackMessage {
	switch f {
	case formBasic:
		return markup.SlackBasic(m)
	case formText:
		return markup.SlackText(m)
	default:
		return markup.Slack(m)
	}
}

// Send posts a message, in as many parts as its length needs, in order, making
// the channel and the topic where there are none. Parts that an earlier attempt
// brought there are found, not posted again. The id lists the parts.
func (t *Transport) Send(ctx context.Context, out bots.Outgoing) (string, error) {
	to, _, err := t.spot(ctx, out, true)
	if err != nil {
		return "", retry(err)
	}
	content, err := digest(out.Message)
	if err != nil {
		return "", err
	}
	f, posted, err := t.begun(ctx, to, out, content)
	if err != nil {
		return "", retry(err)
	}
	for ; ; f++ {
		posted, err = t.sendAs(ctx, f, to, out, content, posted)
		if !is(err, codesBlocks...) || f == forms-1 {
			break
		}
		t.refused(out.Key, f, err)
		t.takeBack(ctx, to.channel, posted)
		posted = nil
	}
	if err != nil {
		return "", retry(err)
	}
	return joinID(to.channel, posted...), nil
}

// begun is in which form an earlier attempt began to send a message of several parts, and those that are there.
func (t *Transport) begun(ctx context.Context, to spot, out bots.Outgoing, content string) (form, []string, error) {
	several := false
	for f := range forms {
		several = several || !out.Since.IsZero() && len(f.written(out.Message)) > 1
	}
	if !several {
		return formFull, nil, nil
	}
	mine, err := t.mine(ctx, to, out.Since)
	if err != nil {
		return formFull, nil, err
	}
	for f := range forms {
		if posted, _ := f.among(mine, out, content); len(posted) > 0 {
			return f, posted, nil
		}
	}
	return formFull, nil, nil
}

// sendAs posts the parts of a message in a form, behind those that are there, and returns all that are.
func (t *Transport) sendAs(ctx context.Context, f form, to spot, out bots.Outgoing, content string, posted []string) ([]string, error) {
	parts := f.written(out.Message)
	for i := len(posted); i < len(parts); i++ {
		ts, err := t.post(ctx, to, out.Place, parts[i], metadata(out.Key, f, i, content))
		if err != nil {
			return posted, err
		}
		posted = append(posted, ts)
	}
	return posted, nil
}

// refused tells whoever runs the bot why a message looks plainer than it might.
func (t *Transport) refused(key string, f form, err error) {
	var answer slack.SlackErrorResponse
	errors.As(err, &answer)
	t.cfg.Log.Warn("Slack refuses the blocks of a message; it is written plainer", "key", key, "form", int(f), "why", answer.Err, "details", answer.ResponseMetadata.Messages)
}

// takeBack removes parts of a message that is said anew in another form.
func (t *Transport) takeBack(ctx context.Context, channel string, posted []string) {
	for _, ts := range posted {
		if err := t.call(ctx, "chat.delete", url.Values{"channel": {channel}, "ts": {ts}}, &result{}); err != nil {
			t.cfg.Log.Warn("a part of a message that is said anew could not be removed", "channel", channel, "message", ts, "error", err)
		}
	}
}

// posting is the answer to a post.
type posting struct {
	result
	TS string `json:"ts"`
}

func (p *posting) outcome() error {
	if err := p.result.outcome(); err != nil {
		return err
	}
	if !timestamp.MatchString(p.TS) {
		return errors.New("the answer tells no message")
	}
	return nil
}

// post posts one message when its channel's turn has come, becoming a member where it must.
func (t *Transport) post(ctx context.Context, to spot, place commands.Place, part markup.SlackMessage, meta slack.SlackMetadata) (string, error) {
	form, err := content(to.channel, part, meta)
	if err != nil {
		return "", err
	}
	form.Set("unfurl_links", "false")
	form.Set("unfurl_media", "false")
	if to.thread != "" {
		form.Set("thread_ts", to.thread)
	}
	for joined := false; ; {
		done, err := t.pace.take(ctx, to.channel)
		if err != nil {
			return "", err
		}
		var posted posting
		err = t.call(ctx, methodPost, form, &posted)
		done(err)
		switch {
		case err == nil:
			return posted.TS, nil
		case is(err, notInChannel) && !joined:
			if err := t.join(ctx, to.channel); err != nil {
				return "", err
			}
			joined = true
			continue
		case is(err, "channel_not_found", "is_archived") && place.Stream != "":
			t.forget(place.Stream)
			err = fmt.Errorf("post to %s: the channel is archived, deleted, or the bot was removed from it: %w", place.Stream, err)
		}
		return "", err
	}
}

// content is what a message shows, as the parameters of a call. A message without
// blocks says so, since an edit would else keep those that are there.
func content(channel string, part markup.SlackMessage, meta slack.SlackMetadata) (url.Values, error) {
	blocks := part.Blocks
	if blocks == nil {
		blocks = []slack.Block{}
	}
	var shown, hidden strings.Builder
	plain := json.NewEncoder(&shown)
	plain.SetEscapeHTML(false) // Slack counts what it is sent
	if err := errors.Join(plain.Encode(blocks), json.NewEncoder(&hidden).Encode(meta)); err != nil {
		return nil, err
	}
	return url.Values{"channel": {channel}, "text": {part.Text}, "blocks": {shown.String()}, "metadata": {hidden.String()}}, nil
}

// metadata marks one part of a message: whose delivery it is, in which form, and of what words.
func metadata(key string, f form, part int, content string) slack.SlackMetadata {
	return slack.SlackMetadata{EventType: metaMessage, EventPayload: map[string]any{
		"key": hash([]byte(key)), "form": int(f), "part": part, "content": content,
	}}
}

// digest names what a message says.
func digest(m markup.Message) (string, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	return hash(text), nil
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}
