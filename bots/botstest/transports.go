package botstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// Peer is a transport under test with the chat around it. Each check gets a
// fresh one: a bot, a person whose messages it hears, and a place for both.
type Peer struct {
	// Connect signs the bot in, as another process does: what it shares with the
	// one before is what is durable.
	Connect func() bots.Transport
	// Say posts as the person and returns the chat's id; with mention, the bot's mention stands first.
	Say func(mention bool, text string) (id string)
	// Said is what was said in a place, oldest first.
	Said func(place commands.Place) []Posted
	// Lose makes the chat carry the next post out and lose its answer; nil where that cannot be arranged.
	Lose func()
	// React puts the person's reaction on a message; nil where that cannot be arranged.
	React func(id, emoji string)
	// Away waits until the chat has noticed that the bot is gone; nil where that is at once.
	Away func()
	// Repeats says that the chat may bring a message again, under its key, as
	// whoever records by key is to drop; in a check it is heard once all the same.
	Repeats bool

	Place    commands.Place // where Say posts
	NewPlace commands.Place // a place that does not exist yet
	UserID   string         // the person
	Name     string         // the person's name

	heard sync.Map // keys
}

// Posted is a message as somebody reads it in the chat.
type Posted struct {
	ID, UserID, Text string
	Reactions        []string // emoji names
}

// Transport is the contract of every transport of bots.
func Transport(t *testing.T, open func(t *testing.T) *Peer) {
	for _, c := range transportContract {
		t.Run(c.name, func(t *testing.T) { c.check(t, open(t)) })
	}
}

var transportContract = []struct {
	name  string
	check func(t *testing.T, p *Peer)
}{
	{"a mention is heard with who, where and when", hearsMention},
	{"what does not mention the bot, and what it says itself, is not heard", hearsNothingElse},
	{"what was said while nobody listened is heard later, once and in order", hearsLater},
	{"what could not be recorded is heard again", hearsAgain},
	{"a message is posted where it belongs", posts},
	{"a place that does not exist is made", makesPlaces},
	{"a message is edited in place", edits},
	{"reactions come and go, and repeating them is no error", reacts},
	{"what was posted is found by another process, and what was not is not", finds},
	{"a post whose answer was lost is found", findsLost},
	{"a message too long for one is posted whole, found and edited", postsLong},
	{"a reaction to a message of the bot's own is heard as a press of it", hearsReactions},
}

// listen runs a transport until the test ends or stop is called.
func (p *Peer) listen(t *testing.T, tr bots.Transport, take func(bots.Heard) error) (heard chan bots.Heard, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	heard = make(chan bots.Heard, 100)
	ended := make(chan error, 1)
	go func() {
		ended <- tr.Run(ctx, func(_ context.Context, h bots.Heard) error {
			if take != nil {
				if err := take(h); err != nil {
					return err
				}
			}
			if _, known := p.heard.LoadOrStore(h.Key, true); !known || !p.Repeats {
				heard <- h
			}
			return nil
		})
	}()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		require.NoError(t, <-ended, "a transport that is told to end ends without an error")
		require.NoError(t, tr.Close())
	}
	t.Cleanup(stop)
	return heard, stop
}

// next is the next message heard.
func next(t *testing.T, heard chan bots.Heard) bots.Heard {
	t.Helper()
	late := time.NewTimer(Patience)
	defer late.Stop()
	select {
	case h := <-heard:
		return h
	case <-late.C:
		require.FailNow(t, fmt.Sprintf("nothing was heard for %s", Patience))
		return bots.Heard{}
	}
}

// quiet checks that nothing more is heard than a last message, which is heard after everything before it.
func (p *Peer) quiet(t *testing.T, heard chan bots.Heard) {
	t.Helper()
	id := p.Say(true, "that is all")
	require.Equal(t, id, next(t, heard).ID)
}

func hearsMention(t *testing.T, p *Peer) {
	tr := p.Connect()
	heard, _ := p.listen(t, tr, nil)
	id := p.Say(true, "status shop")
	h := next(t, heard)
	require.Equal(t, id, h.ID)
	require.Equal(t, "status shop", h.Text)
	require.Equal(t, p.UserID, h.UserID)
	require.True(t, strings.HasSuffix(h.ChatID, ":"+p.UserID), "chat id %q", h.ChatID)
	require.True(t, strings.HasSuffix(h.Key, ":"+id), "key %q", h.Key)
	require.Equal(t, p.Name, h.Name)
	require.Equal(t, p.Place, h.Place)
	if _, linked := tr.(bots.Linker); linked {
		require.Contains(t, h.Link, id)
	} else {
		require.Empty(t, h.Link, "what has no address is given none")
	}
	require.WithinDuration(t, time.Now(), h.At, time.Minute)
	p.quiet(t, heard)
}

