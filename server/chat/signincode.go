package chat

import (
	"net/url"
	"time"
)

// signInCode is POST /users/me/sign_in_code, which Zulip has not: a code that
// signs one browser in as the caller within five minutes, once. It comes after
// the "#" of the address, which browsers send to nobody and nothing logs.
func (s *Server) signInCode(c *call) (reply, error) {
	code := s.codes.issue(c.who.ID, s.cfg.Now())
	fragment := url.Values{"who": {c.who.Email}, "code": {code}}
	return reply{"code": code, "url": s.cfg.URL + "/sign-in#" + fragment.Encode(), "expires_in": int(codeLife / time.Second)}, nil
}
