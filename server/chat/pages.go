package chat

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	"platform.dev/platform/server/web"
)

//go:embed pages/*.html
var pageFiles embed.FS

//go:embed pages/page.css
var pageStyle []byte

//go:embed pages/*.js
var pageScripts embed.FS

// page is something to read at a path, and the same as JSON at /api and the path.
type page struct {
	path, template string
	personal       bool // it is the reader's own: it takes a sign-in even where pages are open
	load           func(s *Server, v *visit) (model, error)
}

// pages is every page.
var pages = []page{
	{path: "/{$}", template: "index.html", load: (*Server).indexPage},
	{path: "/read/{stream_id}", template: "stream.html", load: (*Server).streamPage},
	{path: "/read/{stream_id}/{topic}", template: "conversation.html", load: (*Server).topicPage},
	{path: "/direct", template: "directs.html", personal: true, load: (*Server).directsPage},
	{path: "/direct/{people}", template: "conversation.html", personal: true, load: (*Server).directPage},
	{path: "/message/{message_id}", template: "message.html", load: (*Server).messagePage},
	{path: "/message/{message_id}/edit", template: "edit.html", personal: true, load: (*Server).editPage},
	{path: "/message/{message_id}/delete", template: "delete.html", personal: true, load: (*Server).deletePage},
	{path: "/search", template: "search.html", load: (*Server).searchPage},
	{path: "/keys", template: "keys.html", load: (*Server).keysPage},
}

// visit is a request for a page.
type visit struct {
	*http.Request
	who account // the zero account: nobody is signed in
}

// known tells whether somebody is signed in.
func (v *visit) known() bool { return v.who.ID != 0 }

// model is what a page shows; its twin is the model as JSON.
type model interface {
	title() string
}

// frame is what stands around every page's model.
type frame struct {
	Title, Realm string
	Me           *person // nil: nobody is signed in
	Side         *side   // nil where the channels are not to be seen
	Here         string  // the page's own address, to come back to
	Query        string  // of a search
	Page         any
}

// person is an account on a page.
type person struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	Bot  bool   `json:"bot"`
}

// person is an account as pages show it.
func (a account) person() person { return person{ID: a.ID, Name: a.FullName, Bot: a.Bot} }

// newTemplates parses the pages; they are part of the program.
func newTemplates() *template.Template {
	edition := edition()
	return template.Must(template.New("pages").Funcs(template.FuncMap{
		"edition": func() string { return edition },
		"quick":   func() []reactionModel { return quickReactions },
		"words":   func(name string) string { return strings.ReplaceAll(name, "_", " ") },
		"clock":   func(t time.Time) string { return t.UTC().Format("15:04") },
		"full":    func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
		"day":     func(t time.Time) string { return t.UTC().Format("2006-01-02") },
		"date":    func(t time.Time) string { return t.UTC().Format("Monday, 2 January 2006") },
		"stamp":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	}).ParseFS(pageFiles, "pages/*.html"))
}

// edition names this program's styles and scripts in their addresses, so that a
// page never meets those of another program that the browser has kept.
func edition() string {
	sum := sha256.New()
	_, _ = sum.Write(pageStyle) // never fails, by its documentation
	names, err := fs.Glob(pageScripts, "pages/*.js")
	for _, name := range names {
		script, problem := pageScripts.ReadFile(name)
		err = errors.Join(err, problem)
		_, _ = sum.Write(script)
	}
	if err != nil {
		panic(err) // they are part of the program
	}
	return hex.EncodeToString(sum.Sum(nil)[:6])
}

// servePages adds the pages, their twins, their forms, and what they load.
func (s *Server) servePages(mux *http.ServeMux) {
	for _, p := range pages {
		mux.HandleFunc("GET "+p.path, func(w http.ResponseWriter, r *http.Request) { s.servePage(w, r, p) })
		mux.HandleFunc("GET /api"+p.path, func(w http.ResponseWriter, r *http.Request) { s.serveTwin(w, r, p) })
	}
	for _, f := range forms {
		mux.HandleFunc("POST "+f.path, func(w http.ResponseWriter, r *http.Request) { s.serveForm(w, r, f) })
	}
	mux.HandleFunc("GET /sign-in", s.signInPage)
	mux.HandleFunc("POST /sign-in", s.postSignIn)
	mux.HandleFunc("POST /sign-out", s.postSignOut)
	mux.HandleFunc("GET /page.css", web.Style(pageStyle))
	mux.HandleFunc("GET /scripts/{edition}/{name}", serveScript)
	mux.HandleFunc("GET /icon.svg", func(w http.ResponseWriter, _ *http.Request) { writePicture(w, s.cfg.Realm, 0) })
	mux.HandleFunc("GET /avatar/{user}", s.avatar)
	nothing := page{load: func(*Server, *visit) (model, error) { return nil, sql.ErrNoRows }}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.servePage(w, r, nothing) })
}

