package flow

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

const opened = `{"action":"opened","number":7,"pull_request":{"number":7,"updated_at":"2026-03-04T12:58:00+01:00"},"repository":{"full_name":"platform/shop"}}`

// at sends a hook to another path.
func (c call) at(target string) call {
	c.target = target
	return c
}

func TestAPullRequestDeliverySaysWhereToLook(t *testing.T) {
	s := newSurface(t)
	delivery := hook(opened, "X-Gitea-Event", "pull_request", "X-Gitea-Event-Type", "pull_request", "X-Gitea-Delivery", "06ce9e1d").at("/hooks/git")
	golden(t, "hook-pull", text(t, s.do(delivery)))
	want := `Delivered {"id":"06ce9e1d","repo":"platform/shop","number":7,"action":"opened","at":"2026-03-04T12:58:00+01:00"}`
	assert.Equal(t, []string{want}, s.flow.calls)
	golden(t, "hook-pull-again", text(t, s.do(delivery)))
	assert.Equal(t, []string{want, want}, s.flow.calls, "to look twice is harmless, and a delivery whose first attempt was cut short is not lost")
	assert.Equal(t, map[string]bool{"git/06ce9e1d": true}, s.deliveries.seen)
}

func TestADeliveryThatIsRefusedIsNotSentForEver(t *testing.T) {
	s := newSurface(t)
	s.flow.err = flowclient.Refuse("this controller was given no git server with pull requests; configure one and ask again.")
	golden(t, "hook-pull-refused", text(t, s.do(hook(opened, "X-Gitea-Event", "pull_request", "X-Gitea-Delivery", "1").at("/hooks/git"))))
	assert.Equal(t, 409, s.do(write("POST", "/hooks/git", `{"id":"1","repo":"platform/shop","number":7,"action":"opened"}`)).StatusCode, "a client is told")
}

func TestADeliveryThatTheControllerCouldNotKeepIsNotTakenForHeard(t *testing.T) {
	s := newSurface(t)
	delivery := hook(opened, "X-Gitea-Event", "pull_request", "X-Gitea-Delivery", "1").at("/hooks/git")
	s.flow.err = errDisk
	assert.Equal(t, 500, s.do(delivery).StatusCode)
	assert.Empty(t, s.deliveries.seen)
	s.flow.err, s.deliveries.err = nil, errDisk
	assert.Equal(t, 500, s.do(delivery).StatusCode)
	s.deliveries.err = nil
	assert.NotContains(t, text(t, s.do(delivery)), "known")
}

func TestAPushToTheSecondHookOnlyWakes(t *testing.T) {
	s := newSurface(t)
	delivery := hook(pushed, "X-Gitea-Event", "push", "X-Gitea-Delivery", "06ce9e1d").at("/hooks/git")
	golden(t, "hook-push", text(t, s.do(delivery)))
	golden(t, "hook-push-again", text(t, s.do(delivery)))
	assert.Equal(t, []string{"platform/shop refs/heads/main " + sha}, s.pushes)
	assert.Empty(t, s.flow.calls)
	s.pushedErr = errors.New("busy")
	again := delivery.with("X-Gitea-Delivery", "2")
	assert.Equal(t, 500, s.do(again).StatusCode)
	s.pushedErr = nil
	assert.Equal(t, 200, s.do(again).StatusCode)
	assert.Len(t, s.pushes, 3, "what woke nobody wakes when sent again")
}

