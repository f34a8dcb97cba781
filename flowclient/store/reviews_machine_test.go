package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/fixtures"
	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/flowtest"
	"platform.dev/platform/flowclient/store"
)

// errOut is what the parts that are out answer.
var errOut = errors.New("the server is out")

// outPulls is a git server whose pull requests cannot be read while out is set.
type outPulls struct {
	flowclient.Pulls
	out *bool
}

func (p outPulls) Pull(ctx context.Context, repo string, number int) (flowclient.Pull, error) {
	if *p.out {
		return flowclient.Pull{}, errOut
	}
	return p.Pulls.Pull(ctx, repo, number)
}

func (p outPulls) OpenPulls(ctx context.Context, repo string) ([]flowclient.Pull, error) {
	if *p.out {
		return nil, errOut
	}
	return p.Pulls.OpenPulls(ctx, repo)
}

// outPlane is a control plane whose lists of one kind fail, "" for none.
type outPlane struct {
	flowclient.ControlPlane
	out *flowclient.Kind
}

func (p outPlane) List(ctx context.Context, kind flowclient.Kind, f flowclient.Filter) ([]flowclient.Object, error) {
	if kind == *p.out {
		return nil, errOut
	}
	return p.ControlPlane.List(ctx, kind, f)
}

// reviewMachine is a controller with pull requests, whose deliveries come when they come.
type reviewMachine struct {
	flow       *flowclient.Controller
	plane      *flowtest.Plane
	store      *store.Store
	start      func() *flowclient.Controller
	deliveries []flowclient.PullDelivery // that were sent; each comes any number of times, or never
	now        time.Time
	keys       int
	gitOut     bool
	planeOut   flowclient.Kind
}

const reviewCap = 2

func newReviewMachine(t *testing.T, rt require.TestingT, path string, most int, ttl time.Duration) *reviewMachine {
	s, err := store.Open(context.Background(), path, nil)
	require.NoError(rt, err)
	m := &reviewMachine{store: s, now: noon}
	m.plane = flowtest.NewPlane(func() time.Time { return m.now })
	m.plane.Told(func(d flowclient.PullDelivery) { m.deliveries = append(m.deliveries, d) })
	m.start = func() *flowclient.Controller {
		return flowtest.NewController(t, m.plane, s, fixtures.Templates(), func(d *flowclient.Deps) {
			d.Pulls, d.ControlPlane = outPulls{d.Pulls, &m.gitOut}, outPlane{d.ControlPlane, &m.planeOut}
			d.Settings.MaxReviews, d.Settings.ReviewTTL = most, ttl
		})
	}
	m.flow = m.start()
	_, err = m.flow.Scaffold(context.Background(), flowclient.ScaffoldRequest{Origin: m.origin(), Template: "static", Project: "shop"})
	require.NoError(rt, err)
	return m
}

func (m *reviewMachine) origin() flowclient.Origin {
	m.keys++
	return flowclient.Origin{Key: fmt.Sprint("k", m.keys), Who: "developer"}
}

// left lists what there is of review environments, by environment.
func (m *reviewMachine) left(t require.TestingT) map[string][]string {
	left := map[string][]string{}
	for _, kind := range []flowclient.Kind{flowclient.KindComponent, flowclient.KindWorkload, flowclient.KindWorkflowRun, flowclient.KindComponentRelease,
		flowclient.KindReleaseBinding, flowclient.KindProjectReleaseBinding, flowclient.KindEnvironment} {
		objects, err := m.plane.List(context.Background(), kind, flowclient.Filter{})
		require.NoError(t, err)
		for _, o := range objects {
			if at := strings.Index(o.Metadata.Name, "pr-"); at >= 0 {
				environment := strings.Join(strings.SplitN(o.Metadata.Name[at:], "-", 3)[:2], "-")
				left[environment] = append(left[environment], string(kind)+" "+o.Metadata.Name)
			}
		}
	}
	return left
}

