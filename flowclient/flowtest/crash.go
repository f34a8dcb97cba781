package flowtest

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// NewController gives a controller over the plane and a memory, as a process has
// it; the journal's writes count among the plane's, so that it can die there.
// change may say otherwise.
func NewController(t *testing.T, p *Plane, m Memory, templates fs.FS, change ...func(*flowclient.Deps)) *flowclient.Controller {
	t.Helper()
	mortal := mortal{m, p}
	deps := flowclient.Deps{
		ControlPlane: p, Git: p, Cluster: p, Prober: p, Journal: mortal, Locks: m, Sightings: m, Runs: m,
		Pulls: p, Reviews: mortal, Applied: mortal, Traces: mortal, History: m, Standings: mortal, Freezes: m,
		Templates: templates, Now: p.Now, Settings: flowclient.Settings{
			Owner: "platform", SecretRef: "git-read", ModuleRef: "#main", Floors: flowclient.DefaultFloors(),
			Hooks: []flowclient.HookTarget{{URL: "http://api/autobuild", Secret: "s", Events: []string{"push"}}, {URL: "http://flow/sync", Secret: "s", Events: []string{"push"}}},
		},
	}
	for _, f := range change {
		f(&deps)
	}
	c, err := flowclient.New(deps)
	require.NoError(t, err)
	return c
}

// mortal is a journal that the process can die in.
type mortal struct {
	Memory
	plane *Plane
}

func (j mortal) Begin(ctx context.Context, in flowclient.Intent) (recorded flowclient.Intent, fresh bool, err error) {
	err = j.plane.Write("begin", func() (err error) { recorded, fresh, err = j.Memory.Begin(ctx, in); return err })
	return recorded, fresh, err
}

func (j mortal) Settle(ctx context.Context, id string, s flowclient.Settlement) error {
	return j.plane.Write("settle", func() error { return j.Memory.Settle(ctx, id, s) })
}

func (j mortal) Stand(ctx context.Context, project string, episodes []flowclient.Episode, backoffs []flowclient.Backoff, at time.Time, ended ...flowclient.Event) (last []flowclient.Episode, err error) {
	err = j.plane.Write("stand", func() (err error) {
		last, err = j.Memory.Stand(ctx, project, episodes, backoffs, at, ended...)
		return err
	})
	return last, err
}

func (j mortal) LiftHold(ctx context.Context, component, release string) error {
	return j.plane.Write("lift", func() error { return j.Memory.LiftHold(ctx, component, release) })
}

func (j mortal) MarkPull(ctx context.Context, repo string, number int, touched time.Time) error {
	return j.plane.Write("mark", func() error { return j.Memory.MarkPull(ctx, repo, number, touched) })
}

func (j mortal) PutPull(ctx context.Context, r flowclient.PullRecord, events ...flowclient.Event) error {
	return j.plane.Write("put pull", func() error { return j.Memory.PutPull(ctx, r, events...) })
}

func (j mortal) ForgetPulls(ctx context.Context, repo string) error {
	return j.plane.Write("forget", func() error { return j.Memory.ForgetPulls(ctx, repo) })
}

func (j mortal) PutApplied(ctx context.Context, repo string, manifests map[string]flowclient.AppliedManifest) error {
	return j.plane.Write("put applied", func() error { return j.Memory.PutApplied(ctx, repo, manifests) })
}

func (j mortal) Remember(ctx context.Context, sha, traceparent string, at time.Time) error {
	return j.plane.Write("remember", func() error { return j.Memory.Remember(ctx, sha, traceparent, at) })
}

// act is one request that a process may die in.
type act struct {
	writes  int // that it is known to make, at least
	prepare func(s *site)
	do      func(s *site, f flowclient.Flow) (any, error)
	check   func(t *testing.T, s *site, state any) // what holds in the end
}

// Crash lets a controller die before and after each write of each request, and
// shows that the next process, or the request heard again, ends as though
// nothing had happened: one effect, one event, the displaced release right.
func Crash(t *testing.T, templates fs.FS, open func(t *testing.T) Memory) {
	all := maps.Clone(acts)
	maps.Copy(all, reviewActs)
	for name, a := range all {
		t.Run(name, func(t *testing.T) {
			calm := newCrash(t, templates, open, a)
			want := calm.end(t)
			for _, done := range []bool{false, true} {
				n, died := 1, true
				for ; died; n++ {
					t.Run(fmt.Sprintf("write %d, done %v", n, done), func(t *testing.T) {
						c := newCrash(t, templates, open, a)
						died = c.dies(t, n, done)
						assert.Equal(t, want, c.end(t))
					})
				}
				assert.Greater(t, n-2, a.writes-1, "it must have died at every write that is known")
			}
		})
	}
}

