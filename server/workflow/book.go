package workflow

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/store/sqlite"
)

// book is the engine's durable record of runs, stages and process groups. Each
// method is one transaction.
type book struct{ file *sqlite.File }

// record is a run as the book has it.
type record struct {
	ID int64
	Build
	Phase, Message         string
	Life                   int
	Commit, ModuleCommit   string
	Image                  string
	Workload               *flowclient.WorkloadSpec
	CreatedAt              time.Time
	StartedAt, CompletedAt *time.Time
	Stages                 []flowclient.Task
}

// status is the record as Ensure answers it.
func (r record) status() Status {
	return Status{
		Phase: r.Phase, Message: r.Message, Tasks: r.Stages, StartedAt: r.StartedAt, CompletedAt: r.CompletedAt,
		Commit: r.Commit, Image: r.Image, Workload: r.Workload,
	}
}

// failed names the stage that failed, if one did.
func (r record) failed() string {
	for _, t := range r.Stages {
		if t.Phase == taskFailed {
			return t.Name
		}
	}
	return ""
}

// The phases of a stage.
const (
	taskPending   = "Pending"
	taskRunning   = "Running"
	taskSucceeded = "Succeeded"
	taskFailed    = "Failed"
	taskSkipped   = "Skipped"
)

const runColumns = `id, name, project, component, params, phase, message, life, commit_sha, module_commit, image, workload, created_at, started_at, completed_at`

// insert records a run that waits, unless its name is known.
func (b *book) insert(ctx context.Context, in Build, now time.Time) (fresh bool, err error) {
	params, err := json.Marshal(in.Params)
	if err != nil {
		return false, fmt.Errorf("record run %s: %w", in.Run, err)
	}
	err = b.file.Update(ctx, "insert", func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `INSERT INTO run (name, project, component, params, phase, created_at)
			VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO NOTHING`,
			in.Run, in.Project, in.Component, string(params), flowclient.BuildPending, now.UnixNano())
		if err != nil {
			return fmt.Errorf("record run %s: %w", in.Run, err)
		}
		n, err := res.RowsAffected()
		fresh = n == 1
		return err
	})
	return fresh, err
}

// claim begins the run that has waited longest; found is false when none waits.
func (b *book) claim(ctx context.Context, now time.Time) (rec record, found bool, err error) {
	var name string
	err = b.file.Reader().QueryRowContext(ctx, `SELECT name FROM run WHERE phase = ? ORDER BY id LIMIT 1`,
		flowclient.BuildPending).Scan(&name)
	if errors.Is(err, sql.ErrNoRows) {
		return record{}, false, nil
	}
	if err != nil {
		return record{}, false, fmt.Errorf("look for waiting runs: %w", err)
	}
	err = b.update(ctx, "claim", name,
		`UPDATE run SET phase = ?, life = life + 1, started_at = ? WHERE name = ?`, flowclient.BuildRunning, now.UnixNano(), name)
	if err != nil {
		return record{}, false, err
	}
	rec, err = b.load(ctx, name)
	return rec, err == nil, err
}

// requeue lets every run that was under way wait again, without stages: they are recorded anew.
func (b *book) requeue(ctx context.Context) error {
	return b.file.Update(ctx, "requeue", func(tx *sql.Tx) error {
		for _, q := range []string{
			`DELETE FROM process`,
			`DELETE FROM stage WHERE run IN (SELECT name FROM run WHERE phase = 'Running')`,
			`UPDATE run SET phase = 'Pending', started_at = NULL WHERE phase = 'Running'`,
		} {
			if _, err := tx.ExecContext(ctx, q); err != nil {
				return fmt.Errorf("requeue interrupted runs: %w", err)
			}
		}
		return nil
	})
}

// plan records the stages that a run will have and the module commit that names them.
func (b *book) plan(ctx context.Context, run, moduleCommit string, stages []string) error {
	return b.file.Update(ctx, "plan", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `UPDATE run SET module_commit = ? WHERE name = ?`, moduleCommit, run); err != nil {
			return fmt.Errorf("record module of %s: %w", run, err)
		}
		for i, name := range stages {
			if _, err := tx.ExecContext(ctx, `INSERT INTO stage (run, seq, name, phase) VALUES (?, ?, ?, ?)`,
				run, i+1, name, taskPending); err != nil {
				return fmt.Errorf("record stage %s of %s: %w", name, run, err)
			}
		}
		return nil
	})
}

// resolved records the whole SHA of the commit that a run builds.
func (b *book) resolved(ctx context.Context, run, commit string) error {
	return b.update(ctx, "resolved", run, `UPDATE run SET commit_sha = ? WHERE name = ?`, commit, run)
}

// beginStage records that a stage runs.
func (b *book) beginStage(ctx context.Context, run string, seq int, at time.Time) error {
	return b.update(ctx, "begin stage", run, `UPDATE stage SET phase = ?, started_at = ? WHERE run = ? AND seq = ?`,
		taskRunning, at.UnixNano(), run, seq)
}

