package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/fixtures"
	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/flowtest"
	"platform.dev/platform/flowclient/store"
)

// delivered is what a project's one component runs where, as a model of the
// rules: commits by their SHA.
type delivered struct {
	staging, production, displaced string
	undeployed, closed             bool
	locked                         map[string]bool
	promotions, rollbacks          int
}

// promote is the rule of a promotion in a few lines.
func (d *delivered) promote() (result, gate string) {
	switch {
	case d.production == d.staging && !d.undeployed:
		return flowclient.Unchanged, ""
	case d.locked[d.staging]:
		return "", "lock"
	case d.closed:
		return "", "window"
	}
	if d.production != d.staging && d.production != "" {
		d.displaced = d.production
	}
	d.production, d.undeployed = d.staging, false
	d.promotions++
	return flowclient.Promoted, ""
}

// rollback is the rule of a rollback.
func (d *delivered) rollback() (result, gate string) {
	switch {
	case d.displaced == "":
		return "", "nothing recorded"
	case d.locked[d.displaced]:
		return "", "lock"
	case d.closed:
		return "", "window"
	}
	d.production, d.displaced = d.displaced, ""
	d.rollbacks++
	return flowclient.RolledBack, ""
}

// machine is a controller with its world and the model of both.
type machine struct {
	flow  *flowclient.Controller
	plane *flowtest.Plane
	store *store.Store
	model delivered
	shas  []string
	keys  int
	start func() *flowclient.Controller
}

const day = "Fri 11:00-13:00 UTC" // holds noon

func (m *machine) origin() flowclient.Origin {
	m.keys++
	return flowclient.Origin{Key: fmt.Sprint("k", m.keys), Who: "developer"}
}

func (m *machine) push(t *rapid.T) {
	c, err := m.flow.Commit(context.Background(), flowclient.CommitRequest{Origin: m.origin(), Project: "shop", Message: "m", Files: map[string]string{"x": "y"}})
	require.NoError(t, err)
	m.model.staging, m.shas = c.SHA, append(m.shas, c.SHA)
}

// move asks for a promotion or rollback, maybe in a process that dies at one of
// its writes, and compares its answer with the model's.
func (m *machine) move(t *rapid.T, ask func(*flowclient.Controller, flowclient.Promotion) (flowclient.Outcome, error), rule func() (string, string)) {
	request := flowclient.Promotion{Origin: m.origin(), Project: "shop", Component: rapid.SampledFrom([]string{"", "shop-web"}).Draw(t, "component")}
	result, gate := rule()
	if rapid.Bool().Draw(t, "dies") {
		m.plane.CrashAt(rapid.IntRange(1, 5).Draw(t, "at"), rapid.Bool().Draw(t, "done"))
		_, err := ask(m.flow, request)
		if _, died := m.plane.Revive(); died {
			require.ErrorIs(t, err, flowtest.ErrCrashed)
			m.flow = m.start()
			require.NoError(t, m.flow.Pass(context.Background(), true))
		}
	}
	out, err := ask(m.flow, request)
	if gate != "" {
		var refused *flowclient.Refusal
		require.ErrorAs(t, err, &refused)
		require.True(t, refused.Gate == gate || refused.Gate == "" && gate == "nothing recorded", "%s: %s", gate, refused.Sentence)
		return
	}
	require.NoError(t, err)
	require.Equal(t, result, out.Components[0].Result, out.Components[0].Sentence)
}

func (m *machine) check(t *rapid.T) {
	ctx := context.Background()
	d, err := m.flow.Delivery(ctx)
	require.NoError(t, err)
	require.Len(t, d.Components, 1)
	seen := delivered{}
	for _, e := range d.Components[0].Environments {
		switch e.Environment {
		case flowclient.Staging:
			seen.staging = e.Commit
		case flowclient.Production:
			seen.production, seen.undeployed = e.Commit, e.State == "Undeploy"
			require.Equal(t, "developer", e.PromotedBy, "every pin says who made it")
			if e.Displaced != "" {
				o, err := m.plane.Get(ctx, flowclient.KindComponentRelease, e.Displaced)
				require.NoError(t, err)
				seen.displaced = o.Metadata.Labels[flowclient.LabelCommit]
				require.NotEqual(t, seen.production, seen.displaced)
			}
		}
	}
	events, err := m.store.Events(ctx, 0, 1000)
	require.NoError(t, err)
	for _, e := range events {
		switch e.Kind {
		case flowclient.EventPromoted:
			seen.promotions++
		case flowclient.EventRolledBack:
			seen.rollbacks++
		}
	}
	seen.closed, seen.locked = m.model.closed, m.model.locked
	require.Equal(t, m.model, seen)
	open, err := m.store.Open(ctx)
	require.NoError(t, err)
	require.Empty(t, open)
}

