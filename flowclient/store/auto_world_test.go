package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/fixtures"
	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/flowtest"
	"platform.dev/platform/flowclient/store"
)

const (
	commitA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	commitB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	commitC = "cccccccccccccccccccccccccccccccccccccccc"
)

// autoWorld is a controller that runs over a store and a plane in a time of
// its own, which begins on a Saturday at midnight UTC.
type autoWorld struct {
	*testing.T
	*flowclient.Controller
	plane  *flowtest.Plane
	store  *store.Store
	change []func(*flowclient.Deps)
	stop   func()
	keys   int
}

func automatically(t *testing.T, test func(w *autoWorld), change ...func(*flowclient.Deps)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(t.Context(), filepath.Join(dir, "flow.db"), nil)
		require.NoError(t, err)
		w := &autoWorld{T: t, plane: flowtest.NewPlane(time.Now), store: s, change: change}
		t.Cleanup(func() {
			w.stop()
			assert.NoError(t, s.Close())
		})
		w.start()
		test(w)
	})
}

// start starts a process: it is told of every write, and has passed once.
func (w *autoWorld) start() {
	w.Helper()
	change := append([]func(*flowclient.Deps){func(d *flowclient.Deps) { d.Settings.Watched, d.Cells, d.Freezes = true, w.plane, w.store }}, w.change...)
	w.Controller = flowtest.NewController(w.T, w.plane, w.store, fixtures.Templates(), change...)
	w.plane.Watch(w.Changed)
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context())) // ended by stop
	ended := make(chan error, 1)
	go func() { ended <- w.Controller.Run(ctx) }()
	w.stop = func() {
		cancel()
		assert.NoError(w, <-ended)
	}
	synctest.Wait()
}

func (w *autoWorld) restart() {
	w.Helper()
	w.stop()
	w.start()
}

// later lets time go by, and what follows from that.
func (w *autoWorld) later(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

const mi = 1 << 20

func (w *autoWorld) stage(component, commit string) {
	w.Helper()
	w.stageOf(component, commit, 100*mi)
}

func (w *autoWorld) stageOf(component, commit string, memory int64) {
	w.Helper()
	project, _, _ := strings.Cut(component, "-")
	require.NoError(w, w.plane.Stage(project, component, commit, memory))
	synctest.Wait()
}

// project makes a project with annotations before anything is staged.
func (w *autoWorld) project(name string, annotations map[string]string) {
	w.Helper()
	_, err := w.plane.Create(w.Context(), flowclient.Object{Kind: flowclient.KindProject, Metadata: flowclient.Metadata{Name: name, Annotations: annotations}, Spec: json.RawMessage(`{}`)})
	require.NoError(w, err)
	synctest.Wait()
}

func (w *autoWorld) annotate(kind flowclient.Kind, name, key, value string) {
	w.Helper()
	o, err := w.plane.Get(w.Context(), kind, name)
	require.NoError(w, err)
	if o.Metadata.Annotations == nil {
		o.Metadata.Annotations = map[string]string{}
	}
	o.Metadata.Annotations[key] = value
	_, err = w.plane.Update(w.Context(), o)
	require.NoError(w, err)
	synctest.Wait()
}

// undeploy takes a binding out of service.
func (w *autoWorld) undeploy(binding string) {
	w.Helper()
	o, err := w.plane.Get(w.Context(), flowclient.KindReleaseBinding, binding)
	require.NoError(w, err)
	var spec flowclient.ReleaseBindingSpec
	require.NoError(w, o.Decode(&spec, nil))
	spec.State = "Undeploy"
	o.Spec, err = json.Marshal(spec)
	require.NoError(w, err)
	_, err = w.plane.Update(w.Context(), o)
	require.NoError(w, err)
	synctest.Wait()
}

func (w *autoWorld) origin() flowclient.Origin {
	w.keys++
	return flowclient.Origin{Key: fmt.Sprint("test:", w.keys), Who: "sre"}
}

func (w *autoWorld) lock(component, commit string) {
	w.Helper()
	_, _, err := w.store.SetLock(w.Context(), flowclient.Lock{Component: component, Commit: commit, Reason: "breaks", Who: "sre", At: time.Now()},
		flowclient.Event{Key: w.origin().Key, Kind: flowclient.EventLockSet, At: time.Now(), Project: "shop", Body: json.RawMessage(`{}`)})
	require.NoError(w, err)
	w.Changed(flowclient.KindProject, "shop")
	synctest.Wait()
}

// runs is the release that a component runs in production, with who promoted it.
func (w *autoWorld) runs(component string) (commit, by string) {
	w.Helper()
	o, err := w.plane.Get(w.Context(), flowclient.KindReleaseBinding, component+"-production")
	if flowclient.IsNotFound(err) {
		return "", ""
	}
	require.NoError(w, err)
	var spec flowclient.ReleaseBindingSpec
	require.NoError(w, o.Decode(&spec, nil))
	r, err := w.plane.Get(w.Context(), flowclient.KindComponentRelease, spec.ReleaseName)
	require.NoError(w, err)
	return r.Metadata.Labels[flowclient.LabelCommit], o.Metadata.Annotations[flowclient.AnnotationPromotedBy]
}

func (w *autoWorld) requireRuns(component, commit string) {
	w.Helper()
	now, _ := w.runs(component)
	require.Equal(w, commit, now)
}

// told are the events of a kind, oldest first.
func (w *autoWorld) told(kind string) (of []flowclient.Event) {
	w.Helper()
	events, err := w.store.Events(w.Context(), 0, 10_000)
	require.NoError(w, err)
	for _, e := range events {
		if e.Kind == kind {
			of = append(of, e)
		}
	}
	return of
}

// auto is the newest event of a kind of the automatic pass, of which there are so many.
func (w *autoWorld) auto(kind string, count int) (body flowclient.AutoEvent) {
	w.Helper()
	events := w.told(kind)
	require.Len(w, events, count, "%s", kind)
	if count > 0 {
		require.NoError(w, json.Unmarshal(events[count-1].Body, &body))
		assert.True(w, strings.HasPrefix(events[count-1].Key, "auto/shop/"), events[count-1].Key)
	}
	return body
}

// stands is how a component of a project stands; nil where it does not differ.
func (w *autoWorld) stands(component string) *flowclient.ComponentStanding {
	w.Helper()
	project, _, _ := strings.Cut(component, "-")
	for _, c := range w.state(project).Components {
		if c.Component == component {
			return &c
		}
	}
	return nil
}

func (w *autoWorld) state(project string) flowclient.ProjectState {
	w.Helper()
	s, err := w.State(w.Context())
	require.NoError(w, err)
	for _, p := range s.Projects {
		if p.Project == project {
			return p
		}
	}
	w.Fatalf("no project %s", project)
	return flowclient.ProjectState{}
}
