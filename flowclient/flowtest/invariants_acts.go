package flowtest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/flowclient"
)

func sha(digit string) string { return strings.Repeat(digit, 40) }

func containsComponent(url, component string) bool {
	return strings.HasSuffix(url, "/"+component+"-http")
}

// prepare makes the project on both sides, and runs a release of each component in staging.
func (m *machine) prepare(t *rapid.T) {
	owner := flowclient.Owner{ProjectName: project}
	objects := []flowclient.Object{staged(flowclient.KindProject, project, map[string]any{}),
		staged(flowclient.KindProjectReleaseBinding, project+"-"+flowclient.Staging, map[string]any{"owner": owner, "environment": flowclient.Staging})}
	for _, name := range components {
		objects = append(objects, staged(flowclient.KindComponent, name, json.RawMessage(`{"owner":{"projectName":"`+project+`"},
			"componentType":{"kind":"ClusterComponentType","name":"deployment/service"},"autoBuild":false,"autoDeploy":false,
			"workflow":{"kind":"ClusterWorkflow","name":"build","parameters":{"repository":{"url":"http://127.0.0.1:3001/platform/shop.git","revision":{"branch":"main"}}}}}`)))
	}
	objects = append(objects, staged(flowclient.KindResource, "db", map[string]any{"owner": owner, "type": flowclient.Ref{Kind: "ClusterResourceType", Name: "postgres"}}))
	m.hand(t, func(g Ground) error {
		for _, o := range objects {
			if _, err := g.Create(context.Background(), o); err != nil && !errors.Is(err, flowclient.ErrExists) { // some planes make staging's cell by themselves
				return fmt.Errorf("create %s %s: %w", o.Kind, o.Metadata.Name, err)
			}
		}
		return nil
	})
	for _, name := range components {
		m.stage(t, name, commits[0])
	}
	m.follow(t, step{name: "prepare"})
	if rapid.Bool().Draw(t, "limited") {
		m.limit(t)
	}
}

// hand changes both grounds past the controllers.
func (m *machine) hand(t *rapid.T, change func(g Ground) error) {
	m.version++
	for _, s := range []*side{m.calm, m.tried} {
		require.NoError(t, change(s.Ground))
		s.Settle()
	}
}

// changed tells both controllers to look at the project: the world around them is not watched.
func (m *machine) changed() {
	m.version++
	for _, s := range []*side{m.calm, m.tried} {
		s.flow.Changed(flowclient.KindProject, project)
	}
}

func (m *machine) stage(t *rapid.T, component, commit string) {
	memory := map[string]int64{commits[0]: 100 << 20, commits[1]: 100 << 20, commits[2]: 200 << 20, commits[3]: 300 << 20}[commit]
	m.hand(t, func(g Ground) error { return stage(g, project, component, commit, memory) })
	release := component + "-" + flowclient.ShortSHA(commit)
	if m.staging[component].release == release {
		return
	}
	m.staging[component] = stagedRelease{release, commit, m.now, true}
	if m.held[component] != release {
		delete(m.held, component)
	}
}

// origin is another request of a person's.
func (m *machine) origin(t *rapid.T) flowclient.Origin {
	door := rapid.SampledFrom([]string{"zulip", "zulip", "http"}).Draw(t, "door")
	key := fmt.Sprintf("%s:%d", door, len(m.keys))
	m.keys = append(m.keys, key)
	return flowclient.Origin{Key: key, Who: "sre"}
}

// actions are what may happen.
func (m *machine) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"stage": func(t *rapid.T) {
			component := drawn(t, "component", components)
			m.stage(t, component, drawn(t, "commit", commits))
			m.setReady(t, component, rapid.IntRange(0, 2).Draw(t, "comes up") > 0)
			m.follow(t, step{name: "stage"})
		},
		"ready": m.ready, "lock": m.lock, "clear": m.clear, "freeze": m.freeze, "thaw": m.thaw,
		"promote": m.promote, "promote again": m.promote, "roll back": m.rollBack, "undo": m.undo, "tick": m.tick, "tick again": m.tick,
		"annotate": m.annotate, "page": m.page, "quota": m.limit, "undeploy": m.undeploy, "pin by hand": m.pinByHand,
		"restart": func(t *rapid.T) { m.restart(t); m.follow(t, step{name: "restart"}) },
	}
}

func drawn[T any](t *rapid.T, what string, from []T) T { return rapid.SampledFrom(from).Draw(t, what) }

func (m *machine) ready(t *rapid.T) {
	m.setReady(t, drawn(t, "component", components), rapid.Bool().Draw(t, "ready"))
	m.follow(t, step{name: "ready"})
}

func (m *machine) setReady(t *rapid.T, component string, ready bool) {
	m.hand(t, func(g Ground) error { g.SetReady(component+"-"+flowclient.Staging, ready); return nil })
	s := m.staging[component]
	s.ready = ready
	m.staging[component] = s
}

