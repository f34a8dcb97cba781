package controlplane

import (
	"context"
	"encoding/json"
	"strings"
)

// Rebase rewrites addresses in every object's spec and status, in one
// transaction: keys of moved are what values began with, "http://127.0.0.1:3001"
// or "127.0.0.1:10082", the values what they begin with now. A prefix matches
// whole: up to the end of the value or a '/'. Releases keep their names, since
// these leave a registry's address out. Call it before Run.
func (s *Server) Rebase(ctx context.Context, moved map[string]string) error {
	return s.commit(ctx, "rebase", func(t *tx) error {
		for _, k := range s.table {
			found, err := t.find(selection{kind: k.name})
			if err != nil {
				return err
			}
			for _, o := range found {
				if err := t.rebase(o, moved); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// rebase rewrites one object. Its generation stays: what it asks for is the same.
func (t *tx) rebase(old object, moved map[string]string) error {
	o := old
	var err error
	if o.spec, err = readdress(old.spec, moved); err != nil {
		return err
	}
	if string(o.spec) != string(old.spec) {
		if err := t.readdressed(&o); err != nil {
			return err
		}
	}
	status, err := readdress(old.status, moved)
	if err != nil {
		return err
	}
	return t.report(o, status, o.settled)
}

// readdressed stores a spec that says the same at other addresses.
func (t *tx) readdressed(o *object) error {
	o.revision++
	if _, err := t.ExecContext(t.ctx, `UPDATE objects SET spec = ?, revision = ? WHERE id = ?`, string(o.spec), o.revision, o.id); err != nil {
		return err
	}
	t.changed = append(t.changed, change{object: *o})
	return t.index(*o)
}

// readdress rewrites every string in JSON that begins with a moved address.
func readdress(raw json.RawMessage, moved map[string]string) (json.RawMessage, error) {
	if len(raw) == 0 {
		return raw, nil
	}
	v, err := parse(raw)
	if err != nil {
		return nil, err
	}
	changed := false
	v = walk(v, func(s string) string {
		for from, to := range moved {
			if rest, ok := strings.CutPrefix(s, from); ok && (rest == "" || rest[0] == '/') && to != from {
				changed = true
				return to + rest
			}
		}
		return s
	})
	if !changed {
		return raw, nil
	}
	return encode(v)
}

// walk gives v with every string replaced.
func walk(v any, replace func(string) string) any {
	switch v := v.(type) {
	case string:
		return replace(v)
	case []any:
		for i := range v {
			v[i] = walk(v[i], replace)
		}
	case map[string]any:
		for k := range v {
			v[k] = walk(v[k], replace)
		}
	}
	return v
}
