package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// everyKill runs each act once per durable write; without it a spread of them
// is tried, which keeps the tests short.
const everyKill = "PLATFORM_TEST_EVERY_KILL"

// spread is at how many of an act's durable writes the process is killed by default.
const spread = 5

// act is something that is done through the controller, as an endpoint would: with
// a key of its own, so that whoever asked may ask again.
type act struct {
	before []string                                     // acts that the data directory holds already
	do     func(ctx context.Context, p *Platform) error // asks, and waits for what follows
	least  int                                          // durable writes that it has at least
	step   bool                                         // of other acts alone: it is killed elsewhere
}

// acts are what the child does instead of asking in chat.
var acts = func() map[string]act {
	all := maps.Clone(projectActs)
	maps.Copy(all, moveActs)
	return all
}()

// projectActs are what makes and changes projects.
var projectActs = map[string]act{
	"scaffold": {least: 20, do: func(ctx context.Context, p *Platform) error {
		made, err := p.Flow().Scaffold(ctx, flowclient.ScaffoldRequest{Origin: origin("scaffold"), Template: "static", Project: "shop", Walkthrough: true})
		return errors.Join(err, until(ctx, p, "staging", stagingRuns(made.Commit.SHA)))
	}},
	"teardown":             {before: []string{"scaffold"}, least: 8, do: tearDown},
	"teardown of a review": {before: []string{"scaffold", "review"}, least: 12, do: tearDown},
	"review": {before: []string{"scaffold"}, least: 20, do: func(ctx context.Context, p *Platform) error {
		pull, err := p.Flow().OpenPull(ctx, flowclient.PullRequest{Origin: origin("review"), Project: "shop", Branch: "news", Title: "News", Files: map[string]string{"NEWS.md": "news\n"}})
		return errors.Join(err, until(ctx, p, "the review environment", func(ctx context.Context, p *Platform) (bool, error) {
			reviews, err := p.Flow().Reviews(ctx)
			return len(reviews) == 1 && reviews[0].State == flowclient.ReviewPresent && reviews[0].Head == pull.Head, err
		}))
	}},
	"merge": {before: []string{"scaffold", "review"}, least: 20, do: func(ctx context.Context, p *Platform) error {
		merged, err := p.Flow().Merge(ctx, flowclient.MergeRequest{Origin: origin("merge"), Project: "shop", Number: 1})
		return errors.Join(err, until(ctx, p, "staging", stagingRuns(merged.MergeCommit)), until(ctx, p, "the review environment's end", noReview))
	}},
	"close": {before: []string{"scaffold", "review"}, least: 8, do: func(ctx context.Context, p *Platform) error {
		return errors.Join(closePull(ctx, p), until(ctx, p, "the review environment's end", noReview))
	}},
	"sync": {before: []string{"scaffold"}, least: 15, do: func(ctx context.Context, p *Platform) error {
		made, err := p.Flow().Commit(ctx, flowclient.CommitRequest{Origin: origin("sync"), Project: "shop", Message: "Soak", Files: map[string]string{
			"openchoreo/project.yaml": "kind: Project\nmetadata:\n  name: shop\n  annotations:\n    " + flowclient.AnnotationSoak + ": 7m\n",
		}})
		return errors.Join(err, until(ctx, p, "staging", stagingRuns(made.SHA)), until(ctx, p, "the soak of the manifest", func(ctx context.Context, p *Platform) (bool, error) {
			project, err := p.rooms.plane.Get(ctx, flowclient.KindProject, "shop")
			return project.Metadata.Annotations[flowclient.AnnotationSoak] == "7m", err
		}))
	}},
}

func origin(name string) flowclient.Origin {
	return flowclient.Origin{Key: "act:" + name, Who: "developer"}
}

// tearDown removes the project, and with it the review environments there are.
func tearDown(ctx context.Context, p *Platform) error {
	_, err := p.Flow().Teardown(ctx, flowclient.TeardownRequest{Origin: origin("teardown"), Scope: "project:shop"})
	return errors.Join(err, until(ctx, p, "the project's end", func(ctx context.Context, p *Platform) (bool, error) {
		_, err := p.rooms.plane.Get(ctx, flowclient.KindProject, "shop")
		if flowclient.IsNotFound(err) {
			return noReview(ctx, p)
		}
		return false, err
	}))
}

// noReview tells whether no review environment is left, nor one to be made.
func noReview(ctx context.Context, p *Platform) (bool, error) {
	reviews, err := p.Flow().Reviews(ctx)
	return len(reviews) == 0, err
}

// stagingRuns tells whether staging is Ready with the commit.
func stagingRuns(sha string) func(context.Context, *Platform) (bool, error) {
	return func(ctx context.Context, p *Platform) (bool, error) {
		d, err := p.Flow().Delivery(ctx)
		for _, c := range d.Components {
			for _, e := range c.Environments {
				if c.Component == "shop-web" && e.Environment == flowclient.Staging && e.Commit == sha && e.Ready {
					return true, nil
				}
			}
		}
		return false, err
	}
}

