package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/zulip"
	"platform.dev/platform/fixtures"
	"platform.dev/platform/flowclient"
)

// The test re-executes this binary as a platform of its own, in the process of
// which the kill is real.
const (
	childData = "PLATFORM_TEST_CHILD_DATA"
	childKill = "PLATFORM_TEST_CHILD_KILL_AT"
	childAsks = "PLATFORM_TEST_CHILD_ASKS" // a key of questions, or of acts
)

// questions are what the child asks for in chat.
var questions = map[string]zulip.Post{
	"promotion":   {Stream: "shop", Topic: "release", Content: "@**platform** promote shop"},
	"walkthrough": {Stream: StreamWalkthroughs, Topic: "static", Content: "@**walkthrough** static"},
}

func TestMain(m *testing.M) {
	if text := os.Getenv(childServes); text != "" {
		if err := serveAsChild(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if dir := os.Getenv(childData); dir != "" {
		if err := child(dir, os.Getenv(childKill), os.Getenv(childAsks)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child brings the platform up on dir, asks a question in chat, or does an act,
// and kills its own process right after the nth durable write from then on; to
// resume it asks nothing, and counts from the beginning. When there are
// fewer writes it prints every one and ends.
func child(dir, at, asks string) error {
	n, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return err
	}
	var armed atomic.Bool
	armed.Store(asks == resumes)
	var writes atomic.Int64
	p, err := Open(context.Background(), Config{
		Data: dir, Templates: fixtures.Templates(), Now: time.Now, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Free: func() (int64, error) { return 8 << 30, nil },
		Committed: func(file, op string) {
			if !armed.Load() {
				return
			}
			fmt.Printf("write %s %s\n", file, op)
			if writes.Add(1) == n {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {} // the signal is on its way: nothing more is to happen
			}
		},
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- errors.Join(p.Run(ctx), p.Close()) }()
	<-p.Ready()
	if err := settled(ctx, p); err != nil {
		cancel()
		return errors.Join(err, <-done)
	}
	armed.Store(true)
	if a, ok := acts[asks]; ok {
		err = a.do(ctx, p)
	} else if asks != resumes {
		err = askInChat(ctx, p, questions[asks])
	}
	armed.Store(false)
	cancel()
	return errors.Join(err, <-done)
}

// askInChat posts as the developer and waits until everything that follows from it has happened.
func askInChat(ctx context.Context, p *Platform, question zulip.Post) error {
	f, err := os.Open(p.Path("chat", "developer.zuliprc"))
	if err != nil {
		return err
	}
	defer f.Close()
	rc, err := zulip.ParseRC(f)
	if err != nil {
		return err
	}
	c, err := zulip.NewClient(zulip.ClientConfig{Site: rc.Site, Email: rc.Email, Key: rc.Key})
	if err != nil {
		return err
	}
	defer c.Close()
	id, err := c.Post(ctx, question)
	if err != nil {
		return err
	}
	for {
		m, err := c.Message(ctx, id)
		if err != nil {
			return err
		}
		for _, r := range m.Reactions {
			switch r.Emoji {
			case bots.ReactionDone:
				return settled(ctx, p)
			case bots.ReactionFailed, bots.ReactionRefused:
				return fmt.Errorf("the answer to %q is marked %s", question.Content, r.Emoji)
			}
		}
		<-time.After(5 * time.Millisecond)
	}
}

// settled waits until nothing is owed: no build to be noticed, no message, no
// announcement, no open intent.
func settled(ctx context.Context, p *Platform) error {
	if err := p.rooms.controller.Pass(ctx, true); err != nil {
		return err
	}
	for range 2000 {
		owed, err := p.Owed(ctx)
		if err != nil {
			return err
		}
		open, err := p.rooms.store.Open(ctx)
		if err != nil {
			return err
		}
		if owed == 0 && len(open) == 0 {
			return nil
		}
		<-time.After(5 * time.Millisecond)
	}
	return errors.New("something is still owed after ten seconds")
}

func TestAPromotionKilledAtAnyDurableWriteEndsTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the platform dozens of times; unset -short to run it")
	}
	base := t.TempDir()
	first, second := readyToPromote(t, base)
	var writes int
	for n := 1; ; n++ {
		dir := filepath.Join(t.TempDir(), "data")
		require.NoError(t, os.CopyFS(dir, os.DirFS(base)))
		seen, killed := runChild(t, dir, "promotion", n)
		checkPromoted(t, dir, n, seen, first, second)
		if !killed {
			writes = len(seen)
			break
		}
	}
	// Chat message, inbox, intent, pin, outcome with its event, answer and
	// announcement put and sent: fewer would mean that something is not durable.
	assert.GreaterOrEqual(t, writes, 10, "durable writes of a promotion")
	t.Logf("killed at each of %d durable writes", writes)
}

// readyToPromote makes the project shop: production runs the first release, staging the second.
func readyToPromote(t *testing.T, dir string) (first, second flowclient.Deployment) {
	p := start(t, config(t, dir))
	made := p.scaffold("shop")
	_, err := p.Flow().Promote(t.Context(), flowclient.Promotion{Origin: flowclient.Origin{Key: "test:first", Who: "developer"}, Project: "shop"})
	require.NoError(t, err)
	first = p.deployed("shop-web", flowclient.Production, made.Commit.SHA)
	c := p.push("shop", "second", map[string]string{"index.html": strings.Replace(repositoryFile(t, "index.html"), "<h1>", "<h1>Second ", 1)})
	second = p.deployed("shop-web", flowclient.Staging, c.SHA)
	require.NoError(t, settled(t.Context(), p.Platform))
	p.stop()
	return first, second
}

// runChild runs the platform in a process that kills itself at write n.
func runChild(t *testing.T, dir, asks string, n int) (writes []string, killed bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childData+"="+dir, childAsks+"="+asks, childKill+"="+strconv.Itoa(n))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if w, ok := strings.CutPrefix(lines.Text(), "write "); ok {
			writes = append(writes, w)
		}
	}
	_, _ = io.Copy(io.Discard, out)
	err = cmd.Wait()
	if err == nil {
		return writes, false
	}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok && status.Signaled() && status.Signal() == syscall.SIGKILL, "the child ended with %v: %s", err, stderr.String())
	return writes, true
}