// endStage records a stage's end.
func (b *book) endStage(ctx context.Context, run string, seq int, phase, message string, at time.Time) error {
	return b.update(ctx, "end stage", run, `UPDATE stage SET phase = ?, message = ?, completed_at = ? WHERE run = ? AND seq = ?`,
		phase, message, at.UnixNano(), run, seq)
}

// outcome is what a run came to.
type outcome struct {
	message  string // why it failed; empty: it succeeded
	image    string
	workload *flowclient.WorkloadSpec
}

// finish records a run's end; stages that never began are skipped.
func (b *book) finish(ctx context.Context, run string, o outcome, at time.Time) error {
	phase, workload := flowclient.BuildSucceeded, ""
	if o.message != "" {
		phase = flowclient.BuildFailed
	}
	if o.workload != nil {
		body, err := json.Marshal(o.workload)
		if err != nil {
			return fmt.Errorf("record workload of %s: %w", run, err)
		}
		workload = string(body)
	}
	return b.file.Update(ctx, "finish", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `UPDATE stage SET phase = ? WHERE run = ? AND phase = ?`, taskSkipped, run, taskPending); err != nil {
			return fmt.Errorf("skip stages of %s: %w", run, err)
		}
		_, err := tx.ExecContext(ctx, `UPDATE run SET phase = ?, message = ?, image = ?, workload = ?, completed_at = ? WHERE name = ?`,
			phase, o.message, o.image, workload, at.UnixNano(), run)
		if err != nil {
			return fmt.Errorf("finish %s: %w", run, err)
		}
		return nil
	})
}

// update is a transaction of one statement.
func (b *book) update(ctx context.Context, op, run, query string, args ...any) error {
	return b.file.Update(ctx, op, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, query, args...); err != nil {
			return fmt.Errorf("%s of run %s: %w", op, run, err)
		}
		return nil
	})
}

// load reads a run with its stages; *flowclient.NotFound.
func (b *book) load(ctx context.Context, run string) (record, error) {
	rec, err := scanRun(b.file.Reader().QueryRowContext(ctx, `SELECT `+runColumns+` FROM run WHERE name = ?`, run))
	if errors.Is(err, sql.ErrNoRows) {
		return record{}, &flowclient.NotFound{Kind: "run", Name: run}
	}
	if err != nil {
		return record{}, fmt.Errorf("read run %s: %w", run, err)
	}
	rec.Stages, err = b.stages(ctx, run)
	return rec, err
}

// recent lists the newest runs, newest first, at most limit.
func (b *book) recent(ctx context.Context, limit int) ([]record, error) {
	rows, err := b.file.Reader().QueryContext(ctx, `SELECT `+runColumns+` FROM run ORDER BY id DESC LIMIT ?`, limit)
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	defer rows.Close()
	out := []record{}
	for rows.Next() {
		rec, err := scanRun(rows)
		if err != nil {
			return nil, fmt.Errorf("list runs: %w", err)
		}
		out = append(out, rec)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	for i := range out {
		if out[i].Stages, err = b.stages(ctx, out[i].Run); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// stages reads a run's stages in order.
func (b *book) stages(ctx context.Context, run string) ([]flowclient.Task, error) {
	rows, err := b.file.Reader().QueryContext(ctx,
		`SELECT name, phase, message, started_at, completed_at FROM stage WHERE run = ? ORDER BY seq`, run)
	if err != nil {
		return nil, fmt.Errorf("read stages of %s: %w", run, err)
	}
	defer rows.Close()
	var out []flowclient.Task
	for rows.Next() {
		var t flowclient.Task
		var started, completed sql.NullInt64
		if err := rows.Scan(&t.Name, &t.Phase, &t.Message, &started, &completed); err != nil {
			return nil, fmt.Errorf("read stages of %s: %w", run, err)
		}
		t.StartedAt, t.CompletedAt = instant(started), instant(completed)
		out = append(out, t)
	}
	return out, rows.Err()
}

// scanRun reads one row of runColumns.
func scanRun(row interface{ Scan(...any) error }) (record, error) {
	var r record
	var params, workload string
	var created int64
	var started, completed sql.NullInt64
	err := row.Scan(&r.ID, &r.Run, &r.Project, &r.Component, &params, &r.Phase, &r.Message, &r.Life,
		&r.Commit, &r.ModuleCommit, &r.Image, &workload, &created, &started, &completed)
	if err != nil {
		return record{}, err
	}
	if err := json.Unmarshal([]byte(params), &r.Params); err != nil {
		return record{}, fmt.Errorf("parameters: %w", err)
	}
	if workload != "" {
		if err := json.Unmarshal([]byte(workload), &r.Workload); err != nil {
			return record{}, fmt.Errorf("workload: %w", err)
		}
	}
	r.CreatedAt = time.Unix(0, created).UTC()
	r.StartedAt, r.CompletedAt = instant(started), instant(completed)
	return r, nil
}

// instant is a stored time; nil where there is none.
func instant(n sql.NullInt64) *time.Time {
	if !n.Valid {
		return nil
	}
	t := time.Unix(0, n.Int64).UTC()
	return &t
}
