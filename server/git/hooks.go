package git

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"platform.dev/platform/server/web"
)

// maxHooks is the most hooks that a repository has.
const maxHooks = 20

// hookEvents are the names that a hook may subscribe to. Events of what this
// server has not (issues, releases) are accepted, as Gitea accepts them, and
// never happen.
var hookEvents = []string{
	eventPush, eventCreate, eventDelete, eventStatus, "fork", "release", "repository",
	eventPull, "pull_request_only", "pull_request_assign", eventPullLabel, "pull_request_milestone",
	eventPullComment, "pull_request_review", eventPullSync, "pull_request_review_request",
	"issues", "issue_assign", "issue_label", "issue_milestone", "issue_comment",
}

// hook is one webhook of a repository.
type hook struct {
	ID               int64
	URL, Secret      string
	Events           []string
	Active           bool
	Created, Updated time.Time
}

// families are the names by which a hook may subscribe to an event beside or
// instead of the event's own, as Gitea has them.
var families = map[string][]string{
	eventPull:        {eventPull, "pull_request_only"},
	eventPullSync:    {eventPullSync, eventPull},
	eventPullLabel:   {eventPullLabel, eventPull},
	eventPullComment: {eventPullComment, eventPull},
}

// wants tells whether the hook is told the event.
func (h hook) wants(name string) bool {
	subscriptions, ok := families[name]
	if !ok {
		subscriptions = []string{name}
	}
	return h.Active && slices.ContainsFunc(subscriptions, func(s string) bool { return slices.Contains(h.Events, s) })
}

// subscribed tells of each event whether any of the hooks is told it.
func subscribed(hooks []hook) func(string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(hooks, func(h hook) bool { return h.wants(name) })
	}
}

// check tells what is wrong with a hook that is to be stored.
func (s *Server) checkHook(h hook) error {
	u, err := url.Parse(h.URL)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || len(h.URL) > 1000:
		return unprocessable("config.url", h.URL, "want http://host/path without credentials")
	case !s.mayCall(u.Hostname()):
		return unprocessable("config.url", h.URL, "hooks call addresses of this machine only, and hosts that the operator allows")
	case h.Secret == "":
		return unprocessable("config.secret", "", "a hook without a secret sends signatures that mean nothing; give one")
	case len(h.Secret) > 255:
		return unprocessable("config.secret", "...", "want at most 255 bytes")
	case len(h.Events) == 0:
		return unprocessable("events", "", "want at least one event, for instance push")
	}
	for _, e := range h.Events {
		if !slices.Contains(hookEvents, e) {
			return unprocessable("events", e, "no such event; known are "+strings.Join(hookEvents, ", "))
		}
	}
	return nil
}

// mayCall tells whether hooks may call the host: loopback, or one that the operator named.
func (s *Server) mayCall(host string) bool {
	return isLoopback(host) || slices.ContainsFunc(s.cfg.AllowHookHosts, func(allowed string) bool { return strings.EqualFold(allowed, host) })
}

// isLoopback tells of names and addresses that web.Loopback dials on this machine.
func isLoopback(host string) bool {
	host = web.Hostname(host)
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

const selectHooks = `SELECT id, url, secret, events, active, created_at, updated_at FROM hooks `

func scanHook(row interface{ Scan(...any) error }) (hook, error) {
	var h hook
	var events string
	var created, updated int64
	if err := row.Scan(&h.ID, &h.URL, &h.Secret, &events, &h.Active, &created, &updated); err != nil {
		return hook{}, err
	}
	h.Created, h.Updated = fromMillis(created), fromMillis(updated)
	return h, json.Unmarshal([]byte(events), &h.Events)
}

// hooks lists the repository's hooks by id.
func (s *Server) hooks(ctx context.Context, repo repository) ([]hook, error) {
	rows, err := s.file.Reader().QueryContext(ctx, selectHooks+`WHERE repository_id = ? ORDER BY id`, repo.ID)
	if err != nil {
		return nil, fmt.Errorf("hooks of %s: %w", repo.full(), err)
	}
	defer rows.Close()
	var hooks []hook
	for rows.Next() {
		h, err := scanHook(rows)
		if err != nil {
			return nil, fmt.Errorf("hooks of %s: %w", repo.full(), err)
		}
		hooks = append(hooks, h)
	}
	return hooks, rows.Err()
}

// hook finds one of the repository's hooks.
func (s *Server) hook(ctx context.Context, repo repository, id string) (hook, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return hook{}, unknown("hook", id)
	}
	h, err := scanHook(s.file.Reader().QueryRowContext(ctx, selectHooks+`WHERE repository_id = ? AND id = ?`, repo.ID, n))
	if errors.Is(err, sql.ErrNoRows) {
		return hook{}, unknown("hook", id)
	}
	if err != nil {
		return hook{}, fmt.Errorf("hook %s of %s: %w", id, repo.full(), err)
	}
	return h, nil
}

// saveHook writes a hook: a new one when its ID is 0.
func (s *Server) saveHook(ctx context.Context, repo repository, h hook) (hook, error) {
	if err := s.checkHook(h); err != nil {
		return hook{}, err
	}
	events, err := json.Marshal(h.Events)
	if err != nil {
		return hook{}, err
	}
	now := millis(s.cfg.Now())
	err = s.file.Update(ctx, "hook", func(tx *sql.Tx) error {
		if h.ID != 0 {
			if _, err := tx.ExecContext(ctx, `UPDATE hooks SET url = ?, secret = ?, events = ?, active = ?, updated_at = ? WHERE id = ? AND repository_id = ?`,
				h.URL, h.Secret, string(events), h.Active, now, h.ID, repo.ID); err != nil {
				return err
			}
			return retryNow(ctx, tx, now, h.ID)
		}
		var there int
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM hooks WHERE repository_id = ?`, repo.ID).Scan(&there); err != nil {
			return err
		}
		if there >= maxHooks {
			return unprocessable("hook", h.URL, fmt.Sprintf("the repository has %d hooks already; remove one first", there))
		}
		res, err := tx.ExecContext(ctx, `INSERT INTO hooks (repository_id, url, secret, events, active, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			repo.ID, h.URL, h.Secret, string(events), h.Active, now, now)
		if err != nil {
			return err
		}
		h.ID, err = res.LastInsertId()
		return err
	})
	if err != nil {
		return hook{}, fmt.Errorf("save hook of %s: %w", repo.full(), err)
	}
	s.news.tell()
	return s.hook(ctx, repo, strconv.FormatInt(h.ID, 10))
}

// retryNow makes what waits for the hook due: its address or secret may be right now.
func retryNow(ctx context.Context, tx *sql.Tx, now, hook int64) error {
	_, err := tx.ExecContext(ctx, `UPDATE deliveries SET due_at = ? WHERE hook_id = ? AND state = 'waiting' AND due_at > ?`, now, hook, now)
	return err
}

// removeHook removes a hook with its deliveries.
func (s *Server) removeHook(ctx context.Context, repo repository, h hook) error {
	return s.file.Update(ctx, "hook removed", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM hooks WHERE id = ? AND repository_id = ?`, h.ID, repo.ID)
		return err
	})
}
