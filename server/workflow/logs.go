package workflow

import (
	"net/http"
	"time"
)

// lineView is a line of output as /logs answers it.
type lineView struct {
	At    time.Time `json:"timestamp"`
	Stage string    `json:"ci_stage"`
	Text  string    `json:"log"`
}

// loadLogs reads the lines of a run, or of its stage ci_stage, and of those the last ones.
func (s *Server) loadLogs(r *http.Request) (any, error) {
	const all = 10_000
	last, err := number(r, "last", all, all)
	if err != nil {
		return nil, err
	}
	lines, err := s.Log(r.Context(), r.PathValue("run"), r.URL.Query().Get("ci_stage"))
	if err != nil {
		return nil, err
	}
	lines = lines[max(0, len(lines)-last):]
	out := make([]lineView, 0, len(lines))
	for _, l := range lines {
		out = append(out, lineView(l))
	}
	return map[string]any{"lines": out}, nil
}