// pass passes, maybe in a process that dies at one of its writes. What could
// not be read may fail it, and nothing else.
func (m *reviewMachine) pass(t *rapid.T, full bool) {
	before := m.left(t)
	dies := rapid.IntRange(0, 12).Draw(t, "dies at")
	if dies > 0 {
		m.plane.CrashAt(dies, rapid.Bool().Draw(t, "done"))
	}
	err := m.flow.Pass(context.Background(), full)
	writes, died := m.plane.Revive()
	switch {
	case died:
		require.ErrorIs(t, err, flowtest.ErrCrashed)
		m.flow = m.start()
	case m.gitOut || m.planeOut != "":
		for _, w := range writes {
			require.False(t, strings.HasPrefix(w, "delete"), "what cannot be read destroys nothing: %v", writes)
		}
		for environment, objects := range before {
			require.Subset(t, m.left(t)[environment], objects)
		}
	default:
		require.NoError(t, err)
	}
}

func (m *reviewMachine) pulls(t *rapid.T) []flowclient.Pull {
	var pulls []flowclient.Pull
	for n := 1; ; n++ {
		p, err := m.plane.Pull(context.Background(), "platform/shop", n)
		if flowclient.IsNotFound(err) {
			return pulls
		}
		require.NoError(t, err)
		pulls = append(pulls, p)
	}
}

// some draws a pull request; there may be none.
func (m *reviewMachine) some(t *rapid.T) flowclient.Pull {
	pulls := m.pulls(t)
	if len(pulls) == 0 {
		t.Skip("there is no pull request")
	}
	return rapid.SampledFrom(pulls).Draw(t, "pull")
}

// check is what holds at any time.
func (m *reviewMachine) check(t *rapid.T) {
	records, err := m.store.BusyPulls(context.Background())
	require.NoError(t, err)
	taken := map[string]bool{}
	for _, r := range records {
		switch r.State {
		case flowclient.ReviewCreating, flowclient.ReviewPresent, flowclient.ReviewFailed, flowclient.ReviewDestroying:
			taken[fmt.Sprint("pr-", r.Number)] = true
		}
	}
	require.LessOrEqual(t, len(taken), reviewCap, "never over the cap")
	for environment, objects := range m.left(t) {
		require.True(t, taken[environment], "what there is takes a place: %v", objects)
	}
	staging, err := m.plane.Get(context.Background(), flowclient.KindReleaseBinding, "shop-web-staging")
	require.NoError(t, err)
	require.NotContains(t, string(staging.Spec), "-pr-", "nothing of a review environment reaches staging")
}