// crash is one process's life and death.
type crash struct {
	act
	plane     *Plane
	memory    Memory
	templates fs.FS
	site      *site
	origins   int
}

func newCrash(t *testing.T, templates fs.FS, open func(t *testing.T) Memory, a act) *crash {
	t.Helper()
	c := &crash{act: a, plane: NewPlane(func() time.Time { return noon }), memory: open(t), templates: templates}
	flow := NewController(t, c.plane, c.memory, templates)
	c.site = &site{World: World{Flow: flow, ControlPlane: c.plane, Journal: c.memory, Patience: time.Second}, t: t, project: "shop", component: "shop-web"}
	if a.prepare != nil {
		a.prepare(c.site)
	}
	c.origins = c.site.asked
	return c
}

// dies runs the request in a process that dies at its n-th write, then starts a
// new one, whose first pass finishes what is open. It tells whether it died.
func (c *crash) dies(t *testing.T, n int, done bool) bool {
	t.Helper()
	c.plane.CrashAt(n, done)
	_, err := c.do(c.site, c.site.Flow)
	writes, died := c.plane.Revive()
	if !died {
		require.NoError(t, err, "writes %v", writes)
		return false
	}
	require.ErrorIs(t, err, ErrCrashed, "writes %v", writes)
	next := NewController(t, c.plane, c.memory, c.templates)
	require.NoError(t, next.Pass(t.Context(), true))
	open, err := c.memory.Open(t.Context())
	require.NoError(t, err)
	assert.Empty(t, open, "the first pass finishes what was begun; died after %v", writes)
	c.site.Flow = next
	return true
}

// end is the request heard (again), with everything there is afterwards.
func (c *crash) end(t *testing.T) any {
	t.Helper()
	c.site.asked = c.origins // the same origin key
	out, err := c.do(c.site, c.site.Flow)
	require.NoError(t, err)
	c.site.asked = c.origins
	again, err := c.do(c.site, c.site.Flow)
	require.NoError(t, err)
	assert.Equal(t, out, again)
	_, err = passing(c.site, c.site.Flow) // what follows from it has followed
	require.NoError(t, err)
	c.check(t, c.site, out)
	if o, ok := out.(flowclient.Outcome); ok && o.Undoes != nil {
		undoes := *o.Undoes
		require.NotEmpty(t, undoes.Intent)
		undoes.Intent = "" // intents are named at random, in each process anew
		o.Undoes = &undoes
		out = o
	}
	state := map[string]any{"outcome": out}
	for _, kind := range []flowclient.Kind{flowclient.KindProject, flowclient.KindComponent, flowclient.KindReleaseBinding, flowclient.KindProjectReleaseBinding, flowclient.KindResourceReleaseBinding, flowclient.KindComponentRelease,
		flowclient.KindEnvironment, flowclient.KindWorkload, flowclient.KindWorkflowRun} {
		objects, err := c.plane.List(t.Context(), kind, flowclient.Filter{})
		require.NoError(t, err)
		for _, o := range objects {
			delete(o.Metadata.Annotations, flowclient.AnnotationIntent) // chosen at random
			state[string(kind)+" "+o.Metadata.Name] = []any{o.Metadata.Labels, o.Metadata.Annotations, string(o.Spec)}
		}
	}
	for _, kind := range []string{flowclient.EventPromoted, flowclient.EventRolledBack, flowclient.EventScaffolded, flowclient.EventRemoved,
		flowclient.EventPullOpened, flowclient.EventPullMerged, flowclient.EventPullClosed, flowclient.EventReviewQueued, flowclient.EventReviewCreated,
		flowclient.EventReviewUpdated, flowclient.EventReviewFailed, flowclient.EventReviewDestroyed,
		flowclient.EventAutoLeftOut, flowclient.EventExternal} {
		state[kind] = len(c.site.events(kind))
	}
	return state
}
