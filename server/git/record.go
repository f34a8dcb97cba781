package git

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// change is a ref whose object is not the recorded one.
type change struct {
	ref           string // refs/heads/main
	before, after string // zeroSHA where it did not or does not exist
}

func (c change) created() bool { return c.before == zeroSHA }
func (c change) deleted() bool { return c.after == zeroSHA }

// branch is the branch's name; empty for a tag.
func (c change) branch() string {
	if name, ok := strings.CutPrefix(c.ref, "refs/heads/"); ok {
		return name
	}
	return ""
}

// short is the name without refs/heads/ or refs/tags/, and kind what it is.
func (c change) short() (name, kind string) {
	if b := c.branch(); b != "" {
		return b, "branch"
	}
	return strings.TrimPrefix(c.ref, "refs/tags/"), "tag"
}

// compare gives what differs between the recorded refs and those on disk:
// the default branch first, then by name.
func compare(recorded, actual map[string]string, first string) []change {
	var changes []change
	for ref, sha := range actual {
		if before, ok := recorded[ref]; !ok {
			changes = append(changes, change{ref, zeroSHA, sha})
		} else if before != sha {
			changes = append(changes, change{ref, before, sha})
		}
	}
	for ref, sha := range recorded {
		if _, ok := actual[ref]; !ok {
			changes = append(changes, change{ref, sha, zeroSHA})
		}
	}
	rank := func(c change) string {
		if c.ref == "refs/heads/"+first {
			return ""
		}
		return c.ref
	}
	slices.SortFunc(changes, func(a, b change) int { return strings.Compare(rank(a), rank(b)) })
	return changes
}

// event is what a hook is told: its name and its payload.
type event struct {
	name string
	body []byte
}

// newEvent is an event with its payload written out.
func newEvent(name string, payload any) (event, error) {
	body, err := json.MarshalIndent(payload, "", "  ")
	return event{name, body}, err
}

// Record compares the repository's refs with the recorded ones and records
// what differs together with what it makes of pull requests and the deliveries
// that all of it causes, in one transaction. who is told as the pusher. Nothing differs: nothing is written.
func (s *Server) Record(ctx context.Context, full, who string) error {
	repo, err := s.repository(ctx, full)
	if err != nil {
		return err
	}
	m := s.lock(repo.ID)
	m.Lock()
	defer m.Unlock()
	return s.record(ctx, repo, who)
}

// current reads the repository's row again, for who waited for its lock: it
// may have been removed, and made again under the same name.
func (s *Server) current(ctx context.Context, repo repository) (repository, error) {
	now, err := s.repository(ctx, repo.full())
	if err == nil && now.ID != repo.ID {
		err = unknown("repository", repo.full())
	}
	return now, err
}

// record is Record for who holds the repository's lock.
func (s *Server) record(ctx context.Context, repo repository, who string) error {
	repo, err := s.current(ctx, repo)
	if err != nil {
		return err
	}
	actual, err := s.refsOnDisk(ctx, repo)
	if err != nil {
		return err
	}
	recorded, err := s.recordedRefs(ctx, repo)
	if err != nil {
		return err
	}
	if maps.Equal(recorded, actual) {
		return nil
	}
	if repo, err = s.adoptBranch(ctx, repo, actual); err != nil {
		return err
	}
	repo.Size, repo.Updated = sizeOnDisk(s.dir(repo)), s.cfg.Now()
	hooks, err := s.hooks(ctx, repo)
	if err != nil {
		return err
	}
	changes := compare(recorded, actual, repo.DefaultBranch)
	var events []event
	for _, c := range changes {
		told, err := s.events(ctx, repo, c, actual, who, subscribed(hooks))
		if err != nil {
			return fmt.Errorf("events of %s %s: %w", repo.full(), c.ref, err)
		}
		events = append(events, told...)
	}
	pulls, err := s.follow(ctx, repo, recorded, actual, subscribed(hooks))
	if err != nil {
		return err
	}
	err = s.file.Update(ctx, "push", func(tx *sql.Tx) error {
		if err := s.writeRefs(ctx, tx, repo, changes); err != nil {
			return err
		}
		if err := pulls.write(ctx, tx); err != nil {
			return err
		}
		return s.enqueue(ctx, tx, hooks, append(events, pulls.events...))
	})
	if err != nil {
		return fmt.Errorf("record push to %s: %w", repo.full(), err)
	}
	s.news.tell()
	return nil
}