// until polls a condition, then waits until nothing is owed any more.
func until(ctx context.Context, p *Platform, what string, holds func(context.Context, *Platform) (bool, error)) error {
	for range 3000 {
		ok, err := holds(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if ok {
			return errors.Join(p.rooms.git.Idle(ctx), settled(ctx, p))
		}
		<-time.After(10 * time.Millisecond)
	}
	return fmt.Errorf("waited half a minute for %s", what)
}

func TestEveryActKilledAtDurableWritesEndsTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the platform dozens of times; unset -short to run it")
	}
	for name, a := range acts {
		if a.step {
			continue
		}
		t.Run(name, func(t *testing.T) {
			base := filepath.Join(t.TempDir(), "base")
			p := start(t, config(t, base))
			for _, earlier := range a.before {
				require.NoError(t, acts[earlier].do(t.Context(), p.Platform))
			}
			rest(t, p)
			p.stop()
			whole := filepath.Join(t.TempDir(), "whole")
			require.NoError(t, os.CopyFS(whole, os.DirFS(base)))
			writes, killed := runChild(t, whole, name, 1<<30)
			require.False(t, killed)
			require.GreaterOrEqual(t, len(writes), a.least, "durable writes: fewer would mean that something is not durable")
			want := ends(t, whole, name, "not killed")
			for _, n := range killPoints(len(writes)) {
				dir := filepath.Join(t.TempDir(), "data")
				require.NoError(t, os.CopyFS(dir, os.DirFS(base)))
				seen, killed := runChild(t, dir, name, n)
				last := seen[len(seen)-1]
				// What takes the work up again is killed as well, sooner or later.
				resumed, again := runChild(t, dir, resumes, 1+n%resumedWrites)
				where := fmt.Sprintf("killed (%t) at write %d of about %d (%s), and when it went on (%t) at write %d", killed, n, len(writes), last, again, len(resumed))
				assert.Equal(t, want, ends(t, dir, name, where), where)
			}
		})
	}
}

// resumes is what a child does that only takes up what another one was killed
// at; it is killed at one of its first durable writes, those of its start included.
const (
	resumes       = "resume"
	resumedWrites = 12
)

// rest lets everything be noticed that has happened: builds are, by the pass
// after them, and they are announced after that.
func rest(t *testing.T, p *started, where ...any) {
	t.Helper()
	require.NoError(t, p.rooms.controller.Pass(t.Context(), true), where...)
	require.NoError(t, settled(t.Context(), p.Platform), where...)
}

// killPoints are the writes to be killed at: all of them, or a spread.
func killPoints(writes int) []int {
	var points []int
	if os.Getenv(everyKill) != "" {
		for n := 1; n <= writes; n++ {
			points = append(points, n)
		}
		return points
	}
	for i := range spread {
		points = append(points, 1+i*(writes-1)/spread)
	}
	return points
}

// ends starts the platform again, asks once more under the same key, and counts what there is then.
func ends(t *testing.T, dir, name, where string) map[string]int {
	t.Helper()
	cfg := config(t, dir)
	cfg.Ports = PortChoice{}
	p := start(t, cfg)
	defer p.stop()
	require.NoError(t, acts[name].do(t.Context(), p.Platform), where)
	rest(t, p, where)
	found := stands(t, p)
	for _, kind := range []flowclient.Kind{
		flowclient.KindProject, flowclient.KindComponent, flowclient.KindWorkload, flowclient.KindComponentRelease, flowclient.KindReleaseBinding,
		flowclient.KindProjectReleaseBinding, flowclient.KindWorkflowRun, flowclient.KindEnvironment,
	} {
		objects, err := p.rooms.plane.List(t.Context(), kind, flowclient.Filter{})
		require.NoError(t, err)
		found["object "+string(kind)] = len(objects)
	}
	events, err := p.rooms.store.Events(t.Context(), 0, 1000)
	require.NoError(t, err)
	for _, e := range events {
		found["event "+e.Kind]++
	}
	for _, topic := range []string{"builds", "promotions", "pull requests"} {
		found["said in "+topic] = len(p.read(StreamSandbox, "shop: "+topic))
	}
	commits, err := p.rooms.repos.Commits(t.Context(), organisation+"/shop", "main", 50)
	if !flowclient.IsNotFound(err) {
		require.NoError(t, err)
	}
	found["commits"] = len(commits)
	for name, path := range map[string]string{
		"hooks": "hooks", "branches": "branches", "pull requests": "pulls?state=all", "comments": "issues/1/comments", "statuses of main": "commits/main/statuses",
	} {
		found[name] = listed(t, p, path)
	}
	for _, environment := range []string{flowclient.Staging, "pr-1"} {
		page := ask(t, http.MethodGet, p.ports.URL("gateway")+"/shop-web-http/", environment+"-shop."+Domain, "", "")
		found[fmt.Sprintf("%s answers %d", environment, page.status)] = 1
	}
	maps.DeleteFunc(found, func(_ string, n int) bool { return n == 0 })
	return found
}

// listed is how many the git server lists under a path of the repository; 0 where it has none.
func listed(t *testing.T, p *started, path string) int {
	t.Helper()
	got := ask(t, http.MethodGet, p.ports.URL("git")+"/api/v1/repos/"+organisation+"/shop/"+path, "", p.secret("git.token"), "")
	if got.status == http.StatusNotFound {
		return 0
	}
	require.Equal(t, http.StatusOK, got.status, got.body)
	var list []json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(got.body), &list), path)
	return len(list)
}

// closePull closes the pull request without merging it, as a person would on the git server.
func closePull(ctx context.Context, p *Platform) error {
	token, err := os.ReadFile(p.Path("secrets", "git.token"))
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPatch, p.ports.URL("git")+"/api/v1/repos/"+organisation+"/shop/pulls/1", strings.NewReader(`{"state":"closed"}`))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		return fmt.Errorf("close the pull request: %s", resp.Status)
	}
	return nil
}
