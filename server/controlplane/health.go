package controlplane

import (
	"io"
	"net/http"
)

// health answers GET /health.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) { text200(w, "OK") }

// text200 answers 200 with a line of text.
func text200(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, text) // the client went away: there is nobody to tell
}
