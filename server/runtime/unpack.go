package runtime

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// unpacking writes the part of an archive that lies under from into a directory.
type unpacking struct {
	from   string // "site"
	into   *os.Root
	limits Limits
	bytes  int64
	files  int
}

// all unpacks the archive's part to its end.
func (u *unpacking) all(ctx context.Context, archive *tar.Reader) error {
	return each(ctx, archive, u.one)
}

// each hands over the archive's entries to its end.
func each(ctx context.Context, archive *tar.Reader, one func(*tar.Header, io.Reader) error) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := one(header, archive); err != nil {
			return err
		}
	}
}

// one unpacks one entry. An entry that a site cannot have makes the image
// unusable: left out, it would be missed where nobody looks.
func (u *unpacking) one(header *tar.Header, content io.Reader) error {
	whole := strings.TrimPrefix(header.Name, "/")
	if !filepath.IsLocal(whole) {
		return because(ReasonImageInvalid, "entry %q points out of the image", header.Name)
	}
	name, inside := strings.CutPrefix(path.Clean(whole), u.from)
	if !inside || name != "" && name[0] != '/' {
		return nil // a part of the image that is not served
	}
	name = strings.TrimPrefix(name, "/")
	if u.files++; u.files > u.limits.Files {
		return because(ReasonImageInvalid, "has more than %d files", u.limits.Files)
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return unfit(header, u.into.MkdirAll(orDot(name), 0o755))
	case tar.TypeReg:
		return u.file(name, header, content)
	default:
		return because(ReasonImageInvalid, "entry %q is neither a file nor a directory: a static site has no links and no devices", header.Name)
	}
}

// file writes one file and waits until it is on disk.
func (u *unpacking) file(name string, header *tar.Header, content io.Reader) error {
	if u.bytes += header.Size; u.bytes > u.limits.Bytes {
		return because(ReasonImageInvalid, "has more than %d bytes unpacked", u.limits.Bytes)
	}
	if err := u.into.MkdirAll(path.Dir(orDot(name)), 0o755); err != nil {
		return unfit(header, err)
	}
	f, err := u.into.OpenFile(orDot(name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return unfit(header, err)
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Sync(), f.Close())
}

// sync waits until the directories are on disk.
func (u *unpacking) sync() error {
	return fs.WalkDir(u.into.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		d, err := u.into.Open(name)
		if err != nil {
			return err
		}
		return errors.Join(d.Sync(), d.Close())
	})
}

// unfit tells an image whose entries contradict each other from a faulty disk.
func unfit(header *tar.Header, err error) error {
	for _, contradiction := range []error{fs.ErrExist, fs.ErrNotExist, syscall.ENOTDIR, syscall.EISDIR, syscall.ENAMETOOLONG, syscall.ELOOP} {
		if errors.Is(err, contradiction) {
			return because(ReasonImageInvalid, "entry %q cannot be written: %w", header.Name, contradiction)
		}
	}
	return err
}

func orDot(name string) string {
	if name == "" {
		return "."
	}
	return name
}
