package bots

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"platform.dev/platform/bots/markup"
)

// attempt delivers one row and records it. It returns false when the rows
// behind it in its place must wait.
func (r *Runtime) attempt(ctx context.Context, row owed) bool {
	to, p, err := row.decode()
	if err != nil {
		return r.drop(ctx, row, fmt.Errorf("the row cannot be read: %w", err))
	}
	out := Outgoing{Key: row.key, Place: to, Message: p.Message, Since: row.tried}
	arrived := arrival{rev: row.rev}
	if p.Mark != nil {
		arrived.id, err = r.react(ctx, row, *p.Mark)
	} else {
		arrived, err = r.bring(ctx, row, p, out)
	}
	return r.attempted(ctx, row, arrived, err, nil)
}

// attempted records how an attempt at a row ended; false when the rows behind it must wait.
func (r *Runtime) attempted(ctx context.Context, row owed, arrived arrival, err error, d *direct) bool {
	var again *RetryError
	var ours *storeError
	switch {
	case err == nil:
		return r.delivered(ctx, row, arrived, d)
	case errors.Is(err, errRevised):
		return false
	case ctx.Err() != nil:
		return false // the next start looks whether it arrived
	case errors.As(err, &ours):
		r.cfg.Log.Error("the outbox cannot be written", "key", row.key, "error", err)
		pause(ctx, storePause)
		return false
	case errors.As(err, &again):
		return r.putOff(ctx, row, again)
	default:
		return r.drop(ctx, row, err)
	}
}

// arrival is a delivery: which revision became which message.
type arrival struct {
	rev int64
	id  string
}

// errRevised ends an attempt at a row that is no longer what was read; it is read again.
var errRevised = errors.New("the row was revised")

// storeError is an error of the outbox, not of the chat.
type storeError struct{ error }

func (e *storeError) Unwrap() error { return e.error }

// bring edits the message that an earlier revision became, or posts one. What can
// be edited no more is continued by a new message, which links the old one.
func (r *Runtime) bring(ctx context.Context, row owed, p payload, out Outgoing) (arrival, error) {
	was := readSent(row.sentID)
	if was.id != "" && r.editor != nil {
		edited := out
		edited.Message = r.linked(p.Message, out.Place, was.before)
		err := r.editor.Edit(ctx, was.id, edited)
		if err == nil {
			return arrival{rev: row.rev, id: row.sentID}, nil
		}
		if !errors.Is(err, ErrTooOld) {
			return arrival{}, err
		}
		r.cfg.Log.Info("a message is posted anew", "key", row.key, "instead", was.id, "why", err)
	}
	at, err := r.post(ctx, row, p, out, was.id)
	at.id = sent{id: at.id, before: was.id}.String()
	return at, err
}

// post posts a message at most once: the attempt is recorded before it is made,
// and after one whose outcome is not known the chat is asked first. before is the
// message that it continues.
func (r *Runtime) post(ctx context.Context, row owed, p payload, out Outgoing, before string) (arrival, error) {
	if !r.hasMissed(row.key) {
		if found, ok, err := r.look(ctx, row, p, out, before); err != nil || ok {
			return found, err
		}
	}
	if !r.begin(row, p) {
		return arrival{}, errRevised
	}
	if row.tried.IsZero() {
		if err := r.cfg.Outbox.Try(context.WithoutCancel(ctx), row.id, r.cfg.Now()); err != nil {
			return arrival{}, &storeError{err}
		}
	}
	return r.send(ctx, row, p, out, before)
}

// send posts a message whose attempt is recorded.
func (r *Runtime) send(ctx context.Context, row owed, p payload, out Outgoing, before string) (arrival, error) {
	out.Message = r.linked(p.Message, out.Place, before)
	id, err := r.cfg.Transport.Send(ctx, out)
	var again *RetryError
	if errors.As(err, &again) && !again.Unknown {
		r.missed(row.key)
	}
	return arrival{rev: row.rev, id: id}, err
}

// look asks the chat for what may be there already, where anything may.
func (r *Runtime) look(ctx context.Context, row owed, p payload, out Outgoing, before string) (arrival, bool, error) {
	if !row.tried.IsZero() && r.finder != nil {
		if found, ok, err := r.find(ctx, row, p, out, before); err != nil || ok {
			return found, ok, err
		}
		r.missed(row.key)
	}
	if p.Since.IsZero() || before != "" || r.recaller == nil {
		return arrival{}, false, nil
	}
	out.Since = p.Since
	id, found, err := r.recaller.Recall(ctx, out)
	return arrival{rev: row.rev, id: id}, found, unlost(err)
}

// unlost is an error of looking for a message as one that is tried again: what
// cannot be looked for may be there, so nothing is given up.
func unlost(err error) error {
	var again *RetryError
	if err == nil || errors.As(err, &again) {
		return err
	}
	return &RetryError{Err: err}
}

