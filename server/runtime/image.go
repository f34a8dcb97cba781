package runtime

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// The largest manifest and configuration that are read into memory, in bytes.
const maxDescription = 4 << 20

// open gives the site of an image: the one in use, the one unpacked, or, when
// there is neither, one pulled from the registry.
func (s *Server) open(ctx context.Context, ref name.Digest) (*site, error) {
	digest := ref.DigestStr()
	unlock, err := s.pulls.lock(ctx, digest)
	if err != nil {
		return nil, err
	}
	defer unlock()
	dir := s.imageDir(digest)
	_, err = os.Stat(dir)
	gone := errors.Is(err, fs.ErrNotExist)
	s.mu.Lock()
	known := s.sites[digest]
	s.mu.Unlock()
	if known != nil && !gone {
		return known, nil
	}
	if gone {
		err = s.pull(ctx, ref, dir, s.fetch)
	}
	if err != nil {
		return nil, err
	}
	opened := newSite(digest, os.DirFS(dir))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sites[digest] = opened
	return opened, nil
}

// imageDir is where the files of an image lie once it is unpacked.
func (s *Server) imageDir(digest string) string {
	return filepath.Join(s.imagesDir(), strings.Replace(digest, ":", "-", 1))
}

// pull has fetch write the image to dir: whole and on disk, or not at all.
func (s *Server) pull(ctx context.Context, ref name.Digest, dir string, fetch func(context.Context, name.Digest, string) error) error {
	temp, err := os.MkdirTemp(s.imagesDir(), unpackingPrefix)
	if err != nil {
		return err
	}
	timed, cancel := context.WithTimeout(ctx, s.cfg.PullTimeout)
	defer cancel()
	if err := fetch(timed, ref, temp); err != nil {
		if ctx.Err() == nil {
			err = pullProblem(ref, err)
		}
		return errors.Join(err, os.RemoveAll(temp))
	}
	if err := os.Rename(temp, dir); err != nil {
		return errors.Join(err, os.RemoveAll(temp))
	}
	return syncDir(s.imagesDir())
}

// fetch reads the image from the registry, every part checked against its
// digest, and writes the tree under its working directory to dir.
func (s *Server) fetch(ctx context.Context, ref name.Digest, dir string) error {
	img, err := s.remote(ctx, ref)
	if err != nil {
		return err
	}
	root, err := workingDir(img)
	if err != nil {
		return err
	}
	files := mutate.Extract(img)
	defer files.Close()
	into, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer into.Close()
	u := unpacking{from: root, into: into, limits: s.cfg.Limits}
	if err := u.all(ctx, tar.NewReader(io.LimitReader(files, 2*s.cfg.Limits.Bytes))); err != nil {
		return err
	}
	// A layer is checked once it is read to its end, which lies beyond the last file.
	if _, err := io.Copy(io.Discard, files); err != nil {
		return err
	}
	return u.sync()
}

// remote is the image as the registry has it: read when it is asked for.
func (s *Server) remote(ctx context.Context, ref name.Digest) (v1.Image, error) {
	return remote.Image(ref,
		remote.WithContext(ctx),
		remote.WithTransport(bounded{s.cfg.RegistryTransport, s.cfg.Limits.Bytes}),
		remote.WithUserAgent("platform-runtime"),
		remote.WithRetryBackoff(remote.Backoff{Steps: 1}), // Run asks again, later
	)
}

// configuration reads the image's configuration, if it has a reasonable size.
func configuration(img v1.Image) (*v1.ConfigFile, error) {
	m, err := img.Manifest()
	if err != nil {
		return nil, err
	}
	if m.Config.Size > maxDescription {
		return nil, because(ReasonImageInvalid, "image configuration has %d bytes; at most %d are read", m.Config.Size, maxDescription)
	}
	return img.ConfigFile()
}

// workingDir is the directory of the image that is served, without slashes around it.
func workingDir(img v1.Image) (string, error) {
	cfg, err := configuration(img)
	if err != nil {
		return "", err
	}
	dir := strings.Trim(path.Clean("/"+cfg.Config.WorkingDir), "/")
	if dir == "" {
		return "", because(ReasonImageInvalid, "image names no working directory (%q): a static site's image has its files under one", cfg.Config.WorkingDir)
	}
	return dir, nil
}

// denied, missing and broken answers of a registry, by status; anything else is trouble that may pass.
var registryReasons = map[int]string{
	http.StatusNotFound:     ReasonImageNotFound,
	http.StatusUnauthorized: ReasonRegistryDenied,
	http.StatusForbidden:    ReasonRegistryDenied,
}

// pullProblem says in one word and one sentence why a pull did not come through.
func pullProblem(ref name.Digest, err error) error {
	var (
		p      *problem
		status *transport.Error
		call   *url.Error
		conn   net.Error
		disk   *fs.PathError
	)
	switch {
	case errors.As(err, &p):
		return because(p.reason, "image %s: %s", ref, p.message)
	case errors.As(err, &disk):
		return err
	case errors.As(err, &status) && registryReasons[status.StatusCode] != "":
		return because(registryReasons[status.StatusCode], "image %s: registry answered %d to %s", ref, status.StatusCode, status.Request.URL.Path)
	case errors.As(err, &status):
		p = because(ReasonRegistryUnreachable, "registry %s answered %d for %s; it is asked again", ref.RegistryStr(), status.StatusCode, ref)
	case errors.As(err, &call), errors.As(err, &conn), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, context.DeadlineExceeded):
		p = because(ReasonRegistryUnreachable, "registry %s could not be read: %w; it is asked again", ref.RegistryStr(), err)
	default:
		return because(ReasonImageInvalid, "image %s: %w", ref, err)
	}
	p.again = true
	return p
}

// bounded is a transport whose answers end, with an error, at limit bytes;
// manifests at maxDescription.
type bounded struct {
	next  http.RoundTripper
	limit int64
}

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	limit := b.limit
	if strings.Contains(r.URL.Path, "/manifests/") {
		limit = maxDescription
	}
	resp.Body = &boundedBody{resp.Body, limit}
	return resp, nil
}

type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, because(ReasonImageInvalid, "is larger than this runtime takes")
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
