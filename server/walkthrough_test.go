package server

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/flowclient"
	"platform.dev/platform/server/web"
)

func TestTheStaticWalkthroughHoldsAndItsPagesOutliveRepositoryAndBuilds(t *testing.T) {
	dir := t.TempDir()
	p := start(t, config(t, dir))
	id := p.say("developer", StreamWalkthroughs, "static", "@**walkthrough** static")
	require.Equal(t, bots.ReactionDone, p.outcome(id, 3*time.Minute), "the walkthrough's outcome")
	rest(t, p, "after the walkthrough") // the mark and the closing message are in different places: either may come first
	runs, err := p.Flow().Walkthroughs(t.Context())
	require.NoError(t, err)
	require.Len(t, runs, 1)
	require.Equal(t, "passed", runs[0].Result, runs[0].Message)
	said := p.read(StreamWalkthroughs, runs[0].Topic)
	assert.GreaterOrEqual(t, len(said), 10, "one message per step")
	staging := p.deployment(t, runs[0].Project+"-web", flowclient.Staging)
	production := p.deployment(t, runs[0].Project+"-web", flowclient.Production)
	before := map[string]string{staging.URL: get(t, staging.URL), production.URL: get(t, production.URL)}
	p.stop()

	// What runs is the image: neither a repository, be it the pipeline module's,
	// nor the builds are needed for it.
	require.DirExists(t, p.Path("git", organisation, runs[0].Project+".git"))
	for _, gone := range []string{"git", "workflow", "scratch"} {
		require.NoError(t, os.RemoveAll(p.Path(gone)))
	}
	again := start(t, config(t, dir))
	for url, page := range before {
		assert.Equal(t, page, get(t, url), "the page at %s after the restart", url)
	}
	assert.Equal(t, production.Release, again.deployment(t, runs[0].Project+"-web", flowclient.Production).Release)
	assert.Len(t, again.read(StreamWalkthroughs, runs[0].Topic), len(said), "nothing is said twice")
}

func TestWithoutHookDeliveryNoBuildStarts(t *testing.T) {
	dir := t.TempDir()
	cfg := config(t, dir)
	cfg.NoHooks = true
	p := start(t, cfg)
	made, err := p.Flow().Scaffold(t.Context(), flowclient.ScaffoldRequest{
		Origin: flowclient.Origin{Key: "test:1", Who: "developer"}, Template: "static", Project: "quiet",
	})
	require.NoError(t, err)
	// A build that is asked for by hand takes longer than a hook's delivery
	// does. When it has ended, it is the only one there ever was.
	push, err := json.Marshal(map[string]any{
		"ref": "refs/heads/main", "after": made.Commit.SHA, "repository": map[string]any{"clone_url": made.Repository.CloneURL},
	})
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, deliver(t, p.ports.URL("api")+"/api/v1alpha1/autobuild", p.rooms.tokens.hooks, push))
	p.eventually(time.Minute, "the build asked for by hand", func() bool {
		d, err := p.Flow().Delivery(t.Context())
		require.NoError(t, err)
		b := d.Components[0].LastBuild
		return b != nil && b.Phase == flowclient.BuildSucceeded
	})
	runs, err := p.rooms.plane.List(t.Context(), flowclient.KindWorkflowRun, flowclient.Filter{})
	require.NoError(t, err)
	require.Len(t, runs, 1)
	p.stop()

	// The deliveries waited as rows: with delivery on, the same push is built.
	p = start(t, config(t, dir))
	p.deployed("quiet-web", flowclient.Staging, made.Commit.SHA)
}

// deliver POSTs a signed body as a git server would and tells the status of the answer.
func deliver(t *testing.T, url, secret string, body []byte) int {
	t.Helper()
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	resp, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode
}

// deployment is a component in an environment as it stands.
func (s *started) deployment(t *testing.T, component, environment string) flowclient.Deployment {
	t.Helper()
	d, err := s.Flow().Delivery(t.Context())
	require.NoError(t, err)
	for _, c := range d.Components {
		for _, e := range c.Environments {
			if c.Component == component && e.Environment == environment {
				return e
			}
		}
	}
	t.Fatalf("%s is not in %s", component, environment)
	return flowclient.Deployment{}
}

// get fetches a page through the gateway.
func get(t *testing.T, url string) string {
	t.Helper()
	client := web.Loopback(10 * time.Second)
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	resp, err := client.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, strings.TrimSpace(string(body)))
	return string(body)
}