func TestBadHooksAreNamedAndChangeNothing(t *testing.T) {
	event := []string{"X-Gitea-Event", "pull_request", "X-Gitea-Delivery", "1"}
	unsigned := hook(opened, event...)
	unsigned.header.Del("X-Signature-256")
	bare := write("POST", "/hooks/git", "")
	body := func(b string) call { bare.body = b; return bare }
	for _, tc := range []struct {
		name   string
		call   call
		status int
	}{
		{"no signature", unsigned, 401},
		{"the token instead of a signature", unsigned.with("Authorization", "Bearer "+testToken), 401},
		{"an empty signature", unsigned.with("X-Gitea-Signature", ""), 401},
		{"a forged signature", unsigned.with("X-Hub-Signature-256", "sha256="+sign(opened, "guess")), 401},
		{"one good signature and one bad", hook(opened, event...).with("X-Gogs-Signature", sign(opened, "guess")), 401},
		{"no JSON", hook(`{"action":`, event...), 400},
		{"a list", hook(`[1]`, event...), 400},
		{"no repository", hook(`{"action":"opened","number":7}`, event...), 400},
		{"a repository that climbs", hook(`{"action":"opened","number":7,"repository":{"full_name":"../x"}}`, event...), 400},
		{"no number", hook(`{"action":"opened","repository":{"full_name":"a/b"}}`, event...), 400},
		{"a number that is a text", hook(`{"action":"opened","number":"7","repository":{"full_name":"a/b"}}`, event...), 400},
		{"no action", hook(`{"number":7,"repository":{"full_name":"a/b"}}`, event...), 400},
		{"an action of two lines", hook(`{"action":"a\nb","number":7,"repository":{"full_name":"a/b"}}`, event...), 400},
		{"a delivery id that is too long", hook(opened, "X-Gitea-Event", "pull_request", "X-Gitea-Delivery", strings.Repeat("1", 101)), 400},
		{"a push of no ref", hook(`{"repository":{"full_name":"a/b"}}`, "X-Gitea-Event", "push"), 400},
		{"a form without payload", hook("x=1", append(event, "Content-Type", "application/x-www-form-urlencoded")...), 400},
		{"a large body", hook(strings.Repeat("x", wire.MaxBody+1), event...), 413},
		{"a delivery without its event header", hook(opened), 400},
		{"a body of no id", body(`{"repo":"platform/shop","number":7,"action":"opened"}`), 400},
		{"a body of no number", body(`{"id":"1","repo":"platform/shop","action":"opened"}`), 400},
		{"a body with a label", body(`{"id":"1","repo":"platform/shop","number":7,"action":"labeled","label":"promote"}`), 400},
		{"a body and nobody", body("{}").with("Authorization", ""), 401},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newSurface(t)
			resp := s.do(tc.call.at("/hooks/git"))
			got := text(t, resp)
			assert.Equal(t, tc.status, resp.StatusCode, got)
			golden(t, "hook-bad-"+tc.name, got)
			assert.Empty(t, s.pushes)
			assert.Empty(t, s.flow.calls)
			assert.Empty(t, s.deliveries.seen)
			assert.NotContains(t, got, testSecret)
		})
	}
}

// recorded is a delivery that a real Gitea sent.
func recorded(t testing.TB, name, target string) call {
	t.Helper()
	dir := filepath.Join("..", "..", "fixtures", "webhooks")
	text, err := os.ReadFile(filepath.Join(dir, name+".json"))
	require.NoError(t, err)
	var sent struct{ Headers [][2]string }
	require.NoError(t, json.Unmarshal(text, &sent))
	body, err := os.ReadFile(filepath.Join(dir, name+".raw"))
	require.NoError(t, err)
	c := call{http.MethodPost, target, string(body), http.Header{}}
	for _, h := range sent.Headers {
		c = c.with(h[0], h[1])
	}
	return c
}

