package server

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// annotateProject sets an annotation of a project.
func (s *started) annotateProject(project, annotation, value string) {
	s.t.Helper()
	o, err := s.rooms.plane.Get(s.t.Context(), flowclient.KindProject, project)
	require.NoError(s.t, err)
	o.Kind = flowclient.KindProject
	o.Metadata.Annotations[annotation] = value
	_, err = s.rooms.plane.Update(s.t.Context(), o)
	require.NoError(s.t, err)
}

// projectState is a project in /state.
func (s *started) projectState(project string) flowclient.ProjectState {
	s.t.Helper()
	state, err := s.Flow().State(s.t.Context())
	require.NoError(s.t, err)
	for _, p := range state.Projects {
		if p.Project == project {
			return p
		}
	}
	s.t.Fatalf("no project %s in /state", project)
	return flowclient.ProjectState{}
}

func TestAReleaseMovesToProductionByItself(t *testing.T) {
	dir := t.TempDir()
	p := start(t, config(t, dir))
	first := p.scaffold("shop")
	p.annotateProject("shop", flowclient.AnnotationSoak, "2s")
	p.annotateProject("shop", flowclient.AnnotationPromotionCheck, "http")
	p.annotateProject("shop", flowclient.AnnotationPromotion, "auto")
	d := p.deployed("shop-web", flowclient.Production, first.Commit.SHA)
	assert.Equal(t, flowclient.Automatic, d.PromotedBy)

	// Parked while the window is closed, also over a restart.
	day := time.Now().UTC().AddDate(0, 0, 3).Format("Mon")
	p.annotateProject("shop", flowclient.AnnotationProductionWindow, day+" 03:00-03:01 UTC")
	second := p.push("shop", "second", map[string]string{"index.html": repositoryFile(t, "index.html") + "<!-- second -->"})
	parked := func() bool {
		for _, c := range p.projectState("shop").Components {
			if c.Standing == flowclient.StandParked && c.ToCommit == second.SHA {
				return c.Since != nil
			}
		}
		return false
	}
	p.eventually(20*time.Second, "the second commit is parked", parked)
	p.stop()
	p = start(t, config(t, dir))
	p.eventually(20*time.Second, "it is parked after the restart", parked)
	assert.Equal(t, first.Commit.SHA, p.deployment(t, "shop-web", flowclient.Production).Commit)
	assert.Len(t, p.happened(flowclient.EventAutoParked), 1, "told once")

	p.annotateProject("shop", flowclient.AnnotationProductionWindow, "")
	d = p.deployed("shop-web", flowclient.Production, second.SHA)
	assert.NotEmpty(t, d.Displaced)

	// What is rolled back stays put.
	_, err := p.Flow().Rollback(t.Context(), flowclient.Promotion{Origin: flowclient.Origin{Key: "test:back", Who: "sre"}, Project: "shop"})
	require.NoError(t, err)
	p.eventually(20*time.Second, "the second commit is held", func() bool {
		all := p.projectState("shop").Components
		return len(all) == 1 && all[0].Standing == flowclient.StandHeld
	})
	assert.Equal(t, first.Commit.SHA, p.deployment(t, "shop-web", flowclient.Production).Commit)
	promoted := p.happened(flowclient.EventPromoted)
	require.Len(t, promoted, 2)
	var body flowclient.MoveEvent
	require.NoError(t, json.Unmarshal(promoted[1].Body, &body))
	assert.Equal(t, flowclient.Automatic, body.Origin.Who)
	assert.Empty(t, p.happened(flowclient.EventExternal))
}

// happened lists the events of a kind.
func (s *started) happened(kind string) (of []flowclient.Event) {
	s.t.Helper()
	events, err := s.rooms.store.Events(s.t.Context(), 0, 10_000)
	require.NoError(s.t, err)
	for _, e := range events {
		if e.Kind == kind {
			of = append(of, e)
		}
	}
	return of
}
