package slack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/slack-go/slack"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// Send posts a message, in as many parts as its length needs, in order, making
// the channel and the topic where there are none. Parts that an earlier attempt
// brought there are found, not posted again. The id lists the parts.
func (t *Transport) Send(ctx context.Context, out bots.Outgoing) (string, error) {
	to, _, err := t.spot(ctx, out, true)
	if err != nil {
		return "", retry(err)
	}
	parts := markup.Slack(out.Message)
	content, err := digest(out.Message)
	if err != nil {
		return "", err
	}
	var posted []string
	if !out.Since.IsZero() && len(parts) > 1 {
		if posted, err = t.locate(ctx, to, out, content, len(parts)); err != nil {
			return "", retry(err)
		}
	}
	for i := len(posted); i < len(parts); i++ {
		ts, err := t.post(ctx, to, out.Place, parts[i], metadata(out.Key, i, content))
		if err != nil {
			return "", retry(err)
		}
		posted = append(posted, ts)
	}
	return joinID(to.channel, posted...), nil
}

// post posts one message when its channel's turn has come, becoming a member where it must.
func (t *Transport) post(ctx context.Context, to spot, place commands.Place, part markup.SlackMessage, meta slack.SlackMetadata) (string, error) {
	options := append(content(part, meta), slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl())
	if to.thread != "" {
		options = append(options, slack.MsgOptionTS(to.thread))
	}
	for joined := false; ; {
		if err := t.pace.wait(ctx, to.channel, t.cfg.Now()); err != nil {
			return "", err
		}
		_, ts, err := t.api.PostMessageContext(ctx, to.channel, options...)
		var limited *LimitedError
		switch {
		case err == nil:
			return ts, nil
		case errors.As(err, &limited):
			t.pace.hold(to.channel, t.cfg.Now().Add(limited.After))
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

// content is what a message shows, as options of a call.
func content(part markup.SlackMessage, meta slack.SlackMetadata) []slack.MsgOption {
	options := []slack.MsgOption{slack.MsgOptionText(part.Text, false), slack.MsgOptionMetadata(meta)}
	if len(part.Blocks) > 0 {
		options = append(options, slack.MsgOptionBlocks(part.Blocks...))
	}
	return options
}

// metadata marks one part of a message: whose delivery it is, and of what words.
func metadata(key string, part int, content string) slack.SlackMetadata {
	return slack.SlackMetadata{EventType: metaMessage, EventPayload: map[string]any{
		"key": hash([]byte(key)), "part": part, "content": content,
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
	parts := len(markup.Slack(out.Message))
	content, err := digest(out.Message)
	if err != nil {
		return "", false, err
	}
	posted, err := t.locate(ctx, to, out, content, parts)
	if err != nil || len(posted) < parts {
		return "", false, retryOrNil(err)
	}
	return joinID(to.channel, posted...), true, nil
}

func retryOrNil(err error) error {
	if err == nil {
		return nil
	}
	return retry(err)
}

// locate is the timestamps of the longest run of parts, from the first on, that are there.
func (t *Transport) locate(ctx context.Context, to spot, out bots.Outgoing, content string, parts int) ([]string, error) {
	mine, err := t.mine(ctx, to, out.Since)
	if err != nil {
		return nil, err
	}
	key := hash([]byte(out.Key))
	there := make([]string, parts)
	for _, m := range mine {
		p := m.Metadata.EventPayload
		part, isNumber := p["part"].(float64) // as JSON decodes numbers
		i := int(part)
		if m.Metadata.EventType == metaMessage && p["key"] == key && p["content"] == content && isNumber && i >= 0 && i < parts && there[i] == "" {
			there[i] = m.Timestamp
		}
	}
	for i, ts := range there {
		if ts == "" {
			return there[:i], nil
		}
	}
	return there, nil
}

// mine are the bot's own messages in a spot since an instant, with their metadata.
func (t *Transport) mine(ctx context.Context, in spot, since time.Time) ([]slack.Message, error) {
	me, err := t.me(ctx)
	if err != nil {
		return nil, err
	}
	var mine []slack.Message
	oldest, cursor := stamp(since.Add(-findSlack)), ""
	for range findPages {
		page, next, err := t.page(ctx, in, oldest, cursor)
		if is(err, codesNowhere...) {
			return mine, nil // nothing arrived where nothing is
		}
		if err != nil {
			return nil, err
		}
		for _, m := range page {
			if m.User == me.user || m.BotID != "" && m.BotID == me.bot {
				mine = append(mine, m)
			}
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	return mine, nil
}

// page reads one page of a thread, or of a channel outside of its threads.
func (t *Transport) page(ctx context.Context, in spot, oldest, cursor string) ([]slack.Message, string, error) {
	if in.thread != "" {
		said, _, next, err := t.api.GetConversationRepliesContext(ctx, &slack.GetConversationRepliesParameters{
			ChannelID: in.channel, Timestamp: in.thread, Oldest: oldest, Cursor: cursor, Limit: findPage, Inclusive: true, IncludeAllMetadata: true,
		})
		return said, next, err
	}
	answer, err := t.api.GetConversationHistoryContext(ctx, &slack.GetConversationHistoryParameters{
		ChannelID: in.channel, Oldest: oldest, Cursor: cursor, Limit: findPage, Inclusive: true, IncludeAllMetadata: true,
	})
	if err != nil {
		return nil, "", err
	}
	return answer.Messages, answer.ResponseMetaData.NextCursor, nil
}
