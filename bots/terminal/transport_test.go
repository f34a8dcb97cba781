package terminal_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/bots/terminal"
	"platform.dev/platform/commands"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	dev     = terminal.Person{ID: "developer", Name: "Dev Developer"}
	release = commands.Place{Stream: "shop", Topic: "release"}
	alone   = commands.Place{Direct: "developer"}
)

// desk is a transcript that outlives the processes that have it, one after the other.
type desk struct {
	t    *testing.T
	path string
	*terminal.Transcript
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, path: filepath.Join(t.TempDir(), "said.jsonl")}
	d.open()
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// open opens the file anew, as another process does.
func (d *desk) open() {
	d.t.Helper()
	if d.Transcript != nil {
		require.NoError(d.t, d.Close())
	}
	var err error
	d.Transcript, err = terminal.OpenTranscript(d.path, nil)
	require.NoError(d.t, err)
}

func (d *desk) connect(screen *terminal.Screen) *terminal.Transport {
	d.t.Helper()
	tr, err := terminal.New(terminal.Config{Name: "platform", Transcript: d.Transcript, Screen: screen})
	require.NoError(d.t, err)
	return tr
}

func (d *desk) say(to commands.Place, text string) string {
	d.t.Helper()
	id, err := d.Say(dev, to, text)
	require.NoError(d.t, err)
	return id
}

func line(text string) markup.Message {
	return markup.Message{Kind: "test.line", Title: markup.Spans(markup.T(text))}
}

func TestTheTerminalTransportKeepsItsContract(t *testing.T) {
	botstest.Transport(t, func(t *testing.T) *botstest.Peer {
		d := newDesk(t)
		return &botstest.Peer{
			Connect: func() bots.Transport { return d.connect(nil) },
			Away:    d.open, // the next process reads the file
			Say: func(mention bool, text string) string {
				if mention {
					text = "@platform " + text
				}
				return d.say(release, text)
			},
			Said: func(place commands.Place) (posted []botstest.Posted) {
				for _, s := range d.Said(place) {
					posted = append(posted, botstest.Posted{ID: s.ID, UserID: s.From, Text: s.Text(0)})
				}
				return posted
			},
			Place:    release,
			NewPlace: commands.Place{Stream: "garden", Topic: "builds"},
			UserID:   dev.ID, Name: dev.Name,
		}
	})
}

// heard is what a bot hears of what was said, in order.
func (d *desk) heard(t *testing.T, want int) (all []bots.Heard) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), botstest.Patience)
	defer cancel()
	err := d.connect(nil).Run(ctx, func(_ context.Context, h bots.Heard) error {
		if all = append(all, h); len(all) == want {
			cancel()
		}
		return nil
	})
	require.NoError(t, err)
	require.Len(t, all, want)
	return all
}

func TestABotHearsWhatIsMeantForIt(t *testing.T) {
	d := newDesk(t)
	for _, c := range []struct {
		to         commands.Place
		text, want string // "-": not heard
	}{
		{alone, "status shop", "status shop"},
		{alone, "@platform status shop", "status shop"},
		{alone, "@platform: status shop", "status shop"},
		{release, "@platform status shop", "status shop"},
		{release, "@PLATFORM status", "status"},
		{release, "please, @platform, status", "please, , status"},
		{release, "status shop", "-"},
		{release, "@platform-two status", "-"},
		{release, "@platforms status", "-"},
		{release, "mail@platform status", "-"},
		{release, "ask @platform.", "ask ."},
		{release, "İ @platform x", "İ x"}, // whose lower case is longer
	} {
		d.say(c.to, c.text)
		d.say(alone, "end")
		first := d.heard(t, 1)[0]
		if c.want == "-" {
			assert.Equal(t, "end", first.Text, c.text)
			continue
		}
		assert.Equal(t, c.want, first.Text, c.text)
		assert.Equal(t, c.to, first.Place)
		assert.Equal(t, "end", d.heard(t, 1)[0].Text)
	}
}

