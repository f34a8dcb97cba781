package slack_test

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/bots/slack"
	"platform.dev/platform/commands"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// workspace is a Slack with a bot and a person in the channel "shop".
type workspace struct {
	*botstest.Slack
	t       *testing.T
	api     string
	app     botstest.SlackApp
	person  string
	channel string
	root    string // of the thread that is the topic "release"
	store   *botstest.Store
	dial    func(ctx context.Context, network, address string) (net.Conn, error) // nil: the network
}

func newWorkspace(t *testing.T, cfg botstest.SlackConfig) *workspace {
	t.Helper()
	w := emptyWorkspace(t, cfg)
	w.api = w.Start(t)
	return w
}

// newPipedWorkspace is a workspace within the process, where the test's clock may be its own.
func newPipedWorkspace(t *testing.T, cfg botstest.SlackConfig) *workspace {
	t.Helper()
	w := emptyWorkspace(t, cfg)
	w.api, w.dial = w.StartPipes(t)
	return w
}

// emptyWorkspace is a workspace that is not served yet.
func emptyWorkspace(t *testing.T, cfg botstest.SlackConfig) *workspace {
	t.Helper()
	w := &workspace{Slack: botstest.NewSlack(cfg), t: t, store: botstest.NewStore()}
	w.app = w.App("platform")
	w.person = w.Person("Dev Developer")
	w.channel = w.Channel("shop", w.person)
	w.root = w.Say(w.person, w.channel, "", "release")
	w.Join(w.channel, w.app.User)
	_, err := w.store.SetThread(t.Context(), w.channel, "release", w.root)
	require.NoError(t, err)
	return w
}

// connect signs the bot in.
func (w *workspace) connect(change ...func(*slack.Config)) *slack.Transport {
	w.t.Helper()
	cfg := slack.Config{
		Tokens: slack.Tokens{Bot: w.app.BotToken, App: w.app.AppToken, API: w.api}, Name: "platform", Threads: w.store, Pace: -1, Reactions: true,
		Cursor: w.store, Dial: w.dial, Log: slog.New(slog.NewTextHandler(w.t.Output(), nil)),
	}
	for _, f := range change {
		f(&cfg)
	}
	tr, err := slack.New(cfg)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { require.NoError(w.t, tr.Close()) })
	return tr
}

// mention is a text that mentions the bot.
func (w *workspace) mention(text string) string { return "<@" + w.app.User + "> " + text }

// id is a message's id.
func id(channel, ts string) string { return channel + "/p" + strings.Replace(ts, ".", "", 1) }

// names are the bots' names of Slack's emoji.
var names = map[string]string{"white_check_mark": bots.ReactionDone, "x": bots.ReactionFailed}

// said is what was said in a place.
func (w *workspace) said(place commands.Place) []botstest.Posted {
	channel := w.ChannelNamed(place.Stream)
	root, err := w.store.Thread(w.t.Context(), channel, place.Topic)
	require.NoError(w.t, err)
	if root == "" && place.Topic != "" {
		root = place.Topic
	}
	var posted []botstest.Posted
	for _, m := range w.Said(channel, root) {
		one := botstest.Posted{ID: id(channel, m.TS), UserID: m.User, Text: m.Text}
		for _, r := range m.Reactions {
			if ours, ok := names[r]; ok {
				r = ours
			}
			one.Reactions = append(one.Reactions, r)
		}
		posted = append(posted, one)
	}
	return posted
}

// run runs the transport until the test ends or stop is called; err is how it ended.
func (w *workspace) run(tr *slack.Transport, take func(context.Context, bots.Heard) error) (stop func() error) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- tr.Run(ctx, take) }()
	var err error
	ended := false
	stop = func() error {
		if !ended {
			cancel()
			err, ended = <-done, true
		}
		return err
	}
	w.t.Cleanup(func() { _ = stop() })
	return stop
}

// hearing runs a transport and gives what it hears.
func (w *workspace) hearing(tr *slack.Transport) chan bots.Heard {
	w.t.Helper()
	heard := make(chan bots.Heard, 1000)
	w.run(tr, func(_ context.Context, h bots.Heard) error { heard <- h; return nil })
	w.AwaitStreams(w.t, 2)
	return heard
}

// next is the next that is heard.
func (w *workspace) next(heard chan bots.Heard) bots.Heard {
	w.t.Helper()
	late := time.NewTimer(botstest.Patience)
	defer late.Stop()
	select {
	case h := <-heard:
		return h
	case <-late.C:
		require.FailNow(w.t, "nothing was heard")
		return bots.Heard{}
	}
}

func TestTheSlackTransportKeepsItsContract(t *testing.T) {
	botstest.Transport(t, func(t *testing.T) *botstest.Peer {
		w := newWorkspace(t, botstest.SlackConfig{Eager: true})
		return &botstest.Peer{
			Connect: func() bots.Transport { return w.connect() },
			Say: func(mention bool, text string) string {
				if mention {
					text = w.mention(text)
				}
				return id(w.channel, w.Say(w.person, w.channel, w.root, text))
			},
			Said: w.said,
			Lose: func() { w.Fail(botstest.SlackFault{Method: "chat.postMessage", Kind: botstest.SlackLost}) },
			React: func(message, emoji string) {
				_, ts, _ := strings.Cut(message, "/p")
				for theirs, ours := range names {
					if ours == emoji {
						emoji = theirs
					}
				}
				w.React(w.person, w.channel, ts[:len(ts)-6]+"."+ts[len(ts)-6:], emoji)
			},
			Away:     func() { w.AwaitStreams(t, 0) },
			Repeats:  true,
			Place:    commands.Place{Stream: "shop", Topic: "release"},
			NewPlace: commands.Place{Stream: "garden", Topic: "builds"},
			UserID:   w.person,
			Name:     "Dev Developer",
		}
	})
}
