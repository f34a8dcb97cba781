package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"os"
	"strconv"
	"strings"
	"time"

	"platform.dev/platform/flowclient/gitea/gitcmd"
)

const (
	uploadPack  = "git-upload-pack"  // fetch and clone
	receivePack = "git-receive-pack" // push

	transferTimeout = 15 * time.Minute
	maxWants        = 16 << 20 // bytes of what a fetch asks for
	maxAnswer       = 8 << 20  // bytes of what receive-pack reports
)

// advertise answers GET info/refs: the first half of a fetch or push.
func (s *Server) advertise(w http.ResponseWriter, r *http.Request) {
	service := r.URL.Query().Get("service")
	if service != uploadPack && service != receivePack {
		http.Error(w, fmt.Sprintf("service %q: only smart HTTP is served; use git 1.6.6 or newer", shorten(service)), http.StatusForbidden)
		return
	}
	repo, ok := s.admit(w, r, service)
	if !ok {
		return
	}
	b := backend{repo: repo, service: service, path: "/info/refs"}
	if err := s.backend(r, b, &answer{w: w}); err != nil {
		s.broken(w, r, repo, err)
	}
}

// fetch answers POST git-upload-pack.
func (s *Server) fetch(w http.ResponseWriter, r *http.Request) {
	repo, ok := s.admit(w, r, uploadPack)
	if !ok {
		return
	}
	body, ok := s.spooled(w, r, maxWants)
	if !ok {
		return
	}
	defer discard(body)
	b := backend{repo: repo, service: uploadPack, path: "/" + uploadPack, body: body}
	if err := s.backend(r, b, &answer{w: w}); err != nil {
		s.broken(w, r, repo, err)
	}
}

// receive answers POST git-receive-pack. The push has arrived whole before the
// repository is locked, and its event is recorded before the pusher hears that
// the push is done.
func (s *Server) receive(w http.ResponseWriter, r *http.Request) {
	repo, ok := s.admit(w, r, receivePack)
	if !ok {
		return
	}
	body, ok := s.spooled(w, r, s.cfg.MaxPush)
	if !ok {
		return
	}
	defer discard(body)
	m := s.lock(repo.ID)
	m.Lock()
	defer m.Unlock()
	if _, err := s.repository(r.Context(), repo.full()); err != nil { // removed while we waited
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	held := &answer{w: w, hold: true}
	err := s.backend(r, backend{repo: repo, service: receivePack, path: "/" + receivePack, body: body}, held)
	// Whatever became of the process, a ref that it moved is an event.
	if err := s.record(context.WithoutCancel(r.Context()), repo, s.cfg.AdminUser); err != nil {
		s.cfg.Log.ErrorContext(r.Context(), "push is not recorded yet", "repository", repo.full(), "error", err)
	}
	if err != nil {
		s.broken(w, r, repo, err)
		return
	}
	held.release()
}

// admit finds the repository of the path and tells whether the caller may use
// the service; otherwise it has answered. Who has shown no credential is asked
// for one, whether the repository exists or not.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, service string) (repository, bool) {
	who, err := s.identify(r)
	if err != nil {
		s.challenge(w, err)
		return repository{}, false
	}
	name, isGit := strings.CutSuffix(r.PathValue("repo"), ".git")
	repo, err := s.repository(r.Context(), r.PathValue("owner")+"/"+name)
	if !isGit {
		err = unknown("repository", r.PathValue("owner")+"/"+r.PathValue("repo"))
	}
	if err != nil && !isUnknown(err) {
		s.broken(w, r, repo, err)
		return repository{}, false
	}
	switch {
	case !who.known && (err != nil || repo.Private || service == receivePack):
		s.challenge(w, errors.New("a token is needed"))
	case err != nil || repo.Private && !who.may(readRepository):
		http.Error(w, unknown("repository", r.PathValue("owner")+"/"+name).Error(), http.StatusNotFound)
	case service == receivePack && !who.may(writeRepo):
		http.Error(w, "the token may not write: it needs the scope "+writeRepo, http.StatusForbidden)
	default:
		return repo, true
	}
	return repository{}, false
}

// challenge answers 401 so that git and browsers ask for a credential.
func (s *Server) challenge(w http.ResponseWriter, why error) {
	w.Header().Set("WWW-Authenticate", `Basic realm="git", charset="UTF-8"`)
	http.Error(w, why.Error(), http.StatusUnauthorized)
}

// broken reports what went wrong on our side; the client is told no detail of it.
func (s *Server) broken(w http.ResponseWriter, r *http.Request, repo repository, err error) {
	if r.Context().Err() != nil {
		return // the client went away
	}
	s.cfg.Log.ErrorContext(r.Context(), "request not answered", "path", r.URL.Path, "repository", repo.full(), "error", err)
	http.Error(w, "the repository cannot be read; the server's log tells why", http.StatusInternalServerError)
}

