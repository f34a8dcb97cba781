package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

const (
	secondsToDie = 10 * time.Second
	pollEvery    = 10 * time.Millisecond
)

func TestARunUnderWayAtTheEndIsStartedOverAtTheNextStart(t *testing.T) {
	r := newRig(t, oneStage("1m")).start()
	dir := t.TempDir()
	repo, sha := newRepository(t, files{"run.sh": onceBlocking(dir)})
	r.build("run", repo, "", func(p *flowclient.WorkflowParameters) { p.Repository.Revision.Branch = "main" })
	require.Eventually(t, func() bool { return exists(filepath.Join(dir, "pid")) }, time.Minute, pollEvery)
	r.stop()
	gone(t, filepath.Join(dir, "pid"))

	commit(t, repo, files{"other": "the branch has moved on"})
	r.start()
	rec := r.succeeded("run")
	assert.Equal(t, 2, rec.Life)
	assert.Equal(t, sha, rec.Commit, "the commit resolved in the first life is kept")
	assert.Equal(t, []string{"checkout=Succeeded", "work=Succeeded", "publish=Succeeded"}, phases(rec))
	assert.Equal(t, "second life\n", r.log("run", "work"), "stages are recorded anew")
}

// onceBlocking is a run.sh that blocks the first time, after noting its process id and a child's in dir.
func onceBlocking(dir string) string {
	return `if [ ! -e ` + dir + `/pid ]; then
	echo first life
	sleep 600 & echo $! >` + dir + `/child
	echo $$ >` + dir + `/new && mv ` + dir + `/new ` + dir + `/pid
	wait
fi
echo second life
mkdir out; echo hello >out/index.html
`
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestWhatAKilledEngineLeavesBehindIsKilledAtTheNextStart(t *testing.T) {
	for _, c := range []struct {
		name   string
		before func(t *testing.T, dir string) // between the two lives
	}{
		{"the stage's program and its child", func(*testing.T, string) {}},
		{"a child whose stage's program has died too", func(t *testing.T, dir string) { slay(t, filepath.Join(dir, "pid")) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, oneStage("1m"))
			dir := t.TempDir()
			repo, sha := newRepository(t, files{"run.sh": onceBlocking(dir)})
			cmd := r.crash(repo, sha, 0)
			require.NoError(t, cmd.Start())
			require.Eventually(t, func() bool { return exists(filepath.Join(dir, "pid")) }, time.Minute, pollEvery)
			require.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait()
			c.before(t, dir)
			require.True(t, alive(t, filepath.Join(dir, "child")), "the child outlives the engine")

			r.start()
			r.succeeded("run")
			gone(t, filepath.Join(dir, "pid"))
			gone(t, filepath.Join(dir, "child"))
		})
	}
}

func TestAProcessThatOnlyHasTheRecordedNumberIsLeftAlone(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	pid := cmd.Process.Pid
	assert.False(t, group{pgid: pid, started: "another time", dir: t.TempDir()}.clear(t.Context()))
	assert.False(t, group{pgid: pid, started: "", dir: t.TempDir()}.clear(t.Context()))
	assert.NotEmpty(t, processStart(t.Context(), pid), "it lives")
	assert.True(t, group{pgid: pid, started: processStart(t.Context(), pid), dir: t.TempDir()}.clear(t.Context()))
	require.Eventually(t, func() bool { return processStart(t.Context(), pid) == "" }, secondsToDie, pollEvery)
}

// slay kills the process whose id a file holds.
func slay(t *testing.T, pidFile string) {
	t.Helper()
	require.NoError(t, syscall.Kill(readPid(t, pidFile), syscall.SIGKILL))
	gone(t, pidFile)
}

func alive(t *testing.T, pidFile string) bool {
	return processStart(t.Context(), readPid(t, pidFile)) != ""
}

func readPid(t *testing.T, pidFile string) int {
	t.Helper()
	b, err := os.ReadFile(pidFile)
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	require.NoError(t, err)
	return pid
}

// leastWrites is how many durable writes a run of one stage has at least: asked, claimed, planned,
// resolved, four fetches and programs with a beginning and an end, three stages likewise, finished.
const leastWrites = 18

func TestAnEngineKilledAfterAnyWriteComesToTheSameEnd(t *testing.T) {
	r := newRig(t, oneStage("1m"))
	repo, sha := newRepository(t, files{"run.sh": "echo working; mkdir out; echo hello >out/index.html\n"})
	want := ""
	for n := 1; ; n++ {
		dir := t.TempDir()
		r.cfg.Dir, r.cfg.Path = filepath.Join(dir, "work"), filepath.Join(dir, "workflow.db")
		out, err := r.crash(repo, sha, n).CombinedOutput()
		finished := err == nil
		if !finished {
			require.Contains(t, err.Error(), "killed", "write %d: %s", n, out)
		}
		r.start()
		r.build("run", repo, sha) // whoever asked asks again, as it does at each start
		rec := r.succeeded("run")
		r.stop()
		if want == "" {
			want = rec.Image
		}
		assert.Equal(t, want, rec.Image, "killed after write %d", n)
		assert.Equal(t, []string{"checkout=Succeeded", "work=Succeeded", "publish=Succeeded"}, phases(rec))
		if finished {
			require.GreaterOrEqual(t, n, leastWrites)
			return
		}
	}
}

// crashVariable tells a test binary to be an engine; its value is a crash as JSON.
const crashVariable = "WORKFLOW_TEST_CRASH"

// crash is what such an engine does: build one commit, and kill itself after the nth write (0: never).
type crash struct {
	Dir, Path, Module, Registry, Repo, Commit string
	After                                     int
}

// crash makes this test binary run as an engine on the rig's directory.
func (r *rig) crash(repo, commit string, after int) *exec.Cmd {
	r.t.Helper()
	body, err := json.Marshal(crash{r.cfg.Dir, r.cfg.Path, r.cfg.Module, r.cfg.Registry, repo, commit, after})
	require.NoError(r.t, err)
	self, err := os.Executable()
	require.NoError(r.t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), crashVariable+"="+string(body))
	return cmd
}

func crashing() bool { return os.Getenv(crashVariable) != "" }

// crashMain is the other process. It leaves with status 0 when the run has ended.
func crashMain() {
	var c crash
	check(json.Unmarshal([]byte(os.Getenv(crashVariable)), &c))
	ctx, cancel := context.WithCancel(context.Background())
	writes, ended := 0, make(chan struct{})
	s, err := New(ctx, Config{
		Dir: c.Dir, Path: c.Path, Module: c.Module, Registry: c.Registry, RegistryUser: "platform", RegistryToken: "registry-token",
		Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Committed: func(_, op string) {
			if writes++; writes == c.After {
				check(syscall.Kill(os.Getpid(), syscall.SIGKILL))
				select {} // the signal comes
			}
			if op == "finish" {
				close(ended)
			}
		},
	})
	check(err)
	b := Build{Run: "run", Project: "shop", Component: "shop-web"}
	b.Params.Repository.URL, b.Params.Repository.Revision.Commit, b.Params.ImageName = "file://"+c.Repo, c.Commit, "web"
	_, err = s.Ensure(ctx, b)
	check(err)
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	<-ended
	cancel()
	check(<-done)
	check(s.Close())
	os.Exit(0)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}