// serveScript answers one of the scripts of the pages.
func serveScript(w http.ResponseWriter, r *http.Request) {
	script, err := pageScripts.ReadFile("pages/" + r.PathValue("name"))
	if err != nil || !strings.HasSuffix(r.PathValue("name"), ".js") {
		http.NotFound(w, r)
		return
	}
	web.Asset("text/javascript; charset=utf-8", script)(w, r)
}

// load reads a page's model for whoever asks, or refuses.
func (s *Server) load(r *http.Request, p page) (*visit, model, error) {
	v := &visit{Request: r}
	var err error
	if v.who, _, err = s.session(r); err != nil {
		return v, nil, err
	}
	if !v.known() && (p.personal || !s.cfg.OpenPages) {
		return v, nil, errSignIn
	}
	m, err := p.load(s, v)
	return v, m, err
}

// servePage answers a page.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request, p page) {
	v, m, err := s.load(r, p)
	if errors.Is(err, errSignIn) {
		http.Redirect(w, r, "/sign-in?"+url.Values{"back": {r.URL.RequestURI()}}.Encode(), http.StatusSeeOther)
		return
	}
	var f frame
	if err == nil {
		f, err = s.frame(r.Context(), v, m)
	}
	if err != nil {
		s.fail(w, r, v.who, err)
		return
	}
	s.render(w, r, http.StatusOK, p.template, f)
}

// serveTwin answers a page's model as JSON.
func (s *Server) serveTwin(w http.ResponseWriter, r *http.Request, p page) {
	_, m, err := s.load(r, p)
	w.Header().Set("Cache-Control", "no-store")
	if err != nil {
		status, sentence := s.verdict(r, err)
		web.Error(w, status, sentence)
		return
	}
	web.JSON(w, http.StatusOK, m)
}

// frame puts a model into what stands around it.
func (s *Server) frame(ctx context.Context, v *visit, m model) (frame, error) {
	f := frame{Title: m.title(), Realm: s.cfg.Realm, Here: v.URL.RequestURI(), Page: m}
	if v.known() {
		me := v.who.person()
		f.Me = &me
	}
	if found, ok := m.(*searchModel); ok {
		f.Query = found.Query
	}
	at, _ := m.(interface {
		at() (recipient int64, topic string)
	})
	var err error
	f.Side, err = s.side(ctx, v.who.ID, at)
	return f, err
}

// render executes a page whole before the first byte is sent.
func (s *Server) render(w http.ResponseWriter, r *http.Request, status int, name string, f frame) {
	var b bytes.Buffer
	if err := s.pages.ExecuteTemplate(&b, name, f); err != nil {
		s.cfg.Log.Error("chat page", "path", r.URL.Path, "error", err)
		http.Error(w, "The page could not be made; the log says why.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Referrer-Policy", "same-origin")
	w.Header().Set("Cache-Control", "no-store")
	web.LivePage(w, status, b.Bytes())
}

// errSignIn is a page that takes a sign-in, asked for by nobody.
var errSignIn = &apiError{status: http.StatusUnauthorized, code: codeUnauthenticated, msg: "This page takes a sign-in: open /sign-in"}

// failure is the model of a page that tells what went wrong.
type failure struct {
	Status         int
	Text, Sentence string
}

// fail answers with the page of an error.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, who account, err error) {
	status, sentence := s.verdict(r, err)
	f := frame{Title: http.StatusText(status), Realm: s.cfg.Realm, Here: "/", Page: failure{Status: status, Text: http.StatusText(status), Sentence: sentence}}
	if who.ID != 0 {
		me := who.person()
		f.Me = &me
	}
	s.render(w, r, status, "error.html", f)
}

// verdict is the status and the sentence of an error. A fault's own words go to the log.
func (s *Server) verdict(r *http.Request, err error) (int, string) {
	var e *apiError
	switch {
	case errors.As(err, &e):
		return e.status, e.msg
	case errors.Is(err, sql.ErrNoRows):
		return http.StatusNotFound, "There is nothing at this address. The channels are listed at " + s.cfg.URL + "/"
	case r.Context().Err() != nil:
		return http.StatusServiceUnavailable, "The request has ended."
	}
	s.cfg.Log.Error("chat page", "path", r.URL.Path, "error", err)
	return http.StatusInternalServerError, "The page could not be made; the log says why."
}

// topicAddress is where a topic is read. The topic is encoded as in a narrow's
// address, in which every text, "..", "a/b" or "%2F", is one element of a path.
func topicAddress(stream int64, topic string) string {
	return fmt.Sprintf("/read/%d/%s", stream, narrowEncode(topic))
}
