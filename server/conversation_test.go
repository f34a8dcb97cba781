package server

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/bots/slack"
	"platform.dev/platform/bots/terminal"
	"platform.dev/platform/bots/zulip"
	"platform.dev/platform/commands"
	"platform.dev/platform/fixtures/goldenfile"
)

// stage is a chat in which a conversation is replayed.
type stage struct {
	connect func(store *botstest.Store) bots.Transport
	ask     func(turn botstest.Turn)
	said    func(place commands.Place) []string // by the bot, as people read it; the empty place is the conversation with it alone
	renders func(m markup.Message) []string     // what people read of a document there
	shown   func() string                       // what was written where people read; nil where that is their chat's to do
}

// stages are the chats; a terminal is one without a server.
var stages = []struct {
	name string
	open func(t *testing.T) stage
}{
	{"zulip", onZulip},
	{"slack", onSlack},
	{"terminal", onTerminal},
}

// TestAConversationIsTheSameInEveryChat replays a recorded conversation: in
// every chat the same documents stand in the same order in the same topics.
func TestAConversationIsTheSameInEveryChat(t *testing.T) {
	recording, err := botstest.ReadRecording(filepath.Join("..", "fixtures", "conversations", "release.json"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(recording.Turns), 8)
	transcripts := map[string]string{}
	for _, c := range stages {
		t.Run(c.name, func(t *testing.T) {
			s := c.open(t)
			replay(t, s, recording)
			kinds, text := s.transcript(t, recording)
			transcripts[c.name] = kinds
			goldenfile.Compare(t, filepath.Join("..", "fixtures", "golden", "conversations", "release."+c.name+".txt"), text)
		})
	}
	for _, c := range stages[1:] {
		assert.Equal(t, transcripts[stages[0].name], transcripts[c.name], "%s says what %s says", c.name, stages[0].name)
	}
}

// replay asks everything that was asked, each once the one before is answered and delivered.
func replay(t *testing.T, s stage, recording botstest.Recording) {
	t.Helper()
	store := botstest.NewStore()
	runtime, err := bots.New(bots.Config{
		Bot: recording.Bot, Transport: s.connect(store), Commands: recording, Inbox: store, Outbox: store, Questions: store,
		Directory: botstest.Everybody{"admins"}, Policy: bots.Grants{"admins": {"*"}}, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- runtime.Run(ctx) }()
	defer func() {
		cancel()
		require.NoError(t, <-ended)
	}()
	for i, turn := range recording.Turns {
		s.ask(turn)
		require.Eventually(t, func() bool { return len(store.Outcomes()) == i+1 && store.Settled() }, botstest.Patience, 5*time.Millisecond, turn.Text)
	}
}

// transcript is what was said, as people read it, and as the kinds of documents.
// Every message that stands in the chat is found to be a document of the recording.
func (s stage) transcript(t *testing.T, recording botstest.Recording) (kinds, text string) {
	t.Helper()
	want := recording.Said()
	places := slices.SortedFunc(func(yield func(commands.Place) bool) {
		for p := range want {
			if !yield(p) {
				return
			}
		}
	}, func(a, b commands.Place) int {
		return strings.Compare(a.Stream+"\x00"+a.Topic, b.Stream+"\x00"+b.Topic)
	})
	var b, k strings.Builder
	for _, place := range places {
		head := place.Stream + " > " + place.Topic
		if place == (commands.Place{}) {
			head = "to the bot alone"
		}
		said := s.said(place)
		fmt.Fprintf(&b, "=== %s ===\n\n%s\n\n", head, strings.Join(said, "\n\n--- next message ---\n\n"))
		fmt.Fprintf(&k, "%s\n", head)
		for _, m := range want[place] {
			parts := s.renders(m)
			require.GreaterOrEqual(t, len(said), len(parts), "%s: %s is missing", head, m.Kind)
			require.Equal(t, parts, said[:len(parts)], "%s: %s", head, m.Kind)
			for _, part := range parts {
				require.True(t, s.shown == nil || strings.Contains(s.shown(), part+"\n\n"), "%s: %s is shown", head, m.Kind)
			}
			said = said[len(parts):]
			fmt.Fprintf(&k, "  %s\n", m.Kind)
		}
		require.Empty(t, said, "%s: more is said than the recording has", head)
	}
	return k.String(), b.String()
}

func onZulip(t *testing.T) stage {
	p := newPeer(t)
	return stage{
		connect: func(store *botstest.Store) bots.Transport {
			tr, err := zulip.New(zulip.Config{
				Site: p.url, Email: p.bot.Email, Key: p.bot.APIKey, Name: "platform", Cursor: store,
				Principals: func(string) []int64 { return []int64{p.person.ID} },
			})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, tr.Close()) })
			return tr
		},
		ask: func(turn botstest.Turn) {
			post := zulip.Post{Stream: turn.Place.Stream, Topic: turn.Place.Topic, Content: "@**platform** " + turn.Text}
			if turn.Direct {
				post = zulip.Post{Direct: []int64{p.bot.ID}, Content: turn.Text}
			} else {
				require.NoError(t, p.client.Subscribe(t.Context(), []zulip.NewStream{{Name: turn.Place.Stream}}, p.person.ID))
			}
			_, err := p.client.Post(t.Context(), post)
			require.NoError(t, err)
		},
		said: func(place commands.Place) []string {
			narrow := []zulip.Term{{Operator: "channel", Operand: place.Stream}, {Operator: "topic", Operand: place.Topic}}
			if place == (commands.Place{}) {
				narrow = []zulip.Term{{Operator: "dm", Operand: []int64{p.bot.ID}}}
			}
			page, err := p.client.Messages(t.Context(), zulip.Query{Anchor: "oldest", After: 500, Narrow: narrow})
			require.NoError(t, err)
			var said []string
			for _, m := range page.Messages {
				if m.SenderID == p.bot.ID {
					said = append(said, m.Content)
				}
			}
			return said
		},
		renders: markup.Zulip,
	}
}

