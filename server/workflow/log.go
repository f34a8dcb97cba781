package workflow

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"

	"platform.dev/platform/flowclient"
)

// What is kept of a stage's output: so many lines or bytes from its beginning,
// and after that so many of its last lines, where the reason of a failure stands.
const (
	keptLines = 10_000
	keptBytes = 4 << 20
	keptTail  = 200
	lineBytes = 4 << 10 // of one line
)

// Line is one line of a stage's output.
type Line struct {
	At    time.Time
	Stage string // empty before the first stage, while the module is fetched
	Text  string
}

// Log is the output of a run's stage, or of all of them when stage is empty,
// oldest first, as far as it has come. It answers *flowclient.NotFound for an
// unknown run and *flowclient.Invalid for a stage that the run does not have.
func (s *Server) Log(ctx context.Context, run, stage string) ([]Line, error) {
	rec, err := s.book.load(ctx, run)
	if err != nil {
		return nil, err
	}
	type part struct {
		seq  int
		name string
	}
	var parts []part
	if stage == "" {
		parts = append(parts, part{})
	}
	names := make([]string, 0, len(rec.Stages))
	for i, t := range rec.Stages {
		names = append(names, t.Name)
		if stage == "" || stage == t.Name {
			parts = append(parts, part{i + 1, t.Name})
		}
	}
	if len(parts) == 0 {
		return nil, &flowclient.Invalid{Field: "ci_stage", Value: stage,
			Why: fmt.Sprintf("the stages of run %s are: %s", run, orNone(names))}
	}
	lines := []Line{}
	for _, p := range parts {
		if lines, err = readLog(lines, s.logFile(run, p.seq), p.name); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// orNone joins names for a sentence.
func orNone(names []string) string {
	if len(names) == 0 {
		return "none yet"
	}
	return strings.Join(names, ", ")
}

// logFile is where a stage's output is kept; 0 is what comes before the first stage.
func (s *Server) logFile(run string, seq int) string {
	return filepath.Join(s.cfg.Dir, "logs", run, strconv.Itoa(seq)+".log")
}

// readLog appends a file's lines; a stage that has not begun has none.
func readLog(lines []Line, path, stage string) ([]Line, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return lines, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	defer f.Close()
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return lines, nil // a line without its end is still being written
		}
		if err != nil {
			return nil, fmt.Errorf("read log: %w", err)
		}
		stamp, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		at, err := time.Parse(time.RFC3339Nano, stamp)
		if err != nil {
			return nil, fmt.Errorf("read log %s: %w", path, err)
		}
		lines = append(lines, Line{At: at, Stage: stage, Text: text})
	}
}

// journal writes one stage's output. It is for one goroutine at a time.
type journal struct {
	f       *os.File
	now     func() time.Time
	secrets []string // never written
	lines   int
	bytes   int
	tail    []Line     // beyond what is kept from the beginning: the last keptTail lines
	dropped int        // lines between the two
	err     error      // the first one of writing
	told    func(Line) // of each line as it is written; nil: nobody
}

// openLog makes a stage's log, empty.
func (s *Server) openLog(run string, seq int, secrets ...string) (*journal, error) {
	path := s.logFile(run, seq)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	return &journal{f: f, now: s.cfg.Now, secrets: secrets}, nil
}

// printf writes a line of the engine's own.
func (j *journal) printf(format string, args ...any) { j.line(fmt.Sprintf(format, args...)) }

// line writes a line of output with the time it came.
func (j *journal) line(text string) {
	for _, s := range j.secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "[secret]")
		}
	}
	l := Line{At: j.now().UTC(), Text: printable(text)}
	if size := len(l.stamped()); j.lines < keptLines && j.bytes+size <= keptBytes && len(j.tail) == 0 {
		j.lines++
		j.bytes += size
		j.write(l)
		return
	}
	if len(j.tail) == keptTail {
		j.tail = append(j.tail[:0], j.tail[1:]...)
		j.dropped++
	}
	j.tail = append(j.tail, l)
}

// close writes what is left, saying what was left out, and waits for the disk.
func (j *journal) close() error {
	if j.dropped > 0 {
		j.write(Line{At: j.now().UTC(), Text: fmt.Sprintf("[%d lines are left out here: the log keeps %d lines or %d MiB, and the last %d]",
			j.dropped, keptLines, keptBytes>>20, keptTail)})
	}
	for _, l := range j.tail {
		j.write(l)
	}
	return errors.Join(j.err, j.f.Sync(), j.f.Close())
}

func (j *journal) write(l Line) {
	if _, err := j.f.WriteString(l.stamped()); err != nil && j.err == nil {
		j.err = err
	}
	if j.told != nil {
		j.told(l)
	}
}

// stamped is the line as the file has it.
func (l Line) stamped() string { return l.At.Format(time.RFC3339Nano) + " " + l.Text + "\n" }

// printable is a line without what could move a terminal's cursor, and no longer than is kept of one.
func printable(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, text)
	if len(text) > lineBytes {
		return strings.ToValidUTF8(text[:lineBytes], "") + " [the rest of the line is left out]"
	}
	return text
}
