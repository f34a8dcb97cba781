package git

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"platform.dev/platform/flowclient"
)

const (
	kindUser         = "user"
	kindOrganization = "organization"
	defaultBranch    = "main"
)

// owner is the account or an organisation.
type owner struct {
	ID      int64
	Name    string
	Kind    string
	Created time.Time
}

// repository is one row of the registry.
type repository struct {
	ID            int64
	Owner         owner
	Name          string
	Description   string
	Private       bool
	DefaultBranch string
	Size          int64 // KiB on disk after the last push
	OpenPulls     int64 // how many pull requests are open
	Created       time.Time
	Updated       time.Time
}

// full is the repository's name as people write it: owner/name.
func (r repository) full() string { return r.Owner.Name + "/" + r.Name }

// dir is where the repository lies on disk.
func (s *Server) dir(r repository) string {
	return filepath.Join(s.cfg.Dir, r.Owner.Name, r.Name+".git")
}

func millis(t time.Time) int64      { return t.UnixMilli() }
func fromMillis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// ensureOwner makes the owner or returns the one there is.
func (s *Server) ensureOwner(ctx context.Context, name, kind string) (owner, error) {
	if o, err := s.owner(ctx, name); err == nil || !isUnknown(err) {
		return o, err
	}
	if err := checkOwner(name); err != nil {
		return owner{}, err
	}
	err := s.file.Update(ctx, "owner", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO owners (name, kind, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
			name, kind, millis(s.cfg.Now()))
		return err
	})
	if err != nil {
		return owner{}, fmt.Errorf("make owner %s: %w", name, err)
	}
	return s.owner(ctx, name)
}

// owner finds an owner by name.
func (s *Server) owner(ctx context.Context, name string) (owner, error) {
	o := owner{}
	var created int64
	err := s.file.Reader().QueryRowContext(ctx, `SELECT id, name, kind, created_at FROM owners WHERE name = ?`, name).
		Scan(&o.ID, &o.Name, &o.Kind, &created)
	if errors.Is(err, sql.ErrNoRows) {
		return owner{}, unknown("user or organization", name)
	}
	if err != nil {
		return owner{}, fmt.Errorf("read owner %s: %w", name, err)
	}
	o.Created = fromMillis(created)
	return o, nil
}

const selectRepositories = `
SELECT r.id, r.name, r.description, r.private, r.default_branch, r.size, r.created_at, r.updated_at,
       (SELECT count(*) FROM pulls p WHERE p.repository_id = r.id AND p.state = 'open'),
       o.id, o.name, o.kind, o.created_at
FROM repositories r JOIN owners o ON o.id = r.owner_id `

func scanRepository(row interface{ Scan(...any) error }) (repository, error) {
	var r repository
	var created, updated, ownerCreated int64
	err := row.Scan(&r.ID, &r.Name, &r.Description, &r.Private, &r.DefaultBranch, &r.Size, &created, &updated, &r.OpenPulls,
		&r.Owner.ID, &r.Owner.Name, &r.Owner.Kind, &ownerCreated)
	r.Created, r.Updated, r.Owner.Created = fromMillis(created), fromMillis(updated), fromMillis(ownerCreated)
	return r, err
}

// repository finds a repository by owner/name.
func (s *Server) repository(ctx context.Context, full string) (repository, error) {
	own, name, ok := strings.Cut(full, "/")
	if !ok {
		return repository{}, unknown("repository", full)
	}
	r, err := scanRepository(s.file.Reader().QueryRowContext(ctx,
		selectRepositories+`WHERE o.name = ? AND r.name = ? AND r.state = 'ready'`, own, name))
	if errors.Is(err, sql.ErrNoRows) {
		return repository{}, unknown("repository", full)
	}
	if err != nil {
		return repository{}, fmt.Errorf("read repository %s: %w", full, err)
	}
	return r, nil
}

