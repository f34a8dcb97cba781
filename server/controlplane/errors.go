package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"platform.dev/platform/server/web"
)

// The codes of the API's ErrorResponse.
const (
	codeBadRequest      = "BAD_REQUEST"
	codeUnauthorized    = "UNAUTHORIZED"
	codeNotFound        = "NOT_FOUND"
	codeConflict        = "CONFLICT"
	codeUnprocessable   = "UNPROCESSABLE_CONTENT"
	codeInternal        = "INTERNAL_ERROR"
	codeUnknownProvider = "UNKNOWN_GIT_PROVIDER"
)

// problem is an error answer in the API's shape. Details carry the value beside
// the API's field and message, so that a client can name it.
type problem struct {
	status  int
	Code    string   `json:"code"`
	Message string   `json:"error"`
	Details []detail `json:"details,omitempty"`
}

type detail struct {
	Field   string `json:"field"`
	Value   string `json:"value,omitempty"`
	Message string `json:"message"`
}

// Error is the sentence of the answer.
func (p *problem) Error() string { return p.Message }

// codes gives each status its code.
var codes = map[int]string{
	http.StatusBadRequest:            codeBadRequest,
	http.StatusUnauthorized:          codeUnauthorized,
	http.StatusNotFound:              codeNotFound,
	http.StatusMethodNotAllowed:      codeBadRequest,
	http.StatusConflict:              codeConflict,
	http.StatusPreconditionFailed:    codeConflict,
	http.StatusRequestEntityTooLarge: codeBadRequest,
	http.StatusUnprocessableEntity:   codeUnprocessable,
	http.StatusInternalServerError:   codeInternal,
}

// say makes a problem without details.
func say(status int, format string, args ...any) *problem {
	return &problem{status: status, Code: codes[status], Message: fmt.Sprintf(format, args...)}
}

// bad makes a problem that names a field and its value.
func bad(status int, field, value, why string) *problem {
	p := say(status, "%s: %s", field, why)
	if value != "" {
		p.Message = fmt.Sprintf("%s %s: %s", field, strconv.Quote(value), why)
	}
	p.Details = []detail{{Field: field, Value: value, Message: why}}
	return p
}

// answer writes an error. One that is no problem of the caller's is logged and
// answered without its text, which may speak of files and queries.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, err error) {
	var p *problem
	if !errors.As(err, &p) {
		if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
			return // the client went away
		}
		s.log.Error("request", "method", r.Method, "path", r.URL.Path, "error", err)
		p = say(http.StatusInternalServerError, "Internal server error")
	}
	web.JSON(w, p.status, p)
}

// isMissing tells whether err says that an object does not exist.
func isMissing(err error) bool {
	var p *problem
	return errors.As(err, &p) && p.status == http.StatusNotFound
}

// quoteAll lists values for a sentence.
func quoteAll(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = strconv.Quote(v)
	}
	return strings.Join(quoted, ", ")
}
