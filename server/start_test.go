package server

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots/zulip"
	"platform.dev/platform/fixtures"
	"platform.dev/platform/flowclient"
)

// started is a platform that runs within a test.
type started struct {
	*Platform
	t      testing.TB
	cancel context.CancelFunc
	done   chan error
}

// config is a platform on dir with free ports and plenty of memory.
func config(t *testing.T, dir string) Config {
	free := 0
	out := io.Discard
	if testing.Verbose() {
		out = t.Output()
	}
	return Config{
		Data: dir, Ports: PortChoice{Base: &free}, Templates: fixtures.Templates(),
		Free: func() (int64, error) { return 8 << 30, nil },
		Now:  time.Now, Log: slog.New(slog.NewTextHandler(out, nil)),
	}
}

// start opens and runs a platform until the test ends or stop is called.
func start(t *testing.T, cfg Config, before ...func(*Platform)) *started {
	t.Helper()
	return startFor(t, cfg, before...)
}

// startFor is start for benchmarks as well.
func startFor(t testing.TB, cfg Config, before ...func(*Platform)) *started {
	t.Helper()
	p, err := Open(t.Context(), cfg)
	require.NoError(t, err)
	for _, f := range before {
		f(p)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	s := &started{Platform: p, t: t, cancel: cancel, done: make(chan error, 1)}
	go func() { s.done <- p.Run(ctx) }()
	t.Cleanup(s.stop)
	select {
	case <-p.Ready():
	case err := <-s.done:
		s.done <- err
		require.NoError(t, err, "the platform stopped while starting")
	case <-time.After(time.Minute):
		t.Fatal("the platform did not get ready within a minute")
	}
	return s
}

// stop stops the platform in order and gives up its directory. Stopping twice is fine.
func (s *started) stop() {
	if s.cancel == nil {
		return
	}
	s.cancel()
	s.cancel = nil
	require.NoError(s.t, <-s.done)
	require.NoError(s.t, s.Close())
}

// as signs in to the embedded chat with a persona's credentials file.
func (s *started) as(persona string) *zulip.Client {
	s.t.Helper()
	f, err := os.Open(s.Path("chat", persona+".zuliprc"))
	require.NoError(s.t, err)
	defer f.Close()
	rc, err := zulip.ParseRC(f)
	require.NoError(s.t, err)
	c, err := zulip.NewClient(zulip.ClientConfig{Site: rc.Site, Email: rc.Email, Key: rc.Key})
	require.NoError(s.t, err)
	s.t.Cleanup(c.Close)
	return c
}

// say posts as a persona and returns the message's id.
func (s *started) say(persona, stream, topic, text string) int64 {
	s.t.Helper()
	id, err := s.as(persona).Post(s.t.Context(), zulip.Post{Stream: stream, Topic: topic, Content: text})
	require.NoError(s.t, err)
	return id
}

// read is what stands in a topic, oldest first.
func (s *started) read(stream, topic string) []zulip.Message {
	s.t.Helper()
	page, err := s.as("admin").Messages(s.t.Context(), zulip.Query{Anchor: "oldest", After: 500, Narrow: []zulip.Term{
		{Operator: "channel", Operand: stream}, {Operator: "topic", Operand: topic},
	}})
	require.NoError(s.t, err)
	return page.Messages
}

// outcome waits for a bot's mark on a message and returns it.
func (s *started) outcome(id int64, limit time.Duration) string {
	s.t.Helper()
	c := s.as("admin")
	var mark string
	s.eventually(limit, "an outcome on message "+strconv.FormatInt(id, 10), func() bool {
		m, err := c.Message(s.t.Context(), id)
		require.NoError(s.t, err)
		for _, r := range m.Reactions {
			if r.Emoji != "eyes" {
				mark = r.Emoji
			}
		}
		return mark != ""
	})
	return mark
}

// eventually polls a condition.
func (s *started) eventually(limit time.Duration, what string, holds func() bool) {
	s.t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			s.t.Fatalf("waited %s for %s", limit, what)
		}
	}
}

// scaffold makes a project from the static template and waits until staging answers.
func (s *started) scaffold(project string) flowclient.Scaffolded {
	s.t.Helper()
	made, err := s.Flow().Scaffold(s.t.Context(), flowclient.ScaffoldRequest{
		Origin: flowclient.Origin{Key: "test:scaffold:" + project, Who: "developer"}, Template: "static", Project: project,
	})
	require.NoError(s.t, err)
	s.deployed(project+"-web", flowclient.Staging, made.Commit.SHA)
	return made
}

// push commits to a project's repository and waits until staging answers with it.
func (s *started) push(project, key string, files map[string]string) flowclient.Commit {
	s.t.Helper()
	c, err := s.Flow().Commit(s.t.Context(), flowclient.CommitRequest{
		Origin: flowclient.Origin{Key: "test:" + key, Who: "developer"}, Project: project, Message: "Change " + key, Files: files,
	})
	require.NoError(s.t, err)
	s.deployed(project+"-web", flowclient.Staging, c.SHA)
	return c
}

// deployed waits until an environment is Ready with the commit.
func (s *started) deployed(component, environment, sha string) flowclient.Deployment {
	s.t.Helper()
	var found flowclient.Deployment
	s.eventually(time.Minute, component+" in "+environment+" at "+sha, func() bool {
		d, err := s.Flow().Delivery(s.t.Context())
		require.NoError(s.t, err)
		for _, c := range d.Components {
			for _, e := range c.Environments {
				if c.Component == component && e.Environment == environment && e.Commit == sha && e.Ready {
					found = e
					return true
				}
			}
		}
		return false
	})
	return found
}

// repositoryFile reads a file of the static template, for changing it.
func repositoryFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "fixtures", "templates", "static", "repository", name))
	require.NoError(t, err)
	return string(text)
}
