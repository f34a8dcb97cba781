// Package slack is the bots' transport for Slack: Socket Mode for what is
// heard, the Web API for what is said.
//
// What is heard: messages that mention the bot by its user id, direct messages,
// presses of the buttons of its own messages and, where they are asked for,
// reactions to them; from people of its own workspace alone. Slack delivers a message as two events, each of
// them more than once: all of these have one key, which derives from the
// channel and the message, so that whoever records by key hears it once. An
// event is acknowledged only once it is recorded, or answered; until then Slack
// brings it again, for some six minutes. What was said while nobody listened for
// longer is read from the conversations afterwards, as far as a day back.
//
// Between an event and its acknowledgement no call is made: who people are and
// what conversations are called is read beforehand, and events keep it current.
// Whoever is met and is not known is asked for first, and is not heard before
// Slack has said that it is a person of the workspace; meanwhile its channel
// waits, and no other.
//
// Slack has no topics. Here a topic is a thread of a channel: its root is posted
// under the topic's name, and which thread it is, is kept durably (Threads). A
// thread that somebody else began is a topic named after its root.
//
// It knows nothing of commands, nor of who may do what.
package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/slack-go/slack"

	"platform.dev/platform/bots"
)

// Threads keeps durably which thread of a channel is which topic. Channels are Slack's ids.
type Threads interface {
	// Thread is the root's timestamp of a channel's topic, "" when it has no thread yet.
	Thread(ctx context.Context, channel, topic string) (root string, err error)
	// Topic is the name of the thread with the root, "" when it has none.
	Topic(ctx context.Context, channel, root string) (topic string, err error)
	// SetThread makes a thread a topic and returns the topic's root: the one that
	// was set first, so that two bots that begin a topic at once agree.
	SetThread(ctx context.Context, channel, topic, root string) (kept string, err error)
	// Roots are the roots of a channel's topics, at most so many, the newest first.
	Roots(ctx context.Context, channel string, most int) (roots []string, err error)
}

// Config is what a Transport needs.
type Config struct {
	Tokens  Tokens
	Name    string // the bot's name in keys: "platform" gives "slack:platform:C024BE91L/p1700000000000100"
	Threads Threads
	// Cursor keeps, under "slack:<Name>", until when everything was heard, so that what
	// is said while no process listens is heard by the next; nil: as far as Slack brings it by itself.
	Cursor Cursor

	// Transport carries the calls of the Web API; nil: a pool of connections of the transport's own.
	Transport http.RoundTripper
	// Dial opens connections, those of the event streams and of the pool; nil: the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Pace is the least time between two messages to one channel; 0 is one second, as Slack allows, below 0 none.
	Pace time.Duration
	// Reactions says that reactions to the bot's own messages are heard, as a Press.
	Reactions bool
	// Invite are the user ids to invite to a channel that the bot makes; nil for nobody.
	Invite func(stream string) []string

	Now func() time.Time // nil: time.Now
	Log *slog.Logger     // nil: nothing is logged
}

// Transport is a bot's app in a Slack workspace. It implements bots.Transport,
// bots.Editor, bots.Reactor, bots.Finder, bots.Recaller, bots.Linker and bots.Connector.
type Transport struct {
	cfg     Config
	address string // of the Web API, ends in a slash
	api     *slack.Client
	web     *web
	dialer  *websocket.Dialer
	pace    *pace
	state   state
	asking  chan struct{} // one element for each account or conversation that is being looked up

	mu       sync.Mutex
	self     self // zero until Slack was reached
	people   *bots.Recent[string, person]
	channels *bots.Recent[string, channel] // by id
	names    map[string]string             // channel name -> id
	directs  *bots.Recent[string, string]  // people, as in a place -> id of the conversation with them
	threads  *bots.Recent[string, string]  // channel and topic -> root
	heard    *bots.Recent[string, bool]    // keys handed over: a look at the store saved
}

var (
	_ bots.Transport = (*Transport)(nil)
	_ bots.Editor    = (*Transport)(nil)
	_ bots.Reactor   = (*Transport)(nil)
	_ bots.Finder    = (*Transport)(nil)
	_ bots.Recaller  = (*Transport)(nil)
	_ bots.Linker    = (*Transport)(nil)
	_ bots.Connector = (*Transport)(nil)
)

// self is the bot's own account.
type self struct {
	user, bot, name  string
	team, enterprise string
	site             string // "https://example.slack.com/"
}

// How many of each are remembered in memory. Losing one costs a call, never a message.
const remembered = 8192

// New checks the configuration. It makes no request: a chat that is down is no
// reason not to start.
func New(cfg Config) (*Transport, error) {
	if cfg.Name == "" {
		return nil, errors.New("slack transport: a bot needs a name")
	}
	if cfg.Threads == nil {
		return nil, fmt.Errorf("slack transport %s: threads are needed", cfg.Name)
	}
	if err := cfg.Tokens.check(); err != nil {
		return nil, fmt.Errorf("slack transport %s: %w", cfg.Name, err)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Log = cfg.Log.With("bot", cfg.Name)
	w := newWeb(cfg)
	address := strings.TrimRight(cmp.Or(cfg.Tokens.API, slack.APIURL), "/") + "/"
	return &Transport{
		cfg: cfg, address: address, web: w, pace: newPace(cfg.Pace, cfg.Now), asking: make(chan struct{}, asking),
		dialer: &websocket.Dialer{
			Proxy: proxy(cfg), NetDialContext: cfg.Dial, HandshakeTimeout: requestTimeout, ReadBufferSize: 16 << 10, WriteBufferSize: 1 << 10,
		},
		api: slack.New(cfg.Tokens.Bot, slack.OptionAppLevelToken(cfg.Tokens.App), slack.OptionHTTPClient(w),
			slack.OptionAPIURL(address), slack.OptionLog(silent{})),
		people: bots.NewRecent[string, person](remembered), channels: bots.NewRecent[string, channel](remembered), names: map[string]string{},
		directs: bots.NewRecent[string, string](remembered), threads: bots.NewRecent[string, string](remembered), heard: bots.NewRecent[string, bool](remembered),
	}, nil
}

// Self is the bot's account; its ID is empty until Slack was reached.
func (t *Transport) Self() bots.User {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bots.User{ID: t.self.user, Name: cmp.Or(t.self.name, t.cfg.Name)}
}

// Close closes the idle connections. Run ends by its context.
func (t *Transport) Close() error {
	t.web.client.CloseIdleConnections()
	return nil
}

// Connected tells whether at least one event stream is open.
func (t *Transport) Connected() bool { return t.state.open.Load() > 0 }

// Reconnects is how often an event stream was opened again.
func (t *Transport) Reconnects() int64 { return t.state.again.Load() }

// me is the bot's account, asked for once.
func (t *Transport) me(ctx context.Context) (self, error) {
	t.mu.Lock()
	known := t.self
	t.mu.Unlock()
	if known.user != "" {
		return known, nil
	}
	a, err := t.api.AuthTestContext(ctx)
	if err != nil {
		return self{}, err
	}
	if a.UserID == "" || a.TeamID == "" {
		return self{}, errors.New("auth.test: the answer names no account")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.self = self{user: a.UserID, bot: a.BotID, name: a.User, team: a.TeamID, enterprise: a.EnterpriseID, site: strings.TrimRight(a.URL, "/") + "/"}
	return t.self, nil
}

// silent is a logger for the library: what matters of it is told as events and errors.
type silent struct{}

// Output says nothing.
func (silent) Output(int, string) error { return nil }
