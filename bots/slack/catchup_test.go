package slack_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/commands"
)

// away has a bot listen for a while, and then not.
func (w *workspace) away(was time.Duration) {
	w.t.Helper()
	heard := make(chan bots.Heard, 1000)
	stop := w.run(w.connect(), func(_ context.Context, h bots.Heard) error { heard <- h; return nil })
	w.AwaitStreams(w.t, 2)
	synctest.Wait()
	w.Say(w.person, w.channel, w.root, w.mention("before"))
	assert.False(w.t, (<-heard).Again)
	time.Sleep(time.Minute)
	require.NoError(w.t, stop())
	w.AwaitStreams(w.t, 0)
	time.Sleep(was)
}

// later is what a bot hears that comes back, in order; events that Slack has given up come no more.
func (w *workspace) later() []bots.Heard {
	w.t.Helper()
	heard := make(chan bots.Heard, 10_000)
	stop := w.run(w.connect(), func(_ context.Context, h bots.Heard) error { heard <- h; return nil })
	time.Sleep(20 * time.Minute)
	require.NoError(w.t, stop())
	close(heard)
	var all []bots.Heard
	for h := range heard {
		all = append(all, h)
	}
	return all
}

// words are the texts of what was heard.
func words(heard []bots.Heard) (all []string) {
	for _, h := range heard {
		all = append(all, h.Text)
	}
	return all
}

func TestWhatWasSaidWhileNobodyListenedIsHeardOnceAndInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPipedWorkspace(t, botstest.SlackConfig{})
		stranger, colleague, other := w.Stranger("Mallory"), w.Person("Sam SRE"), w.App("other")
		w.Join(w.channel, stranger, other.User)
		begun := w.Say(colleague, w.channel, "", "what about this?")
		time.Sleep(10 * 24 * time.Hour) // the topic "release" and this thread are old by now
		recent := w.Say(colleague, w.channel, "", "and this?")
		time.Sleep(2 * 24 * time.Hour)
		w.away(10 * time.Minute)

		w.Say(w.person, w.channel, "", w.mention("one"))
		w.Say(w.person, w.channel, w.root, w.mention("two, in an old topic"))
		w.Say(w.person, w.channel, recent, w.mention("three, in a thread"))
		w.Say(w.person, w.channel, begun, w.mention("in a thread that is no topic, and too old"))
		w.Say(w.person, w.channel, "", "to nobody")
		w.Say(stranger, w.channel, "", w.mention("from elsewhere"))
		w.Say(other.User, w.channel, "", w.mention("from a bot"))
		w.Post(w.channel, w.mention("from an integration"))
		w.Edit(w.channel, w.Say(w.person, w.channel, "", "status"), w.mention("made by an edit"))
		four := w.Say(w.person, w.channel, "", w.mention("four"))
		w.Say(colleague, w.channel, four, w.mention("five, in its thread"))
		w.Say(w.person, w.channel, "", w.mention("six"))
		direct := w.Direct(w.person, w.app.User)
		w.Say(w.person, direct, "", "direct")
		several := w.Direct(w.person, colleague, w.app.User)
		w.Say(w.person, several, "", w.mention("several"))
		w.Say(w.person, several, "", "among us")
		unseen := w.Channel("unseen", w.person)
		w.Say(w.person, unseen, "", w.mention("where the bot is not"))
		time.Sleep(time.Hour)

		byPlace := map[string][]string{}
		all := w.later()
		for _, h := range all {
			assert.True(t, h.Again, "%s", h.Text)
			where := h.Place.Stream
			if h.Place.Direct != "" {
				where = h.Place.Direct
			}
			byPlace[where] = append(byPlace[where], h.Text)
		}
		assert.Equal(t, map[string][]string{
			"shop":   {"one", "two, in an old topic", "three, in a thread", "four", "five, in its thread", "six"},
			w.person: {"direct"},
			several:  {"several"},
		}, byPlace)
		assert.Equal(t, "release", all[1].Place.Topic)
		assert.Empty(t, w.later(), "and the next to come knows")
	})
}

func TestWhatWasSaidLongerThanADayAgoIsNotHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPipedWorkspace(t, botstest.SlackConfig{})
		w.away(time.Hour)
		w.Say(w.person, w.channel, "", w.mention("long ago"))
		time.Sleep(25 * time.Hour)
		w.Say(w.person, w.channel, "", w.mention("of late"))
		time.Sleep(time.Hour)
		assert.Equal(t, []string{"of late"}, words(w.later()))
	})
}

