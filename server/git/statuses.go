package git

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// statusStates are the states of a status, the worst first.
var statusStates = []string{"error", "failure", "warning", "pending", "success", "skipped"}

// status is what somebody reported about a commit, under a context.
type status struct {
	ID                     int64
	SHA, Context, State    string
	Description, TargetURL string
	Created                time.Time
}

// check tells what is wrong with a status that is to be stored.
func (st status) check() error {
	u, err := url.Parse(st.TargetURL)
	switch {
	case !slices.Contains(statusStates, st.State):
		return unprocessable("state", st.State, "want one of "+strings.Join(statusStates, ", "))
	case len(st.Context) > 255:
		return unprocessable("context", st.Context, "want at most 255 bytes")
	case len(st.Description) > 1024:
		return unprocessable("description", st.Description, "want at most 1024 bytes")
	case len(st.TargetURL) > 1000 || err != nil || (st.TargetURL != "" && u.Scheme != "http" && u.Scheme != "https"):
		return unprocessable("target_url", st.TargetURL, "want an http or https address")
	}
	return nil
}

// setStatus adds a status, and the deliveries that tell of it, in one transaction.
func (s *Server) setStatus(ctx context.Context, repo repository, st status) (status, error) {
	if st.Context == "" {
		st.Context = "default"
	}
	if err := st.check(); err != nil {
		return status{}, err
	}
	st.Created = s.cfg.Now()
	hooks, err := s.hooks(ctx, repo)
	if err != nil {
		return status{}, err
	}
	payload, err := s.statusPayload(ctx, repo, st, subscribed(hooks)(eventStatus))
	if err != nil {
		return status{}, err
	}
	err = s.file.Update(ctx, "status", func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `INSERT INTO statuses (repository_id, sha, context, state, description, target_url, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			repo.ID, st.SHA, st.Context, st.State, st.Description, st.TargetURL, millis(st.Created))
		if err != nil {
			return err
		}
		if st.ID, err = res.LastInsertId(); err != nil || payload == nil {
			return err
		}
		payload.ID = st.ID
		body, err := json.MarshalIndent(payload, "", "  ")
		if err != nil {
			return err
		}
		return s.enqueue(ctx, tx, hooks, []event{{eventStatus, body}})
	})
	if err != nil {
		return status{}, fmt.Errorf("status of %s: %w", st.SHA, err)
	}
	s.news.tell()
	return st, nil
}

// statusPayload describes a status to hooks; nil when none wants it.
func (s *Server) statusPayload(ctx context.Context, repo repository, st status, wanted bool) (*statusPayload, error) {
	if !wanted {
		return nil, nil
	}
	refs, err := s.recordedRefs(ctx, repo)
	if err != nil {
		return nil, err
	}
	base, err := s.describe(ctx, repo, s.cfg.AdminUser, refs)
	if err != nil {
		return nil, err
	}
	head, err := s.commit(ctx, repo, st.SHA)
	if err != nil {
		return nil, err
	}
	paths, err := s.changes(ctx, repo, []commit{head})
	if err != nil {
		return nil, err
	}
	return &statusPayload{
		Commit: s.payloadCommit(repo, head, paths[head.SHA]), Context: st.Context, CreatedAt: st.Created, UpdatedAt: st.Created,
		Description: st.Description, Repository: base.repository, Sender: base.sender, SHA: st.SHA, State: st.State, TargetURL: st.TargetURL,
	}, nil
}

// statuses lists a commit's statuses, newest first.
func (s *Server) statuses(ctx context.Context, repo repository, sha string) ([]status, error) {
	rows, err := s.file.Reader().QueryContext(ctx, `SELECT id, sha, context, state, description, target_url, created_at
		FROM statuses WHERE repository_id = ? AND sha = ? ORDER BY id DESC LIMIT 1000`, repo.ID, sha)
	if err != nil {
		return nil, fmt.Errorf("statuses of %s: %w", sha, err)
	}
	defer rows.Close()
	var list []status
	for rows.Next() {
		var st status
		var created int64
		if err := rows.Scan(&st.ID, &st.SHA, &st.Context, &st.State, &st.Description, &st.TargetURL, &created); err != nil {
			return nil, fmt.Errorf("statuses of %s: %w", sha, err)
		}
		st.Created = fromMillis(created)
		list = append(list, st)
	}
	return list, rows.Err()
}

// newestStatuses keeps the newest status of each context, by context.
func newestStatuses(list []status) []status {
	seen := map[string]bool{}
	var newest []status
	for _, st := range list {
		if !seen[st.Context] {
			seen[st.Context] = true
			newest = append(newest, st)
		}
	}
	slices.SortFunc(newest, func(a, b status) int { return strings.Compare(a.Context, b.Context) })
	return newest
}

// worst is the state that stands first in statusStates; empty for no status.
func worst(list []status) string {
	for _, state := range statusStates {
		if slices.ContainsFunc(list, func(st status) bool { return st.State == state }) {
			return state
		}
	}
	return ""
}
