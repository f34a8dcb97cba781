package git

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"platform.dev/platform/flowclient/gitea/gitcmd"
	"platform.dev/platform/server/web"
)

// mergeRequest asks for a merge.
type mergeRequest struct {
	Style          string // a key of mergeStyles
	Title, Message string // of the commit; the style's own when Title is empty
	Head           string // whole SHA that must be the head; empty for any
	DeleteBranch   bool
}

// mergeStyle is a way to merge.
type mergeStyle struct {
	title   func(p pull) string
	parents func(base, head string) []string // of the commit; nil when head itself becomes the base
	author  func(head commit, merger person) person
}

// mergeStyles are the ways to merge, by Gitea's names.
var mergeStyles = map[string]mergeStyle{
	"merge": {
		title: func(p pull) string {
			return fmt.Sprintf("Merge pull request '%s' (#%d) from %s into %s", p.Title, p.Number, p.Branch, p.Base)
		},
		parents: func(base, head string) []string { return []string{base, head} },
		author:  func(_ commit, merger person) person { return merger },
	},
	"squash": {
		title:   func(p pull) string { return fmt.Sprintf("%s (#%d)", p.Title, p.Number) },
		parents: func(base, _ string) []string { return []string{base} },
		author: func(head commit, merger person) person { // the change stays its author's
			if strings.TrimSpace(head.Author.Name) == "" { // which git takes from a push, and never makes
				return merger
			}
			return person{head.Author.Name, head.Author.Email, merger.When}
		},
	},
	"fast-forward-only": {},
}

// begunMerge is a merge that was decided on: the base goes from before to sha.
type begunMerge struct {
	pull         pull
	before, sha  string
	deleteBranch bool
}

// merge merges a pull request. The decision is durable before a ref moves, and
// the row of it goes in the transaction that records what came of it: cut off
// anywhere, the merge is done once, by us or by the next start.
func (s *Server) merge(ctx context.Context, repo repository, number string, r mergeRequest) error {
	return s.changePull(ctx, repo, number, func(repo repository, p pull) error {
		ctx := context.WithoutCancel(ctx)
		m, err := s.decideMerge(ctx, repo, p, r)
		if err != nil {
			return err
		}
		if err := s.beginMerge(ctx, m); err != nil {
			return err
		}
		if err := s.carryOut(ctx, repo, m); err != nil {
			return err
		}
		return s.record(ctx, repo, s.cfg.AdminUser)
	})
}

// decideMerge checks that the merge may be done, and makes its commit.
func (s *Server) decideMerge(ctx context.Context, repo repository, p pull, r mergeRequest) (begunMerge, error) {
	style, ok := mergeStyles[r.Style]
	m := begunMerge{pull: p, deleteBranch: r.DeleteBranch && p.Branch != repo.DefaultBranch}
	switch {
	case !ok:
		return m, &refusal{http.StatusMethodNotAllowed, fmt.Sprintf("%q is not an allowed merge style for this repository; use merge, squash or fast-forward-only", web.Echo(r.Style))}
	case p.State == pullMerged:
		return m, &refusal{http.StatusMethodNotAllowed, "The PR is already merged"}
	case p.State != pullOpen:
		return m, &refusal{http.StatusNotFound, fmt.Sprintf("pull request %d is closed; reopen it first", p.Number)}
	case r.Head != "" && r.Head != p.Head:
		return m, conflict("head out of date: the head of pull request %d is %s", p.Number, p.Head)
	}
	refs, err := s.refsOnDisk(ctx, repo)
	if err != nil {
		return m, err
	}
	m.before = refs["refs/heads/"+p.Base]
	mergeBase, err := s.mergeBase(ctx, repo, m.before, p.Head)
	switch {
	case err != nil:
		return m, err
	case mergeBase == "":
		return m, conflict("%s has no commit in common with %s", p.Branch, p.Base)
	case mergeBase == p.Head:
		return m, conflict("%s holds every commit of %s already; close the pull request", p.Base, p.Branch)
	case style.parents == nil && mergeBase != m.before:
		return m, conflict("%s has commits that %s has not; merge %s into %s first, or use merge or squash", p.Base, p.Branch, p.Base, p.Branch)
	case style.parents == nil:
		m.sha = p.Head
		return m, nil
	}
	m.sha, err = s.mergeCommit(ctx, repo, p, m.before, style, r)
	return m, err
}

