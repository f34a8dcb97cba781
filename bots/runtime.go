package bots

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"platform.dev/platform/commands"
)

// Commands finds the command that a text asks for. *commands.Registry does;
// a *commands.UsageError answers any other text.
type Commands interface {
	// Parse reads what was said to the bot, without its mention.
	Parse(bot, text string) (commands.Call, error)
}

// Config is what a Runtime needs.
type Config struct {
	Bot       string // the bot's name, "platform": whose commands are run and whose outbox rows are sent
	Transport Transport
	Commands  Commands
	Inbox     Inbox
	Outbox    Outbox
	Directory Directory
	Policy    Policy
	// Confirm says what is to be confirmed before it is run; nil: only what is forced.
	Confirm Confirmer
	// Questions keeps what waits to be confirmed; nil: what is to be confirmed is refused.
	Questions Questions
	Auditor   Auditor           // nil: decisions are kept nowhere
	Rate      Rate              // of one person; the zero value limits nothing
	Observe   func(Observation) // told of every message that was answered; nil: nobody is

	// Project is the project whose stream this is; nil when streams mean no project.
	Project func(stream string) (project string, ok bool)
	Now     func() time.Time // nil: time.Now
	Log     *slog.Logger     // nil: nothing is logged

	// Marks is how long a message may go unanswered before it is marked as heard. What is answered sooner gets no mark at
	// all: the answer says it, and each mark is another call. 0: each message is marked, at once and at its end.
	Marks   time.Duration
	Stale   time.Duration // a write heard later than this is not run; 0 means five minutes
	Timeout time.Duration // a command's context ends then; 0 means half an hour
	Pace    time.Duration // the least time between two messages to one place; 0 means none
}

// How much is under way at once. What is beyond waits; it is recorded already.
const (
	commandsAtOnce   = 64
	acksAtOnce       = 32
	deliveriesAtOnce = 64
)

// Runtime is one bot at work. Make it with New, run it once with Run.
//
// A message that is heard is recorded before the transport moves on: one commit
// is the only way in which an answer that was promised is never lost, and the
// key of the answer, which derives from the message, is the only way in which it
// is never doubled. An answer is recorded with the attempt to send it, and closed
// in one commit with the message that asked.
//
// One kind of message is not recorded: over a chat that tells again of what was
// not acknowledged (Recaller), a read that is open to everybody known is
// answered before it is acknowledged, when that takes a moment only. Whatever
// ends the process before, the message is told again, and its answer looked for
// before it is given.
//
// Commands asked in one place begin in the order they were asked, each after the
// one before it has ended or has shown progress: a command that shows progress
// has taken its place in the conversation and takes long, so that "status" and
// "stop" are not kept waiting behind it. Different places do not wait for each other.
type Runtime struct {
	cfg     Config
	reactor Reactor // nil when the chat has no reactions
	editor  Editor  // nil when the chat cannot change a message
	finder  Finder  // nil when the chat cannot look for one

	linker    Linker    // nil when messages have no addresses
	recaller  Recaller  // nil when the chat does not tell again of what was not acknowledged
	connector Connector // nil when the chat cannot tell how it is connected
	rates     *rates

	group    sync.WaitGroup // every goroutine of Run
	running  chan struct{}  // one element per command under way
	acking   chan struct{}
	sending  chan struct{}
	wake     chan struct{}
	stopping chan struct{} // closed when Run begins to end

	marks sync.Mutex // held while a question's mark or its end is put, in this order; taken before mu

	life  context.Context // Run's: what is delivered outlives the command that said it
	began time.Time       // when Run did

	recalling sync.Mutex
	recalled  bool // guarded by recalling

	mu     sync.Mutex
	closed bool
	queues map[commands.Place][]hearing // commands that wait, by place; an entry means that a worker is there
	lanes  lanes
	taking map[string]*light     // messages that are being taken, by key; over a Recaller alone
	taken  *Recent[string, bool] // keys of those that were
	slow   *Recent[string, bool] // verbs: whether they took longer than the grace lately

	sendTook atomic.Int64 // nanoseconds that sending an answer took last

	heardAt time.Time // when the chat was last in hearing
}