func hearsNothingElse(t *testing.T, p *Peer) {
	tr := p.Connect()
	heard, _ := p.listen(t, tr, nil)
	p.Say(true, "first")
	next(t, heard)
	p.Say(false, "good morning")
	_, err := tr.Send(t.Context(), bots.Outgoing{Key: "k", Place: p.Place, Message: line("a bot's own words")})
	require.NoError(t, err)
	p.quiet(t, heard)
}

func hearsLater(t *testing.T, p *Peer) {
	heard, stop := p.listen(t, p.Connect(), nil)
	p.Say(true, "before")
	next(t, heard)
	stop()
	if p.Away != nil {
		p.Away()
	}
	var want []string
	for i := range 5 {
		want = append(want, p.Say(true, fmt.Sprintf("away %d", i)))
	}
	heard, _ = p.listen(t, p.Connect(), nil)
	var got []string
	for range want {
		got = append(got, next(t, heard).ID)
	}
	require.Equal(t, want, got)
	p.quiet(t, heard)
}

func hearsAgain(t *testing.T, p *Peer) {
	failures := 2
	heard, _ := p.listen(t, p.Connect(), func(bots.Heard) error {
		if failures > 0 {
			failures--
			return errors.New("the disk is full")
		}
		return nil
	})
	id := p.Say(true, "status shop")
	require.Equal(t, id, next(t, heard).ID)
	require.Zero(t, failures)
	p.quiet(t, heard)
}

func posts(t *testing.T, p *Peer) {
	tr := p.Connect()
	defer tr.Close()
	id, err := tr.Send(t.Context(), bots.Outgoing{Key: "k", Place: p.Place, Message: line("hello")})
	require.NoError(t, err)
	said := p.Said(p.Place)
	require.Equal(t, id, said[len(said)-1].ID)
	require.Contains(t, said[len(said)-1].Text, "hello")
	require.NotEqual(t, p.UserID, said[len(said)-1].UserID)
}

func makesPlaces(t *testing.T, p *Peer) {
	tr := p.Connect()
	defer tr.Close()
	for _, text := range []string{"one", "two"} {
		_, err := tr.Send(t.Context(), bots.Outgoing{Key: "k/" + text, Place: p.NewPlace, Message: line(text)})
		require.NoError(t, err)
	}
	said := p.Said(p.NewPlace)
	require.GreaterOrEqual(t, len(said), 2, "the person sees the new place")
	require.Contains(t, said[len(said)-2].Text, "one")
	require.Contains(t, said[len(said)-1].Text, "two")
}

func edits(t *testing.T, p *Peer) {
	tr := p.Connect()
	defer tr.Close()
	editor, ok := tr.(bots.Editor)
	if !ok {
		return // a chat without edits keeps the contract by not promising them
	}
	id, err := tr.Send(t.Context(), bots.Outgoing{Key: "k", Place: p.Place, Message: line("working")})
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, editor.Edit(t.Context(), id, bots.Outgoing{Key: "k", Place: p.Place, Message: line("finished")}))
	}
	said := p.Said(p.Place)
	require.Equal(t, id, said[len(said)-1].ID)
	require.Contains(t, said[len(said)-1].Text, "finished")
	require.NotContains(t, said[len(said)-1].Text, "working")
	require.ErrorIs(t, editor.Edit(t.Context(), "99999999", bots.Outgoing{Key: "k", Place: p.Place, Message: line("x")}), bots.ErrTooOld)
}

func reacts(t *testing.T, p *Peer) {
	tr := p.Connect()
	defer tr.Close()
	reactor, ok := tr.(bots.Reactor)
	if !ok {
		return
	}
	id := p.Say(true, "status shop")
	for _, emoji := range []string{bots.ReactionHeard, bots.ReactionDone, bots.ReactionRefused, bots.ReactionFailed} {
		for range 2 {
			require.NoError(t, reactor.React(t.Context(), id, emoji, true))
		}
		require.Equal(t, []string{emoji}, p.reactions(id))
		for range 2 {
			require.NoError(t, reactor.React(t.Context(), id, emoji, false))
		}
		require.Empty(t, p.reactions(id))
	}
}

