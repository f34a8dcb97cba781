package slack

import (
	"context"
	"fmt"

	"github.com/slack-go/slack"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/markup"
)

// editLimit is the longest fallback text, in bytes, that an edit may have; a post may have more.
const editLimit = 4000

// continued and emptied stand in parts that a longer or shorter revision no longer needs.
func continued() markup.Message {
	return markup.Message{Kind: "slack.continued", Title: markup.Spans(markup.T("(this message has grown; it is posted anew below)"))}
}

func emptied() markup.Message {
	return markup.Message{Kind: "slack.emptied", Title: markup.Spans(markup.T("(this part is no longer needed)"))}
}

// Edit replaces a message in place, part by part; repeating it is safe. A
// revision of fewer parts empties the rest. One of more parts cannot be put in
// place: the old message then points on, and bots.ErrTooOld asks for a new one,
// as it does when Slack lets the message be changed no more.
func (t *Transport) Edit(ctx context.Context, id string, out bots.Outgoing) error {
	channel, posted, err := splitID(id)
	if err != nil {
		return fmt.Errorf("%w: edit message %q: %w", bots.ErrTooOld, id, err)
	}
	words, err := digest(out.Message)
	if err != nil {
		return err
	}
	parts := markup.Slack(out.Message)
	grown := len(parts) > len(posted)
	for i, ts := range posted {
		part, meta := markup.Slack(emptied())[0], slack.SlackMetadata{EventType: metaMessage, EventPayload: map[string]any{}}
		switch {
		case grown:
			part = markup.Slack(continued())[0]
		case i < len(parts):
			part, meta = parts[i], metadata(out.Key, i, words)
		}
		if err := t.change(ctx, channel, ts, part, meta); err != nil {
			return err
		}
	}
	if grown {
		return bots.ErrTooOld
	}
	return nil
}

// change replaces what one message shows.
func (t *Transport) change(ctx context.Context, channel, ts string, part markup.SlackMessage, meta slack.SlackMetadata) error {
	if len(part.Text) > editLimit {
		return fmt.Errorf("%w: its text has %d bytes, and Slack takes %d", bots.ErrTooOld, len(part.Text), editLimit)
	}
	_, _, _, err := t.api.UpdateMessageContext(ctx, channel, ts, content(part, meta)...)
	switch {
	case err == nil:
		return nil
	case is(err, codesTooOld...):
		return fmt.Errorf("%w: %w", bots.ErrTooOld, err)
	default:
		return retry(err)
	}
}
