package slack_test

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/bots/slack"
)

// told is a log of which every line says "LEVEL words".
type told struct {
	mu  sync.Mutex
	log bytes.Buffer
}

func (l *told) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.Write(p)
}

// lines are those about Slack's answering, as an operator reads them: from INFO on.
func (l *told) lines() (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.log.String()) {
		for _, level := range []string{"WARN", "INFO"} {
			for _, words := range []string{"Slack does not answer", "Slack answers again"} {
				if strings.Contains(line, "level="+level) && strings.Contains(line, words) {
					all = append(all, level+" "+words)
				}
			}
		}
	}
	return all
}

func TestAnOutageIsToldOfOnceAndSoIsItsEnd(t *testing.T) {
	const warned, over = "WARN Slack does not answer", "INFO Slack answers again"
	for _, c := range []struct {
		name string
		down func(w *workspace)
		want []string
	}{
		{"Slack does not say who the bot is", func(w *workspace) {
			w.Fail(slices.Repeat([]botstest.SlackFault{{Method: "auth.test", Kind: botstest.SlackVanished}}, 5)...)
		}, []string{warned, over}},
		{"then it opens no stream", func(w *workspace) {
			w.Fail(slices.Repeat([]botstest.SlackFault{{Method: "auth.test", Kind: botstest.SlackBroken}}, 5)...)
			w.Fail(slices.Repeat([]botstest.SlackFault{{Method: "apps.connections.open", Kind: botstest.SlackBroken}}, 8)...)
		}, []string{warned, over}},
		{"there is no outage", func(*workspace) {}, nil},
	} {
		t.Run("at the start: "+c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, log := newPipedWorkspace(t, botstest.SlackConfig{}), &told{}
				c.down(w)
				stop := w.run(w.connect(func(c *slack.Config) { c.Log = slog.New(slog.NewTextHandler(log, nil)) }), nil)
				time.Sleep(10 * time.Minute)
				assert.Equal(t, 2, w.Streams())
				assert.Equal(t, c.want, log.lines())
				require.NoError(t, stop())
			})
		})
	}
	t.Run("while it runs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w, log := newPipedWorkspace(t, botstest.SlackConfig{}), &told{}
			stop := w.run(w.connect(func(c *slack.Config) { c.Log = slog.New(slog.NewTextHandler(log, nil)) }), nil)
			w.AwaitStreams(t, 2)
			w.Cut()
			time.Sleep(time.Minute)
			assert.Empty(t, log.lines(), "streams that are opened anew at once are none")
			for range 2 {
				w.Fail(slices.Repeat([]botstest.SlackFault{{Method: "apps.connections.open", Kind: botstest.SlackVanished}}, 20)...)
				w.Cut()
				time.Sleep(20 * time.Minute)
				assert.Equal(t, 2, w.Streams())
			}
			assert.Equal(t, []string{warned, over, warned, over}, log.lines())
			require.NoError(t, stop())
		})
	})
}
