package flowtest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// acts are the requests that Crash kills.
var acts = map[string]act{
	"first promotion": {
		writes:  5, // begin, project binding, resource binding, binding, settle
		prepare: func(s *site) { s.scaffold(false); s.resource() },
		do:      promoting,
		check: func(t *testing.T, s *site, _ any) {
			assert.Len(t, s.events(flowclient.EventPromoted), 1)
			_, err := s.ControlPlane.Get(s.ctx(), flowclient.KindResourceReleaseBinding, "db-production")
			require.NoError(t, err)
		},
	},
	"promotion over what ran before": {
		writes:  3, // begin, pin, settle
		prepare: func(s *site) { s.scaffold(false); s.promoted(); s.push("index.html", page("second")) },
		do:      promoting,
		check: func(t *testing.T, s *site, _ any) {
			assert.Len(t, s.events(flowclient.EventPromoted), 2)
			d, _ := s.deployment(flowclient.Production)
			first, err := s.ControlPlane.Get(s.ctx(), flowclient.KindComponentRelease, d.Displaced)
			require.NoError(t, err, "the first displaced release is recorded")
			assert.NotEqual(t, d.Commit, first.Metadata.Labels[flowclient.LabelCommit])
		},
	},
	"promotion that brings production back": {
		writes: 4, // begin, pin, activate, settle
		prepare: func(s *site) {
			s.scaffold(false)
			s.promoted()
			s.push("index.html", page("second"))
			s.setState("Undeploy")
		},
		do: promoting,
		check: func(t *testing.T, s *site, _ any) {
			d, _ := s.deployment(flowclient.Production)
			assert.Equal(t, "Active", d.State)
		},
	},
	"rollback": {
		writes: 3, // begin, repoint, settle
		prepare: func(s *site) {
			s.scaffold(false)
			s.promoted()
			s.push("index.html", page("second"))
			s.promoted()
		},
		do: func(s *site, f flowclient.Flow) (any, error) {
			return f.Rollback(s.ctx(), flowclient.Promotion{Origin: s.origin(), Project: s.project, Component: s.component})
		},
		check: func(t *testing.T, s *site, _ any) {
			assert.Len(t, s.events(flowclient.EventRolledBack), 1)
			d, _ := s.deployment(flowclient.Production)
			assert.Empty(t, d.Displaced)
		},
	},
	"undo": {
		writes: 3, // begin, repoint, settle
		prepare: func(s *site) {
			s.scaffold(false)
			s.promoted()
			s.push("index.html", page("second"))
			s.promoted()
		},
		do: func(s *site, f flowclient.Flow) (any, error) {
			return f.Undo(s.ctx(), flowclient.UndoRequest{Origin: s.origin(), Project: s.project})
		},
		check: func(t *testing.T, s *site, _ any) {
			assert.Len(t, s.events(flowclient.EventRolledBack), 1)
			d, _ := s.deployment(flowclient.Production)
			assert.Empty(t, d.Displaced)
		},
	},
	"automatic promotion": {
		writes:  3, // begin, pin, settle
		prepare: func(s *site) { s.scaffold(false); s.promoted(); s.automatic(); s.push("index.html", page("second")) },
		do:      passing,
		check: func(t *testing.T, s *site, _ any) {
			assert.Len(t, s.events(flowclient.EventPromoted), 2)
			d, _ := s.deployment(flowclient.Production)
			assert.Equal(t, flowclient.Automatic, d.PromotedBy)
			assert.NotEmpty(t, d.Displaced)
		},
	},
	"first automatic promotion": {
		writes:  5, // begin, project binding, resource binding, binding, settle
		prepare: func(s *site) { s.scaffold(false); s.resource(); s.automatic() },
		do:      passing,
		check:   func(t *testing.T, s *site, _ any) { assert.Len(t, s.events(flowclient.EventPromoted), 1) },
	},
	"automatic promotion of what is held no longer": {
		writes: 4, // lift, begin, pin, settle
		prepare: func(s *site) {
			s.scaffold(false)
			s.promoted()
			s.push("index.html", page("second"))
			s.promoted()
			_, err := s.rollback()
			require.NoError(s.t, err)
			s.automatic()
			s.push("index.html", page("third"))
		},
		do:    passing,
		check: func(t *testing.T, s *site, _ any) { assert.Len(t, s.events(flowclient.EventPromoted), 3) },
	},
	"automatic promotion that a lock keeps": {
		writes: 1, // stand
		prepare: func(s *site) {
			s.scaffold(false)
			s.promoted()
			c := s.push("index.html", page("second"))
			_, err := s.Flow.SetLock(s.ctx(), flowclient.LockRequest{Origin: s.origin(), Component: s.component, Commit: c.SHA, Reason: "breaks"})
			require.NoError(s.t, err)
			s.automatic()
		},
		do: passing,
		check: func(t *testing.T, s *site, _ any) {
			assert.Len(t, s.events(flowclient.EventAutoLeftOut), 1)
			assert.Len(t, s.events(flowclient.EventPromoted), 1)
		},
	},
	"scaffold": {
		writes: 8, // begin, repository, two hooks, project, component, push, settle
		do: func(s *site, f flowclient.Flow) (any, error) {
			made, err := f.Scaffold(s.ctx(), flowclient.ScaffoldRequest{Origin: s.origin(), Template: "static", Project: s.project, Walkthrough: true})
			return made, err
		},
		check: func(t *testing.T, s *site, out any) {
			assert.Len(t, s.events(flowclient.EventScaffolded), 1)
			made, ok := out.(flowclient.Scaffolded)
			require.True(t, ok)
			s.reaches(flowclient.Staging, made.Commit.SHA)
		},
	},
	"teardown": {
		writes:  9, // begin, component, two bindings, project binding, run, release, repository, project, settle
		prepare: func(s *site) { s.scaffold(true); s.promoted() },
		do: func(s *site, f flowclient.Flow) (any, error) {
			return f.Teardown(s.ctx(), flowclient.TeardownRequest{Origin: s.origin(), Scope: "project:" + s.project})
		},
		check: func(t *testing.T, s *site, _ any) { assert.Len(t, s.events(flowclient.EventRemoved), 1) },
	},
	"commit": {
		writes:  3, // begin, push, settle
		prepare: func(s *site) { s.scaffold(false) },
		do: func(s *site, f flowclient.Flow) (any, error) {
			return f.Commit(s.ctx(), flowclient.CommitRequest{Origin: s.origin(), Project: s.project, Message: "m", Files: map[string]string{"x": "y"}})
		},
		check: func(t *testing.T, s *site, out any) {
			c, ok := out.(flowclient.Commit)
			require.True(t, ok)
			s.reaches(flowclient.Staging, c.SHA)
		},
	},
}

