package slack_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/bots/slack"
	"platform.dev/platform/commands"
)

// echo is a command that answers with what it was asked.
func echo(t testing.TB) *commands.Registry {
	t.Helper()
	registry, err := commands.NewRegistry(commands.Command{
		Bot: "platform", Verb: "echo", Summary: "say it back", Examples: []string{"echo 7"}, Effect: commands.Read,
		Args: func() any {
			return &struct {
				Words []string `arg:""`
			}{}
		},
		Run: func(ctx context.Context, req commands.Request, reply commands.Reply) error {
			return reply.Answer(ctx, markup.Message{Kind: "test.echo", Title: markup.Spans(markup.F(req.Text))})
		},
	})
	require.NoError(t, err)
	return registry
}

// runBot runs a bot over a transport until the test ends or stop is called.
func runBot(t testing.TB, tr bots.Transport, store *botstest.Store) (stop func()) {
	t.Helper()
	return runCommands(t, tr, store, echo(t))
}

func runCommands(t testing.TB, tr bots.Transport, store *botstest.Store, registry *commands.Registry) (stop func()) {
	t.Helper()
	r, err := bots.New(bots.Config{
		Bot: "platform", Transport: tr, Commands: registry, Inbox: store, Outbox: store, Questions: store, Auditor: store, Marks: 500 * time.Millisecond,
		Directory: botstest.Everybody{"admins"}, Policy: bots.Grants{"admins": {"*"}}, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	t.Cleanup(stop)
	return stop
}

// A message comes as two events, each sent twice here; and one process hears
// some of it that another has answered.
func TestTwoHundredMessagesOfWhichEveryEventComesTwiceAreAnsweredOnceEach(t *testing.T) {
	w := newWorkspace(t, botstest.SlackConfig{Eager: true})
	w.Twice()
	const all = 200
	var channels []string
	for i := range 8 {
		channels = append(channels, w.Channel(fmt.Sprintf("room-%d", i), w.person, w.app.User))
	}
	roots := map[string]string{}
	ask := func(from, to int) {
		for i := from; i < to; i++ {
			text := fmt.Sprintf("echo %d", i)
			roots[text] = w.Say(w.person, channels[i%len(channels)], "", w.mention(text))
		}
	}
	posts := func(want int) {
		for i, c := range channels {
			w.AwaitPosts(t, c, (want+len(channels)-1-i)/len(channels), 30*time.Second)
		}
	}
	stop := runBot(t, w.connect(), w.store)
	w.AwaitStreams(t, 2)
	ask(0, all/2)
	posts(all / 2)
	stop()
	ask(all/2, all) // while nobody listens
	stop = runBot(t, w.connect(), w.store)
	posts(all)
	w.AwaitQuiet(t)
	stop()
	replies := 0
	for _, c := range channels {
		for _, m := range w.Said(c, "") {
			text := strings.TrimPrefix(m.Text, "<@"+w.app.User+"> ")
			require.Equal(t, roots[text], m.TS)
			said := w.Said(c, m.TS)
			replies += len(said)
			require.Len(t, said, 1, "%s", text)
			require.Equal(t, text, said[0].Text)
		}
	}
	assert.Equal(t, all, replies)
	t.Logf("%d of %d replies; %d posts", replies, all, w.Calls("chat.postMessage"))
}

// One channel takes one message a second and refuses what comes sooner, for as
// long as is left; the clock is the test's own.
func TestTwentyCommandsInOneChannelAreAnsweredAtOneASecond(t *testing.T) {
	for _, c := range []struct {
		name    string
		before  time.Duration // how long ago another process of the bot's has posted there; 0: none has
		refused int           // posts that Slack refuses beyond its rule, for a second each
		within  time.Duration
		calls   int
	}{
		{"none is refused", 0, 0, 19 * time.Second, 20},
		{"the first is too soon behind another process's", 400 * time.Millisecond, 0, 19600 * time.Millisecond, 22},
		{"five are refused beyond the rule", 0, 5, 24 * time.Second, 25},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				took, calls := twentyCommands(t, c.before, c.refused)
				assert.LessOrEqual(t, took, c.within)
				assert.Equal(t, c.calls, calls, "posts, refused ones included")
			})
		})
	}
}

// twentyCommands asks as often at once, and gives how long it takes to be answered, and the posts that were tried.
func twentyCommands(t *testing.T, before time.Duration, refused int) (took time.Duration, calls int) {
	t.Helper()
	w := newPipedWorkspace(t, botstest.SlackConfig{PostEvery: time.Second})
	stop := runBot(t, w.connect(func(c *slack.Config) { c.Pace = 0 }), w.store)
	w.AwaitStreams(t, 2)
	if before > 0 {
		_, err := w.connect().Send(t.Context(), out("by another process"))
		require.NoError(t, err)
		time.Sleep(before)
	}
	for range refused {
		w.Fail(botstest.SlackFault{Method: "chat.postMessage", Kind: botstest.SlackLimited, After: time.Second},
			botstest.SlackFault{Method: "chat.postMessage"}, botstest.SlackFault{Method: "chat.postMessage"}, botstest.SlackFault{Method: "chat.postMessage"})
	}
	began := time.Now()
	const all = 20
	var asked []string
	for i := range all {
		asked = append(asked, w.Say(w.person, w.channel, "", w.mention(fmt.Sprintf("echo %d", i))))
	}
	posts := all
	if before > 0 {
		posts++
	}
	w.AwaitPosts(t, w.channel, posts, 2*time.Minute)
	took = time.Since(began)
	for _, question := range asked {
		require.Len(t, w.Said(w.channel, question), 1)
	}
	t.Logf("%d of %d answered after %s; %d calls", all, all, took, w.Calls("chat.postMessage"))
	stop()
	return took, w.Calls("chat.postMessage")
}

