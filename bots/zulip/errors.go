package zulip

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// The error codes that a client branches on. Messages are translated by the
// server and decide nothing.
const (
	codeBadQueue   = "BAD_EVENT_QUEUE_ID"
	codeBadRequest = "BAD_REQUEST"
	codeBadNarrow  = "BAD_NARROW"
	codeNoStream   = "STREAM_DOES_NOT_EXIST"
	codeReacted    = "REACTION_ALREADY_EXISTS"
	codeNotReacted = "REACTION_DOES_NOT_EXIST"
	codeUserGone   = "USER_DEACTIVATED"
	codeRealmGone  = "REALM_DEACTIVATED"
	codeNotZulip   = "NOT_ZULIP" // ours: the answer was no JSON of Zulip's
)

const (
	defaultRetryAfter  = time.Second      // of a 429 that names no time
	longestRetryAfter  = 10 * time.Minute // a server that says more is not believed
	shownResponseBytes = 200              // of an answer that is not Zulip's
)

// Error is an answer of the server that is no success.
type Error struct {
	Method, Path string
	Status       int
	Code         string        // Zulip's code, such as BAD_REQUEST
	Msg          string        // for people; translated by the server
	RetryAfter   time.Duration // of a 429
}

// Error names the request, the status, the code and the server's own words.
func (e *Error) Error() string {
	return fmt.Sprintf("%s %s: %d %s: %s", e.Method, e.Path, e.Status, e.Code, e.Msg)
}

// Fatal tells whether trying again is pointless: the key is wrong, or the account or organisation is switched off.
func (e *Error) Fatal() bool {
	return e.Status == http.StatusUnauthorized || e.Code == codeUserGone || e.Code == codeRealmGone
}

// is tells whether err is an answer with the code.
func is(err error, code string) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// fatal tells whether err ends everything, and says it plainly.
func fatal(site, email string, err error) (error, bool) {
	var e *Error
	if !errors.As(err, &e) || !e.Fatal() {
		return nil, false
	}
	switch e.Code { // before the status: what is deactivated is answered 401, too
	case codeUserGone:
		return fmt.Errorf("%s: the account %s is deactivated; have it reactivated there: %w", site, email, err), true
	case codeRealmGone:
		return fmt.Errorf("%s: the organisation of %s is deactivated: %w", site, email, err), true
	}
	return fmt.Errorf("%s does not accept the API key of %s; put the right key into the bot's zuliprc: %w", site, email, err), true
}

// lost tells whether a request may have been carried out although err came
// back: everything but a clear answer and a connection that was never made.
func lost(err error) bool {
	var e *Error
	if errors.As(err, &e) {
		return e.Status >= 500 || e.Status < 400
	}
	var limited *LimitedError
	if errors.As(err, &limited) {
		return false
	}
	var op *net.OpError
	return !errors.As(err, &op) || op.Op != "dial"
}

// LimitedError says that a request was not sent, since the server has asked for silence until After has passed.
type LimitedError struct{ After time.Duration }

// Error says for how long.
func (l *LimitedError) Error() string { return fmt.Sprintf("the rate limit lasts %s more", l.After) }

// retryAfter is how long a rate limit asks to wait; zero when err is none.
func retryAfter(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) && e.Status == http.StatusTooManyRequests {
		return e.RetryAfter
	}
	var limited *LimitedError
	if errors.As(err, &limited) {
		return limited.After
	}
	return 0
}
