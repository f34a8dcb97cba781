package workflow

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// life is one attempt to carry out a run, from a clean directory to its end.
type life struct {
	s      *Server
	rec    record
	dir    string // build directory: src, home, scratch files
	seq    int    // of the stage under way; 0 before the first
	module pipeline
	source source // the checkout, once made
}

// stageError is a stage that failed: what the run's message says.
type stageError struct {
	stage string // empty before the first
	err   error
}

func (e *stageError) Error() string {
	if e.stage == "" {
		return e.err.Error()
	}
	return fmt.Sprintf("stage %s failed: %v", e.stage, e.err)
}

func (e *stageError) Unwrap() error { return e.err }

// build carries out a claimed run and records its end. Its error is a fault of
// the engine's own; a failed build is none. When ctx ends first, the run stays
// under way in the book.
func (s *Server) build(ctx context.Context, rec record) error {
	l := &life{s: s, rec: rec, dir: filepath.Join(s.cfg.Dir, "builds", rec.Run+"-"+strconv.Itoa(rec.Life))}
	out, err := l.carryOut(ctx)
	if n := stragglers(l.dir); n > 0 {
		s.cfg.Log.Info("killed what had left the run's process group", "run", rec.Run, "processes", n)
	}
	if err := removeTree(l.dir); err != nil {
		s.cfg.Log.Warn("a build directory stays", "dir", l.dir, "error", err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var failed *stageError
	switch {
	case errors.As(err, &failed):
		out = outcome{message: failed.Error()}
	case err != nil:
		return fmt.Errorf("run %s: %w", rec.Run, err)
	}
	if err := s.book.finish(context.WithoutCancel(ctx), rec.Run, out, s.cfg.Now()); err != nil {
		return err
	}
	s.changed(rec.Run)
	return nil
}

// carryOut does the run's work in order. A failure of the build is a *stageError.
func (l *life) carryOut(ctx context.Context) (outcome, error) {
	if err := os.RemoveAll(filepath.Join(l.s.cfg.Dir, "logs", l.rec.Run)); err != nil {
		return outcome{}, fmt.Errorf("clear logs: %w", err)
	}
	for _, d := range []string{"src", "home", "module"} {
		if err := os.MkdirAll(filepath.Join(l.dir, d), 0o700); err != nil {
			return outcome{}, fmt.Errorf("make build directory: %w", err)
		}
	}
	if err := l.fetchModule(ctx); err != nil {
		return outcome{}, err
	}
	if err := l.stage(ctx, l.module.Source, l.checkOut, l.sourceSecrets()...); err != nil {
		return outcome{}, err
	}
	for _, st := range l.module.Stages {
		if err := l.stage(ctx, st.Name, func(ctx context.Context, j *journal) error { return l.execute(ctx, st, j) }); err != nil {
			return outcome{}, err
		}
	}
	var out outcome
	err := l.stage(ctx, l.module.Image.Stage, func(ctx context.Context, j *journal) (err error) {
		out, err = l.publish(ctx, j)
		return err
	})
	return out, err
}

// stage records a stage's beginning, does it with a log, and records its end.
func (l *life) stage(ctx context.Context, name string, do func(context.Context, *journal) error, secrets ...string) error {
	l.seq++
	run := l.rec.Run
	j, err := l.s.openLog(run, l.seq, secrets...)
	if err != nil {
		return err
	}
	j.told = l.telling(name)
	if err := l.s.book.beginStage(ctx, run, l.seq, l.s.cfg.Now()); err != nil {
		return errors.Join(err, j.close())
	}
	l.s.changed(run)
	failure := do(ctx, j)
	if err := j.close(); err != nil {
		return fmt.Errorf("write log of stage %s: %w", name, err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	phase, message := taskSucceeded, ""
	if failure != nil {
		phase, message = taskFailed, failure.Error()
	}
	if err := l.s.book.endStage(ctx, run, l.seq, phase, message, l.s.cfg.Now()); err != nil {
		return err
	}
	l.s.changed(run)
	if failure != nil {
		return &stageError{stage: name, err: failure}
	}
	return nil
}

// telling tells of a stage's lines, where somebody asked to be told.
func (l *life) telling(stage string) func(Line) {
	if l.s.cfg.Logged == nil {
		return nil
	}
	return func(line Line) {
		line.Stage = stage
		l.s.cfg.Logged(l.rec.Build, line)
	}
}

// execute runs a stage's program in the component's directory.
func (l *life) execute(ctx context.Context, st stage, j *journal) error {
	dir, err := l.source.workdir(l.rec.Params)
	if err != nil {
		j.printf("%v", err)
		return err
	}
	err = l.run(ctx, program{
		argv: st.Argv, dir: dir, limit: st.limit, output: j.line,
		env: append(l.environment(),
			"CI=true",
			"COMMIT="+l.source.commit,
			"COMMIT_TIME="+l.source.at.UTC().Format(time.RFC3339),
			"PROJECT="+l.rec.Project,
			"COMPONENT="+l.rec.Component),
	})
	return explain(err, st.limit)
}

// explain words the end of a program for people.
func explain(err error, limit time.Duration) error {
	var exit *exec.ExitError
	switch {
	case errors.Is(err, errLimit):
		return fmt.Errorf("it was killed because its time limit of %v was over", limit)
	case errors.As(err, &exit):
		return errors.New(exit.Error()) // "exit status 1", "signal: killed"
	}
	return err
}

// environment is what every program of a run is given and no more: nothing of the platform's own.
func (l *life) environment() []string {
	return []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		homeOf(l.dir),
	}
}

// homeOf is the variable that gives a run's programs their home; no other process has it.
func homeOf(dir string) string { return "HOME=" + filepath.Join(dir, "home") }

// removeTree removes a directory, also where a stage has taken away the right to write in it.
func removeTree(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
