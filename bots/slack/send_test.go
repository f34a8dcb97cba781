package slack_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/bots/slack"
	"platform.dev/platform/commands"
	"platform.dev/platform/commands/commandstest"
)

// line is a message of one line.
func line(text string) markup.Message {
	return markup.Message{Kind: "slacktest.line", Title: markup.Spans(markup.T(text))}
}

func replace(text string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(text) }

func TestWhatTheTransportItselfSays(t *testing.T) {
	dir := filepath.Join("..", "..", "fixtures", "golden", "slack")
	commandstest.Catalogue(t, dir, slack.Catalogue())
	commandstest.Complete(t, dir, slack.Catalogue())
}

// out is a message to the topic "release".
func out(text string) bots.Outgoing {
	return bots.Outgoing{Key: "k", Place: commands.Place{Stream: "shop", Topic: "release"}, Message: line(text)}
}

func TestSlackThatIsNotThereIsTriedAgain(t *testing.T) {
	w := newWorkspace(t, botstest.SlackConfig{})
	_, err := w.connect(func(c *slack.Config) { c.Tokens.API = "http://127.0.0.1:1/api/" }).Send(t.Context(), out("hello"))
	var again *bots.RetryError
	require.ErrorAs(t, err, &again)
	assert.False(t, again.Unknown, "a connection that was never made carried nothing")
}

func TestARateLimitIsKept(t *testing.T) {
	w := newWorkspace(t, botstest.SlackConfig{})
	now := time.Now()
	tr := w.connect(func(c *slack.Config) { c.Now = func() time.Time { return now } })
	w.Fail(botstest.SlackFault{Method: "reactions.add", Kind: botstest.SlackLimited, After: 2 * time.Second})
	message := id(w.channel, w.root)
	for _, after := range []time.Duration{2 * time.Second, time.Second} {
		var again *bots.RetryError
		require.ErrorAs(t, tr.React(t.Context(), message, bots.ReactionHeard, true), &again)
		assert.Equal(t, after, again.After)
		now = now.Add(time.Second)
	}
	assert.Equal(t, 1, w.Calls("reactions.add"), "a call that would be refused is not made")
	require.NoError(t, tr.React(t.Context(), message, bots.ReactionHeard, true))
}

func TestATopicIsAThread(t *testing.T) {
	w := newWorkspace(t, botstest.SlackConfig{})
	builds := commands.Place{Stream: "shop", Topic: "builds"}
	for _, text := range []string{"one", "two"} {
		o := bots.Outgoing{Key: text, Place: builds, Message: line(text)}
		_, err := w.connect().Send(t.Context(), o) // another process each time
		require.NoError(t, err)
	}
	roots := w.Said(w.channel, "")
	root := roots[len(roots)-1]
	assert.Equal(t, "builds\nWhat is said about this is in the thread.", root.Text)
	replies := w.said(builds)
	require.Len(t, replies, 2)
	assert.Equal(t, "one", replies[0].Text)
	assert.Equal(t, "two", replies[1].Text)
	assert.Empty(t, w.Said(w.channel, w.root))
	require.Len(t, roots, 2)
}

func TestTheRootOfATopicIsPostedOnce(t *testing.T) {
	w := newWorkspace(t, botstest.SlackConfig{})
	o := bots.Outgoing{Key: "k", Place: commands.Place{Stream: "shop", Topic: "builds"}, Message: line("one")}
	w.Fail(botstest.SlackFault{Method: "chat.postMessage", Kind: botstest.SlackLost})
	began := time.Now()
	_, err := w.connect().Send(t.Context(), o)
	var again *bots.RetryError
	require.ErrorAs(t, err, &again)
	require.True(t, again.Unknown)
	o.Since = began
	after := w.connect()
	_, found, err := after.Find(t.Context(), o)
	require.NoError(t, err)
	require.False(t, found, "the root is there, the message is not")
	_, err = after.Send(t.Context(), o)
	require.NoError(t, err)
	assert.Len(t, w.Said(w.channel, ""), 2, "release, and builds once")
	assert.Len(t, w.said(o.Place), 1)
}

