package walkthrough

import (
	"context"
	"errors"
	"fmt"

	"platform.dev/platform/bots/markup"
)

// missed is a step that did not hold: what was expected, and what was seen instead.
type missed struct {
	Expected string
	Seen     string
	Stage    string   // of a build that failed, where one did
	Lines    []string // its last lines
}

// Error says both.
func (m *missed) Error() string { return fmt.Sprintf("expected that %s; saw: %s", m.Expected, m.Seen) }

// look is one look at what is waited for: whether it holds, and what was seen.
// A *missed ends the waiting; any other error is something seen, and looked at again.
type look func(ctx context.Context) (held bool, seen string, err error)

// until looks every so often until what is expected holds, telling in the
// step's message what is seen meanwhile, for at most the limit.
func (r *run) until(ctx context.Context, expected string, look look) error {
	end := r.bot.Now().Add(r.bot.Limit)
	for {
		held, seen, err := look(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var final *missed
		if errors.As(err, &final) {
			return final
		}
		if err != nil {
			held, seen = false, err.Error()
		}
		if held {
			return nil
		}
		if !r.bot.Now().Before(end) {
			return &missed{Expected: fmt.Sprintf("%s within %s", expected, markup.Took(r.bot.Limit)), Seen: seen}
		}
		if err := r.waiting(ctx, expected, seen); err != nil {
			return err
		}
		if err := r.bot.Wait(ctx, r.bot.Every); err != nil {
			return err
		}
	}
}
