package exec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	osexec "os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// The bounds of what a program writes to its log (its standard error).
const (
	loggedBytes = 64 << 10
	lastLines   = 5
	lastBytes   = 4 << 10
)

// process is one run of a program.
type process struct {
	path  string
	args  []string
	env   []string // PATH; HOME and LANG are added
	grace time.Duration
	out   io.Writer // what it says; an error of Write ends it
	log   *tail
	// talk writes to the standard input, which is closed when it returns; gone is closed when the program has ended.
	talk func(stdin io.Writer, gone <-chan struct{})
}

// run starts the program in an empty directory of its own and returns when it
// has ended, and with it its whole group. When ctx ends the group is asked to
// end, and made to after the grace.
func (p process) run(ctx context.Context) error {
	home, err := os.MkdirTemp("", "platform-command-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(home) }()
	cmd := osexec.CommandContext(ctx, p.path, p.args...)
	cmd.Dir, cmd.Env = home, append([]string{"HOME=" + home, "LANG=C.UTF-8"}, p.env...)
	cmd.SysProcAttr = ownGroup()
	cmd.Stdout, cmd.Stderr = p.out, p.log
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = p.grace
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	// A process is told of the end of the thread that started it, not of the
	// whole program's: the thread is kept.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("it cannot be started: %w", unwrapped(err))
	}
	talked, gone := make(chan struct{}), make(chan struct{})
	go func() { // ends when it has talked, or at the latest when Wait has closed the pipe
		defer close(talked)
		p.talk(stdin, gone)
		_ = stdin.Close() // the program may have ended
	}()
	err = cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // most often nobody is left
	close(gone)
	<-talked
	if errors.Is(err, osexec.ErrWaitDelay) {
		return nil // it ended well, and left children behind that had its output
	}
	return err
}

// unwrapped is an error of starting without the path, which is the operator's business.
func unwrapped(err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// describe asks a program to describe itself.
func (p *program) describe(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, describeWithin)
	defer cancel()
	said := &bounded{limit: maxDescription}
	log := &tail{log: p.Log.With("file", p.path)}
	err := process{
		path: p.path, args: []string{"--describe"}, env: p.env(), grace: p.Grace, out: said, log: log, talk: func(io.Writer, <-chan struct{}) {},
	}.run(ctx)
	switch {
	case said.over:
		return nil, fmt.Errorf("its description has more than %d bytes", maxDescription)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("it did not describe itself within %s", describeWithin)
	case err != nil:
		return nil, fmt.Errorf("--describe: %w%s", err, log.told())
	}
	return said.text, nil
}

// env is the environment of a program: no variable of ours.
func (p *program) env() []string { return []string{"PATH=" + p.Path} }

// bounded keeps what is written, up to a limit.
type bounded struct {
	text  []byte
	limit int
	over  bool
}

// Write fails beyond the limit.
func (b *bounded) Write(text []byte) (int, error) {
	if len(b.text)+len(text) > b.limit {
		b.over = true
		return 0, errors.New("too much was said")
	}
	b.text = append(b.text, text...)
	return len(text), nil
}

// tail logs what is written to it, line by line and bounded, and keeps the last lines.
type tail struct {
	log    *slog.Logger
	logged int
	part   []byte // of a line
	kept   []string
}

// Write takes everything; what is too much is dropped.
func (t *tail) Write(text []byte) (int, error) {
	for rest := text; len(rest) > 0; {
		head, after, whole := bytes.Cut(rest, []byte("\n"))
		if room := lastBytes/lastLines - len(t.part); room > 0 {
			t.part = append(t.part, head[:min(len(head), room)]...)
		}
		if whole {
			t.line()
		}
		rest = after
	}
	return len(text), nil
}

// line ends a line.
func (t *tail) line() {
	said := strings.TrimRight(strings.ToValidUTF8(string(t.part), "�"), "\r ")
	t.part = t.part[:0]
	if said == "" {
		return
	}
	if t.logged += len(said); t.logged <= loggedBytes {
		t.log.Info("a program wrote to its log", "line", said)
	}
	if t.kept = append(t.kept, said); len(t.kept) > lastLines {
		t.kept = t.kept[1:]
	}
}

// lines are the last lines.
func (t *tail) lines() []string {
	t.line()
	return t.kept
}

// told is the last line, to put behind an error.
func (t *tail) told() string {
	if all := t.lines(); len(all) > 0 {
		return ": " + all[len(all)-1]
	}
	return ""
}
