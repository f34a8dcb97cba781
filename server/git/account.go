package git

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"platform.dev/platform/server/web"
)

// The scopes that are asked for here; a token may hold any of scopeNames.
const (
	scopeAll       = "all"
	readRepository = "read:repository"
	writeRepo      = "write:repository"
	readIssue      = "read:issue"
	writeIssue     = "write:issue"
	readUser       = "read:user"
	writeOrg       = "write:organization"
	readOrg        = "read:organization"
)

// scopeNames are Gitea's.
var scopeNames = func() []string {
	names := []string{scopeAll}
	for _, c := range []string{"activitypub", "admin", "issue", "misc", "notification", "organization", "package", "repository", "user"} {
		names = append(names, "read:"+c, "write:"+c)
	}
	return names
}()

// caller is who asks: nobody, or the account through a token of some scopes.
type caller struct {
	known    bool
	password bool // by name and password: may mint tokens
	scopes   []string
}

// may tells whether the caller's scopes hold the one asked for; writing includes reading.
func (c caller) may(scope string) bool {
	if !c.known {
		return false
	}
	category, isRead := strings.CutPrefix(scope, "read:")
	return slices.Contains(c.scopes, scopeAll) || slices.Contains(c.scopes, scope) ||
		isRead && slices.Contains(c.scopes, "write:"+category)
}

// permissions are what the caller may do to a repository.
func (c caller) permissions(r repository) permissionShape {
	return permissionShape{Admin: c.may(writeRepo), Push: c.may(writeRepo), Pull: !r.Private || c.may(readRepository)}
}

// errCredentials is a credential that is not one of ours.
var errCredentials = errors.New("invalid username, password or token")

// identify tells who sent the request: `Authorization: token` or `bearer`, or
// basic with the token as password or as user name. No credential is nobody;
// a wrong one is errCredentials, never nobody.
func (s *Server) identify(r *http.Request) (caller, error) {
	if token := web.Bearer(r); token != "" {
		return s.byToken(r.Context(), token)
	}
	name, password, ok := r.BasicAuth()
	switch {
	case !ok && r.Header.Get("Authorization") == "":
		return caller{}, nil
	case !ok:
		return caller{}, errCredentials
	case strings.EqualFold(name, s.cfg.AdminUser) && web.SameSecret(password, s.cfg.AdminToken):
		return caller{known: true, password: true, scopes: []string{scopeAll}}, nil
	case password == "" || password == "x-oauth-basic":
		return s.byToken(r.Context(), name)
	default:
		return s.byToken(r.Context(), password)
	}
}

// byToken finds what a token may do.
func (s *Server) byToken(ctx context.Context, token string) (caller, error) {
	switch {
	case web.SameSecret(token, s.cfg.AdminToken):
		return caller{known: true, scopes: []string{scopeAll}}, nil
	case web.SameSecret(token, s.cfg.ReadToken):
		return caller{known: true, scopes: []string{readRepository}}, nil
	}
	// A lookup by hash needs no constant time: who can choose hashes knows the token.
	hash := sha256.Sum256([]byte(token))
	var list string
	err := s.file.Reader().QueryRowContext(ctx, `SELECT scopes FROM tokens WHERE hash = ?`, hash[:]).Scan(&list)
	if errors.Is(err, sql.ErrNoRows) {
		return caller{}, errCredentials
	}
	if err != nil {
		return caller{}, fmt.Errorf("read token: %w", err)
	}
	c := caller{known: true}
	return c, json.Unmarshal([]byte(list), &c.scopes)
}

// token is a minted one, without its secret.
type token struct {
	ID        int64
	Name      string
	LastEight string
	Scopes    []string
	Created   time.Time
}

// mint makes a token and returns its secret, which is not kept.
func (s *Server) mint(ctx context.Context, name string, scopes []string) (token, string, error) {
	if name == "" || len(name) > 255 {
		return token{}, "", unprocessable("name", name, "want 1 to 255 bytes")
	}
	if len(scopes) == 0 {
		return token{}, "", unprocessable("scopes", "", "want at least one, for instance "+readRepository)
	}
	for _, scope := range scopes {
		if !slices.Contains(scopeNames, scope) {
			return token{}, "", unprocessable("scopes", scope, "no such scope; known are "+strings.Join(scopeNames, ", "))
		}
	}
	random := make([]byte, 20)
	if _, err := rand.Read(random); err != nil {
		return token{}, "", fmt.Errorf("mint token: %w", err)
	}
	secret := hex.EncodeToString(random)
	hash := sha256.Sum256([]byte(secret))
	list, err := json.Marshal(scopes)
	if err != nil {
		return token{}, "", err
	}
	t := token{Name: name, LastEight: secret[len(secret)-8:], Scopes: scopes, Created: s.cfg.Now()}
	err = s.file.Update(ctx, "token", func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `INSERT INTO tokens (name, hash, last_eight, scopes, created_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO NOTHING`,
			name, hash[:], t.LastEight, string(list), millis(t.Created))
		if err != nil {
			return fmt.Errorf("mint token: %w", err)
		}
		if added, err := res.RowsAffected(); err != nil || added == 0 {
			return errors.Join(err, &refusal{http.StatusBadRequest, fmt.Sprintf("access token name has been used already: %q", name)})
		}
		t.ID, err = res.LastInsertId()
		return err
	})
	return t, secret, err
}

// tokens lists the minted ones by id.
func (s *Server) tokens(ctx context.Context) ([]token, error) {
	rows, err := s.file.Reader().QueryContext(ctx, `SELECT id, name, last_eight, scopes, created_at FROM tokens ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	defer rows.Close()
	var all []token
	for rows.Next() {
		var t token
		var scopes string
		var created int64
		if err := rows.Scan(&t.ID, &t.Name, &t.LastEight, &scopes, &created); err != nil {
			return nil, fmt.Errorf("list tokens: %w", err)
		}
		if err := json.Unmarshal([]byte(scopes), &t.Scopes); err != nil {
			return nil, fmt.Errorf("list tokens: %w", err)
		}
		t.Created = fromMillis(created)
		all = append(all, t)
	}
	return all, rows.Err()
}

// revoke removes a token by its name or id.
func (s *Server) revoke(ctx context.Context, which string) error {
	return s.file.Update(ctx, "token removed", func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `DELETE FROM tokens WHERE name = ? OR CAST(id AS TEXT) = ?`, which, which)
		if err != nil {
			return fmt.Errorf("revoke token: %w", err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, unknown("token", which))
		}
		return nil
	})
}
