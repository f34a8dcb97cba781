package git

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"platform.dev/platform/flowclient/gitea/gitcmd"
)

//go:embed pages
var pageFiles embed.FS

const (
	pageCommits = 30
	maxDiff     = 512 << 10 // bytes of a change that a page shows
)

// page loads the model of one page; its template has the same name.
type page struct {
	pattern, template string
	load              func(*Server, *http.Request, caller) (any, error)
}

var pages = []page{
	{"GET /{$}", "index.html", (*Server).indexPage},
	{"GET /{owner}/{repo}", "repository.html", (*Server).repositoryPage},
	{"GET /{owner}/{repo}/commit/{sha}", "commit.html", (*Server).commitPage},
}

// pages serves what people read.
func (s *Server) pages() (http.Handler, error) {
	templates, err := template.ParseFS(pageFiles, "pages/*.html")
	if err != nil {
		return nil, fmt.Errorf("page templates: %w", err)
	}
	style, err := pageFiles.ReadFile("pages/style.css")
	if err != nil {
		return nil, fmt.Errorf("page style: %w", err)
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
	mux.HandleFunc("GET /assets/style.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		w.Header().Set("Cache-Control", "max-age=3600")
		_, _ = w.Write(style)
	})
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
	var out bytes.Buffer
	if err := templates.ExecuteTemplate(&out, name, model); err != nil {
		s.broken(w, r, repository{}, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes())
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

type indexModel struct {
	Repositories []repositoryModel
	All          bool // nothing is hidden from the reader
}

// indexPage lists the repositories that the reader may see.
func (s *Server) indexPage(r *http.Request, who caller) (any, error) {
	all, err := s.repositories(r.Context(), "")
	if err != nil {
		return nil, err
	}
	m := indexModel{All: who.may(readRepository)}
	for _, repo := range all {
		if !repo.Private || m.All {
			m.Repositories = append(m.Repositories, repositoryModel{Name: repo.full(), Description: repo.Description, Private: repo.Private})
		}
	}
	return m, nil
}

type repositoryModel struct {
	Name, Description, CloneURL, Branch string
	Private, More                       bool
	Branches                            []string
	Commits                             []commitLine
}

type commitLine struct {
	SHA, Short, Subject, Author, At, When, State string
}

// repositoryPage shows a repository with the newest commits of ?branch=.
func (s *Server) repositoryPage(r *http.Request, who caller) (any, error) {
	repo, err := s.readable(r, who)
	if err != nil {
		return nil, err
	}
	m := repositoryModel{Name: repo.full(), Description: repo.Description, CloneURL: s.cloneURL(repo), Private: repo.Private, Branch: repo.DefaultBranch}
	refs, err := s.refsOnDisk(r.Context(), repo)
	if err != nil {
		return nil, err
	}
	for _, ref := range slices.Sorted(maps.Keys(refs)) {
		if name, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
			m.Branches = append(m.Branches, name)
		}
	}
	asked := r.URL.Query().Get("branch")
	if asked != "" {
		m.Branch = asked
	}
	sha, ok := refs["refs/heads/"+m.Branch]
	if !ok {
		if asked != "" {
			return nil, unknown("branch", asked)
		}
		return m, nil
	}
	commits, err := s.log(r.Context(), repo, pageCommits+1, 0, sha)
	if err != nil {
		return nil, err
	}
	m.More = len(commits) > pageCommits
	for _, c := range commits[:min(len(commits), pageCommits)] {
		list, err := s.statuses(r.Context(), repo, c.SHA)
		if err != nil {
			return nil, err
		}
		m.Commits = append(m.Commits, commitLine{
			SHA: c.SHA, Short: c.SHA[:10], Subject: c.subject(), Author: c.Author.Name,
			At: c.Author.When.Format(time.RFC3339), When: readableTime(c.Author.When), State: worst(newestStatuses(list)),
		})
	}
	return m, nil
}

func readableTime(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 MST") }

type commitModel struct {
	Name, Title, Subject, Body, Author, At, When, SHA string
	Parents                                           []string
	Statuses                                          []status
	Files                                             []diffFile
	Cut                                               bool
}

// commitPage shows one commit with its statuses and its change.
func (s *Server) commitPage(r *http.Request, who caller) (any, error) {
	repo, err := s.readable(r, who)
	if err != nil {
		return nil, err
	}
	sha, err := s.resolve(r.Context(), repo, r.PathValue("sha"))
	if err != nil {
		return nil, err
	}
	c, err := s.commit(r.Context(), repo, sha)
	if err != nil {
		return nil, err
	}
	list, err := s.statuses(r.Context(), repo, sha)
	if err != nil {
		return nil, err
	}
	text, cut, err := s.diff(r.Context(), repo, sha)
	if err != nil {
		return nil, err
	}
	_, body, _ := strings.Cut(c.Message, "\n")
	return commitModel{
		Name: repo.full(), Title: c.subject() + " - " + repo.full(), Subject: c.subject(), Body: strings.TrimSpace(body), SHA: sha,
		Author: c.Author.Name, At: c.Author.When.Format(time.RFC3339), When: readableTime(c.Author.When),
		Parents: c.Parents, Statuses: newestStatuses(list), Files: parseDiff(text), Cut: cut,
	}, nil
}

// diff reads a commit's change against its first parent, at most maxDiff bytes of it.
func (s *Server) diff(ctx context.Context, repo repository, sha string) (text string, cut bool, err error) {
	out := &prefix{limit: maxDiff}
	_, err = s.reads.Run(ctx, gitcmd.Call{
		Args:   []string{"diff-tree", "--root", "-p", "-M", "--no-color", "--no-ext-diff", "--no-textconv", "--no-commit-id", "--diff-merges=first-parent", sha},
		GitDir: s.dir(repo), Settings: settings, Stdout: out,
	})
	return strings.ToValidUTF8(out.kept.String(), "\uFFFD"), out.cut, err
}

// prefix keeps the first limit bytes and drops the rest.
type prefix struct {
	kept  bytes.Buffer
	limit int
	cut   bool
}

// Write keeps what fits.
func (p *prefix) Write(b []byte) (int, error) {
	room := p.limit - p.kept.Len()
	if len(b) > room {
		p.cut = true
		p.kept.Write(b[:room])
		return len(b), nil
	}
	return p.kept.Write(b)
}

// diffFile is the change of one file.
type diffFile struct {
	Name  string
	Lines []diffLine
}

// diffLine is one line of a change; Kind is its CSS class: add, del, hunk, same.
type diffLine struct{ Kind, Text string }

// parseDiff reads a unified diff into files. Header lines beyond the names are left out.
func parseDiff(text string) []diffFile {
	var files []diffFile
	inHunk := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "diff --git ") {
			files = append(files, diffFile{Name: nameOfDiff(line)})
			inHunk = false
			continue
		}
		if len(files) == 0 {
			continue
		}
		f := &files[len(files)-1]
		inHunk = inHunk || strings.HasPrefix(line, "@@") || strings.HasPrefix(line, "Binary files ")
		if !inHunk {
			f.Name = betterName(f.Name, line)
			continue
		}
		f.Lines = append(f.Lines, diffLine{kindOfLine(line), line})
	}
	return files
}

func kindOfLine(line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return "add"
	case strings.HasPrefix(line, "-"):
		return "del"
	case strings.HasPrefix(line, "@@"), strings.HasPrefix(line, "\\"), strings.HasPrefix(line, "Binary files "):
		return "hunk"
	}
	return "same"
}

// nameOfDiff is the name in "diff --git a/x b/x", which is the same twice
// unless the file was renamed; the lines that follow tell it better.
func nameOfDiff(line string) string {
	both := strings.TrimPrefix(line, "diff --git ")
	if half := len(both) / 2; len(both) > 4 && len(both)%2 == 1 {
		return strings.TrimPrefix(both[half+1:], "b/")
	}
	return both
}

// betterName takes the name from the header lines that hold it alone.
func betterName(name, line string) string {
	for _, p := range []string{"+++ b/", "--- a/", "rename to "} {
		if rest, ok := strings.CutPrefix(line, p); ok {
			return rest
		}
	}
	return name
}
