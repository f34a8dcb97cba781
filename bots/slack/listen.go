package slack

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
	"github.com/slack-go/slack/socketmode"

	"platform.dev/platform/bots"
)

const (
	// connections is how many event streams are open: Slack closes each every few
	// hours, and sends to the other what it cannot send to the one.
	connections = 2
	openEvery   = time.Second // between two openings, once several followed each other
	eventLimit  = 1 << 20     // bytes of one event
	ackTimeout  = 3 * time.Second

	firstPause   = 250 * time.Millisecond
	longestPause = 30 * time.Second
)

// sink takes what was heard; it returns once that is durable.
type sink func(context.Context, bots.Heard) error

// state counts event streams.
type state struct {
	open  atomic.Int64
	again atomic.Int64
}

// Run hears until ctx ends. It returns an error only when nothing can mend it:
// tokens that Slack refuses, a permission that is lacking.
func (t *Transport) Run(ctx context.Context, take func(context.Context, bots.Heard) error) error {
	if err := t.introduce(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return nil //nolint:nilerr // being told to end is no error
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	l := newLanes()
	ended := make(chan error, connections)
	var streams sync.WaitGroup
	for range connections {
		streams.Go(func() {
			ended <- t.stream(inner, l, take)
			cancel() // one that cannot be mended ends both
		})
	}
	streams.Wait()
	l.wait()
	close(ended)
	var errs []error
	for err := range ended {
		if err != nil && !errors.Is(err, context.Canceled) {
			errs = append(errs, err)
		}
	}
	if ctx.Err() != nil || len(errs) == 0 {
		return nil //nolint:nilerr // being told to end is no error
	}
	return errs[0]
}

// introduce asks Slack who the bot is, until it says so or ctx ends.
func (t *Transport) introduce(ctx context.Context) error {
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, longestPause) {
		_, err := t.me(ctx)
		if err == nil {
			return nil
		}
		if end, ok := fatal(t.cfg.Name, err); ok {
			return end
		}
		var limited *LimitedError
		wait := jitter(pause)
		if errors.As(err, &limited) {
			wait = max(wait, limited.After)
		}
		t.cfg.Log.Info("Slack does not answer; trying again", "why", err, "pause", wait)
		sleep(ctx, wait)
	}
	return nil
}

// stream keeps one event stream open until ctx ends; an error is one that nothing can mend.
func (t *Transport) stream(ctx context.Context, l *lanes, take sink) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client := socketmode.New(t.api, socketmode.OptionReadLimit(eventLimit), socketmode.OptionLog(silent{}), socketmode.OptionDialer(&websocket.Dialer{
		Proxy: proxy(t.cfg), NetDialContext: t.cfg.Dial, HandshakeTimeout: requestTimeout,
		WriteBufferSize: 32 << 10, // an acknowledgement is one frame: Slack does not join them
	}))
	ended := make(chan error, 1)
	go func() { ended <- client.RunContext(ctx) }()
	open := false
	defer func() { t.count(&open, false) }()
	for {
		select {
		case err := <-ended:
			if end, ok := fatal(t.cfg.Name, err); ok {
				return end
			}
			return err
		case e := <-client.Events:
			if err := t.told(e, &open); err != nil {
				cancel()
				return errors.Join(err, ignoring(<-ended, context.Canceled))
			}
			if m, ok := t.read(e, take); ok {
				m.ack = acknowledge(client, m.envelope)
				if !l.put(ctx, m) {
					t.cfg.Log.Warn("too many events wait; one is left to Slack to bring again", "event", m.envelope)
				}
			}
		}
	}
}

