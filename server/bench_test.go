package server

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/zulip"
	"platform.dev/platform/fixtures"
	"platform.dev/platform/flowclient"
)

// quiet is a configuration for benchmarks: as config, without a log.
func quiet(dir string) Config {
	free := 0
	return Config{
		Data: dir, Ports: PortChoice{Base: &free}, Templates: fixtures.Templates(),
		Rate: bots.Rate{PerMinute: -1}, // one persona asks as fast as it is answered
		Free: func() (int64, error) { return 8 << 30, nil }, Now: time.Now, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

// BenchmarkColdStart is an empty directory to every part serving; warm is the same directory again.
func BenchmarkColdStart(b *testing.B) {
	for _, mode := range []string{"empty", "warm"} {
		b.Run(mode, func(b *testing.B) {
			warm := b.TempDir()
			for b.Loop() {
				dir := warm
				if mode == "empty" {
					dir = b.TempDir()
				}
				p := startFor(b, quiet(dir))
				b.StopTimer()
				p.stop()
				b.StartTimer()
			}
		})
	}
}

// BenchmarkMentionToReply is a mention posted to its answer standing in the
// topic. Its limit, in the same run, is what the chat itself needs for two posts.
func BenchmarkMentionToReply(b *testing.B) {
	p := startFor(b, quiet(b.TempDir()))
	defer p.stop()
	c := p.as("developer")
	b.Run("limit", func(b *testing.B) {
		for b.Loop() {
			for range 2 {
				_, err := c.Post(b.Context(), zulip.Post{Stream: StreamWalkthroughs, Topic: "limit", Content: "hello"})
				require.NoError(b, err)
			}
		}
	})
	b.Run("reply", func(b *testing.B) {
		for b.Loop() {
			answer, err := c.Ask(b.Context(), zulip.Post{Stream: StreamWalkthroughs, Topic: "reply", Content: "@**platform** locks"})
			require.NoError(b, err)
			require.Len(b, answer.Messages, 1)
		}
	})
}

// BenchmarkPushToStaging is a push over HTTP to staging answering with it. Its limit, in the same run, is the push itself.
func BenchmarkPushToStaging(b *testing.B) {
	p := startFor(b, quiet(b.TempDir()))
	defer p.stop()
	p.scaffold("shop")
	page, err := os.ReadFile(filepath.Join("..", "fixtures", "templates", "static", "repository", "index.html"))
	require.NoError(b, err)
	n := 0
	push := func(project string) flowclient.Commit {
		n++
		text := strings.Replace(string(page), "<h1>", fmt.Sprintf("<h1>Edition %d of ", n), 1)
		c, err := p.Flow().Commit(b.Context(), flowclient.CommitRequest{
			Origin: flowclient.Origin{Key: fmt.Sprintf("bench:%d", n), Who: "developer"}, Project: project, Message: fmt.Sprintf("Edition %d", n),
			Files: map[string]string{"index.html": text},
		})
		require.NoError(b, err)
		return c
	}
	b.Run("limit", func(b *testing.B) {
		for b.Loop() {
			push("shop")
		}
	})
	b.Run("staging", func(b *testing.B) {
		for b.Loop() {
			p.deployed("shop-web", flowclient.Staging, push("shop").SHA)
		}
	})
}

// BenchmarkWalkthrough is the whole static walkthrough, with the memory of the process before and after.
func BenchmarkWalkthrough(b *testing.B) {
	p := startFor(b, quiet(b.TempDir()))
	defer p.stop()
	b.ReportMetric(residentMB(b), "MB-at-rest")
	c := p.as("developer")
	for b.Loop() {
		answer, err := c.Ask(b.Context(), zulip.Post{Stream: StreamWalkthroughs, Topic: "static", Content: "@**walkthrough** static"})
		require.NoError(b, err)
		require.Equal(b, "check", answer.Outcome)
	}
	b.ReportMetric(residentMB(b), "MB-after")
}

// residentMB is the process's resident memory after a collection.
func residentMB(b *testing.B) float64 {
	b.Helper()
	runtime.GC()
	text, err := os.ReadFile("/proc/self/statm")
	require.NoError(b, err)
	var size, resident float64
	_, err = fmt.Sscan(string(text), &size, &resident)
	require.NoError(b, err)
	return resident * float64(os.Getpagesize()) / (1 << 20)
}