func TestWhatIsNoMessageIsRefused(t *testing.T) {
	d := newDesk(t)
	for name, say := range map[string]struct {
		to   commands.Place
		text string
	}{
		"nothing was typed":          {alone, "  \n "},
		"10001 characters long":      {alone, strings.Repeat("é", terminal.MaxText+1)},
		"is not UTF-8":               {alone, "a\xff"},
		"needs a stream or a person": {commands.Place{}, "x"},
		`topic "a\nb"`:               {commands.Place{Stream: "shop", Topic: "a\nb"}, "x"},
		"stream \"sss":               {commands.Place{Stream: strings.Repeat("s", 200)}, "x"},
	} {
		_, err := d.Say(dev, say.to, say.text)
		require.ErrorContains(t, err, name)
	}
	for range 500 {
		d.say(alone, "x")
	}
	_, err := d.Say(dev, alone, "x")
	require.ErrorContains(t, err, "500 messages wait to be heard already")
	assert.Len(t, d.heard(t, 500), 500)
	d.say(alone, "x")
}

func TestOneProcessHasATranscript(t *testing.T) {
	d := newDesk(t)
	_, err := terminal.OpenTranscript(d.path, nil)
	require.ErrorContains(t, err, "another process has it")
	id := d.say(alone, "x")
	d.open()
	assert.NotEqual(t, id, d.say(alone, "x"))
	require.NoError(t, d.Close())
	_, err = d.Say(dev, alone, "x")
	require.Error(t, err)
	require.NoError(t, os.Remove(d.path))
	d.Transcript = nil
	d.open()
	assert.NotEqual(t, id, d.say(alone, "x"), "ids of one transcript are those of no other")
}

// A crash may cut the file anywhere. What Say had returned for is there, whole; the rest was never said.
func TestAFileThatWasCutAnywhereIsReadAsFarAsItGoes(t *testing.T) {
	d := newDesk(t)
	tr := d.connect(nil)
	sizes := []int64{}
	size := func() {
		info, err := os.Stat(d.path)
		require.NoError(t, err)
		sizes = append(sizes, info.Size())
	}
	size()
	d.say(alone, "one")
	size()
	id, err := tr.Send(t.Context(), bots.Outgoing{Key: "k", Place: alone, Message: line("two")})
	require.NoError(t, err)
	size()
	require.NoError(t, tr.Edit(t.Context(), id, bots.Outgoing{Key: "k", Place: alone, Message: line("three")}))
	size()
	whole, err := os.ReadFile(d.path)
	require.NoError(t, err)
	want := []string{"", "one", "one two", "one three"}
	for cut := int64(0); cut <= int64(len(whole)); cut++ {
		path := filepath.Join(t.TempDir(), "cut")
		require.NoError(t, os.WriteFile(path, whole[:cut], 0o600))
		again, err := terminal.OpenTranscript(path, nil)
		require.NoError(t, err, "cut at %d", cut)
		var texts []string
		for _, s := range again.Said(alone) {
			texts = append(texts, s.Text(0))
		}
		step := 0
		for step+1 < len(sizes) && sizes[step+1] <= cut {
			step++
		}
		assert.Equal(t, want[step], strings.Join(texts, " "), "cut at %d", cut)
		if cut%7 != 0 {
			require.NoError(t, again.Close())
			continue
		}
		_, err = again.Say(dev, alone, "goes on")
		require.NoError(t, err)
		require.NoError(t, again.Close())
		again, err = terminal.OpenTranscript(path, nil)
		require.NoError(t, err, "what was written behind the cut is read, cut at %d", cut)
		assert.Len(t, again.Said(alone), len(texts)+1)
		require.NoError(t, again.Close())
	}
	require.NoError(t, os.WriteFile(d.path+"2", append([]byte("nonsense\n"), whole...), 0o600))
	_, err = terminal.OpenTranscript(d.path+"2", nil)
	require.ErrorContains(t, err, "line 1")
}

