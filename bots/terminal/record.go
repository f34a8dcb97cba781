package terminal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// record is one line of a transcript's file.
type record struct {
	Kind   string    `json:"kind"`
	ID     string    `json:"id,omitempty"`     // of the message; of the first line, what ids begin with
	Number int64     `json:"number,omitempty"` // of the message, counting from 1; of the first line, those that were forgotten
	At     time.Time `json:"at,omitzero"`

	Person string         `json:"person,omitempty"`
	Name   string         `json:"name,omitempty"`
	Place  commands.Place `json:"place,omitzero"`
	Text   string         `json:"text,omitempty"`

	Bot     string          `json:"bot,omitempty"`
	Key     string          `json:"key,omitempty"`
	Message *markup.Message `json:"message,omitempty"`
}

// The kinds of records.
const (
	recordBegun  = "begun"  // the first line
	recordSaid   = "said"   // a person's words, or a bot's
	recordEdited = "edited" // a bot's message says something else
	recordHeard  = "heard"  // a bot was told of everything up to Number
	recordShown  = "shown"  // a bot's message was shown as it stands
)

// record is a message as a line.
func (m *message) record() record {
	r := record{Kind: recordSaid, ID: m.id, Number: m.number, At: m.at, Person: m.person.ID, Name: m.person.Name, Place: m.place, Text: m.text, Bot: m.bot, Key: m.key}
	if m.bot != "" {
		r.Message = &m.doc
	}
	return r
}

// take reads a line back in.
func (t *Transcript) take(r record) error {
	switch r.Kind {
	case recordBegun:
		t.tag, t.last = r.ID, r.Number
	case recordSaid:
		m := &message{number: r.Number, id: r.ID, at: r.At, person: Person{ID: r.Person, Name: r.Name}, place: r.Place, text: r.Text, bot: r.Bot, key: r.Key}
		if r.Message != nil {
			m.doc = *r.Message
		}
		t.keep(m)
	case recordEdited, recordShown:
		m := t.message(r.ID)
		switch {
		case m == nil: // it was forgotten since
		case r.Kind == recordShown:
			m.shown = true
		case r.Message != nil:
			m.doc, m.shown = *r.Message, false
		}
	case recordHeard:
		t.heard[r.Bot] = r.Number
	default:
		return fmt.Errorf("kind %q is none that is known", r.Kind)
	}
	return nil
}

// append writes a line, durably where it must survive the machine. An error stays:
// what comes behind half a line could not be read. The lock is held.
func (t *Transcript) append(r record, durable bool) error {
	if t.file == nil {
		return errClosed
	}
	if t.broken != nil {
		return t.broken
	}
	line, err := encoded(r)
	if err != nil {
		return err
	}
	if _, err = t.file.Write(line); err == nil && durable {
		err = t.file.Sync()
	}
	t.size += int64(len(line))
	return t.stays(err)
}

// stays keeps an error of the file; the lock is held.
func (t *Transcript) stays(err error) error {
	if err != nil {
		t.broken = fmt.Errorf("transcript %s: %w", t.path, err)
	}
	return t.broken
}

// encoded is a record as a line.
func encoded(r record) ([]byte, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("transcript: %w", err)
	}
	if len(line) > maxMessage {
		return nil, fmt.Errorf("transcript: a message of %d bytes is larger than %d", len(line), maxMessage)
	}
	return append(line, '\n'), nil
}

// compact writes a file that has become large, and twice what was remembered when
// it was last written anew, with what is remembered now; the lock is held.
func (t *Transcript) compact() error {
	if t.size <= max(maxFile, 2*t.least) {
		return nil
	}
	return t.stays(t.rewrite())
}

// rewrite puts what is remembered into a new file in place of the old one.
func (t *Transcript) rewrite() error {
	var all bytes.Buffer
	put := func(r record) error {
		line, err := encoded(r)
		all.Write(line)
		return err
	}
	err := put(record{Kind: recordBegun, ID: t.tag, Number: t.last})
	for _, m := range t.said {
		err = errors.Join(err, put(m.record()))
		if m.shown {
			err = errors.Join(err, put(record{Kind: recordShown, ID: m.id}))
		}
	}
	for bot, number := range t.heard {
		err = errors.Join(err, put(record{Kind: recordHeard, Bot: bot, Number: number}))
	}
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(t.path), filepath.Base(t.path)+".*")
	if err != nil {
		return err
	}
	_, err = file.Write(all.Bytes())
	err = errors.Join(err, file.Sync())
	if err == nil {
		err = os.Rename(file.Name(), t.path)
	}
	if err != nil {
		return errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	old := t.file
	t.file, t.size, t.least = file, int64(all.Len()), int64(all.Len())
	return old.Close()
}

// readRecords reads lines until the end, or until one that was not written
// whole; size is how many bytes the whole ones have.
func readRecords(in io.Reader, take func(record) error) (size int64, err error) {
	lines := bufio.NewReaderSize(in, 64<<10)
	for n := 1; ; n++ {
		line, err := readLine(lines, maxMessage+1)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return size, nil
		}
		var r record
		if err == nil {
			err = json.Unmarshal(line, &r)
		}
		if err == nil {
			err = take(r)
		}
		if err != nil {
			return size, fmt.Errorf("line %d: %w; move the file away to begin anew", n, err)
		}
		size += int64(len(line)) + 1
	}
}
