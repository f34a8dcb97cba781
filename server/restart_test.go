package server

import (
	"encoding/json"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

func TestASecondStartOnTheSameDataIsRefusedWithTheFirstsPid(t *testing.T) {
	dir := t.TempDir()
	start(t, config(t, dir))
	_, err := Open(t.Context(), config(t, dir))
	require.ErrorContains(t, err, "is in use by the platform with pid "+strconv.Itoa(os.Getpid()))
}

func TestATakenPortIsNamedWithWhatToDo(t *testing.T) {
	dir := t.TempDir()
	p := start(t, config(t, dir))
	p.stop()
	l, err := net.Listen("tcp", p.ports.Addr("git"))
	require.NoError(t, err)
	defer l.Close()
	_, err = Open(t.Context(), config(t, dir))
	require.ErrorContains(t, err, "port "+strconv.Itoa(p.ports.Port("git"))+" (git, git server) cannot be taken")
	require.ErrorContains(t, err, "--rebase")
}

func TestARebasedPlatformServesAndBuildsOnItsNewPorts(t *testing.T) {
	dir := t.TempDir()
	p := start(t, config(t, dir))
	made := p.scaffold("shop")
	before := p.deployment(t, "shop-web", flowclient.Staging)
	old := p.ports.URL("git")
	p.stop()

	cfg := config(t, dir)
	cfg.Ports.Rebase = true
	p = start(t, cfg)
	require.NotEqual(t, old, p.ports.URL("git"))
	after := p.deployed("shop-web", flowclient.Staging, made.Commit.SHA)
	assert.Equal(t, before.Release, after.Release, "moved ports cut no release")
	assert.Contains(t, get(t, after.URL), made.Commit.SHA)

	page := strings.Replace(repositoryFile(t, "index.html"), "<h1>", "<h1>Moved ", 1)
	c := p.push("shop", "moved", map[string]string{"index.html": page})
	assert.Contains(t, get(t, p.deployment(t, "shop-web", flowclient.Staging).URL), c.SHA)
}

func TestLinksInOldMessagesLeadToWhereThingsAreAfterARebase(t *testing.T) {
	dir := t.TempDir()
	p := start(t, config(t, dir))
	made := p.scaffold("shop")
	page := p.deployment(t, "shop-web", flowclient.Staging).URL
	elsewhere := "http://example.org:" + strconv.Itoa(p.ports.Port("git")) + "/x"
	p.say("developer", StreamWalkthroughs, "links", "[page]("+page+") "+p.ports.URL("git")+"/platform/shop "+elsewhere)
	p.stop()

	cfg := config(t, dir)
	cfg.Ports.Rebase = true
	p = start(t, cfg)
	now := p.deployed("shop-web", flowclient.Staging, made.Commit.SHA).URL
	require.NotEqual(t, page, now)
	said := p.read(StreamWalkthroughs, "links")
	require.Len(t, said, 1)
	assert.Equal(t, "[page]("+now+") "+p.ports.URL("git")+"/platform/shop "+elsewhere, said[0].Content)
}

func TestPortsThatCannotBeHadAreRefusedBeforeAnythingMoves(t *testing.T) {
	dir := t.TempDir()
	p := start(t, config(t, dir))
	p.stop()
	kept, err := os.ReadFile(p.Path("ports.json"))
	require.NoError(t, err)
	flow := p.ports.Port("flow")
	at := func(base int) *int { return &base }
	for _, c := range []struct {
		name   string
		choice PortChoice
		want   string
	}{
		{"privileged", PortChoice{Base: at(80)}, "port base 80: give a port from 1024"},
		{"too high", PortChoice{Base: at(65535)}, "port base 65535: give a port from 1024"},
		{"others than those that are stored", PortChoice{Base: at(5000)}, "port base 5000: this data directory has ports of its own already (flow is on " + strconv.Itoa(flow) + ")"},
		{"another surface's", PortChoice{Base: at(flow - 1), Rebase: true}, "which flow has now"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config(t, dir)
			cfg.Ports = c.choice
			_, err := Open(t.Context(), cfg)
			require.ErrorContains(t, err, c.want)
			now, err := os.ReadFile(p.Path("ports.json"))
			require.NoError(t, err)
			assert.Equal(t, string(kept), string(now))
		})
	}
}

func TestARebaseCutShortIsFinishedByTheNextStart(t *testing.T) {
	dir := t.TempDir()
	p := start(t, config(t, dir))
	made := p.scaffold("shop")
	p.stop()

	// The rebase had recorded where it moves to, and nothing was rewritten.
	text, err := os.ReadFile(p.Path("ports.json"))
	require.NoError(t, err)
	var b book
	require.NoError(t, json.Unmarshal(text, &b))
	b.Moving = map[string]int{}
	for name := range b.Ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		b.Moving[name] = l.Addr().(*net.TCPAddr).Port
		require.NoError(t, l.Close())
	}
	text, err = json.Marshal(b)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(p.Path("ports.json"), text, 0o600))

	p = start(t, config(t, dir))
	assert.Equal(t, b.Moving["git"], p.ports.Port("git"))
	after := p.deployed("shop-web", flowclient.Staging, made.Commit.SHA)
	assert.Contains(t, get(t, after.URL), made.Commit.SHA)
	page := strings.Replace(repositoryFile(t, "index.html"), "<h1>", "<h1>Moved ", 1)
	p.push("shop", "moved", map[string]string{"index.html": page})
}
