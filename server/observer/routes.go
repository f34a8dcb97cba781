package observer

import (
	"errors"
	"fmt"
	"net/http"

	"platform.dev/platform/server/web"
)

const (
	maxBody  = 16 << 20 // bytes of a request's body, unpacked
	maxQuery = 4 << 10  // bytes of a query's text
)

// routes serves each path. What reads is open, as Tempo and Loki are behind
// their proxies; what writes needs the token.
//
//	POST /v1/traces                         OTLP over HTTP, protobuf or JSON
//	POST /loki/api/v1/push                  Loki's push, JSON
//	GET  /api/traces/{id}                   Tempo: one trace
//	GET  /api/search                        Tempo: recent traces (limit, tags, start, end, minDuration, maxDuration)
//	GET  /loki/api/v1/labels                Loki: label names
//	GET  /loki/api/v1/label/{name}/values   Loki: a label's values
//	GET  /loki/api/v1/query_range           Loki: lines (query, limit, start, end, since, direction)
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", s.writer(s.receiveTraces))
	mux.HandleFunc("POST /loki/api/v1/push", s.writer(s.push))
	mux.HandleFunc("GET /api/traces/{id}", s.reader(s.trace))
	mux.HandleFunc("GET /api/search", s.reader(s.search))
	mux.HandleFunc("GET /loki/api/v1/labels", s.reader(s.labels))
	mux.HandleFunc("GET /loki/api/v1/label/{name}/values", s.reader(s.values))
	mux.HandleFunc("GET /loki/api/v1/query_range", s.reader(s.queryRange))
	return mux
}

// refusal is an answer that the client caused; Tempo and Loki say them as plain text.
type refusal struct {
	status   int
	sentence string
}

func (r *refusal) Error() string { return r.sentence }

func refuse(status int, format string, args ...any) error {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

// endpoint answers a request, or says what was wrong with it.
type endpoint func(w http.ResponseWriter, r *http.Request) error

// reader answers everyone who reaches the surface.
func (s *Server) reader(serve endpoint) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := serve(w, r); err != nil {
			s.fail(w, r, err)
		}
	}
}

// writer answers who has the token.
func (s *Server) writer(serve endpoint) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !web.SameSecret(web.Bearer(r), s.cfg.Token) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="observer"`)
			s.fail(w, r, refuse(http.StatusUnauthorized, "the token is missing or not the right one: send Authorization: Bearer <token>"))
			return
		}
		if err := serve(w, r); err != nil {
			s.fail(w, r, err)
		}
	}
}

// fail answers an error as Tempo and Loki do: a line of text. A fault's own words go to the log.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	var no *refusal
	switch {
	case errors.As(err, &no):
	case r.Context().Err() != nil:
		no = &refusal{http.StatusServiceUnavailable, "the request has ended"}
	default:
		s.cfg.Log.ErrorContext(r.Context(), "request not answered", "path", r.URL.Path, "error", err)
		no = &refusal{http.StatusInternalServerError, "the observer cannot read or write its file"}
	}
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(no.status)
	_, _ = fmt.Fprintln(w, no.sentence) // the client went away: there is nobody to tell
}