// twoAtOnce is a store in which another bot has always just begun the topic.
type twoAtOnce struct {
	slack.Threads
	root string
}

func (s twoAtOnce) SetThread(context.Context, string, string, string) (string, error) {
	return s.root, nil
}

func TestTwoBotsThatBeginATopicAtOnceAgree(t *testing.T) {
	w := newWorkspace(t, botstest.SlackConfig{})
	tr := w.connect(func(c *slack.Config) { c.Threads = twoAtOnce{w.store, w.root} })
	_, err := tr.Send(t.Context(), bots.Outgoing{Key: "k", Place: commands.Place{Stream: "shop", Topic: "builds"}, Message: line("one")})
	require.NoError(t, err)
	assert.Len(t, w.Said(w.channel, ""), 1, "the root that came second is taken away")
	assert.Len(t, w.Said(w.channel, w.root), 1)
}

func TestWhereAMessageGoes(t *testing.T) {
	w := newWorkspace(t, botstest.SlackConfig{})
	tr := w.connect(func(c *slack.Config) { c.Invite = func(string) []string { return []string{w.person} } })
	w.hearing(tr)
	elsewhere := w.Channel("elsewhere", w.person)
	archived := w.Channel("attic", w.app.User)
	w.Archive(archived)
	for _, c := range []struct {
		name  string
		place commands.Place
		err   string
	}{
		{"a channel, outside of threads", commands.Place{Stream: "shop"}, ""},
		{"a thread that somebody began", commands.Place{Stream: "shop", Topic: w.root}, ""},
		{"a person", commands.Place{Direct: w.person}, ""},
		{"a conversation of several", commands.Place{Direct: w.Direct(w.person, w.Person("Sam SRE"), w.app.User)}, ""},
		{"a channel that the bot is not in", commands.Place{Stream: "elsewhere"}, ""},
		{"a channel that is not there, with a name that Slack does not take", commands.Place{Stream: "Shop Two!"}, ""},
		{"a name that is none", commands.Place{Stream: "!!"}, `no channel of Slack can be named "!!"`},
		{"an archived channel", commands.Place{Stream: "attic"}, "restore it"},
		{"nobody", commands.Place{Direct: "10"}, "no user ids of Slack"},
		{"nowhere", commands.Place{}, "a stream or a person"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := tr.Send(t.Context(), bots.Outgoing{Key: c.name, Place: c.place, Message: line(c.name)})
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			assert.Contains(t, tr.Link(c.place, got), got[strings.Index(got, "/"):], "a message has an address")
		})
	}
	assert.Len(t, w.Said(elsewhere, ""), 1, "the bot joins a public channel")
	assert.Len(t, w.Said(w.ChannelNamed("shop-two"), ""), 1)
}

func TestEditsWithinSlacksLimits(t *testing.T) {
	w := newWorkspace(t, botstest.SlackConfig{})
	tr := w.connect()
	mine, err := tr.Send(t.Context(), out("working"))
	require.NoError(t, err)
	long := line("a log")
	for range 800 {
		long.Blocks = append(long.Blocks, markup.Code("", strings.Repeat("x", 70)))
	}
	for _, c := range []struct {
		name   string
		id     string
		out    bots.Outgoing
		refuse botstest.SlackFault
		old    bool
	}{
		{"in place", mine, out("done"), botstest.SlackFault{}, false},
		{"a message that has grown beyond one", mine, bots.Outgoing{Key: "k", Message: long}, botstest.SlackFault{}, true},
		{"a message that is gone", id(w.channel, "1700000000.000100"), out("done"), botstest.SlackFault{}, true},
		{"an id of another chat", "31,32", out("done"), botstest.SlackFault{}, true},
		{"a time that has passed", mine, out("done"), botstest.SlackFault{Method: "chat.update", Kind: botstest.SlackRefused, Code: "edit_window_closed"}, true},
		{"a rate limit", mine, out("done"), botstest.SlackFault{Method: "chat.update", Kind: botstest.SlackLimited, After: time.Millisecond}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.refuse.Kind != botstest.SlackFine {
				w.Fail(c.refuse)
			}
			err := tr.Edit(t.Context(), c.id, c.out)
			assert.Equal(t, c.old, errors.Is(err, bots.ErrTooOld), "%v", err)
			assert.Equal(t, c.old || c.refuse.Kind != botstest.SlackFine, err != nil)
		})
	}
}