func TestACursorThatCannotBeRightHasADayRead(t *testing.T) {
	for _, value := range []string{"yesterday", "4102444800.000000"} {
		t.Run(value, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newPipedWorkspace(t, botstest.SlackConfig{})
				w.away(time.Hour)
				w.Say(w.person, w.channel, "", w.mention("status"))
				time.Sleep(time.Hour)
				require.NoError(t, w.store.SetCursor(t.Context(), "slack:platform", value))
				assert.Equal(t, []string{"before", "status"}, words(w.later()), "what is heard twice is known by its key")
				assert.Empty(t, w.later(), "and the cursor is right again")
			})
		})
	}
}

func TestTheFirstStartReadsNoHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPipedWorkspace(t, botstest.SlackConfig{})
		w.Say(w.person, w.channel, "", w.mention("before there was a bot"))
		time.Sleep(time.Hour)
		assert.Empty(t, w.later())
		assert.Zero(t, w.Calls("conversations.history"))
	})
}

// However much was said, wherever, and whatever Slack says to being asked for it.
func TestEverythingIsReadWithinSlacksLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPipedWorkspace(t, botstest.SlackConfig{})
		channels := []string{w.channel}
		for i := range 30 {
			channels = append(channels, w.Channel(fmt.Sprint("room-", i), w.person, w.app.User))
		}
		w.away(time.Hour)
		want := 0
		for i := range 450 {
			w.Say(w.person, w.channel, "", w.mention(fmt.Sprint("asked ", i)))
			want++
		}
		for i := range 60 {
			w.Say(w.person, channels[i%len(channels)], "", w.mention(fmt.Sprint("and here ", i)))
			want++
		}
		for i := range 250 {
			w.Say(w.person, w.channel, w.root, w.mention(fmt.Sprint("in a thread ", i)))
			want++
		}
		time.Sleep(time.Hour)
		for range 5 {
			w.Fail(
				botstest.SlackFault{Method: "conversations.history", Kind: botstest.SlackLimited, After: 30 * time.Second},
				botstest.SlackFault{Method: "conversations.replies", Kind: botstest.SlackLimited, After: 2500 * time.Millisecond},
				botstest.SlackFault{Method: "users.conversations", Kind: botstest.SlackBroken},
				botstest.SlackFault{Method: "users.list", Kind: botstest.SlackRefused, Code: "ratelimited"},
				botstest.SlackFault{Method: "conversations.history", Kind: botstest.SlackVanished},
				botstest.SlackFault{Method: "conversations.history", Kind: botstest.SlackPage},
			)
		}
		heard := map[string]bool{}
		for _, h := range w.later() {
			assert.False(t, heard[h.ID], "%s is heard once", h.Text)
			heard[h.ID] = true
		}
		assert.Len(t, heard, want)
		assert.Less(t, w.Calls("conversations.history"), 60)
	})
}

func TestAConversationThatSlackDoesNotShowHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPipedWorkspace(t, botstest.SlackConfig{})
		elsewhere := w.Channel("elsewhere", w.person, w.app.User)
		w.away(time.Hour)
		w.Say(w.person, w.channel, "", w.mention("one"))
		w.Say(w.person, elsewhere, "", w.mention("two"))
		time.Sleep(time.Hour)
		w.Fail(botstest.SlackFault{Method: "conversations.history", Kind: botstest.SlackRefused, Code: "missing_scope"})
		assert.Equal(t, []string{"two"}, words(w.later()))
	})
}

// A process that ends before it has heard everything leaves the rest to the next.
func TestACatchUpThatIsCutShortIsDoneAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPipedWorkspace(t, botstest.SlackConfig{})
		w.away(time.Hour)
		for i := range 10 {
			w.Say(w.person, w.channel, "", w.mention(fmt.Sprint("asked ", i)))
		}
		time.Sleep(time.Hour)
		recorded := map[string]bool{}
		for run := range 4 {
			ctx, cancel := context.WithCancel(t.Context())
			taken := 0
			tr := w.connect()
			require.NoError(t, tr.Run(ctx, func(_ context.Context, h bots.Heard) error {
				if taken++; taken > 3*(run+1) {
					cancel()
					return errors.New("the process has ended")
				}
				recorded[h.ID] = true
				if len(recorded) == 10 {
					cancel()
				}
				return nil
			}))
			cancel()
		}
		assert.Len(t, recorded, 10)
	})
}

func TestAGapInListeningIsFilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPipedWorkspace(t, botstest.SlackConfig{Retries: []time.Duration{0}}) // a Slack that soon gives up
		heard := w.hearing(w.connect())
		synctest.Wait()
		gap := func(refused int) time.Duration {
			began := time.Now()
			w.Refuse(refused, http.StatusServiceUnavailable)
			w.Cut()
			w.AwaitStreams(t, 0)
			w.Say(w.person, w.channel, "", w.mention("said in the gap"))
			for w.Streams() < 2 {
				time.Sleep(time.Second)
			}
			return time.Since(began)
		}
		time.Sleep(time.Hour)
		require.Greater(t, gap(20), time.Minute)
		h := <-heard
		assert.Equal(t, "said in the gap", h.Text)
		assert.True(t, h.Again)
		read := w.Calls("conversations.history")
		assert.Positive(t, read)

		time.Sleep(time.Hour)
		require.Less(t, gap(1), 30*time.Second)
		time.Sleep(time.Minute)
		assert.Equal(t, read, w.Calls("conversations.history"), "what Slack brings by itself is not read")
	})
}

// Until when everything is heard is not kept beyond what is not recorded.
func TestWhatCouldNotBeRecordedIsReadByTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPipedWorkspace(t, botstest.SlackConfig{})
		w.away(time.Minute)
		broken := true
		stop := w.run(w.connect(), func(context.Context, bots.Heard) error {
			if broken {
				return errors.New("the disk is full")
			}
			return nil
		})
		w.AwaitStreams(t, 2)
		w.Say(w.person, w.channel, "", w.mention("status"))
		time.Sleep(2 * time.Hour) // Slack has given it up
		assert.NotEmpty(t, w.Unacknowledged())
		require.NoError(t, stop())
		broken = false
		assert.Equal(t, []string{"status"}, words(w.later()))
	})
}

// What Slack brings again after a moment without a stream is not behind the cursor if the process ends before.
func TestACursorWaitsForWhatSlackBringsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPipedWorkspace(t, botstest.SlackConfig{})
		w.away(time.Minute)
		stop := w.run(w.connect(), func(context.Context, bots.Heard) error { return nil })
		w.AwaitStreams(t, 2)
		time.Sleep(time.Hour)
		w.Refuse(2, http.StatusServiceUnavailable)
		w.Cut()
		w.AwaitStreams(t, 0)
		w.Say(w.person, w.channel, "", w.mention("status"))
		w.AwaitStreams(t, 2)
		time.Sleep(10 * time.Second)
		require.NoError(t, stop(), "before Slack has brought it")
		time.Sleep(3 * time.Hour)
		assert.Equal(t, []string{"status"}, words(w.later()))
	})
}

// A message that the events and the history both bring has one answer, also when
// what was answered is known from the chat alone.
func TestWhatIsBroughtTwiceIsAnsweredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPipedWorkspace(t, botstest.SlackConfig{Eager: true})
		stop := runBot(t, w.connect(), w.store)
		w.AwaitStreams(t, 2)
		const all = 20
		for i := range all {
			w.Say(w.person, w.channel, "", w.mention(fmt.Sprintf("echo %d", i)))
			if i%5 == 4 {
				time.Sleep(time.Minute)
				stop()
				stop = runBot(t, w.connect(), w.store)
			}
		}
		w.AwaitPosts(t, w.channel, all, 10*time.Minute)
		time.Sleep(10 * time.Minute)
		stop()
		for _, m := range w.Said(w.channel, "")[1:] {
			require.Len(t, w.Said(w.channel, m.TS), 1, "%s", m.Text)
		}
	})
}

// What was asked for long ago is answered, and a write is not carried out any more.
func TestAWriteThatWasAskedForWhileNobodyListenedIsNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPipedWorkspace(t, botstest.SlackConfig{})
		w.away(time.Hour)
		ran := 0
		write := commands.Command{
			Bot: "platform", Verb: "raze", Summary: "raze it", Examples: []string{"raze"}, Effect: commands.Write, Action: "component:raze",
			Run: func(ctx context.Context, _ commands.Request, reply commands.Reply) error {
				ran++
				return reply.Answer(ctx, line("razed"))
			},
		}
		registry, err := commands.NewRegistry(write)
		require.NoError(t, err)
		ts := w.Say(w.person, w.channel, "", w.mention("raze"))
		time.Sleep(time.Hour)
		stop := runCommands(t, w.connect(), w.store, registry)
		w.AwaitPosts(t, w.channel, 1, time.Minute)
		stop()
		assert.Zero(t, ran)
		said := w.Said(w.channel, ts)
		require.Len(t, said, 1)
		assert.Contains(t, said[0].Text, "ask again")
	})
}
