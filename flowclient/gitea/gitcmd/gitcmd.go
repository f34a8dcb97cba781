// Package gitcmd runs the system's git: with a cleared environment, in a
// process group of its own that ends with the context, within limits of time,
// output and number. What a process must know (credentials included) goes
// through its environment, never through its arguments.
//
// It knows nothing of repositories, servers or the flow of a delivery.
package gitcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The limits of a Call that names none.
const (
	DefaultTimeout = time.Minute
	DefaultOutput  = 32 << 20 // bytes of standard output that Run collects
	stderrKept     = 8 << 10  // bytes of standard error that an ExitError carries
	killDelay      = 2 * time.Second
)

// ErrOutput is a process that wrote more than the call allows.
var ErrOutput = errors.New("git wrote more than is allowed")

// ExitError is a process that ended with a status other than 0.
type ExitError struct {
	Command string // first argument: "fetch"
	Code    int    // -1 when a signal ended it
	Stderr  string // the beginning of standard error, trimmed
}

// Error names the command and what it wrote.
func (e *ExitError) Error() string {
	if e.Stderr == "" {
		return fmt.Sprintf("git %s: exit status %d", e.Command, e.Code)
	}
	return fmt.Sprintf("git %s: %s", e.Command, e.Stderr)
}

// Says tells whether err is an ExitError whose standard error holds one of the phrases.
func Says(err error, phrases ...string) bool {
	var exit *ExitError
	if !errors.As(err, &exit) {
		return false
	}
	for _, p := range phrases {
		if strings.Contains(exit.Stderr, p) {
			return true
		}
	}
	return false
}

// Runner runs git, at most slots processes at a time.
type Runner struct {
	git   string
	env   []string
	slots chan struct{}
}

// New finds git and makes home, the directory that git takes for its user's
// (0700, so that no configuration of the person who runs us applies).
func New(home string, slots int) (*Runner, error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("find git: %w", err)
	}
	if home, err = filepath.Abs(home); err != nil {
		return nil, fmt.Errorf("git home: %w", err)
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, fmt.Errorf("git home: %w", err)
	}
	return &Runner{
		git: git,
		env: []string{
			"PATH=" + filepath.Dir(git) + ":/usr/local/bin:/usr/bin:/bin",
			"HOME=" + home,
			"LC_ALL=C", // messages are compared
			"GIT_CONFIG_NOSYSTEM=1",
			"GIT_CONFIG_GLOBAL=" + os.DevNull,
			"GIT_TERMINAL_PROMPT=0",
			"GIT_OPTIONAL_LOCKS=0",
		},
		slots: make(chan struct{}, slots),
	}, nil
}

// Setting is one git configuration value for one process.
type Setting struct{ Key, Value string }

// Call is one process.
type Call struct {
	Args     []string
	GitDir   string    // bare repository; empty for commands that need none
	Settings []Setting // in force over every configuration file
	Env      []string  // further variables, KEY=value
	Stdin    io.Reader
	Stdout   io.Writer     // nil: collected and returned by Run
	Timeout  time.Duration // DefaultTimeout when 0
	Output   int           // bytes that may be collected; DefaultOutput when 0
}

// Run runs a process to its end and returns its standard output. Errors:
// *ExitError, ErrOutput, the context's, or that git could not be started.
func (r *Runner) Run(ctx context.Context, c Call) ([]byte, error) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return nil, fmt.Errorf("git %s: %w", c.Args[0], ctx.Err())
	}
	ctx, cancel := context.WithTimeout(ctx, orDefault(c.Timeout, DefaultTimeout))
	defer cancel()
	cmd := exec.CommandContext(ctx, r.git, c.Args...)
	cmd.Env = r.environment(c)
	cmd.Stdin = c.Stdin
	stdout := &limited{limit: orDefault(c.Output, DefaultOutput), fail: true}
	cmd.Stdout = stdout
	if c.Stdout != nil {
		cmd.Stdout = c.Stdout
	}
	stderr := &limited{limit: stderrKept}
	cmd.Stderr = stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = killDelay
	err := cmd.Run()
	if stdout.full {
		return nil, fmt.Errorf("git %s: %w: %d bytes", c.Args[0], ErrOutput, stdout.limit)
	}
	return stdout.kept.Bytes(), explain(ctx, c.Args[0], err, stderr.kept.String())
}

// environment is the whole environment of a call's process.
func (r *Runner) environment(c Call) []string {
	env := append([]string(nil), r.env...)
	if c.GitDir != "" {
		env = append(env, "GIT_DIR="+c.GitDir)
	}
	env = append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(c.Settings)))
	for i, s := range c.Settings {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+s.Key, "GIT_CONFIG_VALUE_"+n+"="+s.Value)
	}
	return append(env, c.Env...)
}

// explain turns what the process's end gave into one of Run's errors.
func explain(ctx context.Context, command string, err error, stderr string) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("git %s: %w", command, ctx.Err())
	case errors.As(err, &exit):
		return &ExitError{Command: command, Code: exit.ExitCode(), Stderr: strings.TrimSpace(stderr)}
	default:
		return fmt.Errorf("git %s: %w", command, err)
	}
}

// limited keeps the first limit bytes; past them it fails, or drops the rest.
// The buffer is a field: an embedded one would be filled by its ReadFrom,
// which knows no limit.
type limited struct {
	kept  bytes.Buffer
	limit int
	fail  bool
	full  bool // more came than is kept
}

// Write keeps what fits.
func (l *limited) Write(p []byte) (int, error) {
	room := l.limit - l.kept.Len()
	if len(p) <= room {
		return l.kept.Write(p)
	}
	l.full = true
	l.kept.Write(p[:room])
	if l.fail {
		return room, ErrOutput
	}
	return len(p), nil
}

// orDefault is v, or def when v is zero.
func orDefault[T time.Duration | int](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}
