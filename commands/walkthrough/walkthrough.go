// Package walkthrough is the bot "walkthrough": it takes a project through its
// whole life, from an empty repository through a rollback and a pull request,
// in front of everybody: one topic per run, one message per step, each step
// checked against what a visitor of the page would see. A run survives a restart: asked again with
// the same request key it goes on at the step it had reached.
//
// It knows nothing of any chat, nor of how the flow controller, the git server
// or the gateway do what they do.
package walkthrough

import (
	"context"
	"errors"
	"sync"
	"time"

	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

// Bot is the bot's name.
const Bot = "walkthrough"

// The actions that permit the commands which change something.
const (
	ActionRun      = "walkthrough:run"
	ActionStop     = "walkthrough:stop"
	ActionTeardown = "walkthrough:teardown"
)

// The results of a run.
const (
	passed  = "passed"
	failed  = "failed"
	stopped = "stopped"
)

// reader is the part of flowclient.Reader that a run watches.
type reader interface {
	Delivery(ctx context.Context) (flowclient.Delivery, error)
	Build(ctx context.Context, run string) (flowclient.Build, error)
	BuildLog(ctx context.Context, run, stage string, last int) ([]string, error)
}

// locker is the part of flowclient.Locker that a run calls.
type locker interface {
	SetLock(ctx context.Context, r flowclient.LockRequest) (flowclient.Lock, error)
	ClearLock(ctx context.Context, r flowclient.LockRequest) ([]flowclient.Lock, error)
}

// puller is the part of flowclient.Puller that a run calls.
type puller interface {
	OpenPull(ctx context.Context, r flowclient.PullRequest) (flowclient.Pull, error)
	Merge(ctx context.Context, r flowclient.MergeRequest) (flowclient.Pull, error)
	Reviews(ctx context.Context) ([]flowclient.Review, error)
}

// promoter is the part of flowclient.Promoter that a run calls.
type promoter interface {
	Promote(ctx context.Context, r flowclient.Promotion) (flowclient.Outcome, error)
	Rollback(ctx context.Context, r flowclient.Promotion) (flowclient.Outcome, error)
}

// Deps is what a walkthrough acts on. Reader, Author, Promoter, Locker, Puller,
// Walker, Fetch and Now are needed; the others have defaults.
type Deps struct {
	Reader   reader
	Author   flowclient.Author
	Promoter promoter
	Locker   locker
	Puller   puller
	Walker   flowclient.Walker

	// Fetch GETs a page as a visitor would, through the gateway.
	Fetch func(ctx context.Context, url string) (status int, body []byte, err error)
	Now   func() time.Time
	// Wait returns after d, or earlier with the context's error. Default: a timer.
	Wait func(ctx context.Context, d time.Duration) error

	Stream string        // where runs are told; default "walkthroughs"
	Every  time.Duration // between two looks at what is waited for; default 200 ms
	Limit  time.Duration // the longest a step waits for one thing; default 2 min
}

// bot is the commands' common ground: what they act on, and the runs under way in this process.
type bot struct {
	Deps

	mu   sync.Mutex
	live map[int64]context.CancelCauseFunc
}

// New gives the bot's commands, in the order in which help lists them.
func New(d Deps) ([]commands.Command, error) {
	if d.Reader == nil || d.Author == nil || d.Promoter == nil || d.Locker == nil || d.Puller == nil || d.Walker == nil || d.Fetch == nil || d.Now == nil {
		return nil, errors.New("walkthrough commands: Reader, Author, Promoter, Locker, Puller, Walker, Fetch and Now are needed")
	}
	if d.Wait == nil {
		d.Wait = wait
	}
	if d.Stream == "" {
		d.Stream = "walkthroughs"
	}
	if d.Every <= 0 {
		d.Every = 200 * time.Millisecond
	}
	if d.Limit <= 0 {
		d.Limit = 2 * time.Minute
	}
	b := &bot{Deps: d, live: map[int64]context.CancelCauseFunc{}}
	return []commands.Command{b.static(), b.rails(), b.status(), b.stop(), b.teardown()}, nil
}

// wait is Deps.Wait by the clock.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// enter makes a run stoppable from another command of this process; leave ends that.
func (b *bot) enter(ctx context.Context, id int64) (_ context.Context, leave func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live[id] = cancel
	return ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.live, id)
		cancel(nil)
	}
}

// interrupt stops a run under way in this process; false when it is not.
func (b *bot) interrupt(id int64, who string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	cancel, live := b.live[id]
	if live {
		cancel(&stop{Who: who})
	}
	return live
}

// stop is the cause of a run's end when a person asked for it.
type stop struct{ Who string }

// Error says who asked.
func (s *stop) Error() string { return "stopped by " + s.Who }

// underWay is the run that has not ended, if there is one.
func (b *bot) underWay(ctx context.Context) (flowclient.Walkthrough, bool, error) {
	runs, err := b.Walker.Walkthroughs(ctx)
	if err != nil {
		return flowclient.Walkthrough{}, false, err
	}
	for _, w := range runs {
		if w.Ended == nil {
			return w, true, nil
		}
	}
	return flowclient.Walkthrough{}, false, nil
}
