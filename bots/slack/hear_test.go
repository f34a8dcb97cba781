package slack_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/bots/slack"
	"platform.dev/platform/commands"
)

func TestWhatIsSaidToTheBotIsReadAsItWasTyped(t *testing.T) {
	w := newWorkspace(t, botstest.SlackConfig{})
	heard := w.hearing(w.connect())
	for _, c := range []struct{ name, text, want string }{
		{"a mention first", "<@BOT> status shop", "status shop"},
		{"a mention with a colon", "<@BOT>: status shop", "status shop"},
		{"a mention with a label", "<@BOT|platform> status", "status"},
		{"a mention in the middle", "please <@BOT> status", "please status"},
		{"a mention at the end", "status shop <@BOT>", "status shop"},
		{"the first of two", "<@BOT> say <@BOT>", "say @platform"},
		{"what Slack escapes", "<@BOT> lock 4f2a91c a &lt;b&gt; &amp;amp;", "lock 4f2a91c a <b> &amp;"},
		{"an address that was typed", "<@BOT> fetch <https://shop.example/a?b=1&amp;c=2>", "fetch https://shop.example/a?b=1&c=2"},
		{"a host that Slack took for an address", "<@BOT> fetch <http://shop.example|shop.example>", "fetch shop.example"},
		{"an address of mail", "<@BOT> ask <mailto:dev@shop.example|dev@shop.example>", "ask dev@shop.example"},
		{"a channel", "<@BOT> say <#C024BE91L|general>", "say #general"},
		{"somebody else", "<@BOT> ask <@DEV>", "ask @Dev Developer"},
		{"a group", "<@BOT> ask <!subteam^S012|@sres> <!here>", "ask @sres @here"},
		{"several lines", "<@BOT>\nstatus\nshop", "status\nshop"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := replace(c.text, "BOT", w.app.User, "DEV", w.person)
			w.Say(w.person, w.channel, w.root, text)
			assert.Equal(t, c.want, w.next(heard).Text)
		})
	}
}

func TestNobodyButPeopleOfTheWorkspaceWhoAddressTheBotIsHeard(t *testing.T) {
	w := newWorkspace(t, botstest.SlackConfig{})
	stranger, other := w.Stranger("Mallory"), w.App("other")
	heard := w.hearing(w.connect())
	w.Say(w.person, w.channel, "", "good morning")
	w.Say(w.person, w.channel, "", "ask <@"+other.User+"> instead")
	w.Say(stranger, w.channel, "", w.mention("promote shop"))
	w.Say(w.app.User, w.channel, "", w.mention("promote shop"))
	w.Say(other.User, w.channel, "", w.mention("promote shop"))
	w.Post(w.channel, w.mention("promote shop"))
	ts := w.Say(w.person, w.channel, "", "promote shop")
	w.Edit(w.channel, ts, w.mention("promote shop"))
	w.Tell(w.app, map[string]any{"type": "message", "subtype": "channel_join", "channel": w.channel, "channel_type": "channel", "user": w.person, "text": w.mention("has joined"), "ts": "1700000000.000100"})
	w.Tell(w.app, map[string]any{"type": "message", "channel": "C1/../x", "user": w.person, "text": w.mention("promote shop"), "ts": "1700000000.000100"})
	w.Tell(w.app, map[string]any{"type": "message", "channel": w.channel, "user": w.person, "text": w.mention("promote shop"), "ts": "yesterday"})
	w.Tell(w.app, map[string]any{"type": "moon_phase_changed", "phase": "full"})
	w.Tell(w.app, map[string]any{"type": "app_mention", "text": 7})
	w.Say(w.person, w.channel, w.root, w.mention("that is all"))
	assert.Equal(t, "that is all", w.next(heard).Text)
	w.AwaitQuiet(t)
	assert.Empty(t, w.Unacknowledged(), "whatever Slack sends is acknowledged, known or not")
	assert.Empty(t, heard)
}

