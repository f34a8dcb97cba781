package git

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"platform.dev/platform/server/web"
)

//go:embed pages/*.html
var pageFiles embed.FS

//go:embed pages/style.css
var pageStyle []byte

const (
	pageCommits = 30
	maxDiff     = 512 << 10 // bytes of a change that a page shows
)

// page loads the model of one page; its template has the same name. A model
// that is raw is written as text.
type page struct {
	pattern, template string
	load              func(*Server, *http.Request, caller) (any, error)
}

var pages = []page{
	{"GET /{$}", "index.html", (*Server).indexPage},
	{"GET /{owner}/{repo}", "repository.html", (*Server).repositoryPage},
	{"GET /{owner}/{repo}/commit/{sha}", "commit.html", (*Server).commitPage},
	{"GET /{owner}/{repo}/pulls", "pulls.html", (*Server).pullsPage},
	{"GET /{owner}/{repo}/pulls/{number}", "pull.html", (*Server).pullPage},
}

// pages serves what people read.
func (s *Server) pages() (http.Handler, error) {
	templates, err := template.ParseFS(pageFiles, "pages/*.html")
	if err != nil {
		return nil, fmt.Errorf("page templates: %w", err)
	}
	mux := http.NewServeMux()
	for _, p := range pages {
		mux.HandleFunc(p.pattern, func(w http.ResponseWriter, r *http.Request) {
			who, err := s.identify(r)
			var model any
			if err == nil {
				if s.cfg.OpenPages && !who.known {
					who = caller{known: true, scopes: []string{readRepository}}
				}
				model, err = p.load(s, r, who)
			}
			s.render(w, r, templates, p.template, model, err)
		})
	}
	mux.HandleFunc("GET /assets/style.css", web.Style(pageStyle))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.render(w, r, templates, "", nil, unknown("page", r.URL.Path))
	})
	return mux, nil
}

// errPrivate is a private page asked for by nobody.
var errPrivate = errors.New("a token is needed")

// render writes a page, or what kept it from being loaded.
func (s *Server) render(w http.ResponseWriter, r *http.Request, templates *template.Template, name string, model any, err error) {
	var refused *refusal
	status := http.StatusOK
	switch {
	case errors.Is(err, errCredentials) || errors.Is(err, errPrivate):
		s.challenge(w, err)
		return
	case errors.As(err, &refused):
		name, model, status = "missing.html", refused.message, refused.status
	case err != nil:
		s.broken(w, r, repository{}, err)
		return
	}
	if text, ok := model.(raw); ok {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(text) // the client went away
		return
	}
	var out bytes.Buffer
	if err := templates.ExecuteTemplate(&out, name, model); err != nil {
		s.broken(w, r, repository{}, err)
		return
	}
	web.Page(w, status, out.Bytes())
}

// readable finds the repository of a page. To nobody, a private one and one
// that does not exist look the same.
func (s *Server) readable(r *http.Request, who caller) (repository, error) {
	full := r.PathValue("owner") + "/" + strings.TrimSuffix(r.PathValue("repo"), ".git")
	repo, err := s.repository(r.Context(), full)
	switch {
	case err != nil && !isUnknown(err):
		return repository{}, err
	case !who.known && (err != nil || repo.Private):
		return repository{}, errPrivate
	case err == nil && repo.Private && !who.may(readRepository):
		return repository{}, unknown("repository", full)
	}
	return repo, err
}