func TestWhatWasEditedIsFoundByWhatItSaysNow(t *testing.T) {
	w := newWorkspace(t, botstest.SlackConfig{})
	tr := w.connect()
	mine, err := tr.Send(t.Context(), out("working"))
	require.NoError(t, err)
	require.NoError(t, tr.Edit(t.Context(), mine, out("done")))
	for text, want := range map[string]bool{"done": true, "working": false} {
		o := out(text)
		o.Since = time.Now().Add(-time.Minute)
		_, found, err := tr.Find(t.Context(), o)
		require.NoError(t, err)
		assert.Equal(t, want, found, text)
	}
}

func TestPartsThatArrivedAreNotPostedAgain(t *testing.T) {
	w := newWorkspace(t, botstest.SlackConfig{})
	var lines []string
	for range 600 {
		lines = append(lines, strings.Repeat("x", 70))
	}
	o := out("a log")
	o.Message.Blocks = []markup.Block{markup.Code("", lines...)}
	parts := len(markup.Slack(o.Message))
	require.Greater(t, parts, 2)
	began := time.Now()
	w.Fail(botstest.SlackFault{Method: "chat.postMessage"}, botstest.SlackFault{Method: "chat.postMessage", Kind: botstest.SlackLost})
	_, err := w.connect().Send(t.Context(), o)
	require.Error(t, err)
	require.Len(t, w.Said(w.channel, w.root), 2)
	o.Since = began
	after := w.connect()
	_, found, err := after.Find(t.Context(), o)
	require.NoError(t, err)
	require.False(t, found, "of the message only some parts are there")
	_, err = after.Send(t.Context(), o)
	require.NoError(t, err)
	assert.Len(t, w.Said(w.channel, w.root), parts)
}

// A read that was answered and not recorded is known by its answer alone.
func TestWhatWasPostedUnderAKeyIsRecalledWhateverItSays(t *testing.T) {
	w := newWorkspace(t, botstest.SlackConfig{})
	began := time.Now()
	recall := func() (string, bool) {
		o := out("other words")
		o.Since = began
		got, found, err := w.connect().Recall(t.Context(), o)
		require.NoError(t, err)
		return got, found
	}
	other := out("hello")
	other.Key = "another"
	_, err := w.connect().Send(t.Context(), other)
	require.NoError(t, err)
	_, found := recall()
	assert.False(t, found)

	o := out("a log")
	o.Message.Blocks = []markup.Block{markup.Code("", slices.Repeat([]string{strings.Repeat("x", 70)}, 600)...)}
	w.Fail(botstest.SlackFault{Method: "chat.postMessage"}, botstest.SlackFault{Method: "chat.postMessage", Kind: botstest.SlackLost})
	_, err = w.connect().Send(t.Context(), o)
	require.Error(t, err)
	said := w.Said(w.channel, w.root)
	got, found := recall()
	assert.True(t, found, "the first part is enough")
	assert.Equal(t, id(w.channel, said[1].TS)+",p"+strings.Replace(said[2].TS, ".", "", 1), got)

	o.Since = began
	mine, err := w.connect().Send(t.Context(), o)
	require.NoError(t, err)
	require.NoError(t, w.connect().Edit(t.Context(), mine, out("done")))
	got, found = recall()
	assert.True(t, found)
	assert.Equal(t, id(w.channel, said[1].TS), got, "of an edited one, the parts that say something")
	nowhere := out("x")
	nowhere.Place.Stream = "nowhere"
	_, found, err = w.connect().Recall(t.Context(), nowhere)
	require.NoError(t, err)
	assert.False(t, found)
}
