package runtime

import (
	"archive/tar"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestNoArchiveWritesOutsideItsDirectory unpacks archives of hostile names and
// looks at what is on disk afterwards, whatever the answer was.
func TestNoArchiveWritesOutsideItsDirectory(t *testing.T) {
	segment := rapid.SampledFrom([]string{"site", "..", ".", "", "a", "b", "index.html", "/", "site..", strings.Repeat("n", 300)})
	kinds := rapid.SampledFrom([]byte{tar.TypeReg, tar.TypeReg, tar.TypeReg, tar.TypeDir, tar.TypeSymlink, tar.TypeLink, tar.TypeChar, tar.TypeBlock, tar.TypeFifo})
	rapid.Check(t, func(rt *rapid.T) {
		outer := t.TempDir()
		dir := filepath.Join(outer, "into")
		if err := os.Mkdir(dir, 0o700); err != nil {
			rt.Fatal(err)
		}
		var archive bytes.Buffer
		w := tar.NewWriter(&archive)
		for range rapid.IntRange(1, 8).Draw(rt, "entries") {
			h := &tar.Header{
				Name:     strings.Join(rapid.SliceOfN(segment, 1, 5).Draw(rt, "name"), "/"),
				Typeflag: kinds.Draw(rt, "kind"), Mode: 0o777, Format: tar.FormatPAX,
			}
			switch h.Typeflag {
			case tar.TypeReg:
				h.Size = 3
			case tar.TypeSymlink, tar.TypeLink:
				h.Linkname = rapid.SampledFrom([]string{"/etc", "..", "../..", "a"}).Draw(rt, "link")
			}
			if err := w.WriteHeader(h); err != nil {
				continue // a name that no archive can hold
			}
			if h.Typeflag == tar.TypeReg {
				if _, err := w.Write([]byte("abc")); err != nil {
					rt.Fatal(err)
				}
			}
		}
		if err := w.Close(); err != nil {
			rt.Fatal(err)
		}
		into, err := os.OpenRoot(dir)
		if err != nil {
			rt.Fatal(err)
		}
		defer into.Close()
		u := unpacking{from: "site", into: into, limits: Limits{Bytes: 12, Files: 6}}
		err = u.all(t.Context(), tar.NewReader(&archive))
		var p *problem
		if err != nil && !errors.As(err, &p) {
			rt.Fatalf("a bad archive is no fault of the disk: %v", err)
		}
		bytes := 0
		err = filepath.WalkDir(outer, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if path != outer && path != dir && !strings.HasPrefix(path, dir+string(filepath.Separator)) {
				rt.Fatalf("%s lies outside", path)
			}
			if entry.Type() != 0 && !entry.IsDir() {
				rt.Fatalf("%s is a %s", path, entry.Type())
			}
			if entry.Type() == 0 {
				bytes += 3
			}
			return nil
		})
		if err != nil {
			rt.Fatal(err)
		}
		if bytes > 12 {
			rt.Fatalf("%d bytes", bytes)
		}
	})
}

func TestCloseWaitsForWhatIsUnderWayAndRefusesTheRest(t *testing.T) {
	l := newLocks()
	unlock, err := l.lock(t.Context(), "web")
	require.NoError(t, err)
	drained := make(chan struct{})
	go func() { l.drain(); close(drained) }()
	require.Eventually(t, func() bool {
		other, err := l.lock(t.Context(), "other")
		if err == nil {
			other()
		}
		return errors.Is(err, errClosed)
	}, waitLong, waitShort)
	select {
	case <-drained:
		t.Fatal("closed while an Apply was under way")
	default:
	}
	unlock()
	<-drained
	assert.Empty(t, l.held)
}
