package controlplane

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/google/uuid"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/server/web"
)

// querier is the file's readers or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

const columns = `o.id, o.kind, o.name, o.uid, o.labels, o.annotations, o.spec, o.status,
	o.generation, o.revision, o.created, o.spec_updated, o.deleted, o.settled`

// get reads one object; a 404 problem when there is none.
func get(ctx context.Context, q querier, kind flowclient.Kind, name string) (object, error) {
	found, err := scan(q.QueryContext(ctx, `SELECT `+columns+` FROM objects o WHERE o.kind = ? AND o.name = ?`, kind, name))
	if err != nil {
		return object{}, fmt.Errorf("read %s %s: %w", kind, name, err)
	}
	if len(found) == 0 {
		return object{}, notFound(kind, name)
	}
	return found[0], nil
}

func notFound(kind flowclient.Kind, name string) *problem {
	return say(404, "%s '%s' not found", kind, web.Echo(name))
}

// selection narrows a list.
type selection struct {
	kind   flowclient.Kind
	refs   map[string]string // field to value, all of them
	labels []requirement
	after  string // names after this one
	limit  int    // 0: all
}

// find lists objects by name.
func find(ctx context.Context, q querier, s selection) ([]object, error) {
	where := []string{"o.kind = ?", "o.name > ?"}
	args := []any{s.kind, s.after}
	for field, value := range s.refs {
		where = append(where, "EXISTS (SELECT 1 FROM refs r WHERE r.field = ? AND r.value = ? AND r.object = o.id)")
		args = append(args, field, value)
	}
	for _, l := range s.labels {
		clause, values := l.sql()
		where = append(where, clause)
		args = append(args, values...)
	}
	query := `SELECT ` + columns + ` FROM objects o WHERE ` + strings.Join(where, " AND ") + ` ORDER BY o.name`
	if s.limit > 0 {
		query += ` LIMIT ?`
		args = append(args, s.limit)
	}
	found, err := scan(q.QueryContext(ctx, query, args...))
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", s.kind, err)
	}
	return found, nil
}

// scan reads rows of columns and closes them.
func scan(rows *sql.Rows, err error) (found []object, failure error) {
	if err != nil {
		return nil, err
	}
	defer func() { failure = errors.Join(failure, rows.Close()) }()
	for rows.Next() {
		var o object
		var labels, annotations, spec, status string
		var created, specUpdated int64
		var deleted sql.NullInt64
		if err := rows.Scan(&o.id, &o.kind, &o.name, &o.uid, &labels, &annotations, &spec, &status,
			&o.generation, &o.revision, &created, &specUpdated, &deleted, &o.settled); err != nil {
			return nil, err
		}
		if err := errors.Join(json.Unmarshal([]byte(labels), &o.labels), json.Unmarshal([]byte(annotations), &o.annotations)); err != nil {
			return nil, fmt.Errorf("%s %s: %w", o.kind, o.name, err)
		}
		o.spec, o.status = json.RawMessage(spec), json.RawMessage(status)
		o.created, o.specUpdated = time.UnixMilli(created).UTC(), time.UnixMilli(specUpdated).UTC()
		if deleted.Valid {
			at := time.UnixMilli(deleted.Int64).UTC()
			o.deleted = &at
		}
		found = append(found, o)
	}
	return found, rows.Err()
}

// tx is the write transaction, which remembers what it changed.
type tx struct {
	*sql.Tx
	ctx     context.Context
	s       *Server
	now     time.Time
	changed []change
	wrote   bool // something beside objects
}

// change is what a transaction did to an object.
type change struct {
	object     object
	statusOnly bool // the controllers' own notes: nothing depends on them
}

// errNothing rolls back a transaction that changed nothing, sparing the disk.
var errNothing = errors.New("nothing changed")

// commit runs fn in the write transaction. After its commit, whoever depends on
// what changed is woken, and Config.Changed is told.
func (s *Server) commit(ctx context.Context, op string, fn func(t *tx) error) error {
	var changed []change
	err := s.db.Update(ctx, op, func(raw *sql.Tx) error {
		t := &tx{Tx: raw, ctx: ctx, s: s, now: s.now().UTC().Truncate(time.Millisecond)}
		if err := fn(t); err != nil {
			return err
		}
		if len(t.changed) == 0 && !t.wrote {
			return errNothing
		}
		changed = t.changed
		return nil
	})
	if errors.Is(err, errNothing) {
		return nil
	}
	if err != nil {
		return err
	}
	s.notify(context.WithoutCancel(ctx), changed)
	return nil
}

func (t *tx) get(kind flowclient.Kind, name string) (object, error) { return get(t.ctx, t, kind, name) }

