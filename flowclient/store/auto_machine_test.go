package store_test

import (
	"context"
	"encoding/json"
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

const autoSoak = 5 * time.Minute

// autoPart is one component as the rules of the automatic pass have it:
// commits by their SHA.
type autoPart struct {
	staging, production, displaced, held string
	since                                time.Time
	unready                              bool
	backoff                              time.Time
	locked                               map[string]bool
}

// autoModel is the rules of the automatic pass in a few lines.
type autoModel struct {
	parts         map[string]*autoPart
	closed, full  bool
	moved, person int // promotions
}

// set is what no gate of its own keeps; manual asks neither holds nor backoffs.
func (m *autoModel) set(now time.Time, manual bool) (set []*autoPart) {
	for _, p := range m.parts {
		keeps := p.locked[p.staging] || !manual && p.held == p.staging
		if p.staging != "" && p.staging != p.production && !p.unready && now.Sub(p.since) >= autoSoak && !keeps {
			set = append(set, p)
		}
	}
	return set
}

func (p *autoPart) move() {
	p.displaced, p.production, p.held, p.backoff = p.production, p.staging, "", time.Time{}
}

// pass is what an automatic pass comes to.
func (m *autoModel) pass(now time.Time) {
	resting := false
	for _, p := range m.parts {
		if p.staging != p.held {
			p.held = ""
		}
	}
	set := m.set(now, false)
	for _, p := range set {
		resting = resting || now.Before(p.backoff)
	}
	switch {
	case len(set) == 0 || resting:
	case m.full:
		for _, p := range set {
			p.backoff = now.Add(10 * time.Minute)
		}
	case m.closed:
	default:
		m.moved++
		for _, p := range set {
			p.move()
		}
	}
}

// promote is what a person's promotion comes to; gate is what refuses it.
func (m *autoModel) promote(now time.Time) (gate string) {
	differs, locked := false, false
	for _, p := range m.parts {
		if p.staging != p.production {
			differs, locked = true, locked || p.locked[p.staging]
		}
	}
	set := m.set(now, true)
	switch {
	case !differs:
		return ""
	case locked:
		return "lock"
	case m.closed:
		return "window"
	case m.full && len(set) > 0:
		return "capacity"
	case len(set) > 0:
		m.person++
	}
	for _, p := range set {
		p.move()
	}
	return ""
}

// rollback is what a rollback of everything comes to.
func (m *autoModel) rollback() (gate string) {
	recorded, locked := false, false
	for _, p := range m.parts {
		recorded, locked = recorded || p.displaced != "", locked || p.displaced != "" && p.locked[p.displaced]
	}
	switch {
	case !recorded:
		return "nothing recorded"
	case locked:
		return "lock"
	case m.closed:
		return "window"
	}
	for _, p := range m.parts {
		if p.displaced != "" {
			p.held, p.production, p.displaced = p.production, p.displaced, ""
		}
	}
	return ""
}

// autoMachine is a controller with its world and the model of both.
type autoMachine struct {
	t     *testing.T
	flow  *flowclient.Controller
	plane *flowtest.Plane
	store *store.Store
	model autoModel
	now   time.Time
	keys  int
}

func (m *autoMachine) start() {
	m.flow = flowtest.NewController(m.t, m.plane, m.store, fixtures.Templates(), func(d *flowclient.Deps) { d.Cells, d.Settings.DefaultSoak = m.plane, autoSoak })
	m.plane.Watch(m.flow.Changed)
}

func (m *autoMachine) origin() flowclient.Origin {
	m.keys++
	return flowclient.Origin{Key: fmt.Sprint("k", m.keys), Who: "sre"}
}

// passes lets the controller pass, maybe in a process that dies at one of its writes.
func (m *autoMachine) passes(t *rapid.T) {
	ctx := context.Background()
	m.model.pass(m.now)
	if rapid.IntRange(0, 3).Draw(t, "dies") == 0 {
		m.plane.CrashAt(rapid.IntRange(1, 8).Draw(t, "at"), rapid.Bool().Draw(t, "done"))
		err := m.flow.Pass(ctx, rapid.Bool().Draw(t, "full"))
		if _, died := m.plane.Revive(); !died {
			require.NoError(t, err)
			return
		}
		require.ErrorIs(t, err, flowtest.ErrCrashed)
		m.start()
		require.NoError(t, m.flow.Pass(ctx, true))
		return
	}
	require.NoError(t, m.flow.Pass(ctx, rapid.Bool().Draw(t, "full")))
}

func (m *autoMachine) check(t *rapid.T) {
	m.passes(t)
	ctx := context.Background()
	for name, p := range m.model.parts {
		production, displaced := "", ""
		o, err := m.plane.Get(ctx, flowclient.KindReleaseBinding, name+"-production")
		if err == nil {
			var spec flowclient.ReleaseBindingSpec
			require.NoError(t, o.Decode(&spec, nil))
			production, displaced = spec.ReleaseName, o.Metadata.Annotations[flowclient.AnnotationDisplaced]
		} else {
			require.True(t, flowclient.IsNotFound(err))
		}
		require.Equal(t, m.release(name, p.production), production, "%s in production", name)
		require.Equal(t, m.release(name, p.displaced), displaced, "displaced of %s", name)
	}
	events, err := m.store.Events(ctx, 0, 10_000)
	require.NoError(t, err)
	moved, person := 0, 0
	for _, e := range events {
		if e.Kind != flowclient.EventPromoted {
			continue
		}
		var body flowclient.MoveEvent
		require.NoError(t, json.Unmarshal(e.Body, &body))
		if body.Origin.Who == flowclient.Automatic {
			moved++
		} else {
			person++
		}
	}
	require.Equal(t, []int{m.model.moved, m.model.person}, []int{moved, person}, "promotions by the pass and by a person")
	holds, err := m.store.Holds(ctx)
	require.NoError(t, err)
	for name, p := range m.model.parts {
		held := ""
		for _, h := range holds {
			if h.Component == name {
				held = h.Release
			}
		}
		require.Equal(t, m.release(name, p.held), held, "hold of %s", name)
	}
}

func (m *autoMachine) release(component, commit string) string {
	if commit == "" {
		return ""
	}
	return component + "-" + flowclient.ShortSHA(commit)
}

func (m *autoMachine) part(t *rapid.T) (name string, p *autoPart) {
	name = rapid.SampledFrom([]string{"shop-api", "shop-web"}).Draw(t, "component")
	return name, m.model.parts[name]
}

// answered compares a person's request with the model's answer.
func answered(t *rapid.T, gate string, err error) {
	if gate == "" {
		require.NoError(t, err)
		return
	}
	var refusal *flowclient.Refusal
	require.True(t, errors.As(err, &refusal), "%v: refused by %s", err, gate)
	require.True(t, refusal.Gate == gate || strings.Contains(refusal.Sentence, gate), "%s: %s", gate, refusal.Sentence)
}

func (m *autoMachine) quota() error {
	hard := map[bool]int64{true: 1, false: 1 << 40}[m.model.full]
	return m.plane.Limit("shop", flowclient.Quota{Namespace: "dp-shop", Hard: flowclient.Quantities{flowclient.Memory: hard}, Used: flowclient.Quantities{}})
}

func TestTheAutomaticPassBehavesLikeItsRules(t *testing.T) {
	fewerRuns(t)
	dir, files := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		files++
		ctx := context.Background()
		s, err := store.Open(ctx, filepath.Join(dir, fmt.Sprintf("%d.db", files)), nil)
		require.NoError(rt, err)
		defer func() { require.NoError(rt, s.Close()) }()
		m := &autoMachine{t: t, store: s, now: noon, model: autoModel{parts: map[string]*autoPart{"shop-api": {locked: map[string]bool{}}, "shop-web": {locked: map[string]bool{}}}}}
		m.plane = flowtest.NewPlane(func() time.Time { return m.now })
		m.start()
		require.NoError(rt, m.quota())
		rt.Repeat(m.actions(ctx))
	})
}