// recordedRefs reads the refs as the last event left them.
func (s *Server) recordedRefs(ctx context.Context, repo repository) (map[string]string, error) {
	rows, err := s.file.Reader().QueryContext(ctx, `SELECT name, sha FROM refs WHERE repository_id = ?`, repo.ID)
	if err != nil {
		return nil, fmt.Errorf("recorded refs of %s: %w", repo.full(), err)
	}
	defer rows.Close()
	refs := map[string]string{}
	for rows.Next() {
		var name, sha string
		if err := rows.Scan(&name, &sha); err != nil {
			return nil, fmt.Errorf("recorded refs of %s: %w", repo.full(), err)
		}
		refs[name] = sha
	}
	return refs, rows.Err()
}

// writeRefs brings the recorded refs up to date.
func (s *Server) writeRefs(ctx context.Context, tx *sql.Tx, repo repository, changes []change) error {
	for _, c := range changes {
		var err error
		if c.deleted() {
			_, err = tx.ExecContext(ctx, `DELETE FROM refs WHERE repository_id = ? AND name = ?`, repo.ID, c.ref)
		} else {
			_, err = tx.ExecContext(ctx, `INSERT INTO refs (repository_id, name, sha) VALUES (?, ?, ?)
				ON CONFLICT (repository_id, name) DO UPDATE SET sha = excluded.sha`, repo.ID, c.ref, c.after)
		}
		if err != nil {
			return fmt.Errorf("write ref %s: %w", c.ref, err)
		}
	}
	_, err := tx.ExecContext(ctx, `UPDATE repositories SET updated_at = ?, default_branch = ?, size = ? WHERE id = ?`,
		millis(s.cfg.Now()), repo.DefaultBranch, repo.Size, repo.ID)
	return err
}

// enqueue adds a delivery per event and hook that subscribes to it. Hooks that
// were removed since they were read get none.
func (s *Server) enqueue(ctx context.Context, tx *sql.Tx, hooks []hook, events []event) error {
	now := millis(s.cfg.Now())
	for _, e := range events {
		for _, h := range hooks {
			if !h.wants(e.name) {
				continue
			}
			id, err := uuid.NewRandom()
			if err != nil {
				return fmt.Errorf("delivery id: %w", err)
			}
			_, err = tx.ExecContext(ctx, `INSERT INTO deliveries (uuid, hook_id, event, body, state, due_at, created_at)
				SELECT ?, id, ?, ?, 'waiting', ?, ? FROM hooks WHERE id = ?`, id.String(), e.name, e.body, now, now, h.ID)
			if err != nil {
				return fmt.Errorf("enqueue %s: %w", e.name, err)
			}
		}
	}
	return nil
}

// adoptBranch makes a branch that exists the default one when the default one
// does not: the first push to an empty repository may name any branch.
func (s *Server) adoptBranch(ctx context.Context, repo repository, actual map[string]string) (repository, error) {
	if _, ok := actual["refs/heads/"+repo.DefaultBranch]; ok {
		return repo, nil
	}
	for _, ref := range slices.Sorted(maps.Keys(actual)) {
		if name, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
			if _, err := s.git(ctx, repo, "symbolic-ref", "HEAD", ref); err != nil {
				return repo, fmt.Errorf("default branch of %s: %w", repo.full(), err)
			}
			repo.DefaultBranch = name
			return repo, nil
		}
	}
	return repo, nil
}

// events are the payloads that one change causes, those alone that a hook
// subscribes to: creation and deletion, then the push.
func (s *Server) events(ctx context.Context, repo repository, c change, actual map[string]string, who string, wanted func(string) bool) ([]event, error) {
	base, err := s.describe(ctx, repo, who, actual)
	if err != nil {
		return nil, err
	}
	name, kind := c.short()
	var events []event
	add := func(told string, payload any) error {
		e, err := newEvent(told, payload)
		events = append(events, e)
		return err
	}
	if c.deleted() {
		if wanted(eventDelete) {
			err = add(eventDelete, deletePayload{Ref: name, RefType: kind, PusherType: "user", Repository: base.repository, Sender: base.sender})
		}
		return events, err
	}
	if c.created() && wanted(eventCreate) {
		if err := add(eventCreate, createPayload{SHA: c.after, Ref: name, RefType: kind, Repository: base.repository, Sender: base.sender}); err != nil {
			return nil, err
		}
	}
	if wanted(eventPush) {
		push, err := s.pushPayload(ctx, repo, c, actual, base)
		if err != nil {
			return nil, err
		}
		if err := add(eventPush, push); err != nil {
			return nil, err
		}
	}
	return events, nil
}
