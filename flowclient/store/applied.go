package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"platform.dev/platform/flowclient"
)

// Applied gives what was last applied from a repository, by "Kind/name".
func (s *Store) Applied(ctx context.Context, repo string) (map[string]flowclient.AppliedManifest, error) {
	rows, err := s.file.Reader().QueryContext(ctx, `SELECT key, body FROM applied WHERE repo = ?`, repo)
	if err != nil {
		return nil, fmt.Errorf("manifests of %s: %w", repo, err)
	}
	defer rows.Close()
	applied := map[string]flowclient.AppliedManifest{}
	for rows.Next() {
		var key string
		var body []byte
		var m flowclient.AppliedManifest
		err := rows.Scan(&key, &body)
		if err == nil {
			err = json.Unmarshal(body, &m)
		}
		if err != nil {
			return nil, fmt.Errorf("manifests of %s: %w", repo, err)
		}
		applied[key] = m
	}
	return applied, rows.Err()
}

// PutApplied replaces the records of the given manifests in one transaction.
func (s *Store) PutApplied(ctx context.Context, repo string, manifests map[string]flowclient.AppliedManifest) error {
	if len(manifests) == 0 {
		return nil
	}
	err := s.file.Update(ctx, "put applied", func(tx *sql.Tx) error {
		for _, key := range slices.Sorted(maps.Keys(manifests)) {
			body, err := json.Marshal(manifests[key])
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO applied (repo, key, body) VALUES (?, ?, ?)
				ON CONFLICT (repo, key) DO UPDATE SET body = excluded.body`, repo, key, body); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("put manifests of %s: %w", repo, err)
	}
	return nil
}