func TestPlacesOfWhatIsHeard(t *testing.T) {
	w := newWorkspace(t, botstest.SlackConfig{})
	heard := w.hearing(w.connect())

	ts := w.Say(w.person, w.channel, "", w.mention("status"))
	h := w.next(heard)
	assert.Equal(t, commands.Place{Stream: "shop", Topic: ts}, h.Place, "an answer goes to the thread that the message begins")
	assert.Equal(t, "https://shop.slack.test/archives/"+id(w.channel, ts), h.Link)
	assert.Equal(t, "slack:platform:"+id(w.channel, ts), h.Key)

	reply := w.Say(w.person, w.channel, ts, w.mention("status"))
	h = w.next(heard)
	assert.Equal(t, commands.Place{Stream: "shop", Topic: ts}, h.Place, "within the thread, it stays there")
	assert.Equal(t, "https://shop.slack.test/archives/"+id(w.channel, reply)+"?thread_ts="+ts+"&cid="+w.channel, h.Link)

	w.Say(w.person, w.channel, w.root, w.mention("status"))
	assert.Equal(t, commands.Place{Stream: "shop", Topic: "release"}, w.next(heard).Place)

	w.Say(w.person, w.Direct(w.person, w.app.User), "", "status")
	h = w.next(heard)
	assert.Equal(t, commands.Place{Direct: w.person}, h.Place)
	assert.Equal(t, "status", h.Text, "to the bot itself no mention is needed")

	colleague := w.Person("Sam SRE")
	several := w.Direct(w.person, colleague, w.app.User)
	w.Say(w.person, several, "", "lunch?")
	w.Say(w.person, several, "", w.mention("status"))
	h = w.next(heard)
	assert.Equal(t, commands.Place{Direct: several}, h.Place)
	assert.Equal(t, "status", h.Text)

	w.Tell(w.app, map[string]any{"type": "channel_rename", "channel": map[string]any{"id": w.channel, "name": "store", "created": 1}})
	w.AwaitQuiet(t)
	w.Say(w.person, w.channel, w.root, w.mention("status"))
	assert.Equal(t, commands.Place{Stream: "store", Topic: "release"}, w.next(heard).Place)
}

func TestWhatIsPressedIsHeardFromWhoeverPressed(t *testing.T) {
	w := newWorkspace(t, botstest.SlackConfig{})
	tr := w.connect()
	heard := w.hearing(tr)
	place := commands.Place{Stream: "shop", Topic: "release"}
	question := line("really?")
	question.Blocks = append(question.Blocks, markup.Actions(
		markup.Button{Text: "Do it", Value: "confirm:7", Style: markup.Danger}, markup.Button{Text: "Leave it", Value: "cancel:7"},
	))
	mine, err := tr.Send(t.Context(), bots.Outgoing{Key: "k", Place: place, Message: question})
	require.NoError(t, err)
	said := w.Said(w.channel, w.root)
	ts := said[len(said)-1].TS
	assert.Equal(t, []string{"confirm:7", "cancel:7"}, said[len(said)-1].Buttons)
	stranger, colleague := w.Stranger("Mallory"), w.Person("Sam SRE")

	w.Press(t, stranger, w.channel, ts, "confirm:7")
	w.Press(t, colleague, w.channel, ts, "confirm:7")
	h := w.next(heard)
	assert.Equal(t, &bots.Press{On: mine, Value: "confirm:7"}, h.Press)
	assert.Equal(t, colleague, h.UserID)
	assert.Equal(t, "Sam SRE", h.Name)
	assert.Equal(t, place, h.Place)
	assert.Equal(t, mine, h.ID)
	assert.Empty(t, h.Text)
	assert.Regexp(t, `^slack:platform:press:`+ts+`:`+colleague+`:\d+\.\d{6}$`, h.Key)

	w.React(stranger, w.channel, ts, "white_check_mark")
	w.React(w.person, w.channel, w.root, "eyes") // on somebody else's message
	w.React(colleague, w.channel, ts, "white_check_mark")
	h = w.next(heard)
	assert.Equal(t, &bots.Press{On: mine, Emoji: bots.ReactionDone}, h.Press)
	assert.Equal(t, colleague, h.UserID)
	assert.Equal(t, place, h.Place)
	assert.Equal(t, "slack:platform:reaction:"+mine+":"+colleague+":check", h.Key)
	w.AwaitQuiet(t)
	assert.Empty(t, heard)
}

