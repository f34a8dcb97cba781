package runtime

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// treeSuffix ends the key of an image that is unpacked whole, to run its
// command. A site's key is its digest alone: it is unpacked in another way.
const treeSuffix = ".tree"

// In a tree's directory: the image's files and what its configuration says.
const (
	treeFiles       = "root"
	treeDescription = "image.json"
)

// tree is an image unpacked whole.
type tree struct {
	key   string
	files string // directory
	image description
}

// description is what an image says of its process.
type description struct {
	Entrypoint []string `json:"entrypoint,omitempty"`
	Cmd        []string `json:"cmd,omitempty"`
	Env        []string `json:"env,omitempty"`        // KEY=value
	WorkingDir string   `json:"workingDir,omitempty"` // without slashes around it; empty for the root
}

// openTree gives the files of an image: the ones unpacked or, when there are
// none, pulled from the registry.
func (s *Server) openTree(ctx context.Context, ref name.Digest) (tree, error) {
	key := ref.DigestStr() + treeSuffix
	unlock, err := s.pulls.lock(ctx, key)
	if err != nil {
		return tree{}, err
	}
	defer unlock()
	dir := s.imageDir(key)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		err = s.pull(ctx, ref, dir, s.fetchTree)
		if err != nil {
			return tree{}, err
		}
	}
	t := tree{key: key, files: filepath.Join(dir, treeFiles)}
	text, err := os.ReadFile(filepath.Join(dir, treeDescription))
	if err != nil {
		return tree{}, fmt.Errorf("image %s: %w", ref, err)
	}
	if err := json.Unmarshal(text, &t.image); err != nil {
		return tree{}, fmt.Errorf("image %s: %w", ref, err)
	}
	return t, nil
}

// fetchTree reads the image from the registry, every part checked against its
// digest, and writes all of it to dir.
func (s *Server) fetchTree(ctx context.Context, ref name.Digest, dir string) error {
	img, err := s.remote(ctx, ref)
	if err != nil {
		return err
	}
	d, err := describe(img)
	if err != nil {
		return err
	}
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	if err := writeSynced(filepath.Join(dir, treeDescription), text); err != nil {
		return err
	}
	root := filepath.Join(dir, treeFiles)
	if err := os.Mkdir(root, 0o755); err != nil {
		return err
	}
	into, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer into.Close()
	u := unpacking{into: into, limits: s.cfg.Limits}
	files := mutate.Extract(img)
	defer files.Close()
	if err := each(ctx, tar.NewReader(io.LimitReader(files, 2*s.cfg.Limits.Bytes)), u.whole); err != nil {
		return err
	}
	// A layer is checked once it is read to its end, which lies beyond the last file.
	if _, err := io.Copy(io.Discard, files); err != nil {
		return err
	}
	if err := into.MkdirAll(orDot(d.WorkingDir), 0o755); err != nil {
		return because(ReasonImageInvalid, "working directory %q: %w", d.WorkingDir, err)
	}
	return errors.Join(u.sync(), syncDir(dir))
}

// describe reads what the image's configuration says of its process.
func describe(img v1.Image) (description, error) {
	cfg, err := configuration(img)
	if err != nil {
		return description{}, err
	}
	return description{
		Entrypoint: cfg.Config.Entrypoint, Cmd: cfg.Config.Cmd, Env: cfg.Config.Env,
		WorkingDir: strings.Trim(path.Clean("/"+cfg.Config.WorkingDir), "/"),
	}, nil
}

// whole unpacks one entry of an image of which everything is wanted. A link
// that points out of the image points to the same place within it, as it would
// where the image is the whole file system.
func (u *unpacking) whole(header *tar.Header, content io.Reader) error {
	full := strings.TrimPrefix(header.Name, "/")
	if !filepath.IsLocal(full) {
		return because(ReasonImageInvalid, "entry %q points out of the image", header.Name)
	}
	entry := path.Clean(full)
	if u.files++; u.files > u.limits.Files {
		return because(ReasonImageInvalid, "has more than %d files", u.limits.Files)
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return unfit(header, u.into.MkdirAll(entry, 0o755))
	case tar.TypeReg:
		if err := u.file(entry, header, content); err != nil {
			return err
		}
		if header.Mode&0o111 == 0 {
			return nil
		}
		return u.into.Chmod(entry, 0o755)
	case tar.TypeSymlink:
		return unfit(header, u.link(entry, within(entry, header.Linkname), u.into.Symlink))
	case tar.TypeLink:
		target := orDot(strings.TrimPrefix(path.Clean("/"+header.Linkname), "/"))
		if info, err := u.into.Lstat(target); err != nil || info.IsDir() {
			return because(ReasonImageInvalid, "entry %q is a link to %q, which is no file of the image", header.Name, header.Linkname)
		}
		return unfit(header, u.link(entry, target, u.into.Link))
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		return nil // a process sees this machine's devices, not the image's
	default:
		return because(ReasonImageInvalid, "entry %q is of a kind that is not known (%q)", header.Name, header.Typeflag)
	}
}

// link makes a link, with the directory it stands in.
func (u *unpacking) link(entry, target string, create func(old, name string) error) error {
	if err := u.into.MkdirAll(path.Dir(entry), 0o755); err != nil {
		return err
	}
	return create(target, entry)
}

// within is the target of a symbolic link at entry, relative and never above
// the image's root.
func within(entry, target string) string {
	from := path.Dir("/" + entry)
	if !path.IsAbs(target) {
		target = path.Join(from, target)
	}
	to, err := filepath.Rel(from, path.Clean("/"+target))
	if err != nil {
		return "." // never: both are absolute
	}
	return to
}