func (m *machine) lock(t *rapid.T) {
	l := lockOn{drawn(t, "component", components), drawn(t, "commit", commits), drawn(t, "environment", []string{"", flowclient.Production, flowclient.Staging})}
	r := flowclient.LockRequest{Origin: m.origin(t), Component: l.component, Commit: l.commit, Environment: l.environment, Reason: "breaks"}
	s := step{name: "lock"}
	_, err := ask(t, m, &s, ways, func(c *flowclient.Controller) (flowclient.Lock, error) { return c.SetLock(context.Background(), r) })
	require.NoError(t, err)
	m.version++
	m.locks[l] = true
	m.follow(t, s)
}

func (m *machine) clear(t *rapid.T) {
	l := lockOn{drawn(t, "component", components), drawn(t, "commit", commits), drawn(t, "environment", []string{"", flowclient.Production})}
	r := flowclient.LockRequest{Origin: m.origin(t), Component: l.component, Commit: l.commit, Environment: l.environment}
	s := step{name: "clear"}
	_, err := ask(t, m, &s, ways, func(c *flowclient.Controller) ([]flowclient.Lock, error) { return c.ClearLock(context.Background(), r) })
	held := false
	for k := range m.locks {
		if k.component == l.component && k.commit == l.commit && (l.environment == "" || k.environment == l.environment) {
			held = true
			delete(m.locks, k)
		}
	}
	require.Equal(t, held, err == nil, "%v", err)
	m.version++
	m.follow(t, s)
}

func (m *machine) freeze(t *rapid.T) {
	r := flowclient.FreezeRequest{Origin: m.origin(t), Project: drawn(t, "project", []string{project, ""}), Reason: "the fair"}
	from := m.now.Add(drawn(t, "duration", []time.Duration{0, time.Hour}))
	if r.From = from; rapid.Bool().Draw(t, "from now") {
		from, r.From = m.now, time.Time{}
	}
	r.Until = from.Add(drawn(t, "duration", []time.Duration{30 * time.Minute, 2 * time.Hour, 24 * time.Hour}))
	s := step{name: "freeze"}
	_, err := ask(t, m, &s, ways, func(c *flowclient.Controller) (flowclient.Freeze, error) { return c.SetFreeze(context.Background(), r) })
	require.NoError(t, err)
	m.version++
	m.follow(t, s)
}

func (m *machine) thaw(t *rapid.T) {
	freezes, err := m.calm.flow.Freezes(context.Background())
	require.NoError(t, err)
	if len(freezes) == 0 {
		t.Skip("nothing is frozen")
	}
	r := flowclient.FreezeRequest{Origin: m.origin(t), ID: drawn(t, "freeze", freezes).ID}
	s := step{name: "thaw"}
	_, err = ask(t, m, &s, ways, func(c *flowclient.Controller) (flowclient.Freeze, error) {
		return c.ClearFreeze(context.Background(), r)
	})
	require.NoError(t, err)
	m.version++
	m.follow(t, s)
}

// moving is a step that asks for a move, with a dry run before it.
func (m *machine) moving(t *rapid.T, s step, dry, do func(c *flowclient.Controller) (flowclient.Outcome, error)) {
	s.were = map[string]bound{}
	for _, name := range components {
		spec, o, _ := m.tried.binding(t, name+"-"+flowclient.Production)
		s.were[name] = bound{spec.ReleaseName, o.Metadata.Annotations[flowclient.AnnotationDisplaced]}
	}
	out, err := dry(m.tried.flow)
	s.dry = func() (flowclient.Outcome, error) { return out, err }
	dried := m.tried.life.take()
	require.Empty(t, dried.objects, "a dry run writes nothing")
	require.Empty(t, dried.begun, "and records nothing")
	mute := ways
	var refused *flowclient.Refusal
	if errors.As(err, &refused) {
		mute = append([]string{mutely}, ways...)
	}
	s.out, s.err = ask(t, m, &s, mute, do)
	m.version++
	m.follow(t, s)
}

func (m *machine) promote(t *rapid.T) {
	r := flowclient.Promotion{Origin: m.origin(t), Project: project, Component: drawn(t, "component", append([]string{"", ""}, components...)),
		Force: rapid.Bool().Draw(t, "force"), SkipSoak: drawn(t, "skipSoak", []string{"", "", "the fair"})}
	m.moving(t, step{name: "promote", asked: &r, keyed: r.Origin.Key}, func(c *flowclient.Controller) (flowclient.Outcome, error) {
		dry := r
		dry.DryRun = true
		return c.Promote(context.Background(), dry)
	}, func(c *flowclient.Controller) (flowclient.Outcome, error) { return c.Promote(context.Background(), r) })
}

func (m *machine) rollBack(t *rapid.T) {
	r := flowclient.Promotion{Origin: m.origin(t), Project: project, Component: drawn(t, "component", append([]string{""}, components...))}
	m.moving(t, step{name: "roll back", asked: &r, keyed: r.Origin.Key}, func(c *flowclient.Controller) (flowclient.Outcome, error) {
		dry := r
		dry.DryRun = true
		return c.Rollback(context.Background(), dry)
	}, func(c *flowclient.Controller) (flowclient.Outcome, error) { return c.Rollback(context.Background(), r) })
}

