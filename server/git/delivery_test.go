package git_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/server/git"
)

// seeded makes platform/<name> with a first commit.
func (w *world) seeded(name string) {
	w.t.Helper()
	w.repository(name, true)
	require.NoError(w.t, w.srv.Seed(w.t.Context(), "platform/"+name, os.DirFS("testdata/seed"), "first"))
}

// pushFile commits a file in the checkout and pushes it to main.
func pushFile(t *testing.T, dir, name string) string {
	t.Helper()
	commitFile(t, dir, name, []byte(name))
	tool(t, dir, "push", "--quiet", "origin", "HEAD:main")
	return tool(t, dir, "rev-parse", "HEAD")
}

// move moves main of platform/<name> on disk, as a receive-pack does that a kill cut off before its event was recorded.
func (w *world) move(name, to string) {
	w.t.Helper()
	tool(w.t, "", "--git-dir", filepath.Join(w.cfg.Dir, "platform", name+".git"), "update-ref", "refs/heads/main", to)
}

func TestARefThatMovedWhileTheServerWasDownIsToldOnceAtStart(t *testing.T) {
	w := begin(t, nil)
	hooks := listenForHooks(t)
	w.seeded("demo")
	dir := w.checkout("demo", adminToken)
	w.hook("demo", hooks.URL)
	first := pushFile(t, dir, "one")
	assert.Equal(t, first, hooks.next(t).json(t)["after"])
	second := pushFile(t, dir, "two")
	assert.Equal(t, second, hooks.next(t).json(t)["after"])
	w.idle()

	w.restart(func() { w.move("demo", first) })
	p := hooks.next(t).json(t)
	assert.Equal(t, second, p["before"])
	assert.Equal(t, first, p["after"])
	w.restart(nil)
	w.idle()
	assert.Equal(t, 3, len(hooks.all()), "a second start tells nothing again")
}

func TestAWaitingDeliverySurvivesARestartUnderItsID(t *testing.T) {
	w := begin(t, nil)
	hooks := listenForHooks(t)
	hooks.answer = func(n int, _ received) int {
		if n == 1 {
			return http.StatusInternalServerError
		}
		return http.StatusAccepted
	}
	w.seeded("demo")
	dir := w.checkout("demo", adminToken)
	w.hook("demo", hooks.URL)
	pushFile(t, dir, "one")
	refused := hooks.next(t)
	w.restart(nil)
	again := hooks.next(t)
	assert.Equal(t, refused.id(), again.id())
	assert.Equal(t, string(refused.Body), string(again.Body))
	assert.Equal(t, refused.Header.Get("X-Gitea-Signature"), again.Header.Get("X-Gitea-Signature"))
	w.idle()
	assert.Equal(t, 2, len(hooks.all()), "what was accepted is not sent again")
}

func TestAFailingDeliveryHoldsBackItsHookAloneAndKeepsTheOrder(t *testing.T) {
	w := begin(t, nil)
	var broken atomic.Bool
	broken.Store(true)
	hooks := listenForHooks(t)
	hooks.answer = func(_ int, r received) int {
		if r.Path == "/failing" && broken.Load() {
			return http.StatusBadGateway
		}
		return http.StatusOK
	}
	w.seeded("demo")
	w.seeded("other")
	dir, other := w.checkout("demo", adminToken), w.checkout("other", adminToken)
	w.hook("demo", hooks.URL+"/failing")
	w.hook("demo", hooks.URL+"/beside")
	w.hook("other", hooks.URL+"/other")
	var want []any
	for _, name := range []string{"one", "two", "three"} {
		want = append(want, pushFile(t, dir, name))
	}
	pushFile(t, other, "x")
	seen := func(path string) (after []any) {
		last := ""
		for _, r := range hooks.all() {
			if r.Path == path && r.id() != last {
				after = append(after, r.json(t)["after"])
				last = r.id()
			}
		}
		return after
	}
	require.Eventually(t, func() bool {
		return len(seen("/beside")) == 3 && len(seen("/other")) == 1 && len(seen("/failing")) == 1
	}, 20*time.Second, 10*time.Millisecond,
		"the others go on while the first of the failing hook is tried")
	assert.Equal(t, want, seen("/beside"))
	broken.Store(false)
	require.Eventually(t, func() bool { return len(seen("/failing")) == 3 }, 20*time.Second, 10*time.Millisecond)
	assert.Equal(t, want, seen("/failing"))
}

