package terminal

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// Bounds of a transcript.
const (
	MaxText    = 10_000  // code points of what a person says at once, as chats take
	maxName    = 100     // code points of a stream, a topic, or a person
	maxMessage = 1 << 20 // bytes of what a bot says, as it is kept
	maxWaiting = 500     // messages that no bot was told of yet
	kept       = 1000    // messages that are remembered; older ones are forgotten, as if they had never been said
	maxFile    = 8 << 20 // bytes beyond which the file is written anew with what is remembered
)

// Person is who types.
type Person struct {
	ID   string // what a directory knows behind "terminal:"
	Name string
}

// Transcript is a conversation at a terminal as a file: what was typed, what
// bots said to it, what of it was heard, and what was shown. It is the chat of a
// chat that has no server, and as durable: what Say has returned is heard also
// when the process ended before it was, and what a bot has said is found by the
// next. One process has it at a time. It is safe for concurrent use.
//
// Each message has an id that no other has, of whatever transcript: keys of
// effects derive from it.
type Transcript struct {
	path string
	now  func() time.Time
	lock *os.File

	mu      sync.Mutex
	file    *os.File // appended to; nil once closed
	size    int64
	least   int64  // size of the file when it was last written anew
	broken  error  // the file could not be written: nothing is said any more
	tag     string // begins the ids of this transcript's messages
	last    int64  // number of the newest message
	said    []*message
	heard   map[string]int64 // by bot: the number of the newest message that it was told of
	changed chan struct{}    // closed at every change, and replaced
}

// message is one thing said.
type message struct {
	number int64
	id     string
	at     time.Time
	person Person
	place  commands.Place
	text   string // a person's

	bot   string // who said it; empty for a person
	key   string
	doc   markup.Message
	shown bool // as it stands
}

// errClosed is the error of a transcript that was closed.
var errClosed = errors.New("the transcript is closed")

// OpenTranscript opens the file at path, and makes it where there is none. A file
// that another process has is refused. now may be nil: time.Now.
func OpenTranscript(path string, now func() time.Time) (*Transcript, error) {
	if now == nil {
		now = time.Now
	}
	lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("transcript: %w", err)
	}
	t := &Transcript{path: path, now: now, lock: lock, heard: map[string]int64{}, changed: make(chan struct{})}
	err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = errors.New("another process has it: leave the conversation there first")
	}
	if err == nil {
		err = t.open()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("transcript %s: %w", path, err), lock.Close())
	}
	return t, nil
}

// open reads the file. A last line that was not written whole was never said.
func (t *Transcript) open() error {
	file, err := os.OpenFile(t.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	t.file = file
	if t.size, err = readRecords(file, t.take); err == nil {
		err = file.Truncate(t.size)
	}
	if err == nil {
		_, err = file.Seek(t.size, io.SeekStart)
	}
	if err == nil && t.tag == "" {
		t.tag = strings.ToLower(rand.Text()[:10])
		err = t.append(record{Kind: recordBegun, ID: t.tag}, true)
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	return nil
}

// Close gives the file up. What is said afterwards is an error.
func (t *Transcript) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		return nil
	}
	err := errors.Join(t.file.Close(), t.lock.Close())
	t.file = nil
	return err
}

