package git

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The states of a pull request. Gitea calls a merged one closed, and merged.
const (
	pullOpen   = "open"
	pullClosed = "closed"
	pullMerged = "merged"
)

const (
	maxTitle = 255      // bytes of a pull request's title
	maxText  = 64 << 10 // bytes of a pull request's body, or of a comment
)

// pull is a pull request: the wish that base takes what branch has.
type pull struct {
	ID, Number       int64
	Title, Body      string
	Base, Branch     string
	Head             string // of the branch; what it was when the pull request ended
	State            string
	MergeBase        string // of one that ended
	MergeCommit      string // of a merged one
	Created, Updated time.Time
	Closed           *time.Time
	Labels           []label // by name
	Comments         int
}

func (p pull) open() bool { return p.State == pullOpen }

// ref names the pull request's commits, whatever becomes of its branch.
func (p pull) ref() string { return fmt.Sprintf("refs/pull/%d/head", p.Number) }

// end is the pull request closed or merged at now.
func (p pull) end(state, mergeBase string, now time.Time) pull {
	p.State, p.MergeBase, p.Updated, p.Closed = state, mergeBase, now, &now
	return p
}

// check tells what is wrong with the text of a pull request.
func (p pull) check() error {
	switch {
	case strings.TrimSpace(p.Title) == "" || len(p.Title) > maxTitle || strings.ContainsFunc(p.Title, isControl):
		return unprocessable("title", p.Title, fmt.Sprintf("want one line of 1 to %d bytes", maxTitle))
	case len(p.Body) > maxText:
		return unprocessable("body", p.Body, fmt.Sprintf("want at most %d bytes", maxText))
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

const selectPulls = `
SELECT p.id, p.number, p.title, p.body, p.base, p.branch, p.head, p.state, p.merge_base, p.merge_commit,
       p.created_at, p.updated_at, p.closed_at, (SELECT count(*) FROM comments c WHERE c.pull_id = p.id)
FROM pulls p `

func scanPull(row interface{ Scan(...any) error }) (pull, error) {
	var p pull
	var created, updated int64
	var closed sql.NullInt64
	err := row.Scan(&p.ID, &p.Number, &p.Title, &p.Body, &p.Base, &p.Branch, &p.Head, &p.State, &p.MergeBase, &p.MergeCommit,
		&created, &updated, &closed, &p.Comments)
	p.Created, p.Updated = fromMillis(created), fromMillis(updated)
	if closed.Valid {
		at := fromMillis(closed.Int64)
		p.Closed = &at
	}
	return p, err
}

// pullsWhere lists pull requests with their labels; the rest of the query follows WHERE.
func (s *Server) pullsWhere(ctx context.Context, repo repository, rest string, args ...any) ([]pull, error) {
	rows, err := s.file.Reader().QueryContext(ctx, selectPulls+`WHERE p.repository_id = ? `+rest, append([]any{repo.ID}, args...)...) //nolint:gosec // rest is a literal
	if err != nil {
		return nil, fmt.Errorf("pull requests of %s: %w", repo.full(), err)
	}
	defer rows.Close()
	var list []pull
	for rows.Next() {
		p, err := scanPull(rows)
		if err != nil {
			return nil, fmt.Errorf("pull requests of %s: %w", repo.full(), err)
		}
		list = append(list, p)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("pull requests of %s: %w", repo.full(), err)
	}
	for i := range list {
		if list[i].Labels, err = s.labelsOf(ctx, list[i].ID); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// pull finds one of the repository's pull requests by its number.
func (s *Server) pull(ctx context.Context, repo repository, number string) (pull, error) {
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return pull{}, unknown("pull request", number)
	}
	list, err := s.pullsWhere(ctx, repo, `AND p.number = ?`, n)
	if err == nil && len(list) == 0 {
		err = unknown("pull request", number)
	}
	if err != nil {
		return pull{}, err
	}
	return list[0], nil
}

// openPulls lists the open ones by number.
func (s *Server) openPulls(ctx context.Context, repo repository) ([]pull, error) {
	return s.pullsWhere(ctx, repo, `AND p.state = 'open' ORDER BY p.number`)
}

// alone runs change while neither refs nor pull requests of the repository
// change otherwise, on the refs as they are recorded.
func (s *Server) alone(ctx context.Context, repo repository, change func(repository) error) error {
	m := s.lock(repo.ID)
	m.Lock()
	defer m.Unlock()
	if err := s.record(ctx, repo, s.cfg.AdminUser); err != nil {
		return err
	}
	now, err := s.current(ctx, repo)
	if err != nil {
		return err
	}
	return change(now)
}

// changePull runs change on a pull request as it stands, alone.
func (s *Server) changePull(ctx context.Context, repo repository, number string, change func(repository, pull) error) error {
	return s.alone(ctx, repo, func(repo repository) error {
		p, err := s.pull(ctx, repo, number)
		if err != nil {
			return err
		}
		return change(repo, p)
	})
}

// writePull brings a pull request's row up to date.
func writePull(ctx context.Context, tx *sql.Tx, p pull) error {
	var closed any
	if p.Closed != nil {
		closed = millis(*p.Closed)
	}
	_, err := tx.ExecContext(ctx, `UPDATE pulls SET title = ?, body = ?, head = ?, state = ?, merge_base = ?, merge_commit = ?, updated_at = ?, closed_at = ? WHERE id = ?`,
		p.Title, p.Body, p.Head, p.State, p.MergeBase, p.MergeCommit, millis(p.Updated), closed, p.ID)
	if err != nil {
		return fmt.Errorf("write pull request %d: %w", p.Number, err)
	}
	return nil
}

// openPull makes a pull request. Its ref is there before its row: a ref without
// one is taken over by the next pull request.
func (s *Server) openPull(ctx context.Context, repo repository, p pull) (made pull, err error) {
	if err := p.check(); err != nil {
		return pull{}, err
	}
	err = s.alone(ctx, repo, func(repo repository) error {
		made, err = s.insertPull(context.WithoutCancel(ctx), repo, p)
		return err
	})
	return made, err
}

// insertPull is openPull for who is alone with the repository.
func (s *Server) insertPull(ctx context.Context, repo repository, p pull) (pull, error) {
	refs, err := s.refsOnDisk(ctx, repo)
	if err != nil {
		return pull{}, err
	}
	if err := s.checkPair(ctx, repo, p, refs); err != nil {
		return pull{}, err
	}
	p.Head, p.State, p.Created = refs["refs/heads/"+p.Branch], pullOpen, s.cfg.Now()
	p.Updated = p.Created
	if err := s.file.Reader().QueryRowContext(ctx, `SELECT coalesce(max(number), 0) + 1 FROM pulls WHERE repository_id = ?`, repo.ID).Scan(&p.Number); err != nil {
		return pull{}, fmt.Errorf("number a pull request of %s: %w", repo.full(), err)
	}
	if err := s.keepHead(ctx, repo, p); err != nil {
		return pull{}, err
	}
	hooks, err := s.hooks(ctx, repo)
	if err != nil {
		return pull{}, err
	}
	told, err := s.pullPayload(ctx, repo, p, refs, "opened")
	if err != nil {
		return pull{}, err
	}
	err = s.file.Update(ctx, "pull request opened", func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `INSERT INTO pulls (repository_id, number, title, body, base, branch, head, state, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			repo.ID, p.Number, p.Title, p.Body, p.Base, p.Branch, p.Head, p.State, millis(p.Created), millis(p.Updated))
		if err != nil {
			return err
		}
		if p.ID, err = res.LastInsertId(); err != nil {
			return err
		}
		if err := writeLabels(ctx, tx, p.ID, p.Labels); err != nil {
			return err
		}
		told.PullRequest.ID = p.ID
		return s.tell(ctx, tx, hooks, eventPull, told)
	})
	if err != nil {
		return pull{}, fmt.Errorf("open pull request of %s: %w", repo.full(), err)
	}
	s.news.tell()
	return p, nil
}

// checkPair tells what keeps a pull request from being open between its branches.
func (s *Server) checkPair(ctx context.Context, repo repository, p pull, refs map[string]string) error {
	base, branch := refs["refs/heads/"+p.Base], refs["refs/heads/"+p.Branch]
	switch {
	case base == "":
		return unknown("branch", p.Base)
	case branch == "":
		return unknown("branch", p.Branch)
	}
	there, err := s.pullsWhere(ctx, repo, `AND p.state = 'open' AND p.base = ? AND p.branch = ?`, p.Base, p.Branch)
	if err != nil {
		return err
	}
	if len(there) > 0 {
		return conflict("pull request already exists for these targets [number: %d, head_branch: %s, base_branch: %s]", there[0].Number, p.Branch, p.Base)
	}
	facts, err := s.pair(ctx, repo, base, branch)
	switch {
	case err != nil:
		return err
	case facts.mergeBase == "":
		return unprocessable("head", p.Branch, "it has no commit in common with "+p.Base)
	case facts.mergeBase == branch:
		return unprocessable("head", p.Branch, "there are no changes between the head and the base")
	}
	return nil
}

// keepHead makes the pull request's ref name its head.
func (s *Server) keepHead(ctx context.Context, repo repository, p pull) error {
	if _, err := s.git(ctx, repo, "update-ref", p.ref(), p.Head); err != nil {
		return fmt.Errorf("keep head of %s pull request %d: %w", repo.full(), p.Number, err)
	}
	return nil
}

// tell enqueues one event with its payload.
func (s *Server) tell(ctx context.Context, tx *sql.Tx, hooks []hook, name string, payload any) error {
	e, err := newEvent(name, payload)
	if err != nil {
		return err
	}
	return s.enqueue(ctx, tx, hooks, []event{e})
}
