package workflow

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/server/web"
)

//go:embed pages/*.html
var pages embed.FS

//go:embed pages/style.css
var style []byte

// view are the pages; the functions are those that they use.
var view = template.Must(template.New("pages").Funcs(template.FuncMap{
	"clock":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
	"second": func(t time.Time) string { return t.UTC().Format("15:04:05.000") },
	"short":  func(sha string) string { return sha[:min(len(sha), 7)] },
	"under":  func(phase string) bool { return phase == flowclient.BuildPending || phase == flowclient.BuildRunning },
}).ParseFS(pages, "pages/*.html"))

// Handler is the engine's surface: pages and, under /api, the same as JSON.
//
//	GET /                     the newest runs (limit=1..500, 50)
//	GET /runs/{run}           a run with its stages and their logs (ci_stage= one of them)
//	GET /api/runs             as GET /
//	GET /api/runs/{run}       the run without logs
//	GET /api/runs/{run}/logs  lines, oldest first (ci_stage=, last=1..10000)
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page("runs.html", s.loadRuns))
	mux.HandleFunc("GET /runs/{run}", s.page("run.html", s.loadRunPage))
	mux.HandleFunc("GET /style.css", web.Style(style))
	mux.HandleFunc("GET /api/runs", s.twin(s.loadRuns))
	mux.HandleFunc("GET /api/runs/{run}", s.twin(s.loadRun))
	mux.HandleFunc("GET /api/runs/{run}/logs", s.twin(s.loadLogs))
	return mux
}

// load reads what a page and its twin show.
type load func(r *http.Request) (any, error)

// twin answers what l loads as JSON.
func (s *Server) twin(l load) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := l(r)
		if err != nil {
			status, sentence := s.verdict(r, err)
			web.Error(w, status, sentence)
			return
		}
		web.JSON(w, http.StatusOK, v)
	}
}

// page answers what l loads as a page.
func (s *Server) page(name string, l load) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := l(r)
		if err != nil {
			status, sentence := s.verdict(r, err)
			s.render(w, r, status, "error.html", map[string]any{"Status": status, "Text": http.StatusText(status), "Sentence": sentence})
			return
		}
		s.render(w, r, http.StatusOK, name, v)
	}
}

// render executes a page whole before the first byte is sent.
func (s *Server) render(w http.ResponseWriter, r *http.Request, status int, name string, v any) {
	var b bytes.Buffer
	if err := view.ExecuteTemplate(&b, name, v); err != nil {
		s.cfg.Log.Error("render page", "path", r.URL.Path, "error", err)
		http.Error(w, "this page cannot be shown", http.StatusInternalServerError)
		return
	}
	web.Page(w, status, b.Bytes())
}

// verdict is the status and the sentence of an error. A fault's own words go to the log.
func (s *Server) verdict(r *http.Request, err error) (int, string) {
	var invalid *flowclient.Invalid
	switch {
	case errors.As(err, &invalid):
		return http.StatusBadRequest, invalid.Error()
	case flowclient.IsNotFound(err):
		return http.StatusNotFound, err.Error()
	case r.Context().Err() != nil:
		return http.StatusServiceUnavailable, "the request has ended"
	}
	s.cfg.Log.Error("answer request", "path", r.URL.Path, "error", err)
	return http.StatusInternalServerError, "the build engine cannot read its records"
}

// number reads a query parameter between 1 and most; absent, it is def.
func number(r *http.Request, field string, def, most int) (int, error) {
	text := r.URL.Query().Get(field)
	if text == "" {
		return def, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, &flowclient.Invalid{Field: field, Value: text, Why: fmt.Sprintf("must be a number from 1 to %d", most)}
	}
	return n, nil
}
