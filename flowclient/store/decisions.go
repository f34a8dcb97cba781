package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"platform.dev/platform/flowclient"
)

// Decided records what a bot decided, whole; the same key again changes nothing.
// Records lists it with the rest of the audit trail.
func (s *Store) Decided(ctx context.Context, d flowclient.Decision) error {
	body, err := json.Marshal(d)
	if err == nil {
		err = s.file.Update(ctx, "decided", func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO decisions (key, kind, at, body) VALUES (?, ?, ?, ?) ON CONFLICT (key) DO NOTHING`, d.Key, d.Kind, d.At.UnixNano(), body)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("decided %s: %w", d.Key, err)
	}
	return nil
}
