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
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// opened pushes an image and unpacks all of it.
func (b *bench) opened(img v1.Image) (tree, error) {
	b.t.Helper()
	ref, err := name.NewDigest(b.push(img))
	require.NoError(b.t, err)
	return b.openTree(b.t.Context(), ref)
}

func TestAnImageIsUnpackedWholeWithItsLinks(t *testing.T) {
	b := newBench(t)
	tree, err := b.opened(image(t, "/srv/app",
		[]file{
			page("usr/lib/data", "data"), {"lib", "usr/lib", tar.TypeSymlink}, page("etc/passwd", "the image's"),
			{"srv/app/passwd", "/etc/passwd", tar.TypeSymlink}, {"srv/app/up", "../../../../../../etc/passwd", tar.TypeSymlink},
			{"srv/app/near", "data", tar.TypeSymlink}, page("srv/app/data", "near"),
			{"srv/app/same", "usr/lib/data", tar.TypeLink}, {"srv/app/dangling", "/nowhere", tar.TypeSymlink},
			{"dev/null", "", tar.TypeChar}, {"run/pipe", "", tar.TypeFifo}, page("gone", "x"),
		},
		[]file{page(".wh.gone", ""), page("usr/lib/more", "of a later layer")},
	))
	require.NoError(t, err)
	assert.Equal(t, "srv/app", tree.image.WorkingDir)
	for path, want := range map[string]string{
		"lib/data": "data", "lib/more": "of a later layer", "srv/app/passwd": "the image's",
		"srv/app/near": "near", "srv/app/same": "data",
	} {
		got, err := os.ReadFile(filepath.Join(tree.files, path))
		require.NoError(t, err, path)
		assert.Equal(t, want, string(got), path)
	}
	for _, absent := range []string{"dev/null", "run/pipe", "gone", "srv/app/up"} {
		_, err := os.Lstat(filepath.Join(tree.files, absent))
		assert.ErrorIs(t, err, fs.ErrNotExist, absent)
	}
	to, err := os.Readlink(filepath.Join(tree.files, "srv/app/dangling"))
	require.NoError(t, err)
	assert.Equal(t, "../../nowhere", to)
}

func TestAWorkingDirectoryThatTheImageDoesNotHaveIsMade(t *testing.T) {
	b := newBench(t)
	for _, dir := range []string{"/made/deep", "", "/"} {
		tree, err := b.opened(image(t, dir, []file{page("x", dir)}))
		require.NoError(t, err)
		info, err := os.Stat(inside(tree.files, tree.image.WorkingDir))
		require.NoError(t, err)
		assert.True(t, info.IsDir())
	}
}

func TestImagesThatCannotBeUnpackedSayWhy(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Limits = Limits{Bytes: 64 << 10, Files: 5} })
	for _, tc := range []struct {
		name  string
		dir   string
		files []file
		says  string
	}{
		{"a path that escapes", "", []file{page("../evil", "x")}, "../evil"},
		{"a hard link to nothing", "", []file{{"a", "b", tar.TypeLink}}, `"a"`},
		{"a hard link to a directory", "", []file{{"a/", "", tar.TypeDir}, {"b", "a", tar.TypeLink}}, `"b"`},
		{"a later layer's file below an earlier one's link", "", []file{{"lib", "usr/lib", tar.TypeSymlink}}, `"lib"`},
		{"a working directory that is a file", "/app", []file{page("app", "x")}, `"app"`},
		{"too many files", "", []file{page("1", ""), page("2", ""), page("3", ""), page("4", ""), page("5", ""), page("6", "")}, "more than 5 files"},
		{"too many bytes", "", []file{page("big", strings.Repeat("a", 65<<10))}, "more than 65536 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			layers := [][]file{tc.files}
			if tc.files[0].name == "lib" {
				layers = append(layers, []file{page("lib/more", "x")})
			}
			_, err := b.opened(image(t, tc.dir, layers...))
			var p *problem
			require.ErrorAs(t, err, &p)
			assert.Equal(t, ReasonImageInvalid, p.reason)
			assert.Contains(t, p.message, tc.says)
		})
	}
	left, err := filepath.Glob(filepath.Join(b.imagesDir(), "*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// TestNoImageReachesOutOfItsTree unpacks whole archives of hostile names and
// links, and follows every link that is there afterwards.
func TestNoImageReachesOutOfItsTree(t *testing.T) {
	segment := rapid.SampledFrom([]string{"..", ".", "", "a", "b", "c", "/", strings.Repeat("n", 300)})
	path := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(segment, 1, 5).Draw(t, "path"), "/") })
	kinds := rapid.SampledFrom([]byte{tar.TypeReg, tar.TypeReg, tar.TypeDir, tar.TypeSymlink, tar.TypeSymlink, tar.TypeLink, tar.TypeChar})
	rapid.Check(t, func(rt *rapid.T) {
		outer := t.TempDir()
		dir := filepath.Join(outer, "into")
		require.NoError(rt, os.Mkdir(dir, 0o700))
		var archive bytes.Buffer
		w := tar.NewWriter(&archive)
		for range rapid.IntRange(1, 10).Draw(rt, "entries") {
			h := &tar.Header{Name: path.Draw(rt, "name"), Typeflag: kinds.Draw(rt, "kind"), Mode: 0o777, Format: tar.FormatPAX}
			switch h.Typeflag {
			case tar.TypeReg:
				h.Size = 3
			case tar.TypeSymlink, tar.TypeLink:
				h.Linkname = path.Draw(rt, "link")
			}
			if err := w.WriteHeader(h); err != nil {
				continue // a name that no archive can hold
			}
			if h.Typeflag == tar.TypeReg {
				_, err := w.Write([]byte("abc"))
				require.NoError(rt, err)
			}
		}
		require.NoError(rt, w.Close())
		into, err := os.OpenRoot(dir)
		require.NoError(rt, err)
		defer into.Close()
		u := unpacking{into: into, limits: Limits{Bytes: 100, Files: 100}}
		err = each(t.Context(), tar.NewReader(&archive), u.whole)
		var p *problem
		if err != nil && !errors.As(err, &p) {
			rt.Fatalf("a bad archive is no fault of the disk: %v", err)
		}
		require.NoError(rt, filepath.WalkDir(outer, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || path == outer {
				return err
			}
			if entry.Type()&fs.ModeSymlink != 0 {
				to, err := os.Readlink(path)
				if err != nil {
					return err
				}
				path = filepath.Join(filepath.Dir(path), to) // at least one step stays inside; the next one is a link of its own
			}
			if path != dir && !strings.HasPrefix(path, dir+string(filepath.Separator)) {
				rt.Fatalf("%s lies outside", path)
			}
			return nil
		}))
	})
}