// repositories lists those of an owner ("" for all), by name.
func (s *Server) repositories(ctx context.Context, own string) ([]repository, error) {
	rows, err := s.file.Reader().QueryContext(ctx,
		selectRepositories+`WHERE r.state = 'ready' AND (? = '' OR o.name = ?) ORDER BY o.name, r.name`, own, own)
	if err != nil {
		return nil, fmt.Errorf("list repositories: %w", err)
	}
	defer rows.Close()
	var all []repository
	for rows.Next() {
		r, err := scanRepository(rows)
		if err != nil {
			return nil, fmt.Errorf("list repositories: %w", err)
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

// newRepository is what is asked for on creation.
type newRepository struct {
	owner         owner
	name          string
	description   string
	private       bool
	defaultBranch string
}

// create makes a repository: its row first, in state creating, then its
// directory, so that a crash between leaves a row that the start removes.
func (s *Server) create(ctx context.Context, n newRepository) (repository, error) {
	if err := checkRepositoryName(n.name); err != nil {
		return repository{}, err
	}
	if n.defaultBranch == "" {
		n.defaultBranch = defaultBranch
	}
	if err := checkRef("default_branch", n.defaultBranch); err != nil {
		return repository{}, err
	}
	if len(n.description) > 2048 {
		return repository{}, unprocessable("description", n.description, "want at most 2048 bytes")
	}
	s.making.Lock() // a second one of the name finds the first made, not half made
	defer s.making.Unlock()
	full := n.owner.Name + "/" + n.name
	dir := filepath.Join(s.cfg.Dir, n.owner.Name, n.name+".git")
	if err := s.insert(ctx, n); err != nil {
		return repository{}, err
	}
	if _, err := os.Stat(dir); err == nil {
		return repository{}, errors.Join(
			conflict("repository %q: files of that name are on disk already and belong to no repository; remove them first", full),
			s.forget(context.WithoutCancel(ctx), full, "creating"))
	}
	err := os.MkdirAll(filepath.Dir(dir), 0o700)
	if err == nil {
		_, err = s.reads.Run(ctx, initCall(dir, n.defaultBranch))
	}
	if err == nil {
		err = s.setState(ctx, full, "creating", "ready")
	}
	if err != nil {
		ctx := context.WithoutCancel(ctx)
		return repository{}, errors.Join(fmt.Errorf("create repository %s: %w", full, err), os.RemoveAll(dir), s.forget(ctx, full, "creating"))
	}
	return s.repository(ctx, full)
}

// insert adds the row of a repository that is being made; a name that is taken is a conflict.
func (s *Server) insert(ctx context.Context, n newRepository) error {
	now := millis(s.cfg.Now())
	return s.file.Update(ctx, "repository", func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `INSERT INTO repositories
			(owner_id, name, description, private, default_branch, state, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, 'creating', ?, ?) ON CONFLICT DO NOTHING`,
			n.owner.ID, n.name, n.description, n.private, n.defaultBranch, now, now)
		if err != nil {
			return fmt.Errorf("insert repository: %w", err)
		}
		if added, err := res.RowsAffected(); err != nil || added == 0 {
			return errors.Join(err, conflict("The repository with the same name already exists: %s/%s", n.owner.Name, n.name))
		}
		return nil
	})
}

// remove deletes a repository with everything that hangs on it, its waiting deliveries included.
func (s *Server) remove(ctx context.Context, repo repository) error {
	m := s.lock(repo.ID)
	m.Lock()
	defer m.Unlock()
	ctx = context.WithoutCancel(ctx)
	if err := s.setState(ctx, repo.full(), "ready", "deleting"); err != nil {
		return err
	}
	if err := os.RemoveAll(s.dir(repo)); err != nil {
		return fmt.Errorf("delete repository %s: %w", repo.full(), err)
	}
	return s.forget(ctx, repo.full(), "deleting")
}

const whereFull = ` WHERE state = ? AND owner_id = (SELECT id FROM owners WHERE name = ?) AND name = ?`

// setState moves a repository from one state to the next.
func (s *Server) setState(ctx context.Context, full, from, to string) error {
	own, name, _ := strings.Cut(full, "/")
	return s.file.Update(ctx, "repository "+to, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `UPDATE repositories SET state = ?`+whereFull, to, from, own, name)
		if err != nil {
			return fmt.Errorf("repository %s to %s: %w", full, to, err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, unknown("repository", full))
		}
		return nil
	})
}

// forget removes the row of a repository in the given state.
func (s *Server) forget(ctx context.Context, full, state string) error {
	own, name, _ := strings.Cut(full, "/")
	return s.file.Update(ctx, "repository removed", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM repositories`+whereFull, state, own, name)
		return err
	})
}

// endInterrupted removes what a crash left half made or half removed.
func (s *Server) endInterrupted(ctx context.Context) error {
	rows, err := s.file.Reader().QueryContext(ctx, `SELECT o.name, r.name, r.state FROM repositories r JOIN owners o ON o.id = r.owner_id WHERE r.state <> 'ready'`)
	if err != nil {
		return fmt.Errorf("find interrupted repositories: %w", err)
	}
	defer rows.Close()
	type half struct{ own, name, state string }
	var halves []half
	for rows.Next() {
		var h half
		if err := rows.Scan(&h.own, &h.name, &h.state); err != nil {
			return fmt.Errorf("find interrupted repositories: %w", err)
		}
		halves = append(halves, h)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("find interrupted repositories: %w", err)
	}
	for _, h := range halves {
		if err := os.RemoveAll(filepath.Join(s.cfg.Dir, h.own, h.name+".git")); err != nil {
			return fmt.Errorf("end interrupted repository: %w", err)
		}
		if err := s.forget(ctx, h.own+"/"+h.name, h.state); err != nil {
			return err
		}
	}
	return nil
}

// EnsureRepository makes the repository "owner/name", and its organisation
// where there is none, or returns the one there is.
func (s *Server) EnsureRepository(ctx context.Context, full, description string, private bool) (flowclient.Repository, error) {
	own, name, _ := strings.Cut(full, "/")
	repo, err := s.repository(ctx, full)
	if isUnknown(err) {
		var o owner
		if o, err = s.ensureOwner(ctx, own, kindOrganization); err == nil {
			repo, err = s.create(ctx, newRepository{owner: o, name: name, description: description, private: private})
		}
		if isConflict(err) { // somebody else was faster
			repo, err = s.repository(ctx, full)
		}
	}
	if err != nil {
		return flowclient.Repository{}, err
	}
	return flowclient.Repository{Name: repo.full(), CloneURL: s.cloneURL(repo), WebURL: s.webURL(repo), DefaultBranch: repo.DefaultBranch}, nil
}

func (s *Server) webURL(r repository) string   { return s.cfg.BaseURL + "/" + r.full() }
func (s *Server) cloneURL(r repository) string { return s.webURL(r) + ".git" }
