package server

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Data is a claimed data directory: one directory, one process.
type Data struct {
	dir  string
	lock *os.File
}

// Claim makes the directory (mode 0700) where it is absent and takes it for
// this process until Close. A directory that another process holds is refused
// with that process's pid.
func Claim(dir string) (*Data, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	path := filepath.Join(dir, "platform.pid")
	lock, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := hold(lock); err != nil {
		return nil, errors.Join(fmt.Errorf("data directory %s %w", dir, err), lock.Close())
	}
	if err := errors.Join(lock.Truncate(0), writeAt(lock, strconv.Itoa(os.Getpid())+"\n")); err != nil {
		return nil, errors.Join(fmt.Errorf("write %s: %w", path, err), lock.Close())
	}
	return &Data{dir: dir, lock: lock}, nil
}

// A killed platform's lock can outlive it for an instant: a process that it was
// just starting holds a copy until it has become another program.
const lockRetries, lockPause = 100, 20 * time.Millisecond

// hold takes the file's lock. The lock is the kernel's, so that it ends with
// the process however that ends; the pid in the file tells people whom to look for.
func hold(lock *os.File) error {
	for i := 0; ; i++ {
		err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		text, err := os.ReadFile(lock.Name())
		if err != nil {
			return err
		}
		held := strings.TrimSpace(string(text))
		pid, err := strconv.Atoi(held)
		if gone := err == nil && errors.Is(unix.Kill(pid, 0), unix.ESRCH); !gone || i == lockRetries {
			return fmt.Errorf("is in use by the platform with pid %s: stop it first, or give another directory with --data", held)
		}
		time.Sleep(lockPause)
	}
}

func writeAt(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

// Dir is the directory's absolute path.
func (d *Data) Dir() string { return d.dir }

// Path joins names onto the directory.
func (d *Data) Path(names ...string) string {
	return filepath.Join(append([]string{d.dir}, names...)...)
}

// Sub makes a directory within (mode 0700) and returns its path.
func (d *Data) Sub(names ...string) (string, error) {
	path := d.Path(names...)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", fmt.Errorf("data directory: %w", err)
	}
	return path, nil
}

// Close gives the directory up.
func (d *Data) Close() error { return d.lock.Close() }

// Secret reads the secret of that name, making a random one of 256 bits at the
// first call. Secrets are files of mode 0600 under secrets/.
func (d *Data) Secret(name string) (string, error) {
	dir, err := d.Sub("secrets")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	text, err := os.ReadFile(path)
	switch {
	case err == nil && len(strings.TrimSpace(string(text))) >= 32:
		return strings.TrimSpace(string(text)), nil
	case err == nil:
		return "", fmt.Errorf("secret %s: the file is shorter than 32 characters; delete it to have a new one made", path)
	case !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("secret %s: %w", name, err)
	}
	secret := strings.ToLower(rand.Text() + rand.Text())
	if err := WriteFile(path, []byte(secret+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("secret %s: %w", name, err)
	}
	return secret, nil
}

// WriteFile replaces a file whole or not at all, durably: a reader, or a start
// after a crash, finds the old content or the new.
func WriteFile(path string, content []byte, mode fs.FileMode) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(content)
	err = errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