// exists tells whether there is such an object that is not being deleted.
func (t *tx) exists(kind flowclient.Kind, name string) (bool, error) {
	o, err := t.get(kind, name)
	if isMissing(err) {
		return false, nil
	}
	return err == nil && o.deleted == nil, err
}

func (t *tx) find(s selection) ([]object, error) { return find(t.ctx, t, s) }

// insert stores a new object and fills in what the server sets.
func (t *tx) insert(o *object) error {
	o.uid, o.generation, o.revision = uuid.NewString(), 1, 1
	o.created, o.specUpdated = t.now, t.now
	labels, annotations, err := o.marks()
	if err != nil {
		return err
	}
	result, err := t.ExecContext(t.ctx, `INSERT INTO objects
		(kind, name, uid, labels, annotations, spec, status, generation, revision, created, spec_updated)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		o.kind, o.name, o.uid, labels, annotations, string(o.spec), string(o.status), o.generation, o.revision,
		o.created.UnixMilli(), o.specUpdated.UnixMilli())
	if err != nil {
		return fmt.Errorf("create %s %s: %w", o.kind, o.name, err)
	}
	if o.id, err = result.LastInsertId(); err != nil {
		return fmt.Errorf("create %s %s: %w", o.kind, o.name, err)
	}
	t.changed = append(t.changed, change{object: *o})
	return t.index(*o)
}

// replace stores labels, annotations and spec of o, which was read in this
// transaction as old. What is equal is not written; only a changed spec is a new generation.
func (t *tx) replace(old object, o *object) error {
	spec := string(o.spec) != string(old.spec)
	if !spec && maps.Equal(o.labels, old.labels) && maps.Equal(o.annotations, old.annotations) {
		return nil
	}
	o.revision = old.revision + 1
	if spec {
		o.generation, o.specUpdated = old.generation+1, t.now
	}
	labels, annotations, err := o.marks()
	if err != nil {
		return err
	}
	if _, err := t.ExecContext(t.ctx, `UPDATE objects SET labels = ?, annotations = ?, spec = ?, generation = ?, revision = ?, spec_updated = ? WHERE id = ?`,
		labels, annotations, string(o.spec), o.generation, o.revision, o.specUpdated.UnixMilli(), o.id); err != nil {
		return fmt.Errorf("update %s %s: %w", o.kind, o.name, err)
	}
	t.changed = append(t.changed, change{object: *o})
	return t.index(*o)
}

// report stores a status, and with settled that nothing outside can change it any more.
func (t *tx) report(o object, status json.RawMessage, settled bool) error {
	if string(status) == string(o.status) && settled == o.settled {
		return nil
	}
	if _, err := t.ExecContext(t.ctx, `UPDATE objects SET status = ?, settled = ? WHERE id = ?`, string(status), settled, o.id); err != nil {
		return fmt.Errorf("report on %s %s: %w", o.kind, o.name, err)
	}
	o.status, o.settled = status, settled
	t.changed = append(t.changed, change{object: o, statusOnly: true})
	return nil
}

// condemn records that the object's deletion was asked for. Twice is once.
func (t *tx) condemn(o object) error {
	if o.deleted != nil {
		return nil
	}
	if _, err := t.ExecContext(t.ctx, `UPDATE objects SET deleted = ? WHERE id = ?`, t.now.UnixMilli(), o.id); err != nil {
		return fmt.Errorf("delete %s %s: %w", o.kind, o.name, err)
	}
	now := t.now
	o.deleted = &now
	t.changed = append(t.changed, change{object: o})
	return nil
}

// remove takes the object out of the file.
func (t *tx) remove(o object) error {
	if _, err := t.ExecContext(t.ctx, `DELETE FROM objects WHERE id = ?`, o.id); err != nil {
		return fmt.Errorf("remove %s %s: %w", o.kind, o.name, err)
	}
	now := t.now
	o.deleted = &now
	t.changed = append(t.changed, change{object: o})
	return nil
}

// index writes what the object names.
func (t *tx) index(o object) error {
	if _, err := t.ExecContext(t.ctx, `DELETE FROM refs WHERE object = ?`, o.id); err != nil {
		return fmt.Errorf("index %s %s: %w", o.kind, o.name, err)
	}
	for _, r := range t.s.kinds[o.kind].refs {
		value := t.s.ref(o, r.field)
		if value == "" {
			continue
		}
		if _, err := t.ExecContext(t.ctx, `INSERT INTO refs (field, value, object) VALUES (?, ?, ?)`, r.field, value, o.id); err != nil {
			return fmt.Errorf("index %s %s: %w", o.kind, o.name, err)
		}
	}
	return nil
}

// marks are labels and annotations as stored.
func (o object) marks() (labels, annotations string, err error) {
	l, err := encode(orEmpty(o.labels))
	if err != nil {
		return "", "", err
	}
	a, err := encode(orEmpty(o.annotations))
	return string(l), string(a), err
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}