// actions are what may happen; the check that follows each of them passes.
func (m *autoMachine) actions(ctx context.Context) map[string]func(*rapid.T) {
	shas := []string{commitA, commitB, commitC}
	return map[string]func(*rapid.T){
		"stage": func(t *rapid.T) {
			name, p := m.part(t)
			commit := rapid.SampledFrom(shas).Draw(t, "commit")
			require.NoError(t, m.plane.Stage("shop", name, commit, 100*mi))
			if p.staging != commit {
				p.staging, p.since, p.unready = commit, m.now, false
			}
		},
		"ready": func(t *rapid.T) {
			name, p := m.part(t)
			if p.staging == "" {
				t.Skip("nothing runs in staging")
			}
			p.unready = !rapid.Bool().Draw(t, "ready")
			m.plane.SetReady(name+"-staging", !p.unready)
		},
		"tick": func(t *rapid.T) {
			m.now = m.now.Add(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, autoSoak, 10 * time.Minute}).Draw(t, "time"))
		},
		"window": func(t *rapid.T) {
			if _, err := m.plane.Get(ctx, flowclient.KindProject, "shop"); err != nil {
				t.Skip("no project yet")
			}
			m.model.closed = rapid.Bool().Draw(t, "closed")
			text := map[bool]string{true: "Wed 03:00-04:00 UTC", false: ""}[m.model.closed]
			meddle(t, m.plane, flowclient.KindProject, "shop", func(o *flowclient.Object) { o.Metadata.Annotations[flowclient.AnnotationProductionWindow] = text })
		},
		"quota": func(t *rapid.T) {
			m.model.full = rapid.Bool().Draw(t, "full")
			require.NoError(t, m.quota())
		},
		"lock": func(t *rapid.T) {
			name, p := m.part(t)
			commit, o := rapid.SampledFrom(shas).Draw(t, "commit"), m.origin()
			_, _, err := m.store.SetLock(ctx, flowclient.Lock{Component: name, Commit: commit, Reason: "breaks", Who: "sre", At: m.now},
				flowclient.Event{Key: o.Key, Kind: flowclient.EventLockSet, At: m.now, Project: "shop", Body: json.RawMessage(`{}`)})
			require.NoError(t, err)
			m.flow.Changed(flowclient.KindProject, "shop")
			p.locked[commit] = true
		},
		"unlock": func(t *rapid.T) {
			name, p := m.part(t)
			commit, o := rapid.SampledFrom(shas).Draw(t, "commit"), m.origin()
			_, err := m.store.ClearLocks(ctx, name, commit, "", "sre", m.now, func([]flowclient.Lock) flowclient.Event {
				return flowclient.Event{Key: o.Key, Kind: flowclient.EventLockCleared, At: m.now, Project: "shop", Body: json.RawMessage(`{}`)}
			})
			require.NoError(t, err)
			m.flow.Changed(flowclient.KindProject, "shop")
			delete(p.locked, commit)
		},
		"promote": func(t *rapid.T) {
			if m.model.parts["shop-api"].staging == "" || m.model.parts["shop-web"].staging == "" {
				t.Skip("not all of it is there")
			}
			gate := m.model.promote(m.now)
			_, err := m.flow.Promote(ctx, flowclient.Promotion{Origin: m.origin(), Project: "shop"})
			answered(t, gate, err)
		},
		"rollback": func(t *rapid.T) {
			if m.model.parts["shop-api"].staging == "" && m.model.parts["shop-web"].staging == "" {
				t.Skip("nothing is there")
			}
			gate := m.model.rollback()
			_, err := m.flow.Rollback(ctx, flowclient.Promotion{Origin: m.origin(), Project: "shop"})
			answered(t, gate, err)
		},
		"restart": func(t *rapid.T) {
			m.start()
			m.model.pass(m.now)
			require.NoError(t, m.flow.Pass(ctx, true))
		},
		"": m.check,
	}
}
