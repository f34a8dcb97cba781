package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// maxGroup bounds the writes that share a commit: each waits for those after it.
const maxGroup = 64

// errClosed is the error of a write that comes after Close.
var errClosed = errors.New("the file is closed")

// errUnended is the outcome of a function that panicked, or ended its goroutine.
var errUnended = errors.New("the function did not return")

// errUndone is the error of writes whose transaction SQLite rolled back by itself.
var errUndone = errors.New("the transaction was rolled back")

// Update runs fn in a write transaction and returns after its commit; op names
// the write for those who count them. fn's error undoes what fn wrote, and is
// returned. A ctx that ends before fn's turn has come is an error and fn is
// not run; fn that has begun is waited for.
//
// Calls at the same time share a transaction and its one commit, which is to
// reach the disk once: whoever finds the file free leads, and takes along what
// has queued up when its own fn is through, each behind a savepoint; what queues
// up during the commit is the next group. Nobody waits for others to come. When
// the commit fails, so does every call of the group. So fn may see, through tx,
// what nobody else can read yet; it must neither end tx nor wait for another Update.
func (f *File) Update(ctx context.Context, op string, fn func(tx *sql.Tx) error) error {
	err := ctx.Err()
	if err != nil {
		return fmt.Errorf("%s: begin: %w", op, err)
	}
	w := &write{turn: make(chan *sql.Tx, 1), committed: make(chan error, 1)}
	select {
	case f.lead <- struct{}{}:
		err = f.leads(context.WithoutCancel(ctx), op, fn)
	case f.follow <- w:
		err = f.follows(op, fn, w)
	case <-ctx.Done():
		err = fmt.Errorf("%s: begin: %w", op, ctx.Err())
	case <-f.closing:
		err = fmt.Errorf("%s: begin: %w", op, errClosed)
	}
	if err == nil && f.committed != nil {
		f.committed(f.name, op)
	}
	return err
}

// leads runs fn in a new transaction, takes others along, and commits.
func (f *File) leads(ctx context.Context, op string, fn func(tx *sql.Tx) error) (err error) {
	defer func() { <-f.lead }()
	f.undone.Store(false)
	g := group{f: f, ctx: ctx}
	if g.tx, err = f.write.BeginTx(ctx, nil); err != nil {
		return fmt.Errorf("%s: begin: %w", op, err)
	}
	returned := false
	defer func() {
		if !returned { // it panics, or its goroutine ends
			_ = g.rollback()
		}
	}()
	err = fn(g.tx)
	returned = true
	if err == nil {
		if err = g.commit(); err != nil {
			err = fmt.Errorf("%s: %w", op, err)
		}
		return err
	}
	if undone := g.rollback(); undone != nil {
		return errors.Join(err, undone)
	}
	return err
}

// follows runs fn in the transaction of another, which has turned to it.
func (f *File) follows(op string, fn func(tx *sql.Tx) error, w *write) error {
	select {
	case tx := <-w.turn:
		if err := f.runs(tx, fn); err != nil {
			return err
		}
	case err := <-w.committed: // its turn will not come
		return fmt.Errorf("%s: begin: %w", op, err)
	}
	if err := <-w.committed; err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

// runs runs fn on its caller's goroutine, so that a panic is the caller's, and
// tells the leader how it ended, however it ends.
func (f *File) runs(tx *sql.Tx, fn func(tx *sql.Tx) error) error {
	err := errUnended
	defer func() { f.ran <- err }()
	err = fn(tx)
	return err
}

// write is a call of Update that follows another. Neither channel blocks the leader.
type write struct {
	turn      chan *sql.Tx // the leader's transaction, when fn may run
	committed chan error   // what became of the transaction
}

// group is a transaction, begun by the leader, and those who wrote in it since.
type group struct {
	f     *File
	ctx   context.Context // never ends
	tx    *sql.Tx
	wrote []*write
}

// commit takes along those who wait, and commits.
func (g *group) commit() error {
	err := g.gather()
	switch {
	case g.f.undone.Load():
		err = errors.Join(errUndone, err)
		_ = g.rollback() // there is none any more: the connection is to know it
	case err != nil:
		err = errors.Join(err, g.rollback())
	default:
		if err = g.tx.Commit(); err != nil {
			err = fmt.Errorf("commit: %w", err)
		}
	}
	for _, w := range g.wrote {
		w.committed <- err
	}
	return err
}

// gather takes along those who wait now or come meanwhile. An error means that
// the transaction is not what it should be.
func (g *group) gather() error {
	for n := 1; n < maxGroup && !g.f.undone.Load(); n++ {
		select {
		case w := <-g.f.follow:
			if err := g.take(w); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

// take lets one write run behind a savepoint. Its own error undoes it and is no error here.
func (g *group) take(w *write) error {
	if err := g.exec(`SAVEPOINT follower`); err != nil {
		w.committed <- err
		return err
	}
	w.turn <- g.tx
	switch err := <-g.f.ran; {
	case g.f.undone.Load():
		g.wrote = append(g.wrote, w) // it may have taken the failure for none
		return err
	case err != nil:
		return errors.Join(g.exec(`ROLLBACK TO follower`), g.exec(`RELEASE follower`))
	}
	g.wrote = append(g.wrote, w)
	return g.exec(`RELEASE follower`)
}

func (g *group) exec(statement string) error {
	if _, err := g.tx.ExecContext(g.ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

// rollback undoes everything. That SQLite did so before is no error.
func (g *group) rollback() error {
	err := g.tx.Rollback()
	if errors.Is(err, sql.ErrTxDone) || g.f.undone.Load() {
		return nil
	}
	return err
}