// What can be edited no more goes on in a new message, which leads back to the old one.
func TestAMessageThatGoesOnLinksTheOneBefore(t *testing.T) {
	w := newWorkspace(t, botstest.SlackConfig{})
	shown := make(chan struct{})
	registry, err := commands.NewRegistry(commands.Command{
		Bot: "platform", Verb: "walk", Summary: "take long", Examples: []string{"walk"}, Effect: commands.Read,
		Run: func(ctx context.Context, _ commands.Request, reply commands.Reply) error {
			if err := reply.Progress(ctx, line("on the way")); err != nil {
				return err
			}
			<-shown
			return reply.Answer(ctx, line("arrived"))
		},
	})
	require.NoError(t, err)
	runCommands(t, w.connect(), w.store, registry)
	w.AwaitStreams(t, 2)
	w.Say(w.person, w.channel, w.root, w.mention("walk"))
	w.AwaitPosts(t, w.channel, 1, botstest.Patience)
	w.Fail(botstest.SlackFault{Method: "chat.update", Kind: botstest.SlackRefused, Code: "edit_window_closed"})
	close(shown)
	w.AwaitPosts(t, w.channel, 2, botstest.Patience)
	said := w.Said(w.channel, w.root)
	require.Len(t, said, 3)
	assert.Equal(t, "on the way", said[1].Text)
	assert.Contains(t, said[2].Text, "arrived")
	assert.Contains(t, said[2].Text, "<https://shop.slack.test/archives/"+id(w.channel, said[1].TS)+"?thread_ts="+w.root+"&cid="+w.channel+"|an earlier message>")
}

// Whatever goes wrong with calls and streams, and whenever the process ends: each
// question has one answer in the end.
func TestEachQuestionHasOneAnswerWhateverFails(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { oneAnswerEach(t, rand.New(rand.NewPCG(seed, 0))) }) //nolint:gosec // a test's
		})
	}
}

// forgetful is a store that loses every so-many-th cursor, as when the process is
// killed just before it is kept; 0: none.
type forgetful struct {
	*botstest.Store
	every int
}

func (f forgetful) SetCursor(ctx context.Context, name, value string) error {
	if f.every > 0 && rand.IntN(f.every+1) > 0 { //nolint:gosec // a test's
		return errors.New("the disk is full")
	}
	return f.Store.SetCursor(ctx, name, value)
}

func oneAnswerEach(t *testing.T, chance *rand.Rand) {
	s, store := botstest.NewSlack(botstest.SlackConfig{PostEvery: time.Second}), botstest.NewStore()
	app, person := s.App("platform"), s.Person("Dev Developer")
	api, dial := s.StartPipes(t)
	var channels []string
	for i := range 3 {
		channels = append(channels, s.Channel(fmt.Sprint("room-", i), person, app.User))
	}
	begin := func() (stop func()) {
		tr, err := slack.New(slack.Config{
			Tokens: slack.Tokens{Bot: app.BotToken, App: app.AppToken, API: api}, Name: "platform", Threads: store, Cursor: forgetful{store, chance.IntN(3)}, Dial: dial,
		})
		require.NoError(t, err)
		end := runBot(t, tr, store)
		return func() {
			end()
			require.NoError(t, tr.Close())
		}
	}
	const all = 30
	stop := begin()
	for s.Streams() < 2 { // a first run begins when that is kept
		time.Sleep(time.Second)
	}
	asked := map[string][]string{}
	for i := range all {
		channel := channels[chance.IntN(len(channels))]
		asked[channel] = append(asked[channel], s.Say(person, channel, "", fmt.Sprintf("<@%s> echo %d", app.User, i)))
		method := []string{"chat.postMessage", "chat.postMessage", "reactions.add", "conversations.replies", "users.info", "conversations.info"}[chance.IntN(6)]
		kind := []botstest.SlackFaultKind{botstest.SlackLost, botstest.SlackVanished, botstest.SlackLimited, botstest.SlackBroken}[chance.IntN(4)]
		s.Fail(botstest.SlackFault{Method: method, Kind: kind, After: time.Duration(chance.IntN(3000)) * time.Millisecond})
		switch chance.IntN(14) {
		case 0:
			s.Disconnect()
		case 1:
			s.Cut()
		case 2:
			stop()
			stop = begin()
		case 3: // for longer than Slack brings anything by itself
			stop()
			asked[channel] = append(asked[channel], s.Say(person, channel, "", fmt.Sprintf("<@%s> echo %d, away", app.User, i)))
			time.Sleep(time.Duration(8+chance.IntN(600)) * time.Minute)
			stop = begin()
		}
		time.Sleep(time.Duration(chance.IntN(1500)) * time.Millisecond)
	}
	for _, channel := range channels {
		s.AwaitPosts(t, channel, len(asked[channel]), 30*time.Minute)
	}
	time.Sleep(time.Minute) // in which anything more would come
	stop()
	for channel, questions := range asked {
		for _, ts := range questions {
			require.Len(t, s.Said(channel, ts), 1, "%s in %s", ts, channel)
		}
	}
}
