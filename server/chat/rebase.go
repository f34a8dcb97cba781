package chat

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
)

// rebasePage is how many rows are rewritten at a time.
const rebasePage = 500

// base is the beginning of an address, up to and with its port.
var base = regexp.MustCompile(`https?://[A-Za-z0-9.-]+:[0-9]+`)

// Rebase rewrites the addresses in what was said: where surfaces have moved,
// moved gives the new base URL for an old one ("http://127.0.0.1:8080"), and
// any other as it is. Links in old messages then lead to where things are now;
// the messages count as unedited. It is one transaction. Call it before
// clients are served.
func (s *Server) Rebase(ctx context.Context, moved func(base string) string) error {
	err := s.file.Update(ctx, "rebase", func(tx *sql.Tx) error {
		for _, t := range []struct{ read, write string }{
			{`SELECT id, content, html FROM messages WHERE id > ? ORDER BY id LIMIT ?`, `UPDATE messages SET content = ?, html = ? WHERE id = ?`},
			{`SELECT id, COALESCE(prev_content, ''), COALESCE(prev_html, '') FROM edits WHERE id > ? AND prev_content IS NOT NULL ORDER BY id LIMIT ?`,
				`UPDATE edits SET prev_content = ?, prev_html = ? WHERE id = ?`},
		} {
			for after, more := int64(0), true; more; {
				said, err := readSaid(ctx, tx, t.read, after)
				if err != nil {
					return err
				}
				for _, m := range said {
					after = m.id
					content, html := base.ReplaceAllStringFunc(m.content, moved), base.ReplaceAllStringFunc(m.html, moved)
					if content == m.content && html == m.html {
						continue
					}
					if _, err := tx.ExecContext(ctx, t.write, content, html, m.id); err != nil {
						return err
					}
				}
				more = len(said) == rebasePage
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("rebase chat: %w", err)
	}
	return nil
}

// said is a row that holds what somebody said.
type said struct {
	id            int64
	content, html string
}

// readSaid reads the page of rows after an id.
func readSaid(ctx context.Context, tx *sql.Tx, query string, after int64) ([]said, error) {
	rows, err := tx.QueryContext(ctx, query, after, rebasePage)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var page []said
	for rows.Next() {
		var m said
		if err := rows.Scan(&m.id, &m.content, &m.html); err != nil {
			return nil, err
		}
		page = append(page, m)
	}
	return page, rows.Err()
}