func TestACommandIsFoundInTheImageAndThenOnTheMachine(t *testing.T) {
	root := t.TempDir()
	for path, mode := range map[string]fs.FileMode{"app/run": 0o755, "app/text": 0o644, "opt/bin/tool": 0o755, "bin/echo": 0o755} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, path), nil, mode))
	}
	machine := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(machine, "own"), nil, 0o755))
	for _, tc := range []struct{ name, command, want string }{
		{"relative to the working directory", "./run", root + "/app/run"},
		{"above the working directory", "../opt/bin/tool", root + "/opt/bin/tool"},
		{"above the image", "../../../../app/run", root + "/app/run"},
		{"absolute in the image", "/opt/bin/tool", root + "/opt/bin/tool"},
		{"absolute on the machine", machine + "/own", machine + "/own"},
		{"a name in the image's PATH", "tool", root + "/opt/bin/tool"},
		{"a name in both", "echo", root + "/bin/echo"},
		{"a name on the machine alone", "own", machine + "/own"},
		{"a file that is no program", "./text", ""},
		{"a directory", "/app", ""},
		{"a name that is only in the working directory", "run", ""},
		{"nothing", "/no/such", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sp := spec{argv: []string{tc.command}, env: map[string]string{"PATH": "relative:/opt/bin:/bin:" + machine}}
			sp.tree.image.WorkingDir = "app"
			got, err := sp.program(root)
			assert.Equal(t, tc.want, got)
			assert.Equal(t, tc.want == "", err != nil)
		})
	}
}

func TestTheWorkloadsCommandGoesBeforeTheImages(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "a"), nil, 0o755))
	none := []string(nil)
	for _, tc := range []struct {
		name                           string
		entrypoint, cmd, command, args []string
		want                           []string
	}{
		{"the image's alone", []string{"/a"}, []string{"b"}, none, none, []string{"/a", "b"}},
		{"the image's Cmd alone", none, []string{"/a", "b"}, none, none, []string{"/a", "b"}},
		{"args take the place of Cmd", []string{"/a"}, []string{"b"}, none, []string{"c"}, []string{"/a", "c"}},
		{"a command takes the place of both", []string{"/x"}, []string{"b"}, []string{"/a"}, none, []string{"/a"}},
		{"a command with args", []string{"/x"}, []string{"b"}, []string{"/a", "1"}, []string{"2"}, []string{"/a", "1", "2"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := staging("image")
			d.Workload.Container.Command, d.Workload.Container.Args = tc.command, tc.args
			sp, err := specOf(d, plan{}, tree{files: root, image: description{Entrypoint: tc.entrypoint, Cmd: tc.cmd}})
			require.NoError(t, err)
			assert.Equal(t, tc.want, sp.argv)
		})
	}
}

func TestTreesAreCollectedOnceNothingHasRunThemForAWhile(t *testing.T) {
	c := &clock{now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}
	w := newWorkshop(t, func(cfg *Config) { cfg.Now = c.Now })
	first, second := w.server("v1"), w.script(`echo another image; exec "$TEST_BINARY"`)
	w.runs(first)
	w.runs(second)
	v := w.services[first.Name]
	require.Eventually(t, func() bool { v.mu.Lock(); defer v.mu.Unlock(); return len(v.living) == 1 }, waitLong, waitShort, "the first ends")
	c.add(2 * time.Hour)
	removed, err := w.Collect(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{digestOf(first.Workload.Container.Image) + treeSuffix}, removed)
	assert.Equal(t, []string{digestOf(second.Workload.Container.Image) + treeSuffix}, w.digests())
	w.runs(first)
}
