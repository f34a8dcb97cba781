package runtime

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// LogLine is one line that a process wrote.
type LogLine struct {
	At     time.Time `json:"at"`     // when it was read
	Stream string    `json:"stream"` // "stdout" or "stderr"
	Text   string    `json:"text"`   // without its end; of a line of more than 16 KiB, the beginning
}

// lineBytes is how much of a line is kept.
const lineBytes = 16 << 10

// logs keeps the last lines of each name in two files: the newer one is
// written, and takes the older one's place when it is full. So at most the
// limit is kept, and at least half of it.
type logs struct {
	dir   string
	limit int64 // bytes a name, both files

	mu   sync.Mutex
	open map[string]*logFile
}

type logFile struct {
	file *os.File
	size int64
}

// paths are the newer file of a name's log, and the older one.
func (l *logs) paths(name string) (newer, older string) {
	newer = filepath.Join(l.dir, name+".log")
	return newer, newer + ".1"
}

// write adds a line to a name's log.
func (l *logs) write(name string, line LogLine) error {
	text, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("log of %s: %w", name, err)
	}
	text = append(text, '\n')
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := l.opened(name, int64(len(text)))
	if err != nil {
		return fmt.Errorf("log of %s: %w", name, err)
	}
	n, err := f.file.Write(text)
	f.size += int64(n)
	if err != nil {
		return fmt.Errorf("log of %s: %w", name, err)
	}
	return nil
}

// opened is the file that takes so many bytes more. The caller holds mu.
func (l *logs) opened(name string, more int64) (*logFile, error) {
	newer, older := l.paths(name)
	for {
		f := l.open[name]
		if f == nil {
			opened, err := openLog(newer)
			if err != nil {
				return nil, err
			}
			f, l.open[name] = opened, opened
		}
		if f.size == 0 || f.size+more <= l.limit/2 {
			return f, nil
		}
		delete(l.open, name)
		if err := errors.Join(f.file.Close(), os.Rename(newer, older)); err != nil {
			return nil, err
		}
	}
}

// openLog opens a file to add to. A line that a crash cut short gets its end,
// so that it spoils none but itself.
func openLog(path string) (*logFile, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	f := &logFile{file: file}
	info, err := file.Stat()
	if err == nil && info.Size() > 0 {
		last := make([]byte, 1)
		f.size = info.Size()
		if _, err = file.ReadAt(last, f.size-1); err == nil && last[0] != '\n' {
			f.size++
			_, err = file.WriteString("\n")
		}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return f, nil
}

// close closes the name's file. What it holds stays.
func (l *logs) close(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.open[name]
	if f == nil {
		return nil
	}
	delete(l.open, name)
	return f.file.Close()
}

// closeAll closes every file.
func (l *logs) closeAll() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, f := range l.open {
		errs = append(errs, f.file.Close())
	}
	clear(l.open)
	return errors.Join(errs...)
}

// read gives the last lines of a name, oldest first.
func (l *logs) read(name string, last int) ([]LogLine, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	newer, older := l.paths(name)
	var lines []LogLine
	for _, path := range []string{older, newer} {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("log of %s: %w", name, err)
		}
		for line := range bytes.Lines(text) {
			var entry LogLine
			if json.Unmarshal(line, &entry) == nil { // else a write that a crash cut short
				lines = append(lines, entry)
			}
		}
	}
	return lines[max(0, len(lines)-last):], nil
}

// forget removes the logs that nobody has written to since a time, except
// those of the names that run.
func (l *logs) forget(before time.Time, runs func(name string) bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return fmt.Errorf("list logs: %w", err)
	}
	var errs []error
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Name(), ".log")
		info, err := e.Info()
		if err != nil || l.open[name] != nil || runs(name) || !info.ModTime().Before(before) {
			continue
		}
		errs = append(errs, os.Remove(filepath.Join(l.dir, e.Name())))
	}
	return errors.Join(errs...)
}

// Log gives the last lines that a name's processes wrote, at most last, oldest
// first. The log is bounded (Config.LogBytes), outlives Remove and a restart,
// and goes once its name has not run for Config.KeepLogs. A name that never
// wrote has no lines.
func (s *Server) Log(ctx context.Context, name string, last int) ([]LogLine, error) {
	if last < 0 {
		return nil, fmt.Errorf("log of %s: last %d: ask for 0 lines or more", name, last)
	}
	if !label.MatchString(name) {
		return nil, nil // such a name was never applied
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.logs.read(name, last)
}

// eachLine hands over r's lines until it ends.
func eachLine(r io.Reader, line func(string)) {
	in := bufio.NewReaderSize(r, lineBytes)
	long := false
	for {
		chunk, more, err := in.ReadLine()
		if err != nil {
			return // the end, or the deadline that stands for it
		}
		if !long {
			line(strings.ToValidUTF8(strings.TrimSuffix(string(chunk), "\r"), "\uFFFD"))
		}
		long = more
	}
}
