// Package zulip is the bots' transport for Zulip, over a thin client of its
// REST API (Client) that anything else may use: registering queues, following
// events, reading, posting and editing messages, reactions, subscriptions, users.
//
// What is heard: messages that mention the bot by its own mention, and direct
// messages; from people alone, each once, in the order of their ids, also those
// written while nobody listened (they are fetched from a durable cursor). A
// mention that an edit added, a silent mention and a wildcard are never heard.
// Reactions to the bot's own messages, where they are asked for, are heard while
// it listens, and are not fetched afterwards: what must survive a restart is said in words.
//
// It knows nothing of commands, nor of who may do what.
package zulip

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"platform.dev/platform/bots"
)

// Cursor keeps the id of the last message that was taken, durably. bots.Inbox is one.
type Cursor interface {
	// Cursor is what was kept under name last; "" before the first.
	Cursor(ctx context.Context, name string) (value string, err error)
	// SetCursor returns once the value is durable.
	SetCursor(ctx context.Context, name, value string) error
}

// Config is what a Transport needs.
type Config struct {
	Site, Email, Key string            // as in a .zuliprc
	Transport        http.RoundTripper // nil: the network
	Name             string            // the bot's name in keys: "platform" gives "zulip:platform:31"
	Cursor           Cursor            // kept under "zulip:<Name>"

	// Principals are the user ids to subscribe to a stream that the bot creates,
	// beside itself; nil for nobody.
	Principals func(stream string) []int64
	// Describe is the description of a stream that the bot creates; nil for a sentence that names the bot.
	Describe func(stream string) string
	// Reactions has reactions to the bot's own messages heard. A server tells of them
	// to subscribers alone, so the bot then subscribes to the channels that it posts to.
	Reactions bool
	// Lookback is how old a message may be to be heard on the very first start,
	// when there is no cursor; 0 means five minutes.
	Lookback time.Duration

	Now func() time.Time // nil: time.Now
	Log *slog.Logger     // nil: nothing is logged
}

// Transport is a bot's account in a Zulip organisation. It implements
// bots.Transport, bots.Editor, bots.Reactor, bots.Finder, bots.Linker and bots.Connector.
type Transport struct {
	cfg    Config
	client *Client

	asking chan struct{} // holds a token while the limits are asked for

	mu        sync.Mutex
	self      User           // zero until the server was reached
	people    map[int64]User // everybody known, by id
	limits    Limits
	told      bool                        // the limits are the organisation's own words
	dividedBy []int                       // limits of messages that held, the latest first
	queue     string                      // the queue that posts are told of
	arrived   *bots.Recent[string, int64] // local id -> message id, from the queue
	claimed   *bots.Recent[int64, string] // messages known to be the delivery of an outbox key
	heard     *bots.Recent[int64, bool]   // messages already handed over
	newest    int64                       // the newest message handed over
	last      int64                       // the cursor, once this process has stored it
	stored    bool

	posted *bots.Recent[int64, time.Time] // when messages of ours were posted
	shown  *bots.Recent[int64, Message]   // messages that somebody reacted to; those of others without their content
	joined *bots.Recent[string, bool]     // channels that were subscribed to, or could not be
	line   line
}

var (
	_ bots.Transport = (*Transport)(nil)
	_ bots.Editor    = (*Transport)(nil)
	_ bots.Reactor   = (*Transport)(nil)
	_ bots.Finder    = (*Transport)(nil)
	_ bots.Linker    = (*Transport)(nil)
	_ bots.Connector = (*Transport)(nil)
)

// How many ids are remembered in memory. Losing one costs a look-up, never a message.
const remembered = 4096

// New checks the configuration. It makes no request: a chat that is down is no
// reason not to start.
func New(cfg Config) (*Transport, error) {
	if cfg.Name == "" {
		return nil, errors.New("zulip transport: a bot needs a name")
	}
	if cfg.Cursor == nil {
		return nil, fmt.Errorf("zulip transport %s: a cursor is needed", cfg.Name)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Log = cfg.Log.With("bot", cfg.Name)
	cfg.Lookback = cmp.Or(cfg.Lookback, 5*time.Minute)
	client, err := NewClient(ClientConfig{
		Site: cfg.Site, Email: cfg.Email, Key: cfg.Key, Transport: cfg.Transport, Now: cfg.Now, Log: cfg.Log,
	})
	if err != nil {
		return nil, err
	}
	return &Transport{
		cfg: cfg, client: client, people: map[int64]User{}, limits: defaultLimits, asking: make(chan struct{}, 1),
		arrived: bots.NewRecent[string, int64](remembered), claimed: bots.NewRecent[int64, string](remembered), heard: bots.NewRecent[int64, bool](remembered),
		posted: bots.NewRecent[int64, time.Time](remembered), shown: bots.NewRecent[int64, Message](remembered), joined: bots.NewRecent[string, bool](remembered),
	}, nil
}

// Client is the client of the bot's own account.
func (t *Transport) Client() *Client { return t.client }

// Self is the bot's account; its ID is empty until the server was reached.
func (t *Transport) Self() bots.User {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.self.ID == 0 {
		return bots.User{Name: t.cfg.Name}
	}
	return bots.User{ID: strconv.FormatInt(t.self.ID, 10), Name: t.self.FullName}
}

// Close closes the idle connections. Run ends by its context.
func (t *Transport) Close() error {
	t.client.Close()
	return nil
}

// me is the bot's account, asked for once.
func (t *Transport) me(ctx context.Context) (User, error) {
	t.mu.Lock()
	self := t.self
	t.mu.Unlock()
	if self.ID != 0 {
		return self, nil
	}
	self, err := t.client.Me(ctx)
	if err != nil {
		return User{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.self = self
	t.people[self.ID] = self
	return self, nil
}

// key is a message's key: transport, bot and message id. The bot is part of it,
// since one message may mention two bots and each must hear it.
func (t *Transport) key(id int64) string {
	return "zulip:" + t.cfg.Name + ":" + strconv.FormatInt(id, 10)
}
