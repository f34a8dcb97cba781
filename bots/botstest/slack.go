package botstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// SlackConfig is how a Slack behaves. The zero value is Slack as it is, without a rate limit.
type SlackConfig struct {
	Now func() time.Time // nil: time.Now
	// Retries are when an event that was not acknowledged comes again; nil is
	// Slack's own: at once, after a minute, after five.
	Retries []time.Duration
	// Eager sends events that wait as soon as a stream opens, as if their next
	// retry fell due then.
	Eager bool
	// PostEvery is the least time between two posts of an app to one channel, below
	// which it is answered 429; 0 means no limit.
	PostEvery time.Duration
	// Posted is told of each post of an app, before it is answered; it must not call the Slack. It may be nil.
	Posted func(channel, thread string)
	// Ping is how often streams are pinged; 0 means ten seconds.
	Ping time.Duration
	// Lifetime is how old a stream grows, as its greeting says; 0 means five hours.
	Lifetime time.Duration
	// Old says that the workspace does not know the newer blocks: tables, rich text and containers.
	Old bool
}

// Slack is a Slack workspace with people, channels, apps and faults: the Web API
// over HTTP and Socket Mode over websockets, as far as bots use them. What it
// answers is shaped as Slack's own answers; what Slack refuses, it refuses with Slack's codes.
type Slack struct {
	cfg    SlackConfig
	server *http.Server
	served sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	users     map[string]*slackUser
	apps      []*slackApp
	channels  map[string]*slackChannel
	ids       int   // the number in the last id
	last      int64 // microseconds of the newest timestamp
	faults    []SlackFault
	calls     map[string]int
	slow      time.Duration
	twice     bool
	posted    map[string]time.Time   // app and channel -> its newest post, for PostEvery
	tickets   map[string]*slackApp   // of event streams that were asked for
	envelopes map[string]*slackEvent // sent and not acknowledged, by envelope id
	unsent    []*slackEvent          // while no stream is open
	acked     []time.Duration        // how long sendings took to be acknowledged
	given     []string               // events that were never acknowledged, by their ids
	streams   map[*slackStream]bool
	pongs     int
	refuse    []int         // statuses with which the next streams are refused
	strays    []string      // acknowledgements of what was never sent as an event
	fewest    int           // streams open at a time, since AwaitStreams last returned
	changed   chan struct{} // closed at every change, and replaced
}

// SlackApp is a bot's app that is installed in a Slack.
type SlackApp struct {
	User               string // its bot user's id
	BotToken, AppToken string
}

// slackApp is an app, with its streams.
type slackApp struct {
	SlackApp
	id, bot, name string
	streams       []*slackStream // open ones; events go to each in turn
	turn          int
}

// slackUser is an account.
type slackUser struct {
	id, name, team string
	bot, deleted   bool
}

// slackChannel is a conversation.
type slackChannel struct {
	id, name, kind string // kind is "channel", "im" or "mpim"
	members        map[string]bool
	archived       bool
	messages       []*slackMessage // oldest first
	byTS           map[string]*slackMessage
}

// slackMessage is a message as it stands.
type slackMessage struct {
	ts, thread, user, bot, text string
	blocks                      json.RawMessage
	metadata                    json.RawMessage
	edits                       int
	reactions                   map[string][]string // emoji -> users
}

const (
	slackTeam   = "T0SHOP001"
	slackTeam2  = "T0OTHER02" // another workspace, whose people share a channel
	slackDomain = "https://shop.slack.test/"
)

// NewSlack makes an empty workspace that nobody can reach yet.
func NewSlack(cfg SlackConfig) *Slack {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Retries == nil {
		cfg.Retries = []time.Duration{0, time.Minute, 5 * time.Minute}
	}
	if cfg.Ping == 0 {
		cfg.Ping = 10 * time.Second
	}
	if cfg.Lifetime == 0 {
		cfg.Lifetime = 5 * time.Hour
	}
	return &Slack{
		cfg: cfg, users: map[string]*slackUser{}, channels: map[string]*slackChannel{}, calls: map[string]int{}, posted: map[string]time.Time{},
		tickets: map[string]*slackApp{}, envelopes: map[string]*slackEvent{}, streams: map[*slackStream]bool{}, changed: make(chan struct{}),
	}
}

