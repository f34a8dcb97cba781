package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"

	"modernc.org/sqlite"
)

// source is the data source name of a file, with the house settings.
func source(path string) string {
	q := url.Values{
		"_txlock": {"immediate"},
		"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)"},
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
}

// openReader gives a pool of connections to read through.
func openReader(path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", source(path))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	return db, nil
}

// openWriter gives the one connection to write through. undone is called
// whenever a transaction of it is rolled back, by whomever: SQLite does so by
// itself when the disk is full, for one.
func openWriter(path string, undone func()) *sql.DB {
	db := sql.OpenDB(&connector{source: source(path), undone: undone})
	db.SetMaxOpenConns(1)
	return db
}

// connector makes steady connections.
type connector struct {
	source string
	driver sqlite.Driver
	undone func()
}

// Connect opens the file.
func (c *connector) Connect(context.Context) (driver.Conn, error) {
	opened, err := c.driver.Open(c.source)
	if err != nil {
		return nil, err
	}
	full, ok := opened.(conn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the driver's connection lacks what is used of it: %T", opened), opened.Close())
	}
	full.RegisterRollbackHook(c.undone)
	return &steady{conn: full, prepared: map[string]stmt{}}, nil
}

// Driver is the driver of the connections.
func (c *connector) Driver() driver.Driver { return &c.driver }

// conn is what is used of the driver's connections.
type conn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
	sqlite.HookRegisterer
}

// steady is a connection whose statements run to their end, whatever becomes
// of the context they came with. When SQLite is made to interrupt a statement
// that writes, it rolls back the whole transaction, which holds the writes of
// others too. It parses a statement that is executed again only once.
type steady struct {
	conn
	prepared map[string]stmt // by text; never one that is in use
}

// maxPrepared bounds the statements that are kept; no plane's code has as many.
const maxPrepared = 256

// Close closes the connection; the driver would keep its hook for ever.
func (s *steady) Close() error {
	var errs []error
	for _, p := range s.prepared {
		errs = append(errs, p.Close())
	}
	s.prepared = nil
	s.RegisterRollbackHook(nil)
	return errors.Join(append(errs, s.conn.Close())...)
}

func (s *steady) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	return s.conn.BeginTx(context.WithoutCancel(ctx), opts)
}

func (s *steady) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (result driver.Result, err error) {
	p, known := s.prepared[query]
	if !known {
		if p, err = s.prepare(ctx, query); err != nil {
			return nil, err
		}
		if len(s.prepared) < maxPrepared {
			s.prepared[query] = p
		} else {
			defer func() { err = cmp.Or(err, p.Close()) }()
		}
	}
	return p.ExecContext(context.WithoutCancel(ctx), args)
}

func (s *steady) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return s.conn.QueryContext(context.WithoutCancel(ctx), query, args)
}

func (s *steady) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	p, err := s.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return steadyStmt{p}, nil
}

func (s *steady) prepare(ctx context.Context, query string) (stmt, error) {
	prepared, err := s.conn.PrepareContext(context.WithoutCancel(ctx), query)
	if err != nil {
		return nil, err
	}
	full, ok := prepared.(stmt)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the driver's statement lacks what is used of it: %T", prepared), prepared.Close())
	}
	return full, nil
}

// stmt is what is used of the driver's prepared statements.
type stmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// steadyStmt is a prepared statement of a steady connection.
type steadyStmt struct{ stmt }

func (s steadyStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.stmt.ExecContext(context.WithoutCancel(ctx), args)
}

func (s steadyStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.stmt.QueryContext(context.WithoutCancel(ctx), args)
}