func TestReviewEnvironmentsEndAsTheirPullRequestsStand(t *testing.T) {
	fewerRuns(t)
	dir, files := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		files++
		ctx := context.Background()
		m := newReviewMachine(t, rt, filepath.Join(dir, fmt.Sprintf("%d.db", files)), reviewCap, 0)
		defer func() { require.NoError(rt, m.store.Close()) }()
		branches := 0
		rt.Repeat(map[string]func(*rapid.T){
			"open": func(t *rapid.T) {
				branches++
				script := rapid.SampledFrom([]string{"echo fine\n", "echo fine\n", "echo no\nexit 1\n"}).Draw(t, "tests")
				_, err := m.flow.OpenPull(ctx, flowclient.PullRequest{Origin: m.origin(), Project: "shop", Branch: fmt.Sprint("b", branches), Title: "t",
					Files: map[string]string{"ci/test.sh": script, fmt.Sprint("f", branches): "x"}})
				if !m.gitOut {
					require.NoError(t, err)
				}
			},
			"push": func(t *rapid.T) {
				p := m.some(t)
				_, err := m.flow.Commit(ctx, flowclient.CommitRequest{Origin: m.origin(), Project: "shop", Branch: p.Branch, Message: "m",
					Files: map[string]string{"ci/test.sh": "echo fine\n"}})
				require.NoError(t, err)
			},
			"close":  func(t *rapid.T) { require.NoError(t, m.plane.ClosePull(ctx, "platform/shop", m.some(t).Number)) },
			"reopen": func(t *rapid.T) { require.NoError(t, m.plane.ReopenPull(ctx, "platform/shop", m.some(t).Number)) },
			"merge": func(t *rapid.T) {
				var refused *flowclient.Refusal
				if _, err := m.plane.MergePull(ctx, "platform/shop", m.some(t).Number, ""); err != nil {
					require.ErrorAs(t, err, &refused)
				}
			},
			"deliver": func(t *rapid.T) {
				if len(m.deliveries) == 0 {
					t.Skip("nothing was sent")
				}
				require.NoError(t, m.flow.Delivered(ctx, rapid.SampledFrom(m.deliveries).Draw(t, "delivery")))
			},
			"git is out": func(t *rapid.T) { m.gitOut = !m.gitOut },
			"lists fail": func(t *rapid.T) {
				m.planeOut = rapid.SampledFrom([]flowclient.Kind{"", flowclient.KindComponent, flowclient.KindReleaseBinding,
					flowclient.KindComponentRelease, flowclient.KindWorkflowRun, flowclient.KindProjectReleaseBinding}).Draw(t, "kind")
			},
			"hold builds": func(t *rapid.T) { m.plane.HoldRuns(rapid.Bool().Draw(t, "held")) },
			"finish a build": func(t *rapid.T) {
				runs, err := m.plane.List(ctx, flowclient.KindWorkflowRun, flowclient.Filter{LabelSelector: flowclient.LabelForkOf + "=shop-web"})
				require.NoError(t, err)
				if len(runs) == 0 {
					t.Skip("nothing is built")
				}
				require.NoError(t, m.plane.FinishRun(rapid.SampledFrom(runs).Draw(t, "run").Metadata.Name))
			},
			"pass":      func(t *rapid.T) { m.pass(t, false) },
			"full pass": func(t *rapid.T) { m.pass(t, true) },
			"":          m.check,
		})
		m.settle(rt)
	})
}

// settle heals everything: the environments are those of the open pull
// requests that came first, and nothing is left when all are closed.
func (m *reviewMachine) settle(t *rapid.T) {
	ctx := context.Background()
	m.gitOut, m.planeOut = false, ""
	m.plane.HoldRuns(false)
	runs, err := m.plane.List(ctx, flowclient.KindWorkflowRun, flowclient.Filter{LabelSelector: flowclient.LabelForkOf + "=shop-web"})
	require.NoError(t, err)
	for _, o := range runs {
		if strings.Contains(string(o.Status), "WorkflowRunning") {
			require.NoError(t, m.plane.FinishRun(o.Metadata.Name))
		}
	}
	m.flow = m.start()
	for range 3 {
		require.NoError(t, m.flow.Pass(ctx, true))
	}
	open := 0
	for _, p := range m.pulls(t) {
		if p.State == flowclient.PullOpen {
			open++
		}
	}
	reviews, err := m.flow.Reviews(ctx)
	require.NoError(t, err)
	require.Len(t, reviews, open)
	standing, place := 0, 0
	for _, r := range reviews {
		switch r.State {
		case flowclient.ReviewPresent, flowclient.ReviewFailed:
			standing++
			p, err := m.plane.Pull(ctx, r.Repo, r.Number)
			require.NoError(t, err)
			require.Equal(t, p.Head, r.Head)
		case flowclient.ReviewQueued:
			place++
			require.Equal(t, place, r.Place)
		default:
			require.Failf(t, "unsettled", "%+v", r)
		}
	}
	require.Equal(t, min(open, reviewCap), standing, "a free place is taken")
	for _, p := range m.pulls(t) {
		require.NoError(t, m.plane.ClosePull(ctx, p.Repo, p.Number))
	}
	for range 2 {
		require.NoError(t, m.flow.Pass(ctx, true)) // no delivery came at all
	}
	require.Empty(t, m.left(t), "everything is gone when every pull request is closed")
	reviews, err = m.flow.Reviews(ctx)
	require.NoError(t, err)
	require.Empty(t, reviews)
	m.check(t)
}
