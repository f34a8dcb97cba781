package workflow

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// gate starts a program only once its process group has been recorded: the
// shell waits for a line and becomes the program. When the engine is killed
// between the two, the pipe closes, read fails and nothing has run. So there
// is no process of ours that the book does not know.
const gate = `read -r _ <&3 && exec 3<&- && exec "$@"`

// drainGrace is how long output is still read after a program and its group are gone: only a
// process that left the group can keep the pipe open.
const drainGrace = 2 * time.Second

// program is a process to run.
type program struct {
	argv   []string
	dir    string
	env    []string // all of it
	limit  time.Duration
	output func(line string)
}

// errLimit is a program that was killed because its time was over.
var errLimit = errors.New("the time limit is over")

// run starts p in a process group of its own, waits for its end, kills what is
// left of the group and hands each line of output over in order. A status
// other than 0 is an *exec.ExitError; errLimit and ctx's error tell why it was killed.
func (l *life) run(ctx context.Context, p program) error {
	gateR, gateW, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start %s: %w", p.argv[0], err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", p.argv[0], err), gateR.Close(), gateW.Close())
	}
	defer outR.Close()
	limited, cancel := context.WithTimeoutCause(ctx, p.limit, errLimit)
	defer cancel()
	cmd := exec.CommandContext(limited, "/bin/sh", append([]string{"-c", gate, "sh"}, p.argv...)...)
	cmd.Cancel = func() error { return killGroup(cmd.Process.Pid) }
	cmd.Dir, cmd.Env = p.dir, p.env
	cmd.Stdout, cmd.Stderr = outW, outW
	cmd.ExtraFiles = []*os.File{gateR}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Start()
	gateR.Close()
	outW.Close()
	if err != nil {
		gateW.Close()
		return fmt.Errorf("start %s: %w", p.argv[0], err)
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		readLines(outR, p.output)
	}()
	err = l.await(limited, cmd, gateW)
	timer := time.AfterFunc(drainGrace, func() { _ = outR.SetReadDeadline(time.Unix(1, 0)) })
	<-drained
	timer.Stop()
	return err
}

// await records the group, opens the gate and waits for the end of the program, or for that of ctx.
func (l *life) await(ctx context.Context, cmd *exec.Cmd, gateW *os.File) error {
	pgid := cmd.Process.Pid
	err := l.s.book.recordGroup(ctx, group{run: l.rec.Run, pgid: pgid, started: processStart(ctx, pgid), dir: l.dir})
	if err == nil {
		_, err = gateW.WriteString("\n")
	}
	gateW.Close()

	waited := cmd.Wait()
	_ = killGroup(pgid) // what the program has left behind; nothing, most often
	switch {
	case err != nil:
	case waited != nil && ctx.Err() != nil:
		err = context.Cause(ctx)
	default:
		err = waited
	}
	return errors.Join(err, l.s.book.forgetGroup(context.WithoutCancel(ctx), l.rec.Run))
}

// killGroup kills every process of a group.
func killGroup(pgid int) error { return syscall.Kill(-pgid, syscall.SIGKILL) }

// readLines hands over r's lines; of a very long one, the beginning.
func readLines(r io.Reader, line func(string)) {
	br := bufio.NewReaderSize(r, 2*lineBytes)
	long := false
	for {
		chunk, more, err := br.ReadLine()
		if err != nil {
			return
		}
		if !long {
			line(strings.TrimSuffix(string(chunk), "\r"))
		}
		long = more
	}
}

// recordGroup notes the process group that a run has started.
func (b *book) recordGroup(ctx context.Context, g group) error {
	return b.update(ctx, "process begun", g.run,
		`INSERT INTO process (run, pgid, started, dir) VALUES (?, ?, ?, ?)
		 ON CONFLICT (run) DO UPDATE SET pgid = excluded.pgid, started = excluded.started, dir = excluded.dir`,
		g.run, g.pgid, g.started, g.dir)
}

// forgetGroup notes that a run's process group has ended.
func (b *book) forgetGroup(ctx context.Context, run string) error {
	return b.update(ctx, "process ended", run, `DELETE FROM process WHERE run = ?`, run)
}

// groups lists the process groups whose end was not seen.
func (b *book) groups(ctx context.Context) ([]group, error) {
	rows, err := b.file.Reader().QueryContext(ctx, `SELECT run, pgid, started, dir FROM process ORDER BY run`)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer rows.Close()
	return scanGroups(rows)
}

func scanGroups(rows *sql.Rows) ([]group, error) {
	var out []group
	for rows.Next() {
		var g group
		if err := rows.Scan(&g.run, &g.pgid, &g.started, &g.dir); err != nil {
			return nil, fmt.Errorf("list processes: %w", err)
		}
		out = append(out, g)
	}
	return out, rows.Err()
}
