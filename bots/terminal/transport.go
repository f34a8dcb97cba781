package terminal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"platform.dev/platform/bots"
)

// Config is what a Transport needs.
type Config struct {
	Name       string      // the bot's, by which it is mentioned
	Transcript *Transcript // where it hears and speaks
	Screen     *Screen     // where what it says is shown; nil: nowhere
}

// Transport is a bot's place in a Transcript: a bot that is spoken with at a
// terminal, without any chat. It hears what is said to it alone, and in a stream
// what mentions it: "@platform status". It changes what it said, and finds what
// an earlier process said; there are no reactions, and messages have no address.
type Transport struct{ cfg Config }

var (
	_ bots.Transport = (*Transport)(nil)
	_ bots.Editor    = (*Transport)(nil)
	_ bots.Finder    = (*Transport)(nil)
)

// name is what a bot may be called, so that it can be mentioned.
var name = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// New checks the configuration and makes a Transport. What the bot said before,
// and was not shown, is shown now.
func New(cfg Config) (*Transport, error) {
	switch {
	case !name.MatchString(cfg.Name):
		return nil, fmt.Errorf("terminal: Name %q: write letters and digits, with _ . and - between", cfg.Name)
	case cfg.Transcript == nil:
		return nil, errors.New("terminal: Transcript is needed")
	}
	t := &Transport{cfg: cfg}
	for _, m := range cfg.Transcript.all(func(m *message) bool { return m.bot == cfg.Name && !m.shown }) {
		if err := t.show(&m, false); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Self is the bot.
func (t *Transport) Self() bots.User { return bots.User{ID: t.cfg.Name, Name: t.cfg.Name} }

// Close does nothing: the transcript is its owner's.
func (t *Transport) Close() error { return nil }

// pauses between two attempts to have a message recorded.
const firstPause, lastPause = 50 * time.Millisecond, 5 * time.Second

// Run hears what was typed since the bot was last told of anything, one message
// after the other, until ctx ends. What sink did not take is told again.
func (t *Transport) Run(ctx context.Context, sink func(context.Context, bots.Heard) error) error {
	wait := firstPause
	for ctx.Err() == nil {
		m, ok, changed := t.cfg.Transcript.after(t.cfg.Name)
		if !ok {
			select {
			case <-ctx.Done():
			case <-changed:
			}
			continue
		}
		if h, meant := t.heard(m); meant && sink(ctx, h) != nil {
			pause(ctx, wait)
			wait = min(2*wait, lastPause)
			continue
		}
		wait = firstPause
		if err := t.cfg.Transcript.told(t.cfg.Name, m.number); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// heard is a message as the bot hears it; false when it is not meant.
func (t *Transport) heard(m message) (bots.Heard, bool) {
	text, mentioned := t.unmentioned(m.text)
	if m.place.Direct == "" && !mentioned {
		return bots.Heard{}, false
	}
	return bots.Heard{
		Key: "terminal:" + t.cfg.Name + ":" + m.id, ID: m.id, Text: text,
		UserID: m.person.ID, ChatID: "terminal:" + m.person.ID, Name: cmp.Or(m.person.Name, m.person.ID), Place: m.place, At: m.at,
	}, true
}

// unmentioned takes the first mention of the bot out of a text.
func (t *Transport) unmentioned(text string) (rest string, mentioned bool) {
	mention := "@" + t.cfg.Name
	for at := range text {
		end := at + len(mention)
		if text[at] != '@' || end > len(text) || !strings.EqualFold(text[at:end], mention) {
			continue
		}
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		if after := text[end:]; (at == 0 || unicode.IsSpace(before)) && !goesOnAsName(after) {
			return bots.WithoutMention(text[:at], after), true
		}
	}
	return text, false
}

// goesOnAsName tells whether what stands behind a name makes it another one:
// "@platform-two", but not "@platform, look."
func goesOnAsName(after string) bool {
	r, size := utf8.DecodeRuneInString(after)
	if r == '.' || r == '-' {
		r, _ = utf8.DecodeRuneInString(after[size:])
	}
	return size > 0 && r != utf8.RuneError && (r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r))
}

// Send says something.
func (t *Transport) Send(_ context.Context, out bots.Outgoing) (id string, err error) {
	m, err := t.cfg.Transcript.post(t.cfg.Name, out.Key, out.Place, out.Message)
	if err != nil {
		return "", err
	}
	return m.id, t.show(m, false)
}

// Edit makes a message say something else. One that is no longer remembered is too old.
func (t *Transport) Edit(_ context.Context, id string, out bots.Outgoing) error {
	m, known, err := t.cfg.Transcript.edit(t.cfg.Name, id, out.Message)
	switch {
	case err != nil:
		return err
	case !known:
		return bots.ErrTooOld
	}
	return t.show(m, true)
}

// Find looks for what was said under a key, word for word.
func (t *Transport) Find(_ context.Context, out bots.Outgoing) (id string, found bool, err error) {
	for _, m := range t.cfg.Transcript.all(func(m *message) bool { return m.bot == t.cfg.Name && m.key == out.Key && m.place == out.Place }) {
		if reflect.DeepEqual(m.doc, out.Message) {
			id, found = m.id, true
		}
	}
	return id, found, nil
}

// show shows a message and notes that it was. What cannot be shown any more is
// said all the same; the next process shows it.
func (t *Transport) show(m *message, edited bool) error {
	if t.cfg.Screen == nil || !t.cfg.Screen.message(m, edited) {
		return nil
	}
	return t.cfg.Transcript.show(m.id)
}

// pause waits, or less when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