// arrivedPerhaps tells whether a message may be in the chat although sending it failed.
func arrivedPerhaps(err error) bool {
	var again *RetryError
	return errors.As(err, &again) && again.Unknown
}

// find asks the chat for what an earlier attempt may have brought there: the
// message, or an earlier revision of it, which is then edited.
func (r *Runtime) find(ctx context.Context, row owed, p payload, out Outgoing, before string) (arrival, bool, error) {
	at := arrival{rev: row.rev}
	for _, m := range append([]markup.Message{p.Message}, p.Was...) {
		out.Message = r.linked(m, out.Place, before)
		id, found, err := r.finder.Find(ctx, out)
		if err != nil || found {
			at.id = id
			return at, found, unlost(err)
		}
		at.rev = row.rev - 1
	}
	return arrival{}, false, nil
}

// react puts the final mark on the message that asked and takes the earlier
// ones off. Both may be repeated. The "id" of a delivered mark is its emoji.
func (r *Runtime) react(ctx context.Context, row owed, m mark) (string, error) {
	if r.reactor == nil {
		return m.Emoji, nil
	}
	if err := r.reactor.React(ctx, m.On, m.Emoji, true); err != nil {
		return "", err
	}
	for _, old := range []string{ReactionHeard, row.sentID} {
		if old == "" || old == m.Emoji {
			continue
		}
		if err := r.reactor.React(ctx, m.On, old, false); err != nil {
			return "", err
		}
	}
	return m.Emoji, nil
}

// delivered records a delivery, of a question also with the question. When that
// cannot be recorded the row stays, and is found delivered later.
func (r *Runtime) delivered(ctx context.Context, row owed, at arrival, d *direct) bool {
	ctx = context.WithoutCancel(ctx)
	var err error
	if r.cfg.Questions != nil && strings.Contains(row.key, questionMark) {
		err = r.cfg.Questions.Shown(ctx, row.key, readSent(at.id).id)
	}
	if err == nil {
		err = r.recordSent(ctx, row, at, d)
	}
	if err != nil {
		r.cfg.Log.Error("a delivery could not be recorded", "key", row.key, "id", at.id, "error", err)
		pause(ctx, storePause)
		return false
	}
	r.forget(row)
	return true
}

// recordSent records a delivery; of an answer whose command has ended, also that
// the message it answers is done with.
func (r *Runtime) recordSent(ctx context.Context, row owed, at arrival, d *direct) error {
	outcome := d.take()
	if outcome == "" {
		return r.cfg.Outbox.Sent(ctx, row.id, at.rev, at.id, r.cfg.Now())
	}
	heard := strings.TrimSuffix(row.key, answerMark)
	err := r.cfg.Outbox.Answered(ctx, row.id, at.rev, at.id, heard, outcome, r.cfg.Now())
	d.closed = err == nil // read once done is closed
	return err
}

// putOff puts a row off for just as long as the chat asks, or longer each time when it does not say.
func (r *Runtime) putOff(ctx context.Context, row owed, again *RetryError) bool {
	r.mu.Lock()
	r.lanes.fails[row.id]++
	fails := r.lanes.fails[row.id]
	r.mu.Unlock()
	after := again.After
	if after <= 0 {
		after = min(firstRetry<<min(fails-1, 10), lastRetry)
		after += rand.N(after/retryJitter + 1)
	}
	r.cfg.Log.Warn("a message is put off", "key", row.key, "for", after, "attempts", fails, "why", again)
	if err := r.cfg.Outbox.Later(context.WithoutCancel(ctx), row.id, r.cfg.Now().Add(after), again.Error()); err != nil {
		r.cfg.Log.Error("the outbox cannot be written", "key", row.key, "error", err)
		pause(ctx, storePause)
	}
	time.AfterFunc(after, r.Wake) // at the instant: a place that waits for its turn loses none
	return false
}

// drop gives a row up: the chat has said that it will never take it. One that
// was revised meanwhile is read again: what the chat refused is not what is owed.
func (r *Runtime) drop(ctx context.Context, row owed, why error) bool {
	r.forget(row)
	err := r.giveUp(ctx, row, why)
	switch {
	case errors.Is(err, errRevised):
		return false
	case err != nil:
		r.cfg.Log.Error("the outbox cannot be written", "key", row.key, "error", err)
		pause(ctx, storePause)
		return false
	}
	r.cfg.Log.Error("a message is given up", "key", row.key, "error", why)
	return true
}

// giveUp records that a row is dropped; errRevised when it is no longer what was read.
func (r *Runtime) giveUp(ctx context.Context, row owed, why error) error {
	if !r.claimHeld(row.key) { // no revision falls between looking and dropping
		return errRevised
	}
	defer r.unclaim(row.key)
	return r.cfg.Outbox.Drop(context.WithoutCancel(ctx), row.id, why.Error(), r.cfg.Now())
}
