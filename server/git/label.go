package git

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const maxLabels = 200 // of a repository

var labelColor = regexp.MustCompile(`^#?[0-9a-fA-F]{6}$`)

// label is a word that pull requests of a repository may bear.
type label struct {
	ID                       int64
	Name, Color, Description string
}

// check tells what is wrong with a label, and brings its colour into its form.
func (l *label) check() error {
	switch {
	case strings.TrimSpace(l.Name) == "" || len(l.Name) > 50 || strings.ContainsFunc(l.Name, isControl):
		return unprocessable("name", l.Name, "want 1 to 50 bytes")
	case !labelColor.MatchString(l.Color):
		return unprocessable("color", l.Color, "want six hex digits, for instance #00aabb")
	case len(l.Description) > 200:
		return unprocessable("description", l.Description, "want at most 200 bytes")
	}
	l.Color = strings.ToLower(strings.TrimPrefix(l.Color, "#"))
	return nil
}

// listLabels reads labels by a query for id, name, color and description.
func (s *Server) listLabels(ctx context.Context, query string, id int64) ([]label, error) {
	rows, err := s.file.Reader().QueryContext(ctx, query, id)
	if err != nil {
		return nil, fmt.Errorf("list labels: %w", err)
	}
	defer rows.Close()
	var list []label
	for rows.Next() {
		var l label
		if err := rows.Scan(&l.ID, &l.Name, &l.Color, &l.Description); err != nil {
			return nil, fmt.Errorf("list labels: %w", err)
		}
		list = append(list, l)
	}
	return list, rows.Err()
}

// labels lists the repository's labels by name.
func (s *Server) labels(ctx context.Context, repo repository) ([]label, error) {
	return s.listLabels(ctx, `SELECT id, name, color, description FROM labels WHERE repository_id = ? ORDER BY name`, repo.ID)
}

// labelsOf lists a pull request's labels by name.
func (s *Server) labelsOf(ctx context.Context, pullID int64) ([]label, error) {
	return s.listLabels(ctx, `SELECT l.id, l.name, l.color, l.description FROM pull_labels p JOIN labels l ON l.id = p.label_id WHERE p.pull_id = ? ORDER BY l.name`, pullID)
}

// addLabel makes a label of the repository.
func (s *Server) addLabel(ctx context.Context, repo repository, l label) (label, error) {
	if err := l.check(); err != nil {
		return label{}, err
	}
	err := s.file.Update(ctx, "label", func(tx *sql.Tx) error {
		var there int
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM labels WHERE repository_id = ?`, repo.ID).Scan(&there); err != nil {
			return err
		}
		if there >= maxLabels {
			return unprocessable("name", l.Name, fmt.Sprintf("the repository has %d labels already", there))
		}
		res, err := tx.ExecContext(ctx, `INSERT INTO labels (repository_id, name, color, description) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			repo.ID, l.Name, l.Color, l.Description)
		if err != nil {
			return err
		}
		if added, err := res.RowsAffected(); err != nil || added == 0 {
			return errors.Join(err, conflict("the label %q exists", l.Name))
		}
		l.ID, err = res.LastInsertId()
		return err
	})
	if err != nil {
		return label{}, fmt.Errorf("label of %s: %w", repo.full(), err)
	}
	return l, nil
}

// findLabels finds the repository's labels by id or name, each once.
func (s *Server) findLabels(ctx context.Context, repo repository, which []any) ([]label, error) {
	all, err := s.labels(ctx, repo)
	if err != nil {
		return nil, err
	}
	var found []label
	for _, w := range which {
		i := slices.IndexFunc(all, func(l label) bool { return l.is(w) })
		if i < 0 {
			return nil, unknown("label", fmt.Sprint(w))
		}
		if !slices.Contains(found, all[i]) {
			found = append(found, all[i])
		}
	}
	return found, nil
}

// is tells whether a value of JSON means the label: its id or its name.
func (l label) is(w any) bool {
	switch w := w.(type) {
	case string:
		return l.Name == w || strconv.FormatInt(l.ID, 10) == w
	case float64:
		return float64(l.ID) == w
	}
	return false
}

// setLabels gives a pull request other labels, made of those it has. Nothing
// is told when nothing changes. Clearing is told as its own action, with the
// labels that there were: so does Gitea.
func (s *Server) setLabels(ctx context.Context, repo repository, number, action string, change func(has []label) ([]label, error)) (labels []label, err error) {
	err = s.changePull(ctx, repo, number, func(repo repository, p pull) error {
		had := p.Labels
		if labels, err = change(slices.Clone(had)); err != nil {
			return err
		}
		slices.SortFunc(labels, func(a, b label) int { return strings.Compare(a.Name, b.Name) })
		if slices.Equal(had, labels) {
			return nil
		}
		p.Updated = s.cfg.Now()
		if action == "label_updated" {
			p.Labels = labels
		}
		return s.savePull(ctx, repo, p, []pullEvent{{eventPullLabel, action, nil}}, func(tx *sql.Tx) error {
			return writeLabels(ctx, tx, p.ID, labels)
		})
	})
	return labels, err
}

// writeLabels gives a pull request exactly these labels.
func writeLabels(ctx context.Context, tx *sql.Tx, pullID int64, labels []label) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM pull_labels WHERE pull_id = ?`, pullID); err != nil {
		return fmt.Errorf("write labels: %w", err)
	}
	for _, l := range labels {
		if _, err := tx.ExecContext(ctx, `INSERT INTO pull_labels (pull_id, label_id) VALUES (?, ?)`, pullID, l.ID); err != nil {
			return fmt.Errorf("write label %s: %w", l.Name, err)
		}
	}
	return nil
}
