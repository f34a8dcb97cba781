package git

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
)

// Rebase rewrites the addresses that are stored: where surfaces have moved,
// prefixes maps each old base URL to its new one ("http://127.0.0.1:8080" to
// "http://127.0.0.1:9080"). Hooks, the targets of statuses and the payloads
// that still wait are rewritten in one transaction.
func (s *Server) Rebase(ctx context.Context, prefixes map[string]string) error {
	err := s.file.Update(ctx, "rebase", func(tx *sql.Tx) error {
		for _, column := range []struct{ table, name string }{{"hooks", "url"}, {"statuses", "target_url"}} {
			if err := rebaseColumn(ctx, tx, column.table, column.name, prefixes); err != nil {
				return err
			}
		}
		return rebasePayloads(ctx, tx, prefixes)
	})
	if err != nil {
		return fmt.Errorf("rebase: %w", err)
	}
	s.news.tell()
	return nil
}

// rebased is the address with its prefix replaced; a prefix ends where a path begins.
func rebased(address string, prefixes map[string]string) string {
	for from, to := range prefixes {
		from, to = strings.TrimRight(from, "/"), strings.TrimRight(to, "/")
		rest, ok := strings.CutPrefix(address, from)
		if ok && (rest == "" || strings.ContainsRune("/?#", rune(rest[0]))) {
			return to + rest
		}
	}
	return address
}

// rebaseColumn rewrites the addresses in a column of a table with an id.
func rebaseColumn(ctx context.Context, tx *sql.Tx, table, column string, prefixes map[string]string) error {
	rows, err := tx.QueryContext(ctx, `SELECT id, `+column+` FROM `+table) //nolint:gosec // names from the table in Rebase
	if err != nil {
		return err
	}
	defer rows.Close()
	moved := map[int64]string{}
	for rows.Next() {
		var id int64
		var address string
		if err := rows.Scan(&id, &address); err != nil {
			return err
		}
		if to := rebased(address, prefixes); to != address {
			moved[id] = to
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for id, address := range moved {
		if _, err := tx.ExecContext(ctx, `UPDATE `+table+` SET `+column+` = ? WHERE id = ?`, address, id); err != nil { //nolint:gosec // as above
			return err
		}
	}
	return nil
}

// rebasePayloads rewrites what has not been delivered. A payload is signed
// when it is sent, so that its bytes may change until then.
func rebasePayloads(ctx context.Context, tx *sql.Tx, prefixes map[string]string) error {
	rows, err := tx.QueryContext(ctx, `SELECT id, body FROM deliveries WHERE state = 'waiting'`)
	if err != nil {
		return err
	}
	defer rows.Close()
	moved := map[int64][]byte{}
	for rows.Next() {
		var id int64
		var body []byte
		if err := rows.Scan(&id, &body); err != nil {
			return err
		}
		if moved[id], err = rebasedJSON(body, prefixes); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for id, body := range moved {
		if _, err := tx.ExecContext(ctx, `UPDATE deliveries SET body = ? WHERE id = ?`, body, id); err != nil {
			return err
		}
	}
	return nil
}

// rebasedJSON rewrites every address in a document: the values of keys that end with "url".
func rebasedJSON(body []byte, prefixes map[string]string) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for key, e := range v {
				if text, ok := e.(string); ok && strings.HasSuffix(key, "url") {
					v[key] = rebased(text, prefixes)
				} else {
					walk(e)
				}
			}
		}
	}
	walk(doc)
	return json.MarshalIndent(doc, "", "  ")
}
