package server

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"platform.dev/platform/announcer"
	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/bots/slack"
	"platform.dev/platform/bots/zulip"
	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/flowtest"
	"platform.dev/platform/flowclient/store"
	"platform.dev/platform/server/chat"
)

// One SQL file is the memory of the controller, the bots and the announcer.
var (
	_ flowclient.Journal   = (*store.Store)(nil)
	_ flowclient.LockStore = (*store.Store)(nil)
	_ flowclient.Sightings = (*store.Store)(nil)
	_ flowclient.Runs      = (*store.Store)(nil)
	_ bots.Inbox           = (*store.Store)(nil)
	_ bots.Outbox          = (*store.Store)(nil)
	_ bots.Questions       = (*store.Store)(nil)
	_ announcer.Cursor     = (*store.Store)(nil)
	_ slack.Threads        = (*store.Store)(nil)
)

func TestTheControllerKeepsItsContractOnTheEmbeddedParts(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the platform for each check; unset -short to run it")
	}
	flowtest.Flow(t, func(t *testing.T) flowtest.World {
		p := start(t, config(t, t.TempDir()))
		return flowtest.World{Flow: p.Flow(), ControlPlane: p.rooms.plane, Journal: p.rooms.store}
	})
}

func TestTheSQLStoreKeepsTheContractOfBots(t *testing.T) {
	botstest.Stores(t, func(t *testing.T) (botstest.Storage, func() botstest.Storage) {
		path := filepath.Join(t.TempDir(), "flow.db")
		var open *store.Store
		reopen := func() botstest.Storage {
			if open != nil {
				require.NoError(t, open.Close())
			}
			var err error
			open, err = store.Open(context.Background(), path, nil)
			require.NoError(t, err)
			return open
		}
		t.Cleanup(func() { require.NoError(t, open.Close()) })
		return reopen(), reopen
	})
}

func TestTheSQLStoreKeepsTheContractOfThreads(t *testing.T) {
	botstest.Threads(t, func(t *testing.T) (botstest.ThreadStore, func() botstest.ThreadStore) {
		path := filepath.Join(t.TempDir(), "flow.db")
		var open *store.Store
		reopen := func() botstest.ThreadStore {
			if open != nil {
				require.NoError(t, open.Close())
			}
			var err error
			open, err = store.Open(context.Background(), path, nil)
			require.NoError(t, err)
			return open
		}
		t.Cleanup(func() { require.NoError(t, open.Close()) })
		return reopen(), reopen
	})
}

func TestTheZulipTransportKeepsItsContractOnTheEmbeddedChat(t *testing.T) {
	botstest.Transport(t, func(t *testing.T) *botstest.Peer { return newPeer(t).peer() })
}

// chatPeer is an embedded chat with a bot and a person.
type chatPeer struct {
	t      *testing.T
	url    string
	store  *store.Store
	bot    chat.User
	person chat.User
	client *zulip.Client // the person's
	lose   atomic.Int32  // the answer of the post that is so many from now is lost; 0: of none
}

// newPeer starts them; change may alter the chat's configuration.
func newPeer(t *testing.T, change ...func(*chat.Config)) *chatPeer {
	p := &chatPeer{t: t}
	srv := httptest.NewUnstartedServer(nil)
	p.url = "http://" + srv.Listener.Addr().String()
	cfg := chat.Config{Path: filepath.Join(t.TempDir(), "chat.db"), URL: p.url, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&cfg)
	}
	c, err := chat.New(t.Context(), cfg)
	require.NoError(t, err)
	srv.Config.Handler = p.losing(c.Handler())
	srv.Start()
	running, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- c.Run(running) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-done)
		require.NoError(t, c.Close())
		srv.Close()
	})
	p.store, err = store.Open(t.Context(), filepath.Join(t.TempDir(), "flow.db"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.store.Close()) })
	p.bot, err = c.EnsureUser(t.Context(), chat.NewUser{Email: "platform-bot@example.org", FullName: "platform", Bot: true})
	require.NoError(t, err)
	p.person, err = c.EnsureUser(t.Context(), chat.NewUser{Email: "dev@example.org", FullName: "Dev Developer"})
	require.NoError(t, err)
	require.NoError(t, c.EnsureStream(t.Context(), "shop", "", p.person.ID))
	p.client, err = zulip.NewClient(zulip.ClientConfig{Site: p.url, Email: p.person.Email, Key: p.person.APIKey})
	require.NoError(t, err)
	t.Cleanup(p.client.Close)
	return p
}

// losing carries a request out and cuts the connection instead of answering, once, when asked to.
func (p *chatPeer) losing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == "/api/v1/messages" && p.lose.Load() > 0 && p.lose.Add(-1) == 0 {
			next.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	})
}

func (p *chatPeer) peer() *botstest.Peer {
	return &botstest.Peer{
		Connect: func() bots.Transport {
			tr, err := zulip.New(zulip.Config{
				Site: p.url, Email: p.bot.Email, Key: p.bot.APIKey, Name: "platform", Cursor: p.store, Reactions: true,
				Principals: func(string) []int64 { return []int64{p.person.ID} },
			})
			require.NoError(p.t, err)
			p.t.Cleanup(func() { require.NoError(p.t, tr.Close()) })
			return tr
		},
		Say: func(mention bool, text string) string {
			if mention {
				text = "@**platform** " + text
			}
			id, err := p.client.Post(p.t.Context(), zulip.Post{Stream: "shop", Topic: "release", Content: text})
			require.NoError(p.t, err)
			return strconv.FormatInt(id, 10)
		},
		Said: p.said,
		Lose: func() { p.lose.Store(1) },
		React: func(id, emoji string) {
			message, err := strconv.ParseInt(id, 10, 64)
			require.NoError(p.t, err)
			require.NoError(p.t, p.client.React(p.t.Context(), message, emoji, true))
		},
		Place:    commands.Place{Stream: "shop", Topic: "release"},
		NewPlace: commands.Place{Stream: "garden", Topic: "builds"},
		UserID:   strconv.FormatInt(p.person.ID, 10),
		Name:     p.person.FullName,
	}
}

func (p *chatPeer) said(place commands.Place) []botstest.Posted {
	page, err := p.client.Messages(p.t.Context(), zulip.Query{Anchor: "oldest", After: 500, Narrow: []zulip.Term{
		{Operator: "channel", Operand: place.Stream}, {Operator: "topic", Operand: place.Topic},
	}})
	require.NoError(p.t, err)
	var posted []botstest.Posted
	for _, m := range page.Messages {
		one := botstest.Posted{ID: strconv.FormatInt(m.ID, 10), UserID: strconv.FormatInt(m.SenderID, 10), Text: m.Content}
		for _, r := range m.Reactions {
			one.Reactions = append(one.Reactions, r.Emoji)
		}
		posted = append(posted, one)
	}
	return posted
}