func promoting(s *site, f flowclient.Flow) (any, error) {
	return f.Promote(s.ctx(), flowclient.Promotion{Origin: s.origin(), Project: s.project})
}

// automatic lets the project's releases move by themselves.
func (s *site) automatic() {
	s.t.Helper()
	o, err := s.ControlPlane.Get(s.ctx(), flowclient.KindProject, s.project)
	require.NoError(s.t, err)
	o.Kind, o.Metadata.Annotations[flowclient.AnnotationPromotion] = flowclient.KindProject, "auto"
	_, err = s.ControlPlane.Update(s.ctx(), o)
	require.NoError(s.t, err)
}

// resource gives the project a backing service.
func (s *site) resource() {
	s.t.Helper()
	spec, err := json.Marshal(map[string]any{"owner": flowclient.Owner{ProjectName: s.project}, "type": flowclient.Ref{Kind: "ClusterResourceType", Name: "postgres"}})
	require.NoError(s.t, err)
	_, err = s.ControlPlane.Create(s.ctx(), flowclient.Object{Kind: flowclient.KindResource, Metadata: flowclient.Metadata{Name: "db"},
		Spec: spec, Status: json.RawMessage(`{"latestRelease":{"name":"db-1"}}`)})
	require.NoError(s.t, err)
}
