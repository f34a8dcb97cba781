package slack

import (
	"context"
	"errors"
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
// as it does when Slack lets the message be changed no more. One whose blocks
// Slack refuses is written plainer.
func (t *Transport) Edit(ctx context.Context, id string, out bots.Outgoing) error {
	channel, posted, err := splitID(id)
	if err != nil {
		return fmt.Errorf("%w: edit message %q: %w", bots.ErrTooOld, id, err)
	}
	words, err := digest(out.Message)
	if err != nil {
		return err
	}
	for f := range forms {
		err = t.editAs(ctx, f, channel, posted, out, words)
		if errors.Is(err, bots.ErrTooOld) || !is(err, codesBlocks...) {
			return err
		}
		t.refused(out.Key, f, err)
	}
	return fmt.Errorf("%w: %w", bots.ErrTooOld, err) // posted anew, it has all the room there is
}

// editAs replaces a message by what is to be said in a form.
func (t *Transport) editAs(ctx context.Context, f form, channel string, posted []string, out bots.Outgoing, words string) error {
	parts := f.written(out.Message)
	grown := len(parts) > len(posted)
	for i, ts := range posted {
		part, meta := f.written(emptied())[0], slack.SlackMetadata{EventType: metaMessage, EventPayload: map[string]any{}}
		switch {
		case grown:
			part = f.written(continued())[0]
		case i < len(parts):
			part, meta = parts[i], metadata(out.Key, f, i, words)
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
	form, err := content(channel, part, meta)
	if err != nil {
		return err
	}
	form.Set("ts", ts)
	err = t.call(ctx, "chat.update", form, &result{})
	switch {
	case err == nil:
		return nil
	case is(err, codesTooOld...):
		return fmt.Errorf("%w: %w", bots.ErrTooOld, err)
	case is(err, codesBlocks...):
		return err
	default:
		return retry(err)
	}
}