// mergeCommit makes the commit that merges the pull request's head into base. No ref names it yet.
func (s *Server) mergeCommit(ctx context.Context, repo repository, p pull, base string, style mergeStyle, r mergeRequest) (string, error) {
	tree, conflicts, err := s.mergeTree(ctx, repo, base, p.Head)
	if err != nil {
		return "", fmt.Errorf("merge %s pull request %d: %w", repo.full(), p.Number, err)
	}
	if tree == "" {
		return "", conflict("%s conflicts with %s in %s; merge %s into %s, resolve and push", p.Branch, p.Base, web.Echo(strings.Join(conflicts, ", ")), p.Base, p.Branch)
	}
	head, err := s.commit(ctx, repo, p.Head)
	if err != nil {
		return "", err
	}
	merger := person{s.cfg.AdminUser, accountAddress(s.cfg.AdminUser), s.cfg.Now()}
	author := style.author(head, merger)
	args := []string{"commit-tree", tree}
	for _, parent := range style.parents(base, p.Head) {
		args = append(args, "-p", parent)
	}
	out, err := s.reads.Run(ctx, gitcmd.Call{
		Args: append(args, "-F", "-"), GitDir: s.dir(repo), Settings: settings,
		Stdin: strings.NewReader(s.mergeMessage(repo, p, style, r)),
		Env: []string{
			"GIT_AUTHOR_NAME=" + author.Name, "GIT_AUTHOR_EMAIL=" + author.Email, "GIT_AUTHOR_DATE=" + author.When.Format(time.RFC3339),
			"GIT_COMMITTER_NAME=" + merger.Name, "GIT_COMMITTER_EMAIL=" + merger.Email, "GIT_COMMITTER_DATE=" + merger.When.Format(time.RFC3339),
		},
	})
	if err != nil {
		return "", fmt.Errorf("commit merge of %s pull request %d: %w", repo.full(), p.Number, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// mergeMessage is the commit's message: as asked for, or the style's own.
func (s *Server) mergeMessage(repo repository, p pull, style mergeStyle, r mergeRequest) string {
	message := strings.TrimSpace(r.Title)
	if message == "" {
		message = style.title(p) + "\n\nReviewed-on: " + s.pullURL(repo, p)
	}
	if more := strings.TrimSpace(r.Message); more != "" {
		message += "\n\n" + more
	}
	return message + "\n"
}

// beginMerge records the decision.
func (s *Server) beginMerge(ctx context.Context, m begunMerge) error {
	err := s.file.Update(ctx, "merge begun", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO merges (pull_id, before, sha, delete_branch) VALUES (?, ?, ?, ?)`,
			m.pull.ID, m.before, m.sha, m.deleteBranch)
		return err
	})
	if err != nil {
		return fmt.Errorf("begin merge of pull request %d: %w", m.pull.Number, err)
	}
	return nil
}

// moveBase moves the base to the merge's commit, and removes the branch where
// that was asked for: both or neither.
func (s *Server) moveBase(ctx context.Context, repo repository, m begunMerge) error {
	var in bytes.Buffer
	fmt.Fprintf(&in, "update refs/heads/%s %s %s\n", m.pull.Base, m.sha, m.before)
	if m.deleteBranch {
		fmt.Fprintf(&in, "delete refs/heads/%s %s\n", m.pull.Branch, m.pull.Head)
	}
	_, err := s.reads.Run(ctx, gitcmd.Call{Args: []string{"update-ref", "--stdin"}, GitDir: s.dir(repo), Settings: settings, Stdin: &in})
	if err != nil {
		return fmt.Errorf("merge pull request %d of %s: %w", m.pull.Number, repo.full(), err)
	}
	return nil
}

// endMerge removes a decision in the transaction that records what came of it.
func endMerge(ctx context.Context, tx *sql.Tx, pullID int64) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM merges WHERE pull_id = ?`, pullID); err != nil {
		return fmt.Errorf("end merge: %w", err)
	}
	return nil
}

// dropMerge gives a decision up: the base could not be moved.
func (s *Server) dropMerge(ctx context.Context, m begunMerge) error {
	return s.file.Update(ctx, "merge given up", func(tx *sql.Tx) error { return endMerge(ctx, tx, m.pull.ID) })
}

// begunMerges lists the repository's decisions by pull request.
func (s *Server) begunMerges(ctx context.Context, repo repository) (map[int64]*begunMerge, error) {
	rows, err := s.file.Reader().QueryContext(ctx, `SELECT p.id, p.number, p.base, p.branch, p.head, m.before, m.sha, m.delete_branch
		FROM merges m JOIN pulls p ON p.id = m.pull_id WHERE p.repository_id = ?`, repo.ID)
	if err != nil {
		return nil, fmt.Errorf("merges of %s: %w", repo.full(), err)
	}
	defer rows.Close()
	begun := map[int64]*begunMerge{}
	for rows.Next() {
		var m begunMerge
		if err := rows.Scan(&m.pull.ID, &m.pull.Number, &m.pull.Base, &m.pull.Branch, &m.pull.Head, &m.before, &m.sha, &m.deleteBranch); err != nil {
			return nil, fmt.Errorf("merges of %s: %w", repo.full(), err)
		}
		begun[m.pull.ID] = &m
	}
	return begun, rows.Err()
}

// carryOut moves the base. A decision whose base did not move is given up;
// when that cannot be told, it stays for the next start.
func (s *Server) carryOut(ctx context.Context, repo repository, m begunMerge) error {
	err := s.moveBase(ctx, repo, m)
	if err == nil {
		return nil
	}
	refs, readErr := s.refsOnDisk(ctx, repo)
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	if base := refs["refs/heads/"+m.pull.Base]; base != "" {
		done, readErr := s.contains(ctx, repo, base, m.sha)
		if readErr != nil || done {
			return readErr
		}
	}
	return errors.Join(err, s.dropMerge(ctx, m))
}

// resumeMerges does what was decided on before a crash, where it is not done.
// One that cannot be done any more, since the base has moved elsewhere, is
// given up: nobody was told of it.
func (s *Server) resumeMerges(ctx context.Context, repo repository) error {
	begun, err := s.begunMerges(ctx, repo)
	if err != nil {
		return err
	}
	for _, m := range begun {
		if err := s.carryOut(ctx, repo, *m); err != nil {
			return err
		}
	}
	return nil
}
