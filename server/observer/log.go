package observer

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"platform.dev/platform/server/web"
)

const (
	maxLine    = 8 << 10 // bytes of a line; the rest is cut off, and the line says so
	maxLabels  = 15      // of a stream, as Loki's default
	maxLabel   = 64      // bytes of a label's name
	maxValue   = 2048    // bytes of a label's value, as Loki's default
	maxStreams = 50_000  // sets of labels that have lines

	bufferLines = 20_000
	bufferBytes = 8 << 20
)

// Line is a log line.
type Line struct {
	At   time.Time
	Text string
}

// Log keeps lines of this process under labels, such as ci_stage, component,
// project, environment, run and stream. It does not wait for the disk: lines
// are written within a quarter of a second while Run runs, and before any query
// is answered; one without a time has come now. When they come faster than they can be written, the oldest that
// wait are dropped and counted. An error says which label cannot stand.
func (s *Server) Log(_ context.Context, labels map[string]string, lines []Line) error {
	stream, err := streamOf(labels)
	if err != nil {
		return err
	}
	stamped := slices.Clone(lines)
	for i := range stamped {
		if stamped[i].At.IsZero() {
			stamped[i].At = s.cfg.Now()
		}
	}
	s.buffer.add(stream, stamped)
	return nil
}

var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// streamOf is a set of labels as the table has it: a JSON object with its keys sorted. Empty values are no labels.
func streamOf(labels map[string]string) (string, error) {
	kept := make(map[string]string, len(labels))
	for name, value := range labels {
		switch {
		case value == "":
			continue
		case len(name) > maxLabel || !labelName.MatchString(name):
			return "", fmt.Errorf("label %q: must be letters, digits and underscores, at most %d, and begin with no digit", web.Echo(name), maxLabel)
		case len(value) > maxValue:
			return "", fmt.Errorf("label %s: its value has %d bytes; %d are allowed", name, len(value), maxValue)
		}
		kept[name] = strings.ToValidUTF8(value, "\uFFFD")
	}
	if len(kept) == 0 || len(kept) > maxLabels {
		return "", fmt.Errorf("%d labels: a line must have 1 to %d with a value", len(kept), maxLabels)
	}
	text, err := json.Marshal(kept)
	return string(text), err
}

// entry is a line on its way to the file.
type entry struct {
	stream string
	at     int64
	text   string
}

// entryOf cuts a line to what is kept of one.
func entryOf(stream string, l Line) entry {
	const cut = " [the rest of the line is left out]"
	text := l.Text
	if len(text) > maxLine {
		text = text[:maxLine-len(cut)] + cut
	}
	return entry{stream, l.At.UnixNano(), strings.ToValidUTF8(text, "\uFFFD")}
}

// buffer holds lines until they are written together.
type buffer struct {
	mu      sync.Mutex
	entries []entry
	bytes   int
	dropped int           // since the last take
	begun   chan struct{} // the first line waits
	half    chan struct{} // it is half full

	writing sync.Mutex // held while what was taken is written, so that a query waits for it
}

func newBuffer() *buffer {
	return &buffer{begun: make(chan struct{}, 1), half: make(chan struct{}, 1)}
}

// add puts lines at the end; beyond the bounds, the oldest are dropped.
func (b *buffer) add(stream string, lines []Line) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.entries) == 0 && len(lines) > 0 {
		signal(b.begun)
	}
	for _, l := range lines {
		e := entryOf(stream, l)
		b.entries = append(b.entries, e)
		b.bytes += len(e.text)
	}
	over := 0
	for bytes := b.bytes; len(b.entries)-over > bufferLines || bytes > bufferBytes; over++ {
		bytes -= len(b.entries[over].text)
		b.bytes = bytes
	}
	b.entries, b.dropped = b.entries[over:], b.dropped+over
	if len(b.entries) > bufferLines/2 || b.bytes > bufferBytes/2 {
		signal(b.half)
	}
}

// take empties the buffer.
func (b *buffer) take() (entries []entry, dropped int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	entries, dropped = b.entries, b.dropped
	b.entries, b.bytes, b.dropped = nil, 0, 0
	return entries, dropped
}

// signal wakes whoever waits; one signal waiting is enough.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// flush writes what is buffered. Lines that cannot be written are dropped and
// counted: keeping them would only fill the memory.
func (s *Server) flush(ctx context.Context) error {
	s.buffer.writing.Lock()
	defer s.buffer.writing.Unlock()
	entries, dropped := s.buffer.take()
	if dropped > 0 {
		s.cfg.Log.WarnContext(ctx, "log lines were dropped: they came faster than they could be written", "lines", dropped)
	}
	if len(entries) == 0 && dropped == 0 {
		return nil
	}
	// A query's end must not lose lines that others said.
	ctx = context.WithoutCancel(ctx)
	if err := s.writeLines(ctx, entries, dropped); err != nil {
		return fmt.Errorf("%d log lines are lost: %w", len(entries), err)
	}
	return nil
}

// writeLines keeps the lines in one transaction, and the count of those dropped before them.
func (s *Server) writeLines(ctx context.Context, entries []entry, dropped int) error {
	err := s.file.Update(ctx, "lines", func(tx *sql.Tx) error {
		ids, err := streamIDs(ctx, tx, entries)
		if err != nil {
			return err
		}
		insert, err := tx.PrepareContext(ctx, `INSERT INTO line (stream, at, text) VALUES (?, ?, ?)`)
		if err != nil {
			return fmt.Errorf("write lines: %w", err)
		}
		defer insert.Close()
		refused := 0
		for _, e := range entries {
			id, ok := ids[e.stream]
			if !ok {
				refused++
				continue
			}
			if _, err := insert.ExecContext(ctx, id, e.at, e.text); err != nil {
				return fmt.Errorf("write line: %w", err)
			}
		}
		if refused+dropped == 0 {
			return nil
		}
		return count(ctx, tx, "lines", refused+dropped, s.cfg.Now().UnixNano())
	})
	if err == nil {
		s.wrote(len(entries), s.cfg.Limits.Lines)
	}
	return err
}

// streamIDs finds or makes the rows of the entries' streams. Beyond maxStreams no new one is made.
func streamIDs(ctx context.Context, tx *sql.Tx, entries []entry) (map[string]int64, error) {
	ids := map[string]int64{}
	var room int
	if err := tx.QueryRowContext(ctx, `SELECT ? - count(*) FROM stream`, maxStreams).Scan(&room); err != nil {
		return nil, fmt.Errorf("count streams: %w", err)
	}
	for _, e := range entries {
		if _, known := ids[e.stream]; known {
			continue
		}
		if room > 0 {
			made, err := tx.ExecContext(ctx, `INSERT INTO stream (labels) VALUES (?) ON CONFLICT DO NOTHING`, e.stream)
			if err != nil {
				return nil, fmt.Errorf("write stream: %w", err)
			}
			n, err := made.RowsAffected()
			if err != nil {
				return nil, fmt.Errorf("write stream: %w", err)
			}
			room -= int(n)
		}
		var id int64
		switch err := tx.QueryRowContext(ctx, `SELECT id FROM stream WHERE labels = ?`, e.stream).Scan(&id); {
		case err == nil:
			ids[e.stream] = id
		case room > 0:
			return nil, fmt.Errorf("read stream: %w", err)
		}
	}
	return ids, nil
}
