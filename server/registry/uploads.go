package registry

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The limits of uploads under way.
const (
	maxUploads = 64
	idleUpload = 15 * time.Minute // after this long without a byte an upload is given up
)

// upload is a blob on its way in.
type upload struct {
	id, name string
	mu       sync.Mutex // held while a request writes
	f        *os.File   // nil once it has ended
	size     int64
	touched  time.Time
}

// uploads are those under way. They are not durable: a client whose upload is gone begins again.
type uploads struct {
	dir  string
	now  func() time.Time
	mu   sync.Mutex
	open map[string]*upload
}

// begin starts an upload to a repository.
func (us *uploads) begin(name string) (*upload, error) {
	us.mu.Lock()
	defer us.mu.Unlock()
	for id, u := range us.open {
		if us.now().Sub(u.touched) > idleUpload && u.mu.TryLock() {
			delete(us.open, id)
			err := u.drop()
			u.mu.Unlock()
			if err != nil {
				return nil, err
			}
		}
	}
	if len(us.open) >= maxUploads {
		return nil, refuse(http.StatusTooManyRequests, codeTooMany, "%d uploads are under way; end one of them or wait %v", maxUploads, idleUpload)
	}
	u := &upload{id: rand.Text(), name: name, touched: us.now()}
	f, err := os.OpenFile(filepath.Join(us.dir, u.id), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	u.f = f
	us.open[u.id] = u
	return u, nil
}

// take gives an upload of a repository, locked; release gives it back.
func (us *uploads) take(t target) (*upload, error) {
	us.mu.Lock()
	u := us.open[t.ref]
	us.mu.Unlock()
	if u != nil && u.name == t.name {
		u.mu.Lock()
		if u.f != nil {
			return u, nil
		}
		u.mu.Unlock()
	}
	return nil, refuse(http.StatusNotFound, codeUploadUnknown, "upload %.100q to %s is not under way; begin again", t.ref, t.name)
}

// release gives an upload back, or ends it.
func (us *uploads) release(u *upload, end bool) error {
	defer u.mu.Unlock()
	us.mu.Lock()
	u.touched = us.now()
	if end {
		delete(us.open, u.id)
	}
	us.mu.Unlock()
	if end {
		return u.drop()
	}
	return nil
}

// close gives up every upload.
func (us *uploads) close() error {
	us.mu.Lock()
	all := us.open
	us.open = map[string]*upload{}
	us.mu.Unlock()
	var errs error
	for _, u := range all {
		u.mu.Lock()
		errs = errors.Join(errs, u.drop())
		u.mu.Unlock()
	}
	return errs
}

// drop closes and removes what has come, unless it has been placed. The upload is locked.
func (u *upload) drop() error {
	if u.f == nil {
		return nil
	}
	err := errors.Join(u.f.Close(), removed(u.f.Name()))
	u.f = nil
	return err
}

// receive appends a body. What came of a body that broke off is taken back, so that it can be sent again.
func (u *upload) receive(body io.Reader, most int64) error {
	n, err := io.Copy(io.NewOffsetWriter(u.f, u.size), io.LimitReader(body, most-u.size+1))
	if err != nil {
		return errors.Join(refuse(http.StatusBadRequest, codeUploadInvalid, "the upload broke off after %d bytes", u.size+n), u.f.Truncate(u.size))
	}
	if u.size += n; u.size > most {
		return refuse(http.StatusRequestEntityTooLarge, codeSizeInvalid, "a blob may have %d bytes", most)
	}
	return nil
}

// commit keeps what has come as the blob of a digest, which it must have. It ends the upload.
func (s *Server) commit(u *upload, digest string) error {
	if err := checkDigest(digest); err != nil {
		return err
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, io.NewSectionReader(u.f, 0, u.size)); err != nil {
		return err
	}
	if got := "sha256:" + hex.EncodeToString(hash.Sum(nil)); got != digest {
		return refuse(http.StatusBadRequest, codeDigestInvalid, "the %d bytes that came have digest %s, not %s", u.size, got, digest)
	}
	f := u.f
	u.f = nil
	if err := place(f, s.blobPath(digest)); err != nil {
		return errors.Join(err, removed(f.Name()))
	}
	return nil
}

// beginUpload starts an upload (202), or takes a whole blob (digest=, 201), or finds it stored already (mount=, 201).
func (s *Server) beginUpload(w http.ResponseWriter, r *http.Request, t target) (err error) {
	q := r.URL.Query()
	if mount := q.Get("mount"); mount != "" {
		if err := checkDigest(mount); err != nil {
			return err
		}
		if _, found, err := s.blobSize(mount); err != nil || found {
			if found {
				created(w, t.name, "blobs", mount)
			}
			return err
		}
	}
	u, err := s.uploads.begin(t.name)
	if err != nil {
		return err
	}
	digest := q.Get("digest")
	if digest == "" {
		accepted(w, u)
		return nil
	}
	u.mu.Lock()
	defer func() { err = errors.Join(err, s.uploads.release(u, true)) }()
	if err := u.receive(r.Body, s.cfg.MaxBlob); err != nil {
		return err
	}
	if err := s.commit(u, digest); err != nil {
		return err
	}
	created(w, t.name, "blobs", digest)
	return nil
}

// uploadStatus answers how much has come (204).
func (s *Server) uploadStatus(w http.ResponseWriter, _ *http.Request, t target) error {
	u, err := s.uploads.take(t)
	if err != nil {
		return err
	}
	progress(w, u)
	w.WriteHeader(http.StatusNoContent)
	return s.uploads.release(u, false)
}

// continueUpload appends a chunk (202); one with a Content-Range must begin where the last has ended.
func (s *Server) continueUpload(w http.ResponseWriter, r *http.Request, t target) (err error) {
	u, err := s.uploads.take(t)
	if err != nil {
		return err
	}
	tooLarge := false
	defer func() { err = errors.Join(err, s.uploads.release(u, tooLarge)) }()
	if err := u.follows(r); err != nil {
		progress(w, u)
		return err
	}
	if err := u.receive(r.Body, s.cfg.MaxBlob); err != nil {
		tooLarge = u.size > s.cfg.MaxBlob
		return err
	}
	accepted(w, u)
	return nil
}

// follows refuses a chunk that does not begin where the last has ended.
func (u *upload) follows(r *http.Request) error {
	rng := r.Header.Get("Content-Range")
	if rng == "" {
		return nil
	}
	first, last, _ := strings.Cut(strings.TrimPrefix(rng, "bytes "), "-")
	from, err := strconv.ParseInt(first, 10, 64)
	to, err2 := strconv.ParseInt(last, 10, 64)
	if err != nil || err2 != nil || from != u.size || r.ContentLength >= 0 && r.ContentLength != to-from+1 {
		return refuse(http.StatusRequestedRangeNotSatisfiable, codeUploadInvalid, "Content-Range %.100q does not follow: %d bytes have come", rng, u.size)
	}
	return nil
}

// endUpload appends the last chunk, if any, and keeps the blob (201). A blob with another digest leaves nothing.
func (s *Server) endUpload(w http.ResponseWriter, r *http.Request, t target) (err error) {
	u, err := s.uploads.take(t)
	if err != nil {
		return err
	}
	end := true
	defer func() { err = errors.Join(err, s.uploads.release(u, end)) }()
	if err := u.follows(r); err != nil {
		end = false
		progress(w, u)
		return err
	}
	if err := u.receive(r.Body, s.cfg.MaxBlob); err != nil {
		return err
	}
	digest := r.URL.Query().Get("digest")
	if err := s.commit(u, digest); err != nil {
		return err
	}
	created(w, t.name, "blobs", digest)
	return nil
}

// cancelUpload gives an upload up (204).
func (s *Server) cancelUpload(w http.ResponseWriter, _ *http.Request, t target) error {
	u, err := s.uploads.take(t)
	if err != nil {
		return err
	}
	if err := s.uploads.release(u, true); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// progress sets the headers that tell how far an upload has come.
func progress(w http.ResponseWriter, u *upload) {
	w.Header().Set("Location", "/v2/"+u.name+"/blobs/uploads/"+u.id)
	w.Header().Set("Docker-Upload-UUID", u.id)
	w.Header().Set("Range", fmt.Sprintf("0-%d", max(0, u.size-1)))
}

// accepted answers that an upload goes on.
func accepted(w http.ResponseWriter, u *upload) {
	progress(w, u)
	w.WriteHeader(http.StatusAccepted)
}

// created answers that a blob or manifest is stored.
func created(w http.ResponseWriter, name, kind, digest string) {
	w.Header().Set("Location", "/v2/"+name+"/"+kind+"/"+digest)
	w.Header().Set("Docker-Content-Digest", digest)
	w.WriteHeader(http.StatusCreated)
}
