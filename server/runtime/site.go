package runtime

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync/atomic"
	"time"
)

// forwardedPrefix is the header in which the gateway tells what it removed from the path.
const forwardedPrefix = "X-Forwarded-Prefix"

// site is the unpacked files of one image. They never change, so the image's
// digest is the version of each of them.
type site struct {
	digest   string
	etag     string
	files    fs.FS
	requests atomic.Int64 // under way
}

func newSite(digest string, files fs.FS) *site {
	_, sum, _ := strings.Cut(digest, ":")
	return &site{digest: digest, etag: `"` + sum[:min(32, len(sum))] + `"`, files: files}
}

// mount serves a site's tree under base ("/" for all of it).
type mount struct {
	site *site
	base string
}

// ServeHTTP answers GET and HEAD: a file, a directory's index.html, a redirect
// from a directory to the name with a slash, or the site's 404 page. There are
// no listings.
func (m mount) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.site.requests.Add(1)
	defer m.site.requests.Add(-1)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-cache") // kept, but asked about: a release shows at once
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "a static site answers GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	clean := path.Clean("/" + r.URL.Path)
	name := strings.TrimPrefix(path.Join(m.base, clean), "/")
	slash := strings.HasSuffix(r.URL.Path, "/")
	info, err := fs.Stat(m.site.files, orDot(name))
	switch {
	case err == nil && info.IsDir() && !slash && clean != "/":
		to := url.URL{Path: r.Header.Get(forwardedPrefix) + clean + "/", RawQuery: r.URL.RawQuery}
		w.Header().Set("Location", to.String())
		w.WriteHeader(http.StatusTemporaryRedirect)
	case err == nil && info.IsDir():
		m.site.serve(w, r, path.Join(name, "index.html"))
	case err == nil && !slash:
		m.site.serve(w, r, name)
	default:
		m.site.missing(w)
	}
}

// serve answers with a file, or with the 404 page when it is not there.
func (s *site) serve(w http.ResponseWriter, r *http.Request, name string) {
	f, content, err := s.open(name)
	if err != nil {
		s.missing(w)
		return
	}
	defer f.Close()
	w.Header().Set("ETag", s.etag)
	if t := contentType(name); t != "" {
		w.Header().Set("Content-Type", t)
	}
	// No time: after a rollback the older page would pass for unmodified. The ETag tells.
	http.ServeContent(w, r, name, time.Time{}, content)
}

// open opens a regular file.
func (s *site) open(name string) (fs.File, io.ReadSeeker, error) {
	f, err := s.files.Open(name)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	content, seekable := f.(io.ReadSeeker)
	if err == nil && !seekable {
		err = fs.ErrInvalid
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, content, nil
}

// missing answers 404 with the site's own page, or with one line.
func (s *site) missing(w http.ResponseWriter) {
	f, content, err := s.open("404.html")
	if err != nil {
		http.Error(w, "404: this page is not part of the site", http.StatusNotFound)
		return
	}
	defer f.Close()
	w.Header().Set("Content-Type", contentType("404.html"))
	w.WriteHeader(http.StatusNotFound)
	_, _ = io.Copy(w, content) // the client went away: there is nobody to tell
}

// check asks the mount for its first page, as a visitor would.
func (m mount) check() error {
	r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/"}, Header: http.Header{}}
	answer := &statusOf{header: http.Header{}}
	m.ServeHTTP(answer, r)
	if answer.status != http.StatusOK {
		return fmt.Errorf("there is no %s in the site", strings.TrimPrefix(path.Join(m.base, "index.html"), "/"))
	}
	return nil
}

// statusOf is a ResponseWriter that keeps the status alone.
type statusOf struct {
	header http.Header
	status int
}

func (s *statusOf) Header() http.Header { return s.header }

func (s *statusOf) Write(p []byte) (int, error) {
	s.WriteHeader(http.StatusOK)
	return len(p), nil
}

func (s *statusOf) WriteHeader(status int) {
	if s.status == 0 {
		s.status = status
	}
}

// contentTypes are the types of what sites are made of. They stand here, since
// the system's own table differs from machine to machine.
var contentTypes = map[string]string{
	".avif": "image/avif", ".css": "text/css; charset=utf-8", ".csv": "text/csv; charset=utf-8",
	".gif": "image/gif", ".htm": "text/html; charset=utf-8", ".html": "text/html; charset=utf-8",
	".ico": "image/x-icon", ".jpeg": "image/jpeg", ".jpg": "image/jpeg",
	".js": "text/javascript; charset=utf-8", ".json": "application/json", ".map": "application/json",
	".md": "text/markdown; charset=utf-8", ".mjs": "text/javascript; charset=utf-8", ".mp4": "video/mp4",
	".otf": "font/otf", ".pdf": "application/pdf", ".png": "image/png",
	".svg": "image/svg+xml", ".ttf": "font/ttf", ".txt": "text/plain; charset=utf-8",
	".wasm": "application/wasm", ".webm": "video/webm", ".webmanifest": "application/manifest+json",
	".webp": "image/webp", ".woff": "font/woff", ".woff2": "font/woff2", ".xml": "text/xml; charset=utf-8",
}

// contentType is the type by a file's ending; empty lets the content tell.
func contentType(name string) string { return contentTypes[strings.ToLower(path.Ext(name))] }
