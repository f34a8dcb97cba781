package exec

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// trustedDir is the directory with its links resolved, when nobody but us and
// root can change what is in it, or put another in its place.
func trustedDir(dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		return "", errors.New("give an absolute path")
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	for at := resolved; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil {
			return "", err
		}
		// Others may write beside what is ours where the sticky bit keeps them from replacing it.
		shared := at != resolved && info.Mode()&fs.ModeSticky != 0
		switch {
		case !info.IsDir():
			return "", fmt.Errorf("%s is no directory", at)
		case !ours(info):
			return "", fmt.Errorf("%s belongs to somebody else; it must be owned by root or by whoever runs this", at)
		case othersMayWrite(info) && !shared:
			return "", fmt.Errorf("%s may be written by others; take that away with chmod go-w", at)
		case at == filepath.Dir(at):
			return resolved, nil
		}
	}
}

// trustedFile tells why a program must not be run; nil when it may.
func trustedFile(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("it is no regular file; put the program itself there, and no link")
	case !ours(info):
		return errors.New("it belongs to somebody else; it must be owned by root or by whoever runs this")
	case othersMayWrite(info):
		return errors.New("it may be written by others; take that away with chmod go-w")
	case info.Mode().Perm()&0o111 == 0:
		return errors.New("it is not executable; make it so with chmod +x")
	}
	return nil
}

// ours tells whether a file is our own or root's.
func ours(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (st.Uid == 0 || int(st.Uid) == os.Getuid())
}

// othersMayWrite tells whether the group or everybody may change a file; we
// cannot know who is in a group.
func othersMayWrite(info fs.FileInfo) bool { return info.Mode().Perm()&0o022 != 0 }