// ignoring is err, unless it is the one that is expected.
func ignoring(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

// count keeps the number of open streams.
func (t *Transport) count(open *bool, now bool) {
	switch {
	case now && !*open:
		t.state.open.Add(1)
	case !now && *open:
		t.state.open.Add(-1)
	}
	*open = now
}

// told takes notice of how a stream fares. An error is one that nothing can mend.
func (t *Transport) told(e socketmode.Event, open *bool) error {
	switch data := e.Data.(type) {
	case *slack.ConnectingEvent:
		t.count(open, false)
	case *socketmode.ConnectedEvent:
		t.count(open, true)
		if data.ConnectionCount > 0 {
			t.state.again.Add(1)
		}
	case *slack.ConnectionErrorEvent:
		if end, ok := fatal(t.cfg.Name, data.ErrorObj); ok {
			return end
		}
		t.cfg.Log.Info("no event stream from Slack; trying again", "why", data.ErrorObj, "attempt", data.Attempt, "pause", data.Backoff)
	case *socketmode.ErrorWriteFailed:
		t.cfg.Log.Info("an event could not be acknowledged; Slack brings it again", "event", data.Response.EnvelopeID, "why", data.Cause)
	}
	return nil
}

// read makes of an event what is to be done with it. Whatever Slack wants
// acknowledged is acknowledged, known or not; ok is false for anything else.
func (t *Transport) read(e socketmode.Event, take sink) (m envelope, ok bool) {
	if bad, is := e.Data.(*socketmode.ErrorBadMessage); is { // an event of a kind that the library does not know
		var known struct {
			ID string `json:"envelope_id"`
		}
		if err := json.Unmarshal(bad.Message, &known); err != nil {
			return envelope{}, false
		}
		t.cfg.Log.Debug("an event is not understood", "event", known.ID, "why", bad.Cause)
		return envelope{envelope: known.ID}, known.ID != ""
	}
	if e.Request == nil || e.Request.EnvelopeID == "" {
		return envelope{}, false
	}
	m.envelope = e.Request.EnvelopeID
	switch data := e.Data.(type) {
	case slackevents.EventsAPIEvent:
		m.lane, m.do = t.inner(data, take)
	case slack.InteractionCallback:
		m.lane, m.do = t.interaction(data, take)
	}
	if m.do != nil {
		m.do = t.until(m.do, m.envelope)
	}
	return m, true
}

// inner is what to do with an event of the workspace, and the channel that it is of.
func (t *Transport) inner(e slackevents.EventsAPIEvent, take sink) (lane string, do func(context.Context) error) {
	switch ev := e.InnerEvent.Data.(type) {
	case *slackevents.AppMentionEvent:
		return ev.Channel, func(ctx context.Context) error { return t.message(ctx, mentioned(e.TeamID, ev), take) }
	case *slackevents.MessageEvent:
		return ev.Channel, func(ctx context.Context) error { return t.message(ctx, written(e.TeamID, ev), take) }
	case *slackevents.ReactionAddedEvent:
		if !t.cfg.Reactions {
			return "", nil
		}
		return ev.Item.Channel, func(ctx context.Context) error { return t.reaction(ctx, e.TeamID, ev, take) }
	case *slackevents.ChannelRenameEvent:
		return ev.Channel.ID, func(context.Context) error { t.renamed(ev.Channel.ID, ev.Channel.Name); return nil }
	case *slackevents.GroupRenameEvent:
		return ev.Channel.ID, func(context.Context) error { t.renamed(ev.Channel.ID, ev.Channel.Name); return nil }
	}
	return "", nil
}

// until does something until it is done: a message that cannot be recorded now
// is not passed over.
func (t *Transport) until(do func(context.Context) error, event string) func(context.Context) error {
	return func(ctx context.Context) error {
		for pause := firstPause; ; pause = min(2*pause, longestPause) {
			err := do(ctx)
			if err == nil || ctx.Err() != nil {
				return err
			}
			t.cfg.Log.Error("an event is not taken; trying again", "event", event, "error", err)
			var limited *LimitedError
			wait := jitter(pause)
			if errors.As(err, &limited) {
				wait = max(wait, limited.After)
			}
			sleep(ctx, wait)
		}
	}
}

// acknowledge tells Slack that an event need not come again. When that cannot
// be said in time it does, and is known.
func acknowledge(client *socketmode.Client, envelope string) func(context.Context) {
	return func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, ackTimeout)
		defer cancel()
		_ = client.AckCtx(ctx, envelope, nil)
	}
}

// jitter spreads a pause over its upper half, so that many clients do not come back at once.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }
