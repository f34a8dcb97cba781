// Package sqlite opens a plane's one SQL file: durable (synchronous=FULL),
// write-ahead logged, one writer, migrated on opening. A transaction commits
// or nothing of it happened.
//
// It knows nothing of what the tables hold.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // registers the driver "sqlite"
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
	write, err := open(path, 1)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, write, migrations, goose.WithDisableGlobalRegistry(true))
	if err == nil {
		_, err = provider.Up(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("migrate %s: %w", path, err), write.Close())
	}
	read, err := open(path, 4)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), write.Close())
	}
	return &File{name: name, write: write, read: read, committed: committed}, nil
}

// open gives a pool with the house settings.
func open(path string, conns int) (*sql.DB, error) {
	q := url.Values{
		"_txlock": {"immediate"},
		"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)"},
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(conns)
	return db, nil
}

// Update runs fn in the file's one write transaction and commits; op names the
// write for those who count them. fn's error rolls everything back.
func (f *File) Update(ctx context.Context, op string, fn func(tx *sql.Tx) error) error {
	tx, err := f.write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("%s: begin: %w", op, err)
	}
	if err := fn(tx); err != nil {
		if rollback := tx.Rollback(); rollback != nil && !errors.Is(rollback, sql.ErrTxDone) {
			return errors.Join(err, rollback)
		}
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("%s: commit: %w", op, err)
	}
	if f.committed != nil {
		f.committed(f.name, op)
	}
	return nil
}

// Reader gives the pool for reading; it sees what has been committed.
func (f *File) Reader() *sql.DB { return f.read }

// Close closes the file after its writes.
func (f *File) Close() error { return errors.Join(f.read.Close(), f.write.Close()) }
