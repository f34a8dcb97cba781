package zulip

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// pageSize is how many messages are asked for at once.
const pageSize = 100

// narrows are the messages that may be for a bot.
var narrows = [][]Term{
	{{Operator: "is", Operand: "mentioned"}},
	{{Operator: "is", Operand: "dm"}},
}

// catchUp hands over, in the order of their ids, the messages written since the
// cursor. It runs after registering, so that nothing falls between it and the
// queue; what both bring is dropped by id.
func (t *Transport) catchUp(ctx context.Context, take sink) error {
	cursor, err := t.cfg.Cursor.Cursor(ctx, t.cursorName())
	if err != nil {
		return fmt.Errorf("read cursor: %w", err)
	}
	if cursor == "" {
		return t.begin(ctx, take)
	}
	anchor, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil {
		return fmt.Errorf("cursor %s is %q: no message id", t.cursorName(), cursor)
	}
	for {
		batch, upTo, err := t.since(ctx, anchor)
		if err != nil {
			return err
		}
		if err := t.takeAll(ctx, batch, take); err != nil {
			return err
		}
		if upTo == math.MaxInt64 {
			return nil
		}
		anchor = upTo
	}
}

// since is the messages after anchor, ascending, up to the id up to which both
// narrows are known; MaxInt64 when that is everything.
func (t *Transport) since(ctx context.Context, anchor int64) (batch []Message, upTo int64, err error) {
	upTo = math.MaxInt64
	for _, narrow := range narrows {
		page, err := t.client.Messages(ctx, Query{Anchor: strconv.FormatInt(anchor, 10), After: pageSize, Narrow: narrow})
		if err != nil {
			return nil, 0, err
		}
		found := slices.DeleteFunc(page.Messages, func(m Message) bool { return m.ID <= anchor })
		batch = append(batch, found...)
		if !page.FoundNewest && len(found) > 0 {
			upTo = min(upTo, found[len(found)-1].ID)
		}
	}
	return inOrder(batch, upTo), upTo, nil
}

// begin is catchUp without a cursor: the newest messages, as far as they are recent.
func (t *Transport) begin(ctx context.Context, take sink) error {
	var batch []Message
	for _, narrow := range narrows {
		page, err := t.client.Messages(ctx, Query{Anchor: "newest", Before: pageSize, Narrow: narrow})
		if err != nil {
			return err
		}
		batch = append(batch, page.Messages...)
	}
	oldest := t.cfg.Now().Add(-t.cfg.Lookback)
	var before int64 // the newest message that is too old
	recently := slices.DeleteFunc(inOrder(batch, math.MaxInt64), func(m Message) bool {
		if old := m.At().Before(oldest); old {
			before = max(before, m.ID)
			return true
		}
		return false
	})
	if err := t.takeAll(ctx, recently, take); err != nil || len(recently) > 0 {
		return err
	}
	// From now on there is a cursor, so that a longer absence loses nothing.
	return t.store(ctx, before)
}

// inOrder sorts messages by id, once each, up to an id.
func inOrder(batch []Message, upTo int64) []Message {
	slices.SortFunc(batch, func(a, b Message) int { return int(min(max(a.ID-b.ID, -1), 1)) })
	batch = slices.CompactFunc(batch, func(a, b Message) bool { return a.ID == b.ID })
	return slices.DeleteFunc(batch, func(m Message) bool { return m.ID > upTo })
}

// takeAll hands messages over and moves the cursor behind the last, once.
func (t *Transport) takeAll(ctx context.Context, batch []Message, take sink) error {
	for _, m := range batch {
		if err := t.message(ctx, m, take); err != nil {
			return errors.Join(err, ctx.Err(), t.advance(ctx))
		}
	}
	if len(batch) == 0 {
		return nil
	}
	return t.store(ctx, batch[len(batch)-1].ID)
}

// advance moves the cursor behind the newest message that was taken: once for a
// batch, before that is acknowledged. A cursor that was not stored in time, since
// the process was killed within the batch, only makes messages come again, which
// their keys drop.
func (t *Transport) advance(ctx context.Context) error {
	t.mu.Lock()
	newest := t.newest
	t.mu.Unlock()
	if newest == 0 {
		return nil
	}
	return t.store(ctx, newest)
}

// store moves the cursor to a message id, never back.
func (t *Transport) store(ctx context.Context, id int64) error {
	t.mu.Lock()
	last, stored := t.last, t.stored
	t.mu.Unlock()
	if stored && id <= last {
		return nil
	}
	if err := t.cfg.Cursor.SetCursor(context.WithoutCancel(ctx), t.cursorName(), strconv.FormatInt(id, 10)); err != nil {
		return fmt.Errorf("store cursor: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last, t.stored = max(t.last, id), true
	return nil
}

// cursorName is what the cursor is kept under.
func (t *Transport) cursorName() string { return "zulip:" + t.cfg.Name }