func TestAControllerBehavesLikeItsRules(t *testing.T) {
	fewerRuns(t)
	dir, files := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		files++
		ctx := context.Background()
		s, err := store.Open(ctx, filepath.Join(dir, fmt.Sprintf("%d.db", files)), nil)
		require.NoError(rt, err)
		defer func() { require.NoError(rt, s.Close()) }()
		m := &machine{plane: flowtest.NewPlane(func() time.Time { return noon }), store: s, model: delivered{locked: map[string]bool{}}}
		m.start = func() *flowclient.Controller { return flowtest.NewController(t, m.plane, s, fixtures.Templates()) }
		m.flow = m.start()
		made, err := m.flow.Scaffold(ctx, flowclient.ScaffoldRequest{Origin: m.origin(), Template: "static", Project: "shop"})
		require.NoError(rt, err)
		m.model.staging, m.shas = made.Commit.SHA, []string{made.Commit.SHA}

		lock := func(t *rapid.T) flowclient.LockRequest {
			sha := rapid.SampledFrom(m.shas).Draw(t, "sha")
			return flowclient.LockRequest{Origin: m.origin(), Component: "shop-web", Commit: sha, Reason: "breaks"}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"push": m.push,
			"promote": func(t *rapid.T) {
				m.move(t, func(c *flowclient.Controller, r flowclient.Promotion) (flowclient.Outcome, error) {
					return c.Promote(ctx, r)
				}, m.model.promote)
			},
			"rollback": func(t *rapid.T) {
				m.move(t, func(c *flowclient.Controller, r flowclient.Promotion) (flowclient.Outcome, error) {
					return c.Rollback(ctx, r)
				}, m.model.rollback)
			},
			"lock": func(t *rapid.T) {
				r := lock(t)
				_, err := m.flow.SetLock(ctx, r)
				require.NoError(t, err)
				m.model.locked[r.Commit] = true
			},
			"unlock": func(t *rapid.T) {
				r := lock(t)
				_, err := m.flow.ClearLock(ctx, r)
				require.Equal(t, m.model.locked[r.Commit], err == nil, "%v", err)
				delete(m.model.locked, r.Commit)
			},
			"window": func(t *rapid.T) {
				m.model.closed = rapid.Bool().Draw(t, "closed")
				text := map[bool]string{true: "Sat 09:00-17:00 UTC", false: day}[m.model.closed]
				meddle(t, m.plane, flowclient.KindProject, "shop", func(o *flowclient.Object) { o.Metadata.Annotations[flowclient.AnnotationProductionWindow] = text })
			},
			"undeploy": func(t *rapid.T) {
				if m.model.production == "" {
					t.Skip("production runs nothing")
				}
				m.model.undeployed = true
				meddle(t, m.plane, flowclient.KindReleaseBinding, "shop-web-production", func(o *flowclient.Object) {
					var spec flowclient.ReleaseBindingSpec
					require.NoError(t, o.Decode(&spec, nil))
					spec.State = "Undeploy"
					raw, err := json.Marshal(spec)
					require.NoError(t, err)
					o.Spec = raw
				})
			},
			"restart": func(t *rapid.T) {
				m.flow = m.start()
				require.NoError(t, m.flow.Pass(ctx, true))
			},
			"": m.check,
		})
	})
}

// meddle changes an object by hand.
func meddle(t *rapid.T, p *flowtest.Plane, kind flowclient.Kind, name string, change func(o *flowclient.Object)) {
	o, err := p.Get(context.Background(), kind, name)
	require.NoError(t, err)
	change(&o)
	_, err = p.Update(context.Background(), o)
	require.NoError(t, err)
}