func onSlack(t *testing.T) stage {
	s := botstest.NewSlack(botstest.SlackConfig{})
	app, person := s.App("platform"), s.Person("Dev Developer")
	api := s.Start(t)
	var threads *botstest.Store
	// thread is the root of a topic, which a person begins where the bot has not.
	thread := func(place commands.Place, begin bool) (channel, root string) {
		if channel = s.ChannelNamed(place.Stream); channel == "" {
			channel = s.Channel(place.Stream, person, app.User)
		}
		root, err := threads.Thread(t.Context(), channel, place.Topic)
		require.NoError(t, err)
		if root == "" && begin {
			root = s.Say(person, channel, "", place.Topic)
			_, err = threads.SetThread(t.Context(), channel, place.Topic, root)
			require.NoError(t, err)
		}
		return channel, root
	}
	return stage{
		connect: func(store *botstest.Store) bots.Transport {
			threads = store
			tr, err := slack.New(slack.Config{
				Tokens: slack.Tokens{Bot: app.BotToken, App: app.AppToken, API: api}, Name: "platform", Threads: store, Pace: -1,
			})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, tr.Close()) })
			return tr
		},
		ask: func(turn botstest.Turn) {
			s.AwaitStreams(t, 2)
			if turn.Direct {
				s.Say(person, s.Direct(person, app.User), "", turn.Text)
				return
			}
			channel, root := thread(turn.Place, true)
			s.Say(person, channel, root, "<@"+app.User+"> "+botstest.SlackTyped(turn.Text))
		},
		said: func(place commands.Place) []string {
			channel, root := s.Direct(person, app.User), ""
			if place != (commands.Place{}) {
				channel, root = thread(place, false)
			}
			var said []string
			for _, m := range s.Said(channel, root) {
				if m.User == app.User {
					said = append(said, m.Text)
				}
			}
			return said
		},
		renders: func(m markup.Message) []string {
			var read []string
			for _, part := range markup.Slack(m) {
				read = append(read, botstest.SlackRead(part))
			}
			return read
		},
	}
}

func onTerminal(t *testing.T) stage {
	transcript, err := terminal.OpenTranscript(filepath.Join(t.TempDir(), "said.jsonl"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, transcript.Close()) })
	const width = 100
	person := terminal.Person{ID: "developer", Name: "Dev Developer"}
	alone := commands.Place{Direct: person.ID}
	var screen written
	return stage{
		connect: func(*botstest.Store) bots.Transport {
			shows := terminal.NewScreen(&screen, terminal.Look{Size: func() terminal.Size { return terminal.Size{Columns: width} }})
			tr, err := terminal.New(terminal.Config{Name: "platform", Transcript: transcript, Screen: shows})
			require.NoError(t, err)
			return tr
		},
		ask: func(turn botstest.Turn) {
			to, text := turn.Place, "@platform "+turn.Text
			if turn.Direct {
				to, text = alone, turn.Text
			}
			_, err := transcript.Say(person, to, text)
			require.NoError(t, err)
		},
		said: func(place commands.Place) (said []string) {
			if place == (commands.Place{}) {
				place = alone
			}
			for _, s := range transcript.Said(place) {
				if s.Bot {
					said = append(said, s.Text(width))
				}
			}
			return said
		},
		renders: func(m markup.Message) []string { return []string{terminal.View{Width: width}.Message(m)} },
		shown:   screen.String,
	}
}

// written is a screen that is read while it is written.
type written struct {
	mu   sync.Mutex
	text strings.Builder
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}