// checkPromoted starts the platform again and looks at what the promotion came to.
func checkPromoted(t *testing.T, dir string, n int, writes []string, first, second flowclient.Deployment) {
	t.Helper()
	last := "none"
	if len(writes) > 0 {
		last = writes[len(writes)-1]
	}
	cfg := config(t, dir)
	cfg.Ports = PortChoice{}
	p := start(t, cfg)
	defer p.stop()
	where := fmt.Sprintf("killed at write %d (%s)", n, last)
	asked := p.read("shop", "release")
	require.NotEmpty(t, asked, where)
	require.Equal(t, bots.ReactionDone, p.outcome(asked[0].ID, 30*time.Second), where)
	require.NoError(t, settled(t.Context(), p.Platform), where)

	production := p.deployed("shop-web", flowclient.Production, second.Commit)
	assert.Equal(t, second.Release, production.Release, where)
	assert.Equal(t, first.Release, production.Displaced, "%s: the release left behind", where)
	assert.Equal(t, "developer", production.PromotedBy, where)

	events, err := p.rooms.store.Events(t.Context(), 0, 1000)
	require.NoError(t, err)
	moves := 0
	for _, e := range events {
		var move flowclient.MoveEvent
		if e.Kind == flowclient.EventPromoted {
			require.NoError(t, json.Unmarshal(e.Body, &move))
			if strings.HasPrefix(move.Origin.Key, "zulip:") {
				moves++
			}
		}
	}
	assert.Equal(t, 1, moves, "%s: one effect", where)
	assert.Len(t, p.read("shop", "release"), 2, "%s: the question and one answer", where)
	assert.Len(t, p.read("shop", "promotions"), 2, "%s: one announcement of each promotion", where)
}