// TestRecordedDeliveriesOfGitea plays what a real server sent, to both hooks,
// each delivery twice.
func TestRecordedDeliveriesOfGitea(t *testing.T) {
	for _, tc := range []struct {
		name   string
		sync   int    // status at /sync
		synced bool   // whether manifests are applied there
		hook   int    // status at /hooks/git
		pull   string // the number and action that it tells of
	}{
		{"push", 200, true, 200, ""},
		{"push_8_commits", 200, true, 200, ""},
		{"push_form_encoded", 200, true, 200, ""},
		{"push_hook_test", 200, true, 200, ""},
		{"push_new_branch", 200, false, 200, ""},
		{"push_tag", 200, false, 200, ""},
		{"push_no_secret", 401, false, 401, ""},
		{"pull_request_opened", 400, false, 200, "1 opened"},
		{"pull_request_synchronized", 400, false, 200, "1 synchronized"},
		{"pull_request_labeled", 400, false, 200, "1 label_updated"},
		{"pull_request_label_cleared", 400, false, 200, "3 label_cleared"},
		{"pull_request_closed_merged", 400, false, 200, "1 closed"},
		{"pull_request_labeled_after_merge", 400, false, 200, "1 label_updated"},
		{"pull_request_closed_unmerged", 400, false, 200, "2 closed"},
		{"pull_request_reopened", 400, false, 200, "2 reopened"},
		{"pull_request_comment", 400, false, 200, ""},
		{"create_branch", 400, false, 200, ""},
		{"delete_branch", 400, false, 200, ""},
		{"status", 400, false, 200, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newSurface(t)
			for range 2 {
				assert.Equal(t, tc.sync, s.do(recorded(t, tc.name, "/sync")).StatusCode)
			}
			woken := tc.sync == 200
			assert.Equal(t, woken, len(s.pushes) == 1, "woken once: %v", s.pushes)
			assert.Equal(t, tc.synced, len(s.flow.calls) == 2, "%v", s.flow.calls)

			s = newSurface(t)
			for range 2 {
				resp := s.do(recorded(t, tc.name, "/hooks/git"))
				assert.Equal(t, tc.hook, resp.StatusCode)
			}
			assert.Equal(t, woken, len(s.pushes) == 1, "woken once: %v", s.pushes)
			if tc.pull == "" {
				assert.Empty(t, s.flow.calls)
				return
			}
			number, action, _ := strings.Cut(tc.pull, " ")
			require.Len(t, s.flow.calls, 2)
			for _, part := range []string{`"repo":"platform/demo"`, `"number":` + number + ",", `"action":"` + action + `"`} {
				assert.Contains(t, s.flow.calls[0], part)
			}
			assert.Equal(t, s.flow.calls[0], s.flow.calls[1])
		})
	}
	t.Run("every recording is here", func(t *testing.T) {
		files, err := filepath.Glob(filepath.Join("..", "..", "fixtures", "webhooks", "*.raw"))
		require.NoError(t, err)
		assert.Len(t, files, 19)
	})
}

// FuzzDeliveriesNeverBreakTheSurface signs whatever comes: it is taken or named,
// and never a fault. What is taken says where to look.
func FuzzDeliveriesNeverBreakTheSurface(f *testing.F) {
	seeds := []string{opened, pushed, `{}`, `[]`, `null`, `{"number":1e400}`, `{"ref":null}`, "\xff", `{"action":"opened","number":7,"repository":7}`}
	files, err := filepath.Glob(filepath.Join("..", "..", "fixtures", "webhooks", "*.raw"))
	require.NoError(f, err)
	for _, file := range files {
		body, err := os.ReadFile(file)
		require.NoError(f, err)
		seeds = append(seeds, string(body))
	}
	for _, seed := range seeds {
		for _, event := range []string{"push", "pull_request", "status", ""} {
			f.Add(seed, event)
		}
	}
	f.Fuzz(func(t *testing.T, body, event string) {
		for _, target := range []string{"/hooks/git", "/sync"} {
			s := newSurface(t)
			resp := s.do(hook(body, "X-Gitea-Event", event).at(target))
			if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusBadRequest {
				t.Fatalf("%s %q: %d", target, body, resp.StatusCode)
			}
			if resp.StatusCode == http.StatusBadRequest && len(s.flow.calls)+len(s.pushes) > 0 {
				t.Fatalf("%s %q: refused, and acted upon: %v %v", target, body, s.flow.calls, s.pushes)
			}
			var answer wire.HookAnswer
			if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
				t.Fatalf("%s %q: %v", target, body, err)
			}
			if answer.Effect == wire.EffectLook && (answer.Repo == "" || answer.Number <= 0) || answer.Effect == wire.EffectWake && answer.Repo == "" {
				t.Fatalf("%s %q: it says not where to look: %+v", target, body, answer)
			}
		}
	})
}
