package registry

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"
)

// digestShape is that of the digests stored here.
var digestShape = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// blobPath is where the blob of a digest is; the digest must have its shape.
func (s *Server) blobPath(digest string) string {
	return s.path("blobs", "sha256", strings.TrimPrefix(digest, "sha256:"))
}

// checkDigest refuses what is no digest.
func checkDigest(digest string) error {
	if !digestShape.MatchString(digest) {
		return refuse(http.StatusBadRequest, codeDigestInvalid, "digest %.100q must be sha256: and 64 lower-case hexadecimal digits", digest)
	}
	return nil
}

// blobSize is the size of a stored blob; found is false when there is none.
func (s *Server) blobSize(digest string) (size int64, found bool, err error) {
	info, err := os.Stat(s.blobPath(digest))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	return info.Size(), true, nil
}

// getBlob answers a blob, or the ranges of it that are asked for. Blobs are
// shared: one pushed to a repository can be read through every other.
func (s *Server) getBlob(w http.ResponseWriter, r *http.Request, t target) error {
	if err := checkDigest(t.ref); err != nil {
		return err
	}
	f, err := os.Open(s.blobPath(t.ref))
	if errors.Is(err, fs.ErrNotExist) {
		return refuse(http.StatusNotFound, codeBlobUnknown, "blob %s is not stored here", t.ref)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Docker-Content-Digest", t.ref)
	h.Set("ETag", `"`+t.ref+`"`)
	http.ServeContent(w, r, "", time.Time{}, f)
	return nil
}

// deleteBlob removes a blob that no manifest refers to.
func (s *Server) deleteBlob(w http.ResponseWriter, _ *http.Request, t target) error {
	if err := checkDigest(t.ref); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	user, err := s.userOf(t.ref)
	if err != nil {
		return err
	}
	if user != "" {
		return refuse(http.StatusMethodNotAllowed, codeUnsupported, "blob %s is part of %s; delete that first", t.ref, user)
	}
	err = remove(s.blobPath(t.ref))
	if errors.Is(err, fs.ErrNotExist) {
		return refuse(http.StatusNotFound, codeBlobUnknown, "blob %s is not stored here", t.ref)
	}
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}
