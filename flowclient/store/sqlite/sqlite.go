// Package sqlite opens a plane's one SQL file: durable (synchronous=FULL),
// write-ahead logged, one writer, migrated on opening. A write commits or nothing
// of it happened; writes at the same time share a commit.
//
// It knows nothing of what the tables hold.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"github.com/pressly/goose/v3"
)

// Committed is told of each durable write, right after it: file is the plane's
// name ("flow"), op the name given to Update. Tests use it to kill the process
// between any two writes; it may be nil.
type Committed func(file, op string)

// File is an open SQL file.
type File struct {
	name      string
	write     *sql.DB
	read      *sql.DB
	committed Committed

	lead    chan struct{} // holds one while somebody leads
	follow  chan *write   // to the leader
	ran     chan error    // to the leader: how the function whose turn it was ended
	undone  atomic.Bool   // the transaction under way was rolled back
	closing chan struct{} // closed by Close
	close   sync.Once
}

// Open opens path, which is the owner's alone (mode 0600, as is what SQLite puts
// beside it), and brings its schema up to the newest of migrations (goose files, *.sql, at the
// root of the file system).
func Open(ctx context.Context, name, path string, migrations fs.FS, committed Committed) (*File, error) {
	// The driver makes files as the umask says, and some hold secrets.
	made, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	if err := errors.Join(made.Chmod(0o600), made.Close()); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	f := &File{
		name: name, committed: committed,
		lead: make(chan struct{}, 1), follow: make(chan *write), ran: make(chan error), closing: make(chan struct{}),
	}
	f.write = openWriter(path, func() { f.undone.Store(true) })
	provider, err := goose.NewProvider(goose.DialectSQLite3, f.write, migrations, goose.WithDisableGlobalRegistry(true))
	if err == nil {
		_, err = provider.Up(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("migrate %s: %w", path, err), f.write.Close())
	}
	if f.read, err = openReader(path); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), f.write.Close())
	}
	return f, nil
}

// Reader gives the pool for reading; it sees what has been committed.
func (f *File) Reader() *sql.DB { return f.read }

// Close closes the file after the writes that have begun; the others are
// refused. Twice is once.
func (f *File) Close() (err error) {
	f.close.Do(func() {
		close(f.closing)
		f.lead <- struct{}{} // kept: nothing is written from here on
		err = errors.Join(f.read.Close(), f.write.Close())
	})
	return err
}