// New checks the configuration and makes a Runtime.
func New(cfg Config) (*Runtime, error) {
	for _, need := range []struct {
		name    string
		missing bool
	}{
		{"Bot", cfg.Bot == ""}, {"Transport", cfg.Transport == nil}, {"Commands", cfg.Commands == nil}, {"Inbox", cfg.Inbox == nil},
		{"Outbox", cfg.Outbox == nil}, {"Directory", cfg.Directory == nil}, {"Policy", cfg.Policy == nil},
	} {
		if need.missing {
			return nil, fmt.Errorf("bots: bot %q: %s is needed", cfg.Bot, need.name)
		}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Project == nil {
		cfg.Project = func(string) (string, bool) { return "", false }
	}
	if cfg.Confirm == nil {
		cfg.Confirm = Confirmations(nil)
	}
	cfg.Log = cfg.Log.With("bot", cfg.Bot)
	cfg.Stale = cmp.Or(cfg.Stale, 5*time.Minute)
	cfg.Timeout = cmp.Or(cfg.Timeout, 30*time.Minute)
	r := &Runtime{
		cfg:      cfg,
		running:  make(chan struct{}, commandsAtOnce),
		acking:   make(chan struct{}, acksAtOnce),
		sending:  make(chan struct{}, deliveriesAtOnce),
		wake:     make(chan struct{}, 1),
		stopping: make(chan struct{}),
		queues:   map[commands.Place][]hearing{},
		lanes:    newLanes(),
		rates:    newRates(cfg.Rate),
	}
	r.reactor, _ = cfg.Transport.(Reactor)
	r.editor, _ = cfg.Transport.(Editor)
	r.finder, _ = cfg.Transport.(Finder)
	r.recaller, _ = cfg.Transport.(Recaller)
	if r.recaller != nil {
		r.taking, r.taken = map[string]*light{}, NewRecent[string, bool](rememberKeys)
		r.slow = NewRecent[string, bool](slowVerbs)
	}
	r.linker, _ = cfg.Transport.(Linker)
	r.connector, _ = cfg.Transport.(Connector)
	return r, nil
}

// Run hears, runs and delivers until ctx ends, and returns nil after all of it
// has stopped. What is then unfinished is finished by the next Run over the same
// store. It returns an error when the transport gives up: a key that is refused.
func (r *Runtime) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.life, r.began = ctx, r.cfg.Now()
	// What was attempted is read before commands run again and revise it.
	err := errors.Join(r.recall(ctx), r.resume(ctx))
	if err == nil {
		r.group.Go(func() { r.deliver(ctx) })
		err = r.cfg.Transport.Run(ctx, r.hear)
	}
	over := ctx.Err() != nil
	r.stop(cancel)
	switch {
	case over && (err == nil || errors.Is(err, context.Canceled)):
		return nil
	case err == nil:
		return fmt.Errorf("bot %s: the transport stopped hearing", r.cfg.Bot)
	default:
		return fmt.Errorf("bot %s: %w", r.cfg.Bot, err)
	}
}

// stop ends everything and waits for it.
func (r *Runtime) stop(cancel context.CancelFunc) {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	close(r.stopping)
	cancel()
	r.group.Wait()
}

// Wake says that something was put into the outbox. Rows that nobody woke for
// are seen within a second.
func (r *Runtime) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// goroutine starts f unless Run is ending; Run waits for it.
func (r *Runtime) goroutine(f func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.group.Go(f)
	return true
}

// take takes a place in a bounded set, or gives up when ctx ends.
func take(ctx context.Context, slots chan struct{}) bool {
	select {
	case slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// pause waits, or less when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