func TestADeliveryThatNobodyAcceptsIsParkedAndTheNextOneGoes(t *testing.T) {
	// The clock runs ahead by a day with every look, so that every retry is due.
	var ticks atomic.Int64
	begun := time.Now()
	w := begin(t, func(c *git.Config) {
		c.Now = func() time.Time { return begun.Add(time.Duration(ticks.Add(1)) * 24 * time.Hour) }
	})
	hooks := listenForHooks(t)
	w.seeded("demo")
	dir := w.checkout("demo", adminToken)
	w.hook("demo", hooks.URL)
	commitFile(t, dir, "one", []byte("1"))
	bad := tool(t, dir, "rev-parse", "HEAD")
	hooks.mu.Lock()
	hooks.answer = func(_ int, r received) int {
		if strings.Contains(string(r.Body), `"after": "`+bad+`"`) {
			return http.StatusTeapot
		}
		return http.StatusOK
	}
	hooks.mu.Unlock()
	tool(t, dir, "push", "--quiet", "origin", "HEAD:main")
	good := pushFile(t, dir, "two")
	require.Eventually(t, func() bool {
		all := hooks.all()
		return len(all) > 0 && all[len(all)-1].json(t)["after"] == good
	}, 30*time.Second, 10*time.Millisecond)
	tries := map[string]int{}
	for _, r := range hooks.all() {
		tries[r.id()]++
	}
	require.Eventually(t, func() bool {
		page := w.page("/platform/demo", asAdmin).Body.String()
		return strings.Contains(page, "16 attempts, the last: 418") && strings.Contains(page, "failed") && !strings.Contains(page, "waiting")
	}, 10*time.Second, 10*time.Millisecond, "the page shows what was parked, and why")
	assert.Len(t, tries, 2, "every attempt of a delivery has its id")
	assert.Equal(t, 17, len(hooks.all()), "16 attempts of the one, 1 of the other")
}

func TestWithDeliveryOffNothingIsSentAndNothingIsLost(t *testing.T) {
	w := begin(t, func(c *git.Config) { c.HookDelivery = false })
	hooks := listenForHooks(t)
	w.seeded("demo")
	dir := w.checkout("demo", adminToken)
	w.hook("demo", hooks.URL)
	sha := pushFile(t, dir, "one")
	w.idle()
	assert.Zero(t, len(hooks.all()))
	page := w.page("/platform/demo", asAdmin).Body.String()
	assert.Contains(t, page, "push to "+hooks.URL)
	assert.Contains(t, page, "not sent yet")
	w.cfg.HookDelivery = true
	w.restart(nil)
	assert.Equal(t, sha, hooks.next(t).json(t)["after"])
}

func TestIdleTellsWhenWaitingEnds(t *testing.T) {
	w := begin(t, nil)
	hooks := listenForHooks(t)
	release := make(chan struct{})
	hooks.answer = func(int, received) int { <-release; return http.StatusOK }
	w.seeded("demo")
	w.hook("demo", hooks.URL)
	pushFile(t, w.checkout("demo", adminToken), "one")
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, w.srv.Idle(short), context.DeadlineExceeded)
	close(release)
	w.idle()
	assert.Equal(t, 1, len(hooks.all()))
}

func TestAStopLetsADeliveryThatIsUnderWayEnd(t *testing.T) {
	w := begin(t, nil)
	hooks := listenForHooks(t)
	entered, release := make(chan struct{}), make(chan struct{})
	hooks.answer = func(int, received) int { close(entered); <-release; return http.StatusOK } // a second one would panic
	w.seeded("demo")
	w.hook("demo", hooks.URL)
	pushFile(t, w.checkout("demo", adminToken), "one")
	<-entered
	stopped := make(chan struct{})
	go func() { defer close(stopped); w.stop() }()
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(w.base, "http://"))
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	}, 10*time.Second, 5*time.Millisecond, "the server stops")
	close(release)
	<-stopped
	w.restart(nil)
	w.idle()
	assert.Equal(t, 1, len(hooks.all()))
}

func TestRebaseMovesHooksAndWhatStillWaits(t *testing.T) {
	w := begin(t, func(c *git.Config) { c.HookDelivery = false })
	hooks := listenForHooks(t)
	w.seeded("demo")
	w.hook("demo", "http://127.0.0.1:1/hook?x=1")
	pushFile(t, w.checkout("demo", adminToken), "one")
	require.NoError(t, w.srv.Rebase(t.Context(), map[string]string{
		"http://127.0.0.1:1": hooks.URL, w.base: "http://moved.localhost:3001", w.base[:len(w.base)-1]: "http://wrong",
	}))
	var listed []struct {
		Config map[string]string `json:"config"`
	}
	require.Equal(t, 200, w.call("GET", "/api/v1/repos/platform/demo/hooks", asAdmin, nil, &listed))
	assert.Equal(t, hooks.URL+"/hook?x=1", listed[0].Config["url"])
	w.cfg.HookDelivery = true
	w.restart(nil)
	p := hooks.next(t).json(t)
	assert.Equal(t, "http://moved.localhost:3001/platform/demo.git", p["repository"].(map[string]any)["clone_url"])
	assert.Contains(t, p["compare_url"], "http://moved.localhost:3001/platform/demo/compare/")
	_, want := recording(t, "push")
	assert.Equal(t, shape(want), shape(p), "nothing else changed")
}

func TestADeliveryFollowsNoRedirect(t *testing.T) {
	w := begin(t, nil)
	elsewhere := listenForHooks(t)
	var hits atomic.Int64
	first := listenForHooks(t)
	first.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		http.Redirect(rw, r, elsewhere.URL, http.StatusTemporaryRedirect)
	})
	w.seeded("demo")
	w.hook("demo", first.URL)
	pushFile(t, w.checkout("demo", adminToken), "one")
	require.Eventually(t, func() bool { return hits.Load() > 1 }, 20*time.Second, 10*time.Millisecond, "a redirect is a failure and retried")
	assert.Zero(t, len(elsewhere.all()))
}
