package controlplane

import (
	"net/http"
	"strconv"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/server/web"
)

// runLogs answers GET workflowruns/{name}/logs: a bare list, oldest line first,
// narrowed by ?task= to a stage and by ?sinceSeconds= to the newest lines.
func (s *Server) runLogs(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	var after time.Time
	if raw := query.Get("sinceSeconds"); raw != "" {
		n, err := strconv.ParseInt(raw, 10, 32)
		if err != nil || n < 0 {
			s.answer(w, r, bad(http.StatusBadRequest, "sinceSeconds", web.Echo(raw), "must be a number of seconds"))
			return
		}
		after = s.now().Add(-time.Duration(n) * time.Second)
	}
	name := r.PathValue("name")
	if _, err := get(r.Context(), s.db.Reader(), flowclient.KindWorkflowRun, name); err != nil {
		s.answer(w, r, err)
		return
	}
	found, err := s.builder.Log(r.Context(), name, query.Get("task"))
	if err != nil && !flowclient.IsNotFound(err) { // a run that the builder has not begun has printed nothing
		s.answer(w, r, err)
		return
	}
	lines := make([]flowclient.LogLine, 0, len(found))
	for _, l := range found {
		if !l.At.Before(after) {
			lines = append(lines, l)
		}
	}
	web.JSON(w, http.StatusOK, lines)
}
