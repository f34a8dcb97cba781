package server

import (
	"errors"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/zulip"
	"platform.dev/platform/flowclient"
)

// outage puts a switch before the chat: while it is off, every connection is cut.
func outage(p *Platform) *atomic.Bool {
	var off atomic.Bool
	d := p.doors["chat"]
	next := d.handler
	d.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if off.Load() {
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	})
	return &off
}

func TestWithTheChatDownNothingElseWaitsAndAnnouncementsComeLaterOnceInOrder(t *testing.T) {
	var off *atomic.Bool
	p := start(t, config(t, t.TempDir()), func(p *Platform) { off = outage(p) })
	off.Store(true)
	made := p.scaffold("shop")
	_, err := p.Flow().Promote(t.Context(), flowclient.Promotion{Origin: flowclient.Origin{Key: "test:1", Who: "developer"}, Project: "shop"})
	require.NoError(t, err)
	p.deployed("shop-web", flowclient.Production, made.Commit.SHA)
	_, err = p.Flow().Rollback(t.Context(), flowclient.Promotion{Origin: flowclient.Origin{Key: "test:2", Who: "developer"}, Project: "shop"})
	var refused *flowclient.Refusal
	require.True(t, errors.As(err, &refused), "there is nothing to roll back to: %v", err)
	_, err = p.Flow().SetLock(t.Context(), flowclient.LockRequest{Origin: flowclient.Origin{Key: "test:3", Who: "developer"}, Component: "shop-web", Commit: made.Commit.SHA, Reason: "a test"})
	require.NoError(t, err)

	off.Store(false)
	require.NoError(t, settled(t.Context(), p.Platform))
	said := p.read("shop", "promotions")
	require.NotEmpty(t, said)
	var order []string
	for _, m := range said {
		switch {
		case strings.Contains(m.Content, "was promoted"):
			order = append(order, "promoted")
		case strings.Contains(m.Content, "was locked"):
			order = append(order, "locked")
		}
	}
	assert.Equal(t, []string{"promoted", "locked"}, order, "each once, in order: %v", said)
	assert.Len(t, p.read("shop", "builds"), 2, "the project was made, and built")
}

func TestACommandIsAnsweredWhenTheChatComesBack(t *testing.T) {
	var off *atomic.Bool
	p := start(t, config(t, t.TempDir()), func(p *Platform) { off = outage(p) })
	p.scaffold("shop")
	require.NoError(t, settled(t.Context(), p.Platform))
	off.Store(true)
	p.push("shop", "while-away", map[string]string{"index.html": strings.Replace(repositoryFile(t, "index.html"), "<h1>", "<h1>Meanwhile ", 1)})
	off.Store(false)
	id := p.say("developer", "shop", "release", "@**platform** promote")
	assert.Equal(t, bots.ReactionDone, p.outcome(id, time.Minute))
	assert.Len(t, p.read("shop", "release"), 2)
}

func TestWithoutTheAnnouncersCredentialsAnnouncementsAreSkippedAndTheStartSaysSo(t *testing.T) {
	dir := t.TempDir()
	p := start(t, config(t, dir))
	p.stop()
	require.NoError(t, os.Remove(p.Path("chat", "platform.zuliprc")))
	p = start(t, config(t, dir))
	assert.Contains(t, strings.Join(p.Notes(), "\n"), "announcements are skipped")
	p.scaffold("shop")
	_, err := p.as("admin").Messages(t.Context(), zulip.Query{Anchor: "oldest", After: 1, Narrow: []zulip.Term{{Operator: "channel", Operand: "shop"}}})
	require.ErrorContains(t, err, "unknown channel", "nobody made the stream")
}

func TestAFailedBuildMentionsItsAuthor(t *testing.T) {
	p := start(t, config(t, t.TempDir()))
	p.scaffold("shop")
	_, err := p.Flow().Commit(t.Context(), flowclient.CommitRequest{
		Origin: flowclient.Origin{Key: "test:broken", Who: "developer"}, Project: "shop", Message: "Break it",
		Files: map[string]string{"index.html": strings.Replace(repositoryFile(t, "index.html"), "<h1>", `<a href="nowhere.html">x</a><h1>`, 1)},
	})
	require.NoError(t, err)
	author, err := p.as("developer").Me(t.Context())
	require.NoError(t, err)
	p.eventually(time.Minute, "a mention of the author", func() bool {
		for _, m := range p.read("shop", "builds") {
			if strings.Contains(m.Content, "❌") {
				return strings.Contains(m.Content, "@**|"+strconv.FormatInt(author.ID, 10)+"**")
			}
		}
		return false
	})
}