func finds(t *testing.T, p *Peer) {
	out := bots.Outgoing{Key: "k", Place: p.Place, Message: line("once"), Since: time.Now()}
	tr := p.Connect()
	defer tr.Close()
	finder, ok := tr.(bots.Finder)
	if !ok {
		return
	}
	_, found, err := finder.Find(t.Context(), out)
	require.NoError(t, err)
	require.False(t, found)
	elsewhere := out
	elsewhere.Place = p.NewPlace
	_, found, err = finder.Find(t.Context(), elsewhere)
	require.NoError(t, err, "a place that does not exist holds no message")
	require.False(t, found)

	sent := out
	sent.Since = time.Time{}
	id, err := tr.Send(t.Context(), sent)
	require.NoError(t, err)
	another := p.Connect()
	defer another.Close()
	requireFound(t, another, out, id)
}

func findsLost(t *testing.T, p *Peer) {
	tr := p.Connect()
	defer tr.Close()
	if _, ok := tr.(bots.Finder); !ok || p.Lose == nil {
		return
	}
	out := bots.Outgoing{Key: "k", Place: p.Place, Message: line("lost and found")}
	began := time.Now()
	p.Lose()
	_, err := tr.Send(t.Context(), out)
	var again *bots.RetryError
	require.ErrorAs(t, err, &again)
	require.True(t, again.Unknown)
	out.Since = began
	said := p.Said(p.Place)
	requireFound(t, tr, out, said[len(said)-1].ID)
}

// requireFound requires that a transport finds a message that was sent.
func requireFound(t *testing.T, tr bots.Transport, out bots.Outgoing, id string) {
	t.Helper()
	finder, ok := tr.(bots.Finder)
	require.True(t, ok, "every connection can find")
	got, found, err := finder.Find(t.Context(), out)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, id, got)
}

func postsLong(t *testing.T, p *Peer) {
	long := line("a long log")
	var lines []string
	for i := range 600 {
		lines = append(lines, fmt.Sprintf("line %d %s", i, strings.Repeat("x", 60)))
	}
	long.Blocks = []markup.Block{markup.Code("", lines...)}
	tr := p.Connect()
	defer tr.Close()
	out := bots.Outgoing{Key: "k", Place: p.Place, Message: long}
	began := time.Now()
	id, err := tr.Send(t.Context(), out)
	require.NoError(t, err)
	var all []string
	for _, s := range p.Said(p.Place) {
		all = append(all, s.Text)
	}
	text := strings.Join(all, "\n")
	for _, l := range lines {
		require.True(t, strings.Contains(text, l), "%s is there", l)
	}
	out.Since = began
	if _, ok := tr.(bots.Finder); ok {
		another := p.Connect()
		defer another.Close()
		requireFound(t, another, out, id)
	}
	if editor, ok := tr.(bots.Editor); ok {
		out.Message = line("short again")
		require.NoError(t, editor.Edit(t.Context(), id, out))
		for _, s := range p.Said(p.Place) {
			require.NotContains(t, s.Text, "line 599")
		}
	}
}

func hearsReactions(t *testing.T, p *Peer) {
	if p.React == nil {
		return
	}
	tr := p.Connect()
	heard, _ := p.listen(t, tr, nil)
	theirs := p.Say(true, "status shop")
	next(t, heard)
	id, err := tr.Send(t.Context(), bots.Outgoing{Key: "k", Place: p.Place, Message: line("go on?")})
	require.NoError(t, err)
	p.React(theirs, bots.ReactionDone)
	p.React(id, bots.ReactionDone)
	h := next(t, heard)
	require.Equal(t, &bots.Press{On: id, Emoji: bots.ReactionDone}, h.Press)
	require.Empty(t, h.Text)
	require.Equal(t, id, h.ID)
	require.Equal(t, p.UserID, h.UserID)
	require.Equal(t, p.Name, h.Name)
	require.Equal(t, p.Place, h.Place)
	require.Contains(t, h.Key, ":reaction:")
	p.quiet(t, heard)
}

// reactions are the emoji on a message.
func (p *Peer) reactions(id string) []string {
	for _, s := range p.Said(p.Place) {
		if s.ID == id {
			slices.Sort(s.Reactions)
			return s.Reactions
		}
	}
	return nil
}

// line is a message of one line.
func line(text string) markup.Message {
	return markup.Message{Kind: "botstest.line", Title: markup.Spans(markup.T(text))}
}