// spooled keeps the request's body in a file: its length is known then, as CGI
// needs it (git sends what is larger than 1 MiB in chunks). A body over the
// limit is answered with 413.
func (s *Server) spooled(w http.ResponseWriter, r *http.Request, limit int64) (*os.File, bool) {
	tooLarge := fmt.Sprintf("a push may hold at most %d bytes; push in smaller parts", limit)
	if r.ContentLength > limit {
		http.Error(w, tooLarge, http.StatusRequestEntityTooLarge)
		return nil, false
	}
	f, err := os.CreateTemp(s.spool, "body-")
	if err != nil {
		s.broken(w, r, repository{}, err)
		return nil, false
	}
	n, err := io.Copy(f, io.LimitReader(r.Body, limit+1))
	if err == nil && n <= limit {
		if _, err = f.Seek(0, io.SeekStart); err == nil {
			return f, true
		}
	}
	discard(f)
	if err != nil {
		s.broken(w, r, repository{}, err)
	} else {
		http.Error(w, tooLarge, http.StatusRequestEntityTooLarge)
	}
	return nil, false
}

// discard closes and removes a spooled body; what is left over goes at the next start.
func discard(f *os.File) {
	_ = f.Close()
	_ = os.Remove(f.Name())
}

// backend is one run of git http-backend.
type backend struct {
	repo    repository
	service string
	path    string   // after the repository: /info/refs
	body    *os.File // nil for GET
}

// backend runs git http-backend as CGI (RFC 3875) with its answer going to out.
func (s *Server) backend(r *http.Request, b backend, out *answer) error {
	env := []string{
		"GATEWAY_INTERFACE=CGI/1.1", "SERVER_PROTOCOL=HTTP/1.1",
		"GIT_PROJECT_ROOT=" + s.cfg.Dir, "GIT_HTTP_EXPORT_ALL=1",
		"PATH_INFO=/" + b.repo.full() + ".git" + b.path,
		"REQUEST_METHOD=" + r.Method, "QUERY_STRING=service=" + b.service,
		"CONTENT_TYPE=" + r.Header.Get("Content-Type"), "REMOTE_USER=" + s.cfg.AdminUser,
		"HTTP_CONTENT_ENCODING=" + r.Header.Get("Content-Encoding"), "GIT_PROTOCOL=" + r.Header.Get("Git-Protocol"),
	}
	call := gitcmd.Call{
		Args: []string{"http-backend"}, Env: env, Stdout: out, Timeout: transferTimeout,
		Settings: append([]gitcmd.Setting{
			{Key: "http.receivepack", Value: "true"},
			{Key: "receive.maxInputSize", Value: strconv.FormatInt(s.cfg.MaxPush, 10)}, // of what a compressed body holds
		}, settings...),
	}
	if b.body != nil {
		info, err := b.body.Stat()
		if err != nil {
			return err
		}
		call.Env = append(call.Env, "CONTENT_LENGTH="+strconv.FormatInt(info.Size(), 10))
		call.Stdin = b.body
	}
	_, err := s.transfer.Run(r.Context(), call)
	if err != nil && out.begun() {
		s.cfg.Log.WarnContext(r.Context(), "transfer ended early", "repository", b.repo.full(), "service", b.service, "error", err)
		return nil // git has told the client in its own protocol
	}
	if err == nil && !out.begun() {
		return errors.New("git http-backend gave no answer")
	}
	return err
}

// answer takes what a CGI program writes: header lines, an empty line, the
// body. Held, it keeps the body until released.
type answer struct {
	w      http.ResponseWriter
	hold   bool
	header []byte // what has come of it; nil when done
	done   bool
	status int
	held   []byte
}

func (a *answer) begun() bool { return a.done }

// maxHeader is the most that a CGI header holds, in bytes.
const maxHeader = 16 << 10

// Write takes the next part.
func (a *answer) Write(p []byte) (int, error) {
	if a.done {
		return len(p), a.body(p)
	}
	a.header = append(a.header, p...)
	head, body, ok := strings.Cut(string(a.header), "\r\n\r\n")
	if !ok {
		if len(a.header) > maxHeader {
			return 0, errors.New("the CGI header does not end")
		}
		return len(p), nil
	}
	if err := a.begin(head); err != nil {
		return 0, err
	}
	return len(p), a.body([]byte(body))
}

// begin reads the header.
func (a *answer) begin(head string) error {
	fields, err := textproto.NewReader(bufio.NewReader(strings.NewReader(head + "\r\n\r\n"))).ReadMIMEHeader()
	if err != nil {
		return fmt.Errorf("CGI header: %w", err)
	}
	a.status = http.StatusOK
	if line := fields.Get("Status"); line != "" {
		code, _, _ := strings.Cut(line, " ")
		if a.status, err = strconv.Atoi(code); err != nil {
			return fmt.Errorf("CGI status %q: %w", line, err)
		}
	}
	fields.Del("Status")
	for name, values := range fields {
		a.w.Header()[name] = values
	}
	a.done, a.header = true, nil
	if !a.hold {
		a.w.WriteHeader(a.status)
	}
	return nil
}

// body passes a part on, at once so that progress is seen, or keeps it.
func (a *answer) body(p []byte) error {
	if a.hold {
		if len(a.held)+len(p) > maxAnswer {
			return fmt.Errorf("receive-pack reported more than %d bytes", maxAnswer)
		}
		a.held = append(a.held, p...)
		return nil
	}
	if _, err := a.w.Write(p); err != nil {
		return err
	}
	if err := http.NewResponseController(a.w).Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// release sends what was held.
func (a *answer) release() {
	a.w.WriteHeader(a.status)
	_, _ = a.w.Write(a.held) // the client went away: its push is done all the same
}