func TestAStreamThatEndsLosesNothing(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(w *workspace)
	}{
		{"Slack asks for a new one", func(w *workspace) { w.Disconnect() }},
		{"the connection is cut", func(w *workspace) { w.Cut() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorkspace(t, botstest.SlackConfig{Eager: true})
			tr := w.connect()
			heard := w.hearing(tr)
			require.Eventually(t, tr.Connected, botstest.Patience, time.Millisecond)
			seen := map[string]bool{}
			var said []string
			for i := range 30 {
				if i%10 == 5 {
					c.end(w)
				}
				said = append(said, id(w.channel, w.Say(w.person, w.channel, w.root, w.mention("status"))))
			}
			for len(seen) < len(said) {
				h := w.next(heard)
				assert.False(t, seen[h.ID], "%s is heard once", h.ID)
				seen[h.ID] = true
			}
			w.AwaitStreams(t, 2)
			require.Eventually(t, func() bool { return tr.Connected() && tr.Reconnects() > 0 }, botstest.Patience, time.Millisecond)
			w.AwaitQuiet(t)
		})
	}
}

func TestAnEventIsAcknowledgedOnlyOnceItIsRecorded(t *testing.T) {
	w := newWorkspace(t, botstest.SlackConfig{})
	recorded, broken := make(chan bool), errors.New("the disk is full")
	stop := w.run(w.connect(), func(ctx context.Context, _ bots.Heard) error {
		select {
		case ok := <-recorded:
			if ok {
				return nil
			}
			return broken
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	w.AwaitStreams(t, 2)
	w.Say(w.person, w.channel, w.root, w.mention("status"))
	recorded <- false
	recorded <- false
	assert.Positive(t, w.Waiting())
	recorded <- true
	w.AwaitQuiet(t)
	require.NoError(t, stop())
}

func TestReactionsAreHeardOnlyWhereTheyAreAskedFor(t *testing.T) {
	w := newWorkspace(t, botstest.SlackConfig{})
	tr := w.connect(func(c *slack.Config) { c.Reactions = false })
	heard := w.hearing(tr)
	_, err := tr.Send(t.Context(), out("hello"))
	require.NoError(t, err)
	w.React(w.person, w.channel, w.Said(w.channel, w.root)[0].TS, "white_check_mark")
	w.AwaitQuiet(t)
	assert.Empty(t, heard)
	assert.Zero(t, w.Calls("conversations.replies"))
}

// A stream that is not read answers no ping, and Slack closes it.
func TestStreamsAreReadWhileNothingCanBeRecorded(t *testing.T) {
	w := newWorkspace(t, botstest.SlackConfig{Ping: 5 * time.Millisecond})
	var mu sync.Mutex
	heard := map[string]bool{}
	mu.Lock()
	stop := w.run(w.connect(), func(_ context.Context, h bots.Heard) error {
		mu.Lock()
		defer mu.Unlock()
		heard[h.Key] = true
		return nil
	})
	w.AwaitStreams(t, 2)
	const all = 300
	for i := range all {
		w.Say(w.person, w.channel, w.root, w.mention(fmt.Sprint("status ", i)))
	}
	w.AwaitPongs(t, 6)
	assert.Equal(t, 2, w.Streams())
	mu.Unlock()
	w.AwaitQuiet(t)
	require.NoError(t, stop())
	assert.Len(t, heard, all)
}
