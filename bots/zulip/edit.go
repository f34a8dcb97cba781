package zulip

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"platform.dev/platform/bots"
)

// What stands in parts that a shorter or longer revision no longer needs.
const (
	emptied   = "*(this part is no longer needed)*"
	continued = "*(this message has grown; it is posted anew below)*"
)

// Edit replaces a message in place, part by part; repeating it is safe. A
// revision of fewer parts empties the rest. One of more parts cannot be put in
// place: the old message then points on, and bots.ErrTooOld asks for a new one,
// as it does when the server lets the message be changed no more.
func (t *Transport) Edit(ctx context.Context, id string, out bots.Outgoing) error {
	ids, err := splitIDs(id)
	if err != nil {
		return fmt.Errorf("edit message %q: %w", id, err)
	}
	if err := t.ready(ctx); err != nil {
		return err
	}
	if t.tooOld(ids[0]) {
		return fmt.Errorf("%w: the organisation's limit for edits is over", bots.ErrTooOld)
	}
	parts := t.divisions(out.Message)[0]
	grown := len(parts) > len(ids)
	for i, id := range ids {
		content := emptied
		switch {
		case grown:
			content = continued
		case i < len(parts):
			content = parts[i]
		}
		if err := t.patch(ctx, id, content); err != nil {
			return err
		}
	}
	if grown {
		return bots.ErrTooOld
	}
	return nil
}

// tooOld tells whether it is known, without asking, that a message can be changed
// no more. Where the limit or the time of posting is not known, the server says.
func (t *Transport) tooOld(id int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	posted, known := t.posted.Get(id)
	return t.limits.Edit < 0 || known && t.limits.Edit > 0 && t.cfg.Now().Sub(posted) > t.limits.Edit
}

// patch replaces one message's content. The server's clear refusal, whatever
// its reason (too old, gone, editing switched off), is bots.ErrTooOld: the
// reason stands only in translated words, and the remedy is the same.
func (t *Transport) patch(ctx context.Context, id int64, content string) error {
	err := t.client.Patch(ctx, id, content)
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) && !e.Fatal() && e.Code != codeNotZulip {
		switch e.Status {
		case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound:
			return fmt.Errorf("%w: %w", bots.ErrTooOld, err)
		}
	}
	return retry(err)
}

// React puts an emoji on a message or takes it off. A message of several parts carries it on its first.
func (t *Transport) React(ctx context.Context, id, emoji string, on bool) error {
	ids, err := splitIDs(id)
	if err != nil {
		return fmt.Errorf("react to message %q: %w", id, err)
	}
	if err := t.client.React(ctx, ids[0], emoji, on); err != nil {
		return fmt.Errorf("react to message %s: %w", strconv.FormatInt(ids[0], 10), retry(err))
	}
	return nil
}
