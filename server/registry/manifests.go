package registry

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"platform.dev/platform/server/web"
)

// tagShape is that of tags.
var tagShape = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`)

// manifest is a stored manifest: bytes as they came, and what they are.
type manifest struct {
	digest, mediaType string
	body              []byte
}

// manifestPath is where a repository's manifest is: its media type, a line feed and its bytes.
func (s *Server) manifestPath(name, digest string) string {
	return s.path("repositories", filepath.FromSlash(name), "_manifests", strings.TrimPrefix(digest, "sha256:"))
}

// tagPath is where a repository's tag is: a file that holds a digest.
func (s *Server) tagPath(name, tag string) string {
	return s.path("repositories", filepath.FromSlash(name), "_tags", tag)
}

// digestOf gives the digest that a reference means: itself, or that of a tag.
func (s *Server) digestOf(name, ref string) (string, error) {
	if digestShape.MatchString(ref) {
		return ref, nil
	}
	if strings.Contains(ref, ":") {
		return "", checkDigest(ref)
	}
	if !tagShape.MatchString(ref) {
		return "", refuse(http.StatusBadRequest, codeManifestInvalid, "tag %.150q must be 1 to 128 letters, digits, dots, dashes and underscores", ref)
	}
	b, err := os.ReadFile(s.tagPath(name, ref))
	if errors.Is(err, fs.ErrNotExist) {
		return "", refuse(http.StatusNotFound, codeManifestUnknown, "%s has no tag %q", name, ref)
	}
	return string(b), err
}

// readManifest reads a repository's manifest.
func (s *Server) readManifest(name, digest string) (manifest, error) {
	b, err := os.ReadFile(s.manifestPath(name, digest))
	if errors.Is(err, fs.ErrNotExist) {
		return manifest{}, refuse(http.StatusNotFound, codeManifestUnknown, "%s has no manifest %s", name, digest)
	}
	if err != nil {
		return manifest{}, err
	}
	mediaType, body, found := bytes.Cut(b, []byte("\n"))
	if !found {
		return manifest{}, fmt.Errorf("manifest %s of %s is damaged", digest, name)
	}
	return manifest{digest, string(mediaType), body}, nil
}

// getManifest answers a manifest by tag or digest.
func (s *Server) getManifest(w http.ResponseWriter, r *http.Request, t target) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	digest, err := s.digestOf(t.name, t.ref)
	if err != nil {
		return err
	}
	m, err := s.readManifest(t.name, digest)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", m.mediaType)
	h.Set("Content-Length", strconv.Itoa(len(m.body)))
	h.Set("Docker-Content-Digest", m.digest)
	h.Set("ETag", `"`+m.digest+`"`)
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(m.body) // the client went away: there is nobody to tell
	}
	return nil
}

// putManifest stores a manifest whose every part is stored, and tags it when the reference is a tag.
func (s *Server) putManifest(w http.ResponseWriter, r *http.Request, t target) error {
	if !tagShape.MatchString(t.ref) {
		if err := checkDigest(t.ref); err != nil {
			return err
		}
	}
	body, err := web.Body(r, maxManifest)
	if errors.Is(err, web.ErrTooLarge) {
		return refuse(http.StatusRequestEntityTooLarge, codeManifestInvalid, "a manifest may have %d bytes", maxManifest)
	}
	if err != nil {
		return refuse(http.StatusBadRequest, codeManifestInvalid, "the manifest broke off")
	}
	sum := sha256.Sum256(body)
	m := manifest{digest: "sha256:" + hex.EncodeToString(sum[:]), body: body}
	if digestShape.MatchString(t.ref) && t.ref != m.digest {
		return refuse(http.StatusBadRequest, codeDigestInvalid, "the manifest has digest %s, not %s", m.digest, t.ref)
	}
	if m.mediaType, err = mediaTypeOf(r.Header.Get("Content-Type"), body); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkParts(t.name, m); err != nil {
		return err
	}
	if err := writeFile(s.path("uploads"), s.manifestPath(t.name, m.digest), append([]byte(m.mediaType+"\n"), body...)); err != nil {
		return err
	}
	if t.ref != m.digest {
		if err := writeFile(s.path("uploads"), s.tagPath(t.name, t.ref), []byte(m.digest)); err != nil {
			return err
		}
	}
	created(w, t.name, "manifests", m.digest)
	return nil
}

// mediaTypeOf is what a manifest is: the header and its own field must not differ.
func mediaTypeOf(header string, body []byte) (string, error) {
	var own struct {
		SchemaVersion int    `json:"schemaVersion"`
		MediaType     string `json:"mediaType"`
	}
	if err := json.Unmarshal(body, &own); err != nil {
		return "", refuse(http.StatusBadRequest, codeManifestInvalid, "the manifest is not JSON: %v", err)
	}
	said, _, err := mime.ParseMediaType(header)
	if header != "" && err != nil {
		return "", refuse(http.StatusBadRequest, codeManifestInvalid, "Content-Type %.100q: %v", header, err)
	}
	if said != "" && own.MediaType != "" && said != own.MediaType {
		return "", refuse(http.StatusBadRequest, codeManifestInvalid, "Content-Type %.100q and mediaType %.100q differ", said, own.MediaType)
	}
	kind := types.MediaType(cmp.Or(own.MediaType, said))
	if own.SchemaVersion != 2 || !kind.IsImage() && !kind.IsIndex() {
		return "", refuse(http.StatusBadRequest, codeManifestInvalid, "schemaVersion %d, mediaType %.100q: only image manifests and indexes of version 2 are stored", own.SchemaVersion, kind)
	}
	return string(kind), nil
}

// parts are the blobs and manifests that a manifest refers to.
func parts(m manifest) (blobs, manifests []v1.Descriptor, err error) {
	if types.MediaType(m.mediaType).IsIndex() {
		index, err := v1.ParseIndexManifest(bytes.NewReader(m.body))
		if err != nil {
			return nil, nil, err
		}
		return nil, index.Manifests, nil
	}
	image, err := v1.ParseManifest(bytes.NewReader(m.body))
	if err != nil {
		return nil, nil, err
	}
	blobs = []v1.Descriptor{image.Config}
	for _, l := range image.Layers {
		if l.MediaType.IsDistributable() {
			blobs = append(blobs, l)
		}
	}
	return blobs, nil, nil
}

// checkParts refuses a manifest with a part that is not stored, or has another size.
func (s *Server) checkParts(name string, m manifest) error {
	blobs, manifests, err := parts(m)
	if err != nil {
		return refuse(http.StatusBadRequest, codeManifestInvalid, "the manifest cannot be read: %v", err)
	}
	for _, d := range blobs {
		if err := checkDigest(d.Digest.String()); err != nil {
			return err
		}
		size, found, err := s.blobSize(d.Digest.String())
		switch {
		case err != nil:
			return err
		case !found:
			return refuse(http.StatusBadRequest, codeManifestBlob, "blob %s is not stored here; push it first", d.Digest)
		case size != d.Size:
			return refuse(http.StatusBadRequest, codeSizeInvalid, "blob %s has %d bytes, not %d", d.Digest, size, d.Size)
		}
	}
	for _, d := range manifests {
		if err := checkDigest(d.Digest.String()); err != nil {
			return err
		}
		if _, err := s.readManifest(name, d.Digest.String()); err != nil {
			var no *refusal
			if errors.As(err, &no) {
				return refuse(http.StatusBadRequest, codeManifestBlob, "manifest %s is not stored in %s; push it first", d.Digest, name)
			}
			return err
		}
	}
	return nil
}

// deleteManifest removes a tag; or, by digest, a manifest and the tags that name it.
func (s *Server) deleteManifest(w http.ResponseWriter, _ *http.Request, t target) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	digest, err := s.digestOf(t.name, t.ref)
	if err != nil {
		return err
	}
	if digest != t.ref {
		if err := remove(s.tagPath(t.name, t.ref)); err != nil {
			return err
		}
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	if _, err := s.readManifest(t.name, digest); err != nil {
		return err
	}
	// Tags first: one never names a manifest that is gone.
	tags, err := s.tagsOf(t.name)
	if err != nil {
		return err
	}
	for _, tag := range tags {
		if d, err := s.digestOf(t.name, tag); err != nil || d != digest {
			if err != nil {
				return err
			}
			continue
		}
		if err := remove(s.tagPath(t.name, tag)); err != nil {
			return err
		}
	}
	if err := remove(s.manifestPath(t.name, digest)); err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}
