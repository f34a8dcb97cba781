package chat

import (
	"errors"
	"fmt"
	"maps"
	"net/http"

	"platform.dev/platform/server/web"
)

// The error codes of the API that clients branch on.
const (
	codeBadRequest       = "BAD_REQUEST"
	codeBadQueue         = "BAD_EVENT_QUEUE_ID"
	codeBadNarrow        = "BAD_NARROW"
	codeNoStream         = "STREAM_DOES_NOT_EXIST"
	codeRateLimit        = "RATE_LIMIT_HIT"
	codeReactionExists   = "REACTION_ALREADY_EXISTS"
	codeNoReaction       = "REACTION_DOES_NOT_EXIST"
	codeStreamWildcard   = "STREAM_WILDCARD_MENTION_NOT_ALLOWED"
	codeTopicWildcard    = "TOPIC_WILDCARD_MENTION_NOT_ALLOWED"
	codeMissingArgument  = "REQUEST_VARIABLE_MISSING"
	codeInvalidJSON      = "INVALID_JSON"
	codeInvalidKey       = "INVALID_API_KEY"
	codeUnauthenticated  = "UNAUTHENTICATED_USER"
	codeMethodNotAllowed = "METHOD_NOT_ALLOWED"
	codeInternal         = "INTERNAL_SERVER_ERROR"
)

// apiError is an error of the caller's, as the API answers it.
type apiError struct {
	status int
	code   string
	msg    string
	extra  map[string]any // further fields, such as queue_id
}

// Error is the sentence that clients show.
func (e *apiError) Error() string { return e.msg }

// bad is a 400 with the plain code BAD_REQUEST.
func bad(format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, code: codeBadRequest, msg: fmt.Sprintf(format, args...)}
}

// coded is a 400 with a code of its own and further fields as key, value pairs.
func coded(code, msg string, pairs ...any) *apiError {
	e := &apiError{status: http.StatusBadRequest, code: code, msg: msg, extra: map[string]any{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		e.extra[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return e
}

// noStream is the error for a channel name that no channel has.
func noStream(name string) *apiError {
	return coded(codeNoStream, fmt.Sprintf("Channel '%s' does not exist", name), "stream", name)
}

// answerError writes err: an apiError as it is, anything else as a fault that is logged here and nowhere else.
func (s *Server) answerError(w http.ResponseWriter, r *http.Request, err error) {
	var e *apiError
	switch {
	case errors.As(err, &e):
	case r.Context().Err() != nil:
		return // the client left: nobody reads an answer
	default:
		s.cfg.Log.Error("chat request", "method", r.Method, "path", r.URL.Path, "error", err)
		e = &apiError{status: http.StatusInternalServerError, code: codeInternal, msg: "Internal server error"}
	}
	body := map[string]any{"result": "error", "msg": e.msg, "code": e.code}
	maps.Copy(body, e.extra)
	if e.status == http.StatusUnauthorized {
		challenge := `Basic realm="zulip"`
		if r.Header.Get("Sec-Fetch-Mode") != "" { // a page asks: its browser is not to show a dialog of its own
			challenge = `Session realm="zulip"`
		}
		w.Header().Set("WWW-Authenticate", challenge)
	}
	web.JSON(w, e.status, body)
}