func (m *machine) undo(t *rapid.T) {
	r := flowclient.UndoRequest{Origin: m.origin(t), Project: project}
	m.moving(t, step{name: "undo", asked: &flowclient.Promotion{Origin: r.Origin, Project: project}, keyed: r.Origin.Key}, func(c *flowclient.Controller) (flowclient.Outcome, error) {
		dry := r
		dry.DryRun = true
		return c.Undo(context.Background(), dry)
	}, func(c *flowclient.Controller) (flowclient.Outcome, error) { return c.Undo(context.Background(), r) })
}

func (m *machine) tick(t *rapid.T) {
	by := drawn(t, "duration", []time.Duration{time.Second, time.Minute, 5 * time.Minute, 10 * time.Minute, time.Hour, 5 * time.Hour, 19 * time.Hour})
	m.mu.Lock()
	m.now = m.now.Add(by)
	m.mu.Unlock()
	m.follow(t, step{name: "tick"})
}

func (m *machine) annotate(t *rapid.T) {
	key := drawn(t, "annotation", []string{flowclient.AnnotationPromotion, flowclient.AnnotationSoak, flowclient.AnnotationProductionWindow, flowclient.AnnotationPromotionCheck})
	value := drawn(t, "value", map[string][]string{
		flowclient.AnnotationPromotion: {"", "auto", "auto", "manual", "sometimes"}, flowclient.AnnotationSoak: {"", "5m", "2h", "soon"},
		flowclient.AnnotationProductionWindow: {"", "", workdays, saturdays, "sometimes"}, flowclient.AnnotationPromotionCheck: {"", "http", "https"},
	}[key])
	m.hand(t, func(g Ground) error {
		o, err := g.Get(context.Background(), flowclient.KindProject, project)
		if err != nil {
			return err
		}
		if o.Metadata.Annotations == nil {
			o.Metadata.Annotations = map[string]string{}
		}
		if o.Metadata.Annotations[key] = value; value == "" {
			delete(o.Metadata.Annotations, key)
		}
		_, err = g.Update(context.Background(), o)
		return err
	})
	m.project[key] = value
	m.follow(t, step{name: "annotate"})
}

func (m *machine) page(t *rapid.T) {
	m.mu.Lock()
	m.pages[drawn(t, "component", components)] = drawn(t, "answer", []int{200, 404, 503, 0})
	m.mu.Unlock()
	m.changed()
	m.follow(t, step{name: "page"})
}

func (m *machine) limit(t *rapid.T) {
	q := &flowclient.Quota{Namespace: "cell", Hard: flowclient.Quantities{flowclient.Memory: drawn(t, "hard", []int64{150 << 20, 350 << 20, 1 << 30})},
		Used: flowclient.Quantities{flowclient.Memory: drawn(t, "used", []int64{0, 100 << 20})}}
	if rapid.IntRange(0, 3).Draw(t, "unlimited") == 0 {
		q = nil
	}
	m.mu.Lock()
	m.quota = q
	m.mu.Unlock()
	m.changed()
	m.follow(t, step{name: "quota"})
}

// undeploy takes production out of service by hand.
func (m *machine) undeploy(t *rapid.T) {
	name := drawn(t, "component", components) + "-" + flowclient.Production
	if _, _, found := m.calm.binding(t, name); !found {
		t.Skip("production runs nothing")
	}
	m.hand(t, func(g Ground) error {
		return rebind(g, name, func(s *flowclient.ReleaseBindingSpec) { s.State = "Undeploy" })
	})
	m.follow(t, step{name: "undeploy"})
}

// pinByHand lets production name another release past the controller.
func (m *machine) pinByHand(t *rapid.T) {
	component := drawn(t, "component", components)
	name := component + "-" + flowclient.Production
	_, _, found := m.calm.binding(t, name)
	releases, err := m.calm.List(context.Background(), flowclient.KindComponentRelease, flowclient.Filter{Component: component})
	require.NoError(t, err)
	if !found || len(releases) == 0 {
		t.Skip("production runs nothing")
	}
	release := drawn(t, "release", releases).Metadata.Name
	m.hand(t, func(g Ground) error {
		return rebind(g, name, func(s *flowclient.ReleaseBindingSpec) { s.ReleaseName = release })
	})
	m.external[component] = true
	m.follow(t, step{name: "pin by hand"})
}

// rebind changes a binding by hand.
func rebind(g Ground, name string, change func(*flowclient.ReleaseBindingSpec)) error {
	o, err := g.Get(context.Background(), flowclient.KindReleaseBinding, name)
	if err != nil {
		return err
	}
	var spec flowclient.ReleaseBindingSpec
	if err := o.Decode(&spec, nil); err != nil {
		return err
	}
	before := spec
	spec.State = cmp.Or(spec.State, "Active")
	if change(&spec); spec.State == cmp.Or(before.State, "Active") && spec.ReleaseName == before.ReleaseName {
		return nil
	}
	if o.Spec, err = json.Marshal(spec); err != nil {
		return err
	}
	_, err = g.Update(context.Background(), o)
	return err
}
