package git_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/server/git"
	"platform.dev/platform/server/web"
)

// childEnv carries what a re-executed test binary is to do.
const childEnv = "PLATFORM_TEST_GIT_CHILD"

// child is a git server in a process of its own that kills itself right after a durable write.
type child struct {
	Dir, Path, BaseURL string
	KillAt             int64 // the number of the write, from 1
}

func TestMain(m *testing.M) {
	if text := os.Getenv(childEnv); text != "" {
		if err := runChild(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// runChild serves until it is killed or its standard input ends.
func runChild(text string) error {
	var c child
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	var writes atomic.Int64
	srv, err := git.New(ctx, git.Config{
		Dir: c.Dir, Path: c.Path, BaseURL: c.BaseURL, AdminUser: admin, AdminToken: adminToken, Organization: "platform",
		HookDelivery: true, Now: time.Now, Log: log,
		Committed: func(string, string) {
			if writes.Add(1) == c.KillAt {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {} // the signal is on its way
			}
		},
	})
	if err != nil {
		return err
	}
	l, err := listenAgain(ctx, c.BaseURL)
	if err != nil {
		return err
	}
	done := make(chan error, 2)
	go func() { done <- web.Serve(ctx, l, srv.Handler(), log) }()
	go func() { done <- srv.Run(ctx) }()
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	idle, stop := context.WithTimeout(ctx, 20*time.Second)
	defer stop()
	if err := srv.Idle(idle); err != nil {
		return err
	}
	cancel()
	for range 2 {
		if err := <-done; err != nil {
			return err
		}
	}
	return srv.Close()
}

// runKilled runs a child on the world's data, does something to it that fails
// when it dies, and tells whether it was killed.
func (w *world) runKilled(at int64, do func()) (killed bool) {
	w.t.Helper()
	text, err := json.Marshal(child{Dir: w.cfg.Dir, Path: w.cfg.Path, BaseURL: w.base, KillAt: at})
	require.NoError(w.t, err)
	self, err := os.Executable()
	require.NoError(w.t, err)
	cmd := exec.CommandContext(w.t.Context(), self)
	cmd.Env = []string{childEnv + "=" + string(text), "PATH=" + os.Getenv("PATH")}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(w.t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(w.t, err)
	require.NoError(w.t, cmd.Start())
	line, _ := bufio.NewReader(out).ReadString('\n')
	if line == "ready\n" {
		do()
	}
	require.NoError(w.t, in.Close())
	err = cmd.Wait()
	if err != nil {
		require.Contains(w.t, err.Error(), "killed")
	}
	return err != nil
}

func TestAKillAfterAnyWriteOfAPushLosesNothingAndDoublesNothing(t *testing.T) {
	kills := 0
	for at := int64(1); ; at++ {
		require.Less(t, at, int64(20), "the writes do not end")
		killed := true
		t.Run(fmt.Sprintf("write %d", at), func(t *testing.T) {
			killed = pushThroughKill(t, at)
		})
		if !killed {
			break
		}
		kills++
	}
	assert.GreaterOrEqual(t, kills, 2, "the push and its delivery are recorded")
}

// pushThroughKill pushes to a server that dies at a write, starts it again,
// pushes again as a person would, and looks at what was told.
func pushThroughKill(t *testing.T, at int64) (killed bool) {
	t.Helper()
	hooks := listenForHooks(t)
	w := serial(t, nil)
	w.seeded("demo")
	w.hook("demo", hooks.URL)
	dir := w.checkout("demo", adminToken)
	commitFile(t, dir, "one", []byte("1"))
	sha := tool(t, dir, "rev-parse", "HEAD")
	w.restart(func() {
		killed = w.runKilled(at, func() { _, _ = toolErr(t, dir, "push", "--quiet", "origin", "HEAD:main") })
	})
	tool(t, dir, "push", "--quiet", "origin", "HEAD:main")
	w.idle()
	ids := map[string]bool{}
	for _, one := range hooks.all() {
		p := one.json(t)
		assert.Equal(t, sha, p["after"])
		ids[one.id()] = true
	}
	assert.Equal(t, 1, len(ids), "the push is told under one id, however often")
	assert.LessOrEqual(t, len(hooks.all()), 2, "at most the attempt that was cut off is repeated")
	return killed
}
