package workflow

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// layerOf writes a directory's layer and lists its entries as "type mode name content".
func layerOf(t *testing.T, dir string) ([]string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "layer.tar")
	at := time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC)
	if _, err := writeLayer(path, dir, at); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	var out []string
	for tr := tar.NewReader(f); ; {
		hdr, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		require.NoError(t, err)
		assert.True(t, hdr.ModTime.Equal(at))
		assert.Zero(t, hdr.Uid+hdr.Gid)
		assert.Empty(t, hdr.Uname+hdr.Gname)
		body, err := io.ReadAll(tr)
		require.NoError(t, err)
		out = append(out, fmt.Sprintf("%c %o %s %s", hdr.Typeflag, hdr.Mode, hdr.Name, body))
	}
}

func TestALayerHoldsNamesAndBytesAndLittleElse(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "img"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "index.html"), []byte("hello"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "img", "a.svg"), []byte("<svg/>"), 0o444))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "run"), []byte("#!"), 0o700))
	require.NoError(t, os.Symlink("img/a.svg", filepath.Join(dir, "logo.svg")))
	got, err := layerOf(t, dir)
	require.NoError(t, err)
	assert.Equal(t, []string{
		"5 755 site/ ",
		"5 755 site/img/ ",
		"0 644 site/img/a.svg <svg/>",
		"0 644 site/index.html hello",
		"0 644 site/logo.svg <svg/>",
		"0 755 site/run #!",
	}, got)
}

func TestALayerIsRefusedWhereItWouldNotBeWhatItSeems(t *testing.T) {
	for _, c := range []struct {
		name   string
		make   func(dir string) error
		reason string
	}{
		{"a link to a directory", func(dir string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, "real"), 0o700), os.Symlink("real", filepath.Join(dir, "as")))
		}, "as is a link to a directory"},
		{"a link to nothing", func(dir string) error { return os.Symlink("nothing", filepath.Join(dir, "as")) }, "no such file"},
		{"a link out", func(dir string) error { return os.Symlink("/etc/passwd", filepath.Join(dir, "as")) }, "escapes"},
		{"a pipe", func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "as"), 0o600) }, "as is neither a file nor a directory"},
		{"directories without a file", func(dir string) error { return os.Mkdir(filepath.Join(dir, "as"), 0o700) }, "there is no file in it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, c.make(dir))
			_, err := layerOf(t, dir)
			require.ErrorContains(t, err, c.reason)
		})
	}
}