// Start serves on a loopback port until the test ends, and returns the base address of the Web API.
func (s *Slack) Start(t testing.TB) (api string) {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.serve(t, l)
	return "http://" + l.Addr().String() + "/api/"
}

// StartPipes serves within the process, where a test's clock may be its own, and
// returns the base address of the Web API and what reaches it.
func (s *Slack) StartPipes(t testing.TB) (api string, dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	t.Helper()
	l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	s.serve(t, l)
	return "http://slack.test/api/", l.dial
}

func (s *Slack) serve(t testing.TB, l net.Listener) {
	s.server = &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() { done <- s.server.Serve(l) }()
	t.Cleanup(func() {
		s.mu.Lock()
		s.closed = true
		streams := slices.Collect(maps.Keys(s.streams))
		for _, e := range s.envelopes {
			e.stop()
		}
		for _, e := range s.unsent {
			e.stop()
		}
		s.mu.Unlock()
		for _, c := range streams {
			c.close()
		}
		_ = s.server.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		s.served.Wait()
	})
}

// Fail makes calls of a method fail, one fault each, in order.
func (s *Slack) Fail(faults ...SlackFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

// Slow makes every call take that long.
func (s *Slack) Slow(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow = d
}

// Twice makes every event be sent twice, acknowledged or not.
func (s *Slack) Twice() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.twice = true
}

// Calls is how often a method of the Web API was called, failures included.
func (s *Slack) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

// AllCalls is how often any method was called.
func (s *Slack) AllCalls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := 0
	for _, n := range s.calls {
		all += n
	}
	return all
}

// Changed is closed at the next change of what was said, or of the streams.
func (s *Slack) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// change tells whoever waits; the lock is held.
func (s *Slack) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// id is a new id with a letter before it, as Slack writes them; the lock is held.
func (s *Slack) id(letter string) string {
	s.ids++
	return fmt.Sprintf("%s0%07d", letter, s.ids)
}

// account makes an account; the lock is held.
func (s *Slack) account(name, team string, bot bool) *slackUser {
	u := &slackUser{id: s.id("U"), name: name, team: team, bot: bot}
	s.users[u.id] = u
	return u
}

// conversation makes a conversation; the lock is held.
func (s *Slack) conversation(kind, name string, members ...string) *slackChannel {
	letter := "C"
	if kind == "im" {
		letter = "D"
	}
	c := &slackChannel{id: s.id(letter), name: name, kind: kind, members: map[string]bool{}, byTS: map[string]*slackMessage{}}
	for _, m := range members {
		c.members[m] = true
	}
	s.channels[c.id] = c
	s.change()
	return c
}

// direct is the conversation of people and apps, made when there is none; the lock is held.
func (s *Slack) direct(members ...string) *slackChannel {
	kind := "im"
	if len(members) > 2 {
		kind = "mpim"
	}
	for _, c := range s.channels {
		if c.kind == kind && len(c.members) == len(members) && !slices.ContainsFunc(members, func(m string) bool { return !c.members[m] }) {
			return c
		}
	}
	return s.conversation(kind, "", members...)
}

// stamp is a timestamp that no message has yet; the lock is held.
func (s *Slack) stamp() string {
	s.last = max(s.cfg.Now().UnixMicro(), s.last+1)
	return slackStamp(s.last)
}

// slackStamp writes microseconds as Slack writes timestamps.
func slackStamp(micros int64) string {
	digits := strconv.FormatInt(micros, 10)
	return digits[:len(digits)-6] + "." + digits[len(digits)-6:]
}

// ChannelNamed is the id of a channel, "" when there is none.
func (s *Slack) ChannelNamed(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, c := range s.channels {
		if c.name == name && c.kind == "channel" {
			return id
		}
	}
	return ""
}

// Direct is the id of the conversation of two or more accounts.
func (s *Slack) Direct(members ...string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.direct(members...).id
}

// message is a message of a conversation; the lock is held.
func (c *slackChannel) message(ts string) *slackMessage { return c.byTS[ts] }
