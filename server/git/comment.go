package git

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const maxComments = 2000 // of a pull request

// comment is what somebody said about a pull request.
type comment struct {
	ID               int64
	Pull             int64 // its number
	Body             string
	Created, Updated time.Time
}

// checkComment tells what is wrong with a comment's text.
func checkComment(body string) error {
	if strings.TrimSpace(body) == "" || len(body) > maxText {
		return unprocessable("body", body, fmt.Sprintf("want 1 to %d bytes", maxText))
	}
	return nil
}

const selectComments = `
SELECT c.id, p.number, c.body, c.created_at, c.updated_at FROM comments c JOIN pulls p ON p.id = c.pull_id
WHERE p.repository_id = ? `

func scanComment(row interface{ Scan(...any) error }) (comment, error) {
	var c comment
	var created, updated int64
	err := row.Scan(&c.ID, &c.Pull, &c.Body, &created, &updated)
	c.Created, c.Updated = fromMillis(created), fromMillis(updated)
	return c, err
}

// comments lists a pull request's comments, oldest first.
func (s *Server) comments(ctx context.Context, repo repository, p pull) ([]comment, error) {
	rows, err := s.file.Reader().QueryContext(ctx, selectComments+`AND p.id = ? ORDER BY c.id`, repo.ID, p.ID)
	if err != nil {
		return nil, fmt.Errorf("comments of %s pull request %d: %w", repo.full(), p.Number, err)
	}
	defer rows.Close()
	var list []comment
	for rows.Next() {
		c, err := scanComment(rows)
		if err != nil {
			return nil, fmt.Errorf("comments of %s pull request %d: %w", repo.full(), p.Number, err)
		}
		list = append(list, c)
	}
	return list, rows.Err()
}

// comment finds a comment of the repository by its id.
func (s *Server) comment(ctx context.Context, repo repository, id string) (comment, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return comment{}, unknown("comment", id)
	}
	c, err := scanComment(s.file.Reader().QueryRowContext(ctx, selectComments+`AND c.id = ?`, repo.ID, n))
	if errors.Is(err, sql.ErrNoRows) {
		return comment{}, unknown("comment", id)
	}
	if err != nil {
		return comment{}, fmt.Errorf("comment %s of %s: %w", id, repo.full(), err)
	}
	return c, nil
}

// addComment adds a comment to a pull request, in whatever state that is.
func (s *Server) addComment(ctx context.Context, repo repository, number, body string) (made comment, err error) {
	if err := checkComment(body); err != nil {
		return comment{}, err
	}
	err = s.changePull(ctx, repo, number, func(repo repository, p pull) error {
		if p.Comments >= maxComments {
			return unprocessable("body", body, fmt.Sprintf("the pull request has %d comments already", p.Comments))
		}
		now := s.cfg.Now()
		p.Comments, p.Updated = p.Comments+1, now
		made = comment{Pull: p.Number, Body: body, Created: now, Updated: now}
		return s.saveComment(ctx, repo, p, &made, "created", nil, func(tx *sql.Tx) error {
			res, err := tx.ExecContext(ctx, `INSERT INTO comments (pull_id, body, created_at, updated_at) VALUES (?, ?, ?, ?)`, p.ID, body, millis(now), millis(now))
			if err != nil {
				return err
			}
			made.ID, err = res.LastInsertId()
			return err
		})
	})
	return made, err
}

// editComment changes a comment's text. The same text changes and tells nothing.
func (s *Server) editComment(ctx context.Context, repo repository, c comment, body string) (edited comment, err error) {
	if err := checkComment(body); err != nil {
		return comment{}, err
	}
	err = s.changePull(ctx, repo, strconv.FormatInt(c.Pull, 10), func(repo repository, p pull) error {
		if edited, err = s.comment(ctx, repo, strconv.FormatInt(c.ID, 10)); err != nil || edited.Body == body {
			return err
		}
		was := edited.Body
		edited.Body, edited.Updated = body, s.cfg.Now()
		return s.saveComment(ctx, repo, p, &edited, "edited", &changesShape{Body: &fromShape{was}}, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `UPDATE comments SET body = ?, updated_at = ? WHERE id = ?`, body, millis(edited.Updated), edited.ID)
			return err
		})
	})
	return edited, err
}

// removeComment deletes a comment.
func (s *Server) removeComment(ctx context.Context, repo repository, c comment) error {
	return s.changePull(ctx, repo, strconv.FormatInt(c.Pull, 10), func(repo repository, p pull) error {
		p.Comments--
		return s.saveComment(ctx, repo, p, &c, "deleted", nil, func(tx *sql.Tx) error {
			res, err := tx.ExecContext(ctx, `DELETE FROM comments WHERE id = ?`, c.ID)
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n == 0 {
				return errors.Join(err, unknown("comment", strconv.FormatInt(c.ID, 10)))
			}
			return nil
		})
	})
}

// saveComment writes a comment and what is told of it in one transaction.
func (s *Server) saveComment(ctx context.Context, repo repository, p pull, c *comment, action string, changes *changesShape, write func(*sql.Tx) error) error {
	ctx = context.WithoutCancel(ctx)
	hooks, err := s.hooks(ctx, repo)
	if err != nil {
		return err
	}
	refs, err := s.refsOnDisk(ctx, repo)
	if err != nil {
		return err
	}
	told, err := s.commentPayload(ctx, repo, p, refs, action)
	if err != nil {
		return err
	}
	told.Changes = changes
	err = s.file.Update(ctx, "comment "+action, func(tx *sql.Tx) error {
		if err := write(tx); err != nil {
			return err
		}
		if err := writePull(ctx, tx, p); err != nil {
			return err
		}
		told.Comment = s.shapeComment(repo, *c, told.Sender)
		return s.tell(ctx, tx, hooks, eventPullComment, told)
	})
	if err != nil {
		return fmt.Errorf("comment on %s pull request %d: %w", repo.full(), p.Number, err)
	}
	s.news.tell()
	return nil
}
