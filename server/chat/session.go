package chat

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"platform.dev/platform/server/web"
)

const (
	sessionLife = 30 * 24 * time.Hour
	maxSessions = 20 // of one account: the oldest makes room

	codeLife = 5 * time.Minute // of a one-time code
	maxCodes = 8               // of one account that wait to be used
)

// secretHash is what is kept of a cookie's value or a code: 256 random bits need no salt.
func secretHash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// newSecret is 256 random bits.
func newSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails, by its documentation
	return hex.EncodeToString(b[:])
}

// cookieName is the session's cookie. A browser sends a host's cookies to every
// port of it, so the name has the port: two platforms on one machine keep apart.
func (s *Server) cookieName() string {
	u, err := url.Parse(s.cfg.URL)
	if err != nil || u.Port() == "" {
		return "chat-session"
	}
	return "chat-session-" + u.Port()
}

// cookie carries a session: no script reads it, and no page of another site sends it.
func (s *Server) cookie(value string, age time.Duration) *http.Cookie {
	u, err := url.Parse(s.cfg.URL)
	return &http.Cookie{Name: s.cookieName(), Value: value, Path: "/", MaxAge: int(age / time.Second),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: err == nil && u.Scheme == "https"}
}

// openSession makes a session of an account and gives the cookie's value.
func (s *Server) openSession(ctx context.Context, user int64) (string, error) {
	secret := newSecret()
	return secret, s.write(ctx, "session", func(ctx context.Context, tx *sql.Tx) ([]*notice, error) {
		now := s.unix()
		for _, step := range []struct {
			query string
			args  []any
		}{
			{`DELETE FROM sessions WHERE expires_at <= ?`, []any{now}},
			{`DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions WHERE user_id = ? ORDER BY expires_at DESC LIMIT -1 OFFSET ?)`,
				[]any{user, maxSessions - 1}},
			{`INSERT INTO sessions (hash, user_id, expires_at) VALUES (?, ?, ?)`,
				[]any{secretHash(secret), user, now + int64(sessionLife/time.Second)}},
		} {
			if _, err := tx.ExecContext(ctx, step.query, step.args...); err != nil {
				return nil, fmt.Errorf("open session of %d: %w", user, err)
			}
		}
		return nil, nil
	})
}

// endSession forgets a session.
func (s *Server) endSession(ctx context.Context, secret string) error {
	return s.write(ctx, "session", func(ctx context.Context, tx *sql.Tx) ([]*notice, error) {
		if _, err := tx.ExecContext(ctx, `DELETE FROM sessions WHERE hash = ?`, secretHash(secret)); err != nil {
			return nil, fmt.Errorf("end session: %w", err)
		}
		return nil, nil
	})
}

// session is the account whose browser sent the request; false when nobody's did.
func (s *Server) session(r *http.Request) (account, bool, error) {
	sent := r.CookiesNamed(s.cookieName())
	if len(sent) == 0 {
		return account{}, false, nil
	}
	var user int64
	err := s.file.Reader().QueryRowContext(r.Context(), `SELECT user_id FROM sessions WHERE hash = ? AND expires_at > ?`,
		secretHash(sent[0].Value), s.unix()).Scan(&user)
	if errors.Is(err, sql.ErrNoRows) {
		return account{}, false, nil
	}
	if err != nil {
		return account{}, false, fmt.Errorf("read session: %w", err)
	}
	a, found := s.people.byID(user)
	return a, found, nil
}

// codes are the one-time codes that wait to be used, in memory: one that a
// restart loses is asked for again.
type codes struct {
	mu   sync.Mutex
	list []oneTime
}

// oneTime is a code by its hash.
type oneTime struct {
	hash    string
	user    int64
	expires time.Time
}

// issue makes a code for an account.
func (c *codes) issue(user int64, now time.Time) string {
	code := newSecret()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = slices.DeleteFunc(c.list, func(one oneTime) bool { return !now.Before(one.expires) })
	own := 0
	for _, one := range c.list {
		if one.user == user {
			own++
		}
	}
	if own >= maxCodes { // the list is in the order of issue: the first of the account's is its oldest
		i := slices.IndexFunc(c.list, func(one oneTime) bool { return one.user == user })
		c.list = slices.Delete(c.list, i, i+1)
	}
	c.list = append(c.list, oneTime{hash: secretHash(code), user: user, expires: now.Add(codeLife)})
	return code
}

// use tells whether code is an account's, and takes it away.
func (c *codes) use(user int64, code string, now time.Time) bool {
	hash := secretHash(code)
	c.mu.Lock()
	defer c.mu.Unlock()
	at := -1
	for i, one := range c.list { // all of them, each in the same time: how long it takes tells nothing
		if web.SameSecret(one.hash, hash) && one.user == user {
			at = i
		}
	}
	if at < 0 {
		return false
	}
	used := c.list[at]
	c.list = slices.Delete(c.list, at, at+1)
	return now.Before(used.expires)
}
