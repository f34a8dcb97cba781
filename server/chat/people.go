package chat

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"fmt"
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// The roles of an account, Zulip's numbers: a smaller one may do more.
const (
	RoleOwner     = 100
	RoleAdmin     = 200
	RoleModerator = 300
	RoleMember    = 400
	RoleGuest     = 600
)

const (
	maxFullName = 100
	maxEmail    = 254
)

// reservedName finds what a full name must not have: characters of the mention
// syntax, and an end that reads as the id of @**Name|id**.
var reservedName = regexp.MustCompile("[*`\\\\>\"@\\x00-\\x1f]|\\|[0-9]+$")

// NewUser is an account to have.
type NewUser struct {
	Email    string // unique but for case; the name to sign in with
	FullName string // what mentions say: without * ` \ > " @ and not ending in |digits
	Bot      bool
	Role     int // one of the Role constants; 0 means RoleMember
}

// User is an account with the key it signs in with.
type User struct {
	ID       int64
	Email    string
	FullName string
	APIKey   string
	Bot      bool
}

// account is a User as the server keeps it.
type account struct {
	User
	Role   int
	Joined int64 // unix seconds
}

// EnsureUser makes the account, or finds the one with its email address and
// returns that unchanged. It is durable when it returns.
func (s *Server) EnsureUser(ctx context.Context, n NewUser) (User, error) {
	n.Email = strings.ToLower(strings.TrimSpace(n.Email))
	if n.Role == 0 {
		n.Role = RoleMember
	}
	if err := n.check(); err != nil {
		return User{}, err
	}
	var made account
	err := s.write(ctx, "user", func(ctx context.Context, tx *sql.Tx) ([]*notice, error) {
		known, err := loadUsers(ctx, tx, ` WHERE email = ?`, n.Email)
		if err != nil {
			return nil, err
		}
		if len(known) > 0 {
			made = known[0]
			return nil, nil
		}
		a := account{User: User{Email: n.Email, FullName: n.FullName, APIKey: newAPIKey(), Bot: n.Bot}, Role: n.Role, Joined: s.unix()}
		err = tx.QueryRowContext(ctx, `INSERT INTO users (email, full_name, is_bot, role, api_key, joined_at)
			VALUES (?, ?, ?, ?, ?, ?) RETURNING id`, a.Email, a.FullName, a.Bot, a.Role, a.APIKey, a.Joined).Scan(&a.ID)
		if err != nil {
			return nil, fmt.Errorf("insert user: %w", err)
		}
		made = a
		return []*notice{newNotice("realm_user", map[string]any{"op": "add", "person": s.userObject(a)}).toAll()}, nil
	})
	if err != nil {
		return User{}, err
	}
	s.people.add(made)
	return made.User, nil
}

// check names the field that is wrong and why.
func (n NewUser) check() error {
	if at, err := mail.ParseAddress(n.Email); err != nil || at.Address != n.Email || len(n.Email) > maxEmail {
		return fmt.Errorf("email %q is not an address of at most %d bytes", n.Email, maxEmail)
	}
	if n.FullName == "" || strings.TrimSpace(n.FullName) != n.FullName || utf8.RuneCountInString(n.FullName) > maxFullName {
		return fmt.Errorf("full name %q: want 1 to %d characters without spaces around them", n.FullName, maxFullName)
	}
	if bad := reservedName.FindString(n.FullName); bad != "" {
		return fmt.Errorf("full name %q contains %q, which mentions cannot carry", n.FullName, bad)
	}
	if !slices.Contains([]int{RoleOwner, RoleAdmin, RoleModerator, RoleMember, RoleGuest}, n.Role) {
		return fmt.Errorf("role %d is none of 100, 200, 300, 400, 600", n.Role)
	}
	return nil
}

// newAPIKey is 128 random bits.
func newAPIKey() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, by its documentation
	return hex.EncodeToString(b[:])
}

// directory is every account in memory: each request and each mention asks for
// some, there are few, and this process alone writes the file.
type directory struct {
	mu    sync.RWMutex
	ids   map[int64]account
	email map[string]int64
	names map[string][]int64 // by lower-case full name
}

// loadDirectory reads the accounts of the file.
func loadDirectory(ctx context.Context, q querier) (*directory, error) {
	d := &directory{ids: map[int64]account{}, email: map[string]int64{}, names: map[string][]int64{}}
	list, err := loadUsers(ctx, q, "")
	for _, a := range list {
		d.add(a)
	}
	return d, err
}

// loadUsers reads accounts by id; where narrows them.
func loadUsers(ctx context.Context, q querier, where string, args ...any) ([]account, error) {
	rows, err := q.QueryContext(ctx, `SELECT id, email, full_name, is_bot, role, api_key, joined_at FROM users`+where+` ORDER BY id`, args...)
	if err != nil {
		return nil, fmt.Errorf("read users: %w", err)
	}
	defer rows.Close()
	var list []account
	for rows.Next() {
		var a account
		if err := rows.Scan(&a.ID, &a.Email, &a.FullName, &a.Bot, &a.Role, &a.APIKey, &a.Joined); err != nil {
			return nil, fmt.Errorf("read users: %w", err)
		}
		list = append(list, a)
	}
	return list, rows.Err()
}

// add makes an account known; one already known stays as it is.
func (d *directory) add(a account) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.ids[a.ID]; known {
		return
	}
	d.ids[a.ID] = a
	d.email[a.Email] = a.ID
	key := strings.ToLower(a.FullName)
	d.names[key] = append(d.names[key], a.ID)
}

// byID is the account with an id.
func (d *directory) byID(id int64) (account, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	a, ok := d.ids[id]
	return a, ok
}

// byEmail is the account with an address, whatever its case.
func (d *directory) byEmail(email string) (account, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	a, ok := d.ids[d.email[strings.ToLower(email)]]
	return a, ok
}

// byName is the account with a full name, whatever its case. A name that
// several have is nobody's: it takes @**Name|id** to say who is meant.
func (d *directory) byName(name string) (account, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	ids := d.names[strings.ToLower(name)]
	if len(ids) != 1 {
		return account{}, false
	}
	return d.ids[ids[0]], true
}

// all is every account by id.
func (d *directory) all() []account {
	d.mu.RLock()
	defer d.mu.RUnlock()
	list := make([]account, 0, len(d.ids))
	for _, a := range d.ids {
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b account) int { return int(a.ID - b.ID) })
	return list
}
