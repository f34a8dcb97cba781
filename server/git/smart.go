package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"platform.dev/platform/server/web"
)

const (
	uploadPack  = "git-upload-pack"  // fetch and clone
	receivePack = "git-receive-pack" // push

	transferTimeout = 15 * time.Minute
	maxWants        = 16 << 20 // bytes of what a fetch asks for
)

// advertise answers GET info/refs: the first half of a fetch or push.
func (s *Server) advertise(w http.ResponseWriter, r *http.Request) {
	service := r.URL.Query().Get("service")
	if service != uploadPack && service != receivePack {
		http.Error(w, fmt.Sprintf("service %q: only smart HTTP is served; use git 1.6.6 or newer", web.Echo(service)), http.StatusForbidden)
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
	held := &answer{w: w, hold: true}
	if err := s.receiveInto(r, backend{repo: repo, service: receivePack, path: "/" + receivePack, body: body}, held); isUnknown(err) {
		http.Error(w, err.Error(), http.StatusNotFound) // removed while the push arrived
	} else if err != nil {
		s.broken(w, r, repo, err)
	} else {
		held.release()
	}
}

// receiveInto runs a push and records its event under the repository's lock.
func (s *Server) receiveInto(r *http.Request, b backend, held *answer) error {
	m := s.lock(b.repo.ID)
	m.Lock()
	defer m.Unlock()
	if _, err := s.current(r.Context(), b.repo); err != nil {
		return err
	}
	err := s.backend(r, b, held)
	// Whatever became of the process, a ref that it moved is an event.
	if err := s.record(context.WithoutCancel(r.Context()), b.repo, s.cfg.AdminUser); err != nil {
		s.cfg.Log.ErrorContext(r.Context(), "push is not recorded yet", "repository", b.repo.full(), "error", err)
	}
	return err
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
