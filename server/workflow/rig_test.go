package workflow

import (
	"context"
	"io"
	"io/fs"
	"log"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"platform.dev/platform/flowclient"
)

func TestMain(m *testing.M) {
	if crashing() {
		crashMain()
	}
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// commitDate is the date of every commit that tests make, so that a repository's SHAs are the same each time.
const commitDate = "2026-03-01T12:00:00+01:00"

// templates is where the files that the platform renders stand.
const templates = "../../fixtures/templates"

// git runs git in dir and gives what it prints.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	cmd.Env = append(os.Environ(),
		"GIT_AUTHOR_NAME=Dev Developer", "GIT_AUTHOR_EMAIL=dev@platform.invalid", "GIT_AUTHOR_DATE="+commitDate,
		"GIT_COMMITTER_NAME=Dev Developer", "GIT_COMMITTER_EMAIL=dev@platform.invalid", "GIT_COMMITTER_DATE="+commitDate,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "git %v: %s", args, out)
	return strings.TrimSpace(string(out))
}

// files are a commit's: path to content. A content that begins with "-> " is a link.
type files map[string]string

// newRepository makes a repository with one commit.
func newRepository(t testing.TB, fs files) (dir, sha string) {
	t.Helper()
	dir = t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	return dir, commit(t, dir, fs)
}

// commit adds files to a repository.
func commit(t testing.TB, dir string, fs files) (sha string) {
	t.Helper()
	for path, content := range fs {
		path = filepath.Join(dir, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			require.NoError(t, os.Symlink(target, path))
			continue
		}
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "a page")
	return git(t, dir, "rev-parse", "HEAD")
}

// moduleFiles are the pipeline module's own.
func moduleFiles(t testing.TB) files { return readTree(t, filepath.Join(templates, "pipeline"), nil) }

// staticFiles are the repository of a project scaffolded from the static template.
func staticFiles(t testing.TB) files {
	return readTree(t, filepath.Join(templates, "static", "repository"), map[string]string{
		"Project": "shop", "Component": "shop-web", "Owner": "Dev Developer",
		"Repository": "http://127.0.0.1:3001/platform/shop.git", "SecretRef": "git", "ModuleRef": "#main",
	})
}

// readTree reads a directory, each file as a template over data when there is some.
func readTree(t testing.TB, dir string, data map[string]string) files {
	t.Helper()
	out := files{}
	root := os.DirFS(dir)
	require.NoError(t, fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		out[path] = string(b)
		if data != nil {
			tmpl, err := template.New(path).Option("missingkey=error").Parse(string(b))
			if err != nil {
				return err
			}
			var s strings.Builder
			if err := tmpl.Execute(&s, data); err != nil {
				return err
			}
			out[path] = s.String()
		}
		return nil
	}))
	return out
}

// rig is an engine with a module, a registry and a directory that outlives it.
type rig struct {
	t        testing.TB
	cfg      Config
	changes  chan struct{}
	s        *Server
	stop     func()
	registry string
}

// newRig makes everything but the engine's running.
func newRig(t testing.TB, module files) *rig {
	t.Helper()
	moduleDir, _ := newRepository(t, module)
	reg := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(reg.Close)
	dir := t.TempDir()
	r := &rig{t: t, changes: make(chan struct{}, 1), registry: strings.TrimPrefix(reg.URL, "http://")}
	r.cfg = Config{
		Dir: filepath.Join(dir, "work"), Path: filepath.Join(dir, "workflow.db"), Module: "file://" + moduleDir,
		Registry: r.registry, RegistryUser: "platform", RegistryToken: "registry-token",
		Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Changed: func(string) {
			select {
			case r.changes <- struct{}{}:
			default:
			}
		},
	}
	return r
}

// start opens the engine and runs it until halt or the test's end.
func (r *rig) start() *rig {
	r.t.Helper()
	r.open()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	s := r.s
	go func() { done <- s.Run(ctx) }()
	stopped := false
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		require.NoError(r.t, <-done)
		require.NoError(r.t, s.Close())
	}
	r.t.Cleanup(r.stop)
	return r
}

// open opens the engine without running it.
func (r *rig) open() *Server {
	r.t.Helper()
	var err error
	r.s, err = New(context.Background(), r.cfg)
	require.NoError(r.t, err)
	return r.s
}

// build asks for a run of component shop-web.
func (r *rig) build(run, repo, commit string, change ...func(*flowclient.WorkflowParameters)) {
	r.t.Helper()
	b := Build{Run: run, Project: "shop", Component: "shop-web"}
	b.Params.Repository.URL = "file://" + repo
	b.Params.Repository.Revision.Commit = commit
	b.Params.ImageName = "web"
	for _, c := range change {
		c(&b.Params)
	}
	_, err := r.s.Ensure(context.Background(), b)
	require.NoError(r.t, err)
}

// await waits until the run stands as wanted.
func (r *rig) await(run, what string, wanted func(record) bool) record {
	r.t.Helper()
	deadline := time.After(time.Minute)
	for {
		rec, err := r.s.book.load(context.Background(), run)
		require.NoError(r.t, err)
		if wanted(rec) {
			return rec
		}
		select {
		case <-r.changes:
		case <-deadline:
			require.FailNow(r.t, "too long", "run %s never was %s: %+v\n%s", run, what, rec, r.log(run, ""))
		}
	}
}

// ended waits for a run's end.
func (r *rig) ended(run string) record {
	r.t.Helper()
	return r.await(run, "ended", func(rec record) bool { return rec.CompletedAt != nil })
}

// succeeded waits for a run's end, which must be a good one.
func (r *rig) succeeded(run string) record {
	r.t.Helper()
	rec := r.ended(run)
	require.Equal(r.t, flowclient.BuildSucceeded, rec.Phase, "%s\n%s", rec.Message, r.log(run, ""))
	return rec
}

// log is what a stage has put out.
func (r *rig) log(run, stage string) string {
	r.t.Helper()
	lines, err := r.s.Log(context.Background(), run, stage)
	require.NoError(r.t, err)
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Text + "\n")
	}
	return b.String()
}

// pull reads an image from the registry.
func (r *rig) pull(image string) v1.Image {
	r.t.Helper()
	ref, err := name.NewDigest(image)
	require.NoError(r.t, err)
	img, err := remote.Image(ref)
	require.NoError(r.t, err)
	return img
}

// phases are a run's stages as "name=phase".
func phases(rec record) []string {
	var out []string
	for _, t := range rec.Stages {
		out = append(out, t.Name+"="+t.Phase)
	}
	return out
}

// oneStage is a module whose only program is the repository's run.sh, with the given time limit.
func oneStage(limit string) files {
	return files{"pipeline.yaml": "source: checkout\nstages: [{name: work, argv: [sh, run.sh], timeout: " + limit + "}]\nimage: {stage: publish, root: out}\n"}
}
