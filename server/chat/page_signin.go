package chat

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// signInModel is the page on which to sign in.
type signInModel struct {
	People  []signInPerson // empty where who has an account is not to be seen
	Who     string         // who was chosen
	Back    string         // where to go then
	Problem string
}

// signInPerson is one to sign in as.
type signInPerson struct {
	person
	Email string
}

// signInPage is GET /sign-in: who signs in, and the secret that proves it.
func (s *Server) signInPage(w http.ResponseWriter, r *http.Request) {
	s.renderSignIn(w, r, http.StatusOK, signInModel{Back: r.URL.Query().Get("back")})
}

// renderSignIn writes the page. People are listed, not bots.
func (s *Server) renderSignIn(w http.ResponseWriter, r *http.Request, status int, m signInModel) {
	if !ownPath(m.Back) {
		m.Back = "/"
	}
	if s.cfg.OpenPages {
		for _, a := range s.people.all() {
			if !a.Bot && len(m.People) < maxListed {
				m.People = append(m.People, signInPerson{a.person(), a.Email})
			}
		}
	}
	s.render(w, r, status, "signin.html", frame{Title: "Sign in", Realm: s.cfg.Realm, Here: "/", Page: m})
}

// maxListed is how many accounts a page lists.
const maxListed = 200

// postSignIn opens a session for who knows the account's API key, or a code that
// was made with it. Who fails too often waits, also with the right one.
func (s *Server) postSignIn(w http.ResponseWriter, r *http.Request) {
	p, err := readParams(r)
	if err != nil {
		s.fail(w, r, account{}, err)
		return
	}
	m := signInModel{Who: cut(p.text("", "who"), maxEmail, ""), Back: p.text("/", "back")}
	secret := strings.TrimSpace(p.text("", "secret"))
	from, as := guesser(r), fold(m.Who)
	if wait := s.wrong.begin(from, as, s.cfg.Now()); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(seconds(wait)))
		m.Problem = "Signing in failed too often from here. Try again " + soon(wait) + "."
		s.renderSignIn(w, r, http.StatusTooManyRequests, m)
		return
	}
	who, known := s.byKey(m.Who, secret)
	known = s.codes.use(who.ID, secret, s.cfg.Now()) || known // both are looked at, whoever it is
	if !known {
		m.Problem = "That is not the key of this account, nor a code that can still be used. The key is the line “key=” of the account’s credentials file."
		s.renderSignIn(w, r, http.StatusUnauthorized, m)
		return
	}
	s.wrong.succeeded(from, as, s.cfg.Now())
	value, err := s.openSession(r.Context(), who.ID)
	if err != nil {
		s.fail(w, r, account{}, err)
		return
	}
	http.SetCookie(w, s.cookie(value, sessionLife))
	if !ownPath(m.Back) {
		m.Back = "/"
	}
	http.Redirect(w, r, m.Back, http.StatusSeeOther)
}

// soon is a wait in words.
func soon(wait time.Duration) string {
	switch n := seconds(wait); {
	case n == 1:
		return "in a second"
	case n < 120:
		return fmt.Sprintf("in %d seconds", n)
	default:
		return fmt.Sprintf("in %d minutes", (n+59)/60)
	}
}

// postSignOut ends the browser's session.
func (s *Server) postSignOut(w http.ResponseWriter, r *http.Request) {
	if c, err := r.Cookie(s.cookieName()); err == nil {
		if err := s.endSession(r.Context(), c.Value); err != nil {
			s.fail(w, r, account{}, err)
			return
		}
	}
	http.SetCookie(w, s.cookie("", -1e9))
	http.Redirect(w, r, "/", http.StatusSeeOther)
}