func TestALongConversationIsBoundedAndForgetsTheOldest(t *testing.T) {
	d := newDesk(t)
	tr := d.connect(nil)
	unheard := d.say(alone, "the first, which no bot was told of")
	long := line(strings.Repeat("x", 10_000))
	var first, last string
	for i := range 1100 {
		id, err := tr.Send(t.Context(), bots.Outgoing{Key: "k", Place: alone, Message: long})
		require.NoError(t, err)
		if i == 0 {
			first = id
		}
		last = id
	}
	info, err := os.Stat(d.path)
	require.NoError(t, err)
	assert.Less(t, info.Size(), int64(18<<20), "it is written anew with what is remembered")
	d.open()
	tr = d.connect(nil)
	said := d.Said(alone)
	assert.Len(t, said, 1000)
	assert.Equal(t, unheard, said[0].ID)
	require.ErrorIs(t, tr.Edit(t.Context(), first, bots.Outgoing{Place: alone, Message: line("y")}), bots.ErrTooOld)
	require.NoError(t, tr.Edit(t.Context(), last, bots.Outgoing{Place: alone, Message: line("y")}))
	assert.Equal(t, unheard, d.heard(t, 1)[0].ID)
	_, err = tr.Send(t.Context(), bots.Outgoing{Key: "k", Place: alone, Message: line(strings.Repeat("x", 2<<20))})
	require.ErrorContains(t, err, "larger than")
	_, err = tr.Send(t.Context(), bots.Outgoing{Key: "k", Place: alone, Message: line("and on")})
	require.NoError(t, err, "what is too large breaks nothing")
}

// output is what is written to a screen.
type output struct {
	mu     sync.Mutex
	text   bytes.Buffer
	broken error
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.broken != nil {
		return 0, o.broken
	}
	return o.text.Write(p)
}

// take is what was written since it was last taken.
func (o *output) take() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.text.Reset()
	return o.text.String()
}

// shows sends a message that is under way, then its end, and gives what the screen wrote for each.
func shows(t *testing.T, tr *terminal.Transport, out *output, place commands.Place, between func()) (first, then string) {
	t.Helper()
	working := line("at work")
	working.Status = markup.Working
	id, err := tr.Send(t.Context(), bots.Outgoing{Key: "k", Place: place, Message: working})
	require.NoError(t, err)
	first = out.take()
	between()
	out.take()
	done := line("it is done")
	done.Status = markup.Done
	require.NoError(t, tr.Edit(t.Context(), id, bots.Outgoing{Key: "k", Place: place, Message: done}))
	return first, out.take()
}

func TestALiveScreenChangesAMessageWhereItStands(t *testing.T) {
	size := terminal.Size{Columns: 20, Rows: 10}
	for _, c := range []struct {
		name        string
		live        bool
		place       commands.Place
		between     func(s *terminal.Screen)
		first, then string
	}{
		{"nothing was written since", true, alone, nil, "⏳ at work\n\n", "\x1b[2A\r\x1b[J✅ it is done\n\n"},
		{"in another place", true, release, nil, "(#shop > release)\n⏳ at work\n\n", "\x1b[3A\r\x1b[J(#shop > release)\n✅ it is done\n\n"},
		{"the person typed since", true, alone, func(s *terminal.Screen) { s.Typed() }, "⏳ at work\n\n", "(changed)\n✅ it is done\n\n"},
		{"a note was written since", true, alone, func(s *terminal.Screen) { s.Note("x") }, "⏳ at work\n\n", "(changed)\n✅ it is done\n\n"},
		{"the screen is too low for it", true, alone, func(*terminal.Screen) { size.Rows = 2 }, "⏳ at work\n\n", "(changed)\n✅ it is done\n\n"},
		{"no terminal", false, alone, nil, "", "✅ it is done\n\n"},
		{"no terminal, in another place", false, release, nil, "", "(#shop > release)\n✅ it is done\n\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			size = terminal.Size{Columns: 20, Rows: 10}
			out := &output{}
			screen := terminal.NewScreen(out, terminal.Look{Live: c.live, Size: func() terminal.Size { return size }})
			screen.Go(alone)
			first, then := shows(t, newDesk(t).connect(screen), out, c.place, func() {
				if c.between != nil {
					c.between(screen)
				}
			})
			assert.Equal(t, c.first, first)
			assert.Equal(t, c.then, then)
		})
	}
}

