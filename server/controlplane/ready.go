package controlplane

import (
	"io"
	"net/http"
)

// ready answers GET /ready: 503 when the file cannot be read.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	if err := s.db.Reader().PingContext(r.Context()); err != nil {
		s.log.Error("ready", "error", err)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "Not ready") // the client went away: there is nobody to tell
		return
	}
	text200(w, "Ready")
}
