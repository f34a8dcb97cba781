package registry

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// makeDir makes a directory and those above it, each durable.
func makeDir(path string) error {
	err := os.Mkdir(path, 0o700)
	switch {
	case err == nil:
		return syncDir(filepath.Dir(path))
	case errors.Is(err, fs.ErrExist):
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := makeDir(filepath.Dir(path)); err != nil {
		return err
	}
	return makeDir(path)
}

// syncDir makes what was renamed or removed in a directory durable.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// place makes a written file durable under its final name: there whole, or not at all.
func place(f *os.File, path string) error {
	if err := makeDir(filepath.Dir(path)); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// writeFile writes a small file durably, by way of the directory tmp.
func writeFile(tmp, path string, body []byte) error {
	f, err := os.CreateTemp(tmp, "write-*")
	if err != nil {
		return err
	}
	if _, err := f.Write(body); err != nil {
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	if err := place(f, path); err != nil {
		return errors.Join(err, removed(f.Name()))
	}
	return nil
}

// remove removes a file durably.
func remove(path string) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// removed removes a file that may be gone.
func removed(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