func TestALongAddressTakesAsManyRowsAsItIsWide(t *testing.T) {
	out := &output{}
	screen := terminal.NewScreen(out, terminal.Look{Live: true, Size: func() terminal.Size { return terminal.Size{Columns: 20} }})
	screen.Go(alone)
	tr := newDesk(t).connect(screen)
	m := markup.Message{Title: markup.Spans(markup.T("see")), Blocks: []markup.Block{markup.Text(markup.T("http://h/" + strings.Repeat("x", 41)))}}
	id, err := tr.Send(t.Context(), bots.Outgoing{Key: "k", Place: alone, Message: m})
	require.NoError(t, err)
	rows := strings.Count(out.take(), "\n") + 2 // 50 columns on a screen of 20
	require.NoError(t, tr.Edit(t.Context(), id, bots.Outgoing{Key: "k", Place: alone, Message: line("x")}))
	assert.True(t, strings.HasPrefix(out.take(), "\x1b["+string(rune('0'+rows))+"A"), "%d rows", rows)
}

// What was said and not shown, because the process ended between, is shown by the next one, once.
func TestWhatWasNotShownIsShownByTheNextProcess(t *testing.T) {
	d := newDesk(t)
	gone := &output{broken: errors.New("the terminal is gone")}
	screen := terminal.NewScreen(gone, terminal.Look{})
	screen.Go(alone)
	_, err := d.connect(screen).Send(t.Context(), bots.Outgoing{Key: "k", Place: alone, Message: line("are you there?")})
	require.NoError(t, err, "what is said is said")
	require.ErrorIs(t, screen.Err(), gone.broken)
	for _, want := range []string{"are you there?\n\n", ""} {
		d.open()
		out := &output{}
		again := terminal.NewScreen(out, terminal.Look{})
		again.Go(alone)
		d.connect(again)
		assert.Equal(t, want, out.take())
	}
}

func TestNothingForeignSteersTheScreen(t *testing.T) {
	out := &output{}
	screen := terminal.NewScreen(out, terminal.Look{Colour: true})
	screen.Go(alone)
	tr := newDesk(t).connect(screen)
	evil := "\x1b[2J\x1b]0;title\x07\r\u009b31m\u202e"
	m := markup.Message{Title: markup.Spans(markup.F(evil), markup.C(evil), markup.L(evil, "http://h/"+evil)), Blocks: []markup.Block{markup.Log(markup.Spans(markup.F(evil)), []string{evil})}}
	for _, place := range []commands.Place{alone, {Stream: evil, Topic: evil}, {Direct: evil}} {
		_, err := tr.Send(t.Context(), bots.Outgoing{Key: "k", Place: place, Message: m})
		require.NoError(t, err)
	}
	screen.Note(evil)
	for _, r := range ours.ReplaceAllString(strings.ReplaceAll(out.take(), "\x1b[2m", ""), "") {
		if r != '\n' && (r < 0x20 || r >= 0x7f && r < 0xa0) || r == 0x202e {
			t.Fatalf("%q reached the screen", r)
		}
	}
}

func TestWhatCannotBeRecordedIsToldAgainAtGrowingIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		id := d.say(alone, "status")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		began := time.Now()
		var tries []time.Duration
		require.NoError(t, d.connect(nil).Run(ctx, func(_ context.Context, h bots.Heard) error {
			assert.Equal(t, id, h.ID)
			if tries = append(tries, time.Since(began)); len(tries) < 10 {
				return errors.New("the disk is full")
			}
			cancel()
			return nil
		}))
		require.Len(t, tries, 10)
		for i, want := range []int{50, 100, 200, 400, 800, 1600, 3200, 5000, 5000} {
			assert.Equal(t, time.Duration(want)*time.Millisecond, tries[i+1]-tries[i])
		}
	})
}