// Say records what a person typed in a place and returns its id once that is
// durable. Text and names that are too long, empty or no text are refused.
func (t *Transcript) Say(who Person, to commands.Place, text string) (id string, err error) {
	text = strings.TrimSpace(text)
	switch n := utf8.RuneCountInString(text); {
	case n == 0:
		return "", errors.New("nothing was typed")
	case n > MaxText:
		return "", fmt.Errorf("that is %d characters long; say at most %d at once", n, MaxText)
	case !utf8.ValidString(text):
		return "", errors.New("that is no text: it is not UTF-8")
	}
	if err := checkPlace(to); err != nil {
		return "", err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	waiting, told := 0, t.toldAll()
	for _, m := range t.said {
		if m.bot == "" && m.number > told {
			waiting++
		}
	}
	if waiting >= maxWaiting {
		return "", fmt.Errorf("%d messages wait to be heard already; wait for their answers", waiting)
	}
	m := t.next()
	m.person, m.place, m.text = who, to, text
	return m.id, t.add(m)
}

// checkPlace refuses a place that cannot be written as one line.
func checkPlace(to commands.Place) error {
	if to.Stream == "" && to.Direct == "" {
		return errors.New("a place needs a stream or a person")
	}
	for name, value := range map[string]string{"stream": to.Stream, "topic": to.Topic, "person": to.Direct} {
		if utf8.RuneCountInString(value) > maxName || strings.ContainsFunc(value, unicode.IsControl) {
			return fmt.Errorf("%s %q: write at most %d characters on one line", name, shortened(value), maxName)
		}
	}
	return nil
}

// shortened is the beginning of a text that is too long to be quoted.
func shortened(text string) string {
	if r := []rune(text); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return text
}

// post records what a bot says.
func (t *Transcript) post(bot, key string, to commands.Place, doc markup.Message) (*message, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.next()
	m.bot, m.key, m.place, m.doc = bot, key, to, doc
	if err := t.add(m); err != nil {
		return nil, err
	}
	shown := *m
	return &shown, nil
}

// edit records that a bot's message says something else now; false when it is not remembered.
func (t *Transcript) edit(bot, id string, doc markup.Message) (*message, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.message(id)
	if m == nil || m.bot != bot {
		return nil, false, nil
	}
	if err := t.append(record{Kind: recordEdited, ID: id, Message: &doc}, true); err != nil {
		return nil, true, err
	}
	m.doc, m.shown = doc, false
	t.change()
	shown := *m
	return &shown, true, t.compact()
}

// told records that a bot was told of everything up to a message.
func (t *Transcript) told(bot string, number int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.append(record{Kind: recordHeard, Bot: bot, Number: number}, false); err != nil {
		return err
	}
	t.heard[bot] = number
	return nil
}

// show records that a bot's message was shown as it stands.
func (t *Transcript) show(id string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m := t.message(id); m != nil {
		m.shown = true
	}
	return t.append(record{Kind: recordShown, ID: id}, false)
}

// after is the first message of a person that a bot was not told of; ok is false
// when there is none, and wait is then closed at the next change.
func (t *Transcript) after(bot string) (m message, ok bool, wait <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.said {
		if m.bot == "" && m.number > t.heard[bot] {
			return *m, true, nil
		}
	}
	return message{}, false, t.changed
}

// Waits tells whether a bot is still to be told of something.
func (t *Transcript) Waits(bot string) bool {
	_, waits, _ := t.after(bot)
	return waits
}

// all are copies of what is remembered, oldest first, as far as it is wanted.
func (t *Transcript) all(want func(*message) bool) (list []message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.said {
		if want(m) {
			list = append(list, *m)
		}
	}
	return list
}

// next is a message with an id; the lock is held.
func (t *Transcript) next() *message {
	n := t.last + 1
	return &message{number: n, id: t.tag + "-" + strconv.FormatInt(n, 10), at: t.now().UTC()}
}

// add records a message and tells whoever waits; the lock is held.
func (t *Transcript) add(m *message) error {
	if err := t.append(m.record(), true); err != nil {
		return err
	}
	t.keep(m)
	t.change()
	return t.compact()
}

// keep remembers a message, and beyond the bound forgets the oldest one that no
// bot is still to be told of; the lock is held.
func (t *Transcript) keep(m *message) {
	t.last = max(t.last, m.number)
	t.said = append(t.said, m)
	if len(t.said) <= kept {
		return
	}
	told := t.toldAll()
	if i := slices.IndexFunc(t.said, func(m *message) bool { return m.bot != "" || m.number <= told }); i >= 0 {
		t.said = slices.Delete(t.said, i, i+1)
	}
}

// toldAll is the number of the newest message that every bot was told of; the lock is held.
func (t *Transcript) toldAll() (number int64) {
	for _, n := range t.heard {
		if number == 0 || n < number {
			number = n
		}
	}
	return number
}

// message is the one with the id, nil where it is not remembered; the lock is held.
func (t *Transcript) message(id string) *message {
	i := slices.IndexFunc(t.said, func(m *message) bool { return m.id == id })
	if i < 0 {
		return nil
	}
	return t.said[i]
}

// change tells whoever waits; the lock is held.
func (t *Transcript) change() {
	close(t.changed)
	t.changed = make(chan struct{})
}
