package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"platform.dev/platform/fixtures"
	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/flowtest"
	"platform.dev/platform/flowclient/store"
)

// bench is a controller whose world can be meddled with.
type bench struct {
	*flowclient.Controller
	t     *testing.T
	plane *flowtest.Plane
	store *store.Store
	now   time.Time
	keys  int

	before func(op string, kind flowclient.Kind) error // called before each call to the control plane
	noted  atomic.Int64
	deps   flowclient.Deps // what the controller was made of
}

// meddled is a control plane with something done before each call.
type meddled struct {
	flowclient.ControlPlane
	b *bench
}

func (m meddled) call(op string, kind flowclient.Kind) error {
	before := m.b.before
	if before == nil {
		return nil
	}
	m.b.before = nil // what it does itself is not meddled with
	err := before(op, kind)
	if m.b.before == nil {
		m.b.before = before
	}
	return err
}

func (m meddled) List(ctx context.Context, kind flowclient.Kind, f flowclient.Filter) ([]flowclient.Object, error) {
	if err := m.call("list", kind); err != nil {
		return nil, err
	}
	return m.ControlPlane.List(ctx, kind, f)
}

func (m meddled) Create(ctx context.Context, o flowclient.Object) (flowclient.Object, error) {
	if err := m.call("create", o.Kind); err != nil {
		return flowclient.Object{}, err
	}
	return m.ControlPlane.Create(ctx, o)
}

func (m meddled) Update(ctx context.Context, o flowclient.Object) (flowclient.Object, error) {
	if err := m.call("update", o.Kind); err != nil {
		return flowclient.Object{}, err
	}
	return m.ControlPlane.Update(ctx, o)
}

func (m meddled) Delete(ctx context.Context, kind flowclient.Kind, name string) error {
	if err := m.call("delete", kind); err != nil {
		return err
	}
	return m.ControlPlane.Delete(ctx, kind, name)
}

func (m meddled) RunLog(ctx context.Context, run, stage string) ([]flowclient.LogLine, error) {
	if err := m.call("log", flowclient.KindWorkflowRun); err != nil {
		return nil, err
	}
	return m.ControlPlane.RunLog(ctx, run, stage)
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, now: noon, store: fresh(t)}
	b.plane = flowtest.NewPlane(func() time.Time { return b.now })
	b.deps = flowclient.Deps{
		ControlPlane: meddled{b.plane, b}, Git: b.plane, Cluster: b.plane, Prober: b.plane,
		Journal: b.store, Locks: b.store, Freezes: b.store, Sightings: b.store, Runs: b.store, Templates: fixtures.Templates(),
		Now: func() time.Time { return b.now }, Noted: func() { b.noted.Add(1) },
		Settings: flowclient.Settings{Owner: "platform", Floors: flowclient.DefaultFloors(), BuildPage: func(run string) string { return "http://workflow/runs/" + run }},
	}
	var err error
	b.Controller, err = flowclient.New(b.deps)
	require.NoError(t, err)
	return b
}

func (b *bench) origin() flowclient.Origin {
	b.keys++
	return flowclient.Origin{Key: fmt.Sprint("test:", b.keys), Who: "developer"}
}

// shop scaffolds the project shop and promotes its first commit.
func (b *bench) shop() {
	b.t.Helper()
	_, err := b.Scaffold(b.t.Context(), flowclient.ScaffoldRequest{Origin: b.origin(), Template: "static", Project: "shop", Walkthrough: true})
	require.NoError(b.t, err)
	b.promoted()
}

func (b *bench) push(text string) flowclient.Commit {
	b.t.Helper()
	c, err := b.Commit(b.t.Context(), flowclient.CommitRequest{Origin: b.origin(), Project: "shop", Message: text, Files: map[string]string{"x": text}})
	require.NoError(b.t, err)
	return c
}

func (b *bench) promote() flowclient.ComponentOutcome {
	b.t.Helper()
	out, err := b.Promote(b.t.Context(), flowclient.Promotion{Origin: b.origin(), Project: "shop"})
	require.NoError(b.t, err)
	require.Len(b.t, out.Components, 1)
	return out.Components[0]
}

func (b *bench) promoted() {
	b.t.Helper()
	require.Equal(b.t, flowclient.Promoted, b.promote().Result)
}

func (b *bench) annotate(kind flowclient.Kind, name, key, value string) {
	b.t.Helper()
	o, err := b.plane.Get(b.t.Context(), kind, name)
	require.NoError(b.t, err)
	o.Metadata.Annotations[key] = value
	_, err = b.plane.Update(b.t.Context(), o)
	require.NoError(b.t, err)
}

func (b *bench) events(kind string) (found []flowclient.Event) {
	b.t.Helper()
	events, err := b.store.Events(b.t.Context(), 0, 1000)
	require.NoError(b.t, err)
	for _, e := range events {
		if e.Kind == kind {
			found = append(found, e)
		}
	}
	return found
}

// once runs do before the first call of the kind.
func (b *bench) once(op string, kind flowclient.Kind, do func()) {
	done := false
	b.before = func(o string, k flowclient.Kind) error {
		if !done && o == op && k == kind {
			done = true
			do()
		}
		return nil
	}
}

// planned is the intent that a promotion of the project has now, as a process
// that died right after recording it left it.
func planned(b *bench, project string) flowclient.Intent {
	b.t.Helper()
	origin := b.origin()
	out, err := b.Promote(b.t.Context(), flowclient.Promotion{Origin: origin, Project: project, DryRun: true})
	require.NoError(b.t, err)
	type move struct {
		Outcome flowclient.ComponentOutcome `json:"outcome"`
	}
	moves := []move{}
	for _, o := range out.Components {
		moves = append(moves, move{o})
	}
	body, err := json.Marshal(map[string]any{"project": project, "origin": origin, "moves": moves})
	require.NoError(b.t, err)
	return flowclient.Intent{Key: origin.Key, Kind: "promote", Who: origin.Who, At: b.now, Body: body}
}
