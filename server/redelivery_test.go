package server

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/flowclient"
	"platform.dev/platform/server/web"
)

// delivery is a hook delivery as it came, with the answer that it got.
type delivery struct {
	url    string
	header http.Header
	body   []byte
	status int
	answer string
}

// mailbox keeps every delivery that comes to a hook.
type mailbox struct {
	mu   sync.Mutex
	came []delivery
}

// watch puts the mailbox before a surface's hook.
func (m *mailbox) watch(p *Platform, surface, path string) {
	d := p.doors[surface]
	next := d.handler
	d.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		m.mu.Lock()
		m.came = append(m.came, delivery{p.ports.URL(surface) + path, r.Header.Clone(), body, answer.Code, answer.Body.String()})
		m.mu.Unlock()
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes()) // the git server went away: there is nobody to tell
	})
}

func (m *mailbox) all() []delivery {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]delivery{}, m.came...)
}

// again sends the very same delivery and returns how it is answered.
func (d delivery) again(t *testing.T) (status int, answer string) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.url, bytes.NewReader(d.body))
	require.NoError(t, err)
	r.Header = d.header.Clone()
	client := web.Loopback(10 * time.Second)
	defer client.CloseIdleConnections()
	resp, err := client.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body)
}

func TestADeliveryThatComesAgainToEitherHookHasOneEffect(t *testing.T) {
	var box mailbox
	p := start(t, config(t, t.TempDir()), func(p *Platform) {
		box.watch(p, "api", "/api/v1alpha1/autobuild")
		box.watch(p, "flow", "/sync")
	})
	p.scaffold("shop")
	second := p.push("shop", "second", map[string]string{"index.html": strings.Replace(repositoryFile(t, "index.html"), "<h1>", "<h1>Second ", 1)})
	p.quiet(t)
	came := box.all()
	hooks := map[string]int{}
	for _, d := range came {
		require.Equal(t, http.StatusOK, d.status, d.answer)
		hooks[d.url]++
	}
	require.Len(t, hooks, 2, "both hooks were called")
	before, announced := p.state(t), len(p.read("shop", "builds"))
	require.Equal(t, 2, before.runs, "one build of each push")

	for range 2 {
		var together sync.WaitGroup
		for _, d := range came {
			together.Go(func() {
				status, answer := d.again(t)
				assert.Equal(t, d.status, status, d.url)
				assert.Equal(t, d.answer, answer, "the same delivery has the same answer")
			})
		}
		together.Wait()
	}
	p.quiet(t)
	assert.Equal(t, before, p.state(t), "runs, releases, bindings and events")
	assert.Len(t, p.read("shop", "builds"), announced)
	p.deployed("shop-web", flowclient.Staging, second.SHA)
}

// quiet waits until the controller has looked at everything and nothing is owed.
func (s *started) quiet(t *testing.T) {
	t.Helper()
	require.NoError(t, s.rooms.controller.Pass(t.Context(), true))
	require.NoError(t, settled(t.Context(), s.Platform))
}

// effects is how much of everything there is.
type effects struct {
	runs, releases, bindings, events int
}

func (s *started) state(t *testing.T) effects {
	t.Helper()
	count := func(kind flowclient.Kind) int {
		objects, err := s.rooms.plane.List(t.Context(), kind, flowclient.Filter{})
		require.NoError(t, err)
		return len(objects)
	}
	events, err := s.rooms.store.Events(t.Context(), 0, 10_000)
	require.NoError(t, err)
	return effects{count(flowclient.KindWorkflowRun), count(flowclient.KindComponentRelease), count(flowclient.KindReleaseBinding), len(events)}
}

// stutter makes the chat tell every event twice.
func stutter(p *Platform) {
	d := p.doors["chat"]
	next := d.handler
	d.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/api/v1/events" {
			next.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		body := answer.Body.Bytes()
		var told map[string]json.RawMessage
		var events, twice []json.RawMessage
		if json.Unmarshal(body, &told) == nil && json.Unmarshal(told["events"], &events) == nil {
			for _, e := range events {
				twice = append(twice, e, e)
			}
			told["events"], _ = json.Marshal(append(twice, events...)) // raw JSON always encodes
			body, _ = json.Marshal(told)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answer.Code)
		_, _ = w.Write(body) // the bot went away: there is nobody to tell
	})
}

func TestAChatEventThatComesAgainHasOneEffect(t *testing.T) {
	dir := t.TempDir()
	p := start(t, config(t, dir), stutter)
	made := p.scaffold("shop")
	id := p.say("developer", "shop", "release", "@**platform** promote")
	require.Equal(t, bots.ReactionDone, p.outcome(id, time.Minute))
	p.deployed("shop-web", flowclient.Production, made.Commit.SHA)
	p.quiet(t)
	before := p.state(t)
	check := func(when string) {
		assert.Len(t, p.read("shop", "release"), 2, "%s: the question and one answer", when)
		assert.Len(t, p.read("shop", "promotions"), 1, "%s: one announcement", when)
		assert.Equal(t, before, p.state(t), when)
	}
	check("every event told twice")

	// A bot that died before it had noted how far it had heard hears it all again.
	cursor := "zulip:platform"
	heard, err := p.rooms.store.Cursor(t.Context(), cursor)
	require.NoError(t, err)
	require.NotEmpty(t, heard, "the bot notes how far it has heard")
	require.NoError(t, p.rooms.store.SetCursor(t.Context(), cursor, strconv.FormatInt(id-1, 10)))
	p.stop()
	p = start(t, config(t, dir))
	after := p.say("developer", "shop", "later", "@**platform** status")
	require.Equal(t, bots.ReactionDone, p.outcome(after, time.Minute))
	p.quiet(t)
	check("heard again after a restart")
}
