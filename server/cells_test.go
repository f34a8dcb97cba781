package server

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// quota gives a project's cells this memory, and waits until production's has it.
func (s *started) quota(project, memory string) {
	s.t.Helper()
	o, err := s.rooms.plane.Get(s.t.Context(), flowclient.KindProject, project)
	require.NoError(s.t, err)
	spec := map[string]any{}
	require.NoError(s.t, json.Unmarshal(o.Spec, &spec))
	spec["parameters"] = map[string]any{"quota": map[string]any{"memory": memory}}
	o.Kind = flowclient.KindProject
	o.Spec, err = json.Marshal(spec)
	require.NoError(s.t, err)
	_, err = s.rooms.plane.Update(s.t.Context(), o)
	require.NoError(s.t, err)
	want, err := flowclient.ParseQuantity(flowclient.Memory, memory)
	require.NoError(s.t, err)
	s.eventually(10*time.Second, "the quota of "+project+" in production", func() bool {
		q, found, err := s.rooms.cells.Quota(s.t.Context(), s.cellOf(project))
		require.NoError(s.t, err)
		return found && q.Hard[flowclient.Memory] == want
	})
}

// cellOf is the namespace of a project's cell in production.
func (s *started) cellOf(project string) string {
	s.t.Helper()
	o, err := s.rooms.plane.Get(s.t.Context(), flowclient.KindProjectReleaseBinding, project+"-production")
	require.NoError(s.t, err)
	var status struct{ Namespace string }
	require.NoError(s.t, o.Decode(nil, &status))
	require.NotEmpty(s.t, status.Namespace)
	return status.Namespace
}

// promote promotes shop under a key of its own.
func (s *started) promote(key string) (flowclient.Outcome, error) {
	return s.Flow().Promote(s.t.Context(), flowclient.Promotion{Origin: flowclient.Origin{Key: "test:promote:" + key, Who: "developer"}, Project: "shop"})
}

func TestAPromotionThatTheCellHasNoRoomForIsRefused(t *testing.T) {
	dir := t.TempDir()
	p := start(t, config(t, dir))
	first := p.scaffold("shop")
	_, err := p.promote("first")
	require.NoError(t, err)
	before := p.deployed("shop-web", flowclient.Production, first.Commit.SHA)
	p.quota("shop", "400Mi")
	second := p.push("shop", "second", map[string]string{"index.html": repositoryFile(t, "index.html") + "<!-- second -->"})

	_, err = p.promote("second")
	var refusal *flowclient.Refusal
	require.ErrorAs(t, err, &refusal)
	assert.Equal(t, "capacity", refusal.Gate)
	assert.Equal(t, "shop in production has no room for shop-web: memory needs 64Mi + 307Mi margin; 64Mi of 400Mi used; short by 35Mi. Free something there, raise the quota, or force.", refusal.Sentence)
	after := p.deployment(t, "shop-web", flowclient.Production)
	assert.Equal(t, before.Release, after.Release, "nothing moved")

	// The refusal outlives a restart, as what runs does.
	p.stop()
	p = start(t, config(t, dir))
	_, err = p.promote("again")
	require.ErrorAs(t, err, &refusal)
	assert.Contains(t, refusal.Sentence, "64Mi of 400Mi used; short by 35Mi")

	p.quota("shop", "435Mi")
	_, err = p.promote("with room")
	require.NoError(t, err)
	p.deployed("shop-web", flowclient.Production, second.SHA)

	p.quota("shop", "1Mi")
	// A rollback returns to what ran already: it is not asked.
	_, err = p.Flow().Rollback(t.Context(), flowclient.Promotion{Origin: flowclient.Origin{Key: "test:back", Who: "developer"}, Project: "shop"})
	require.NoError(t, err)
}

func TestACellThatCannotBeReadNamesTheDataPlane(t *testing.T) {
	dir := t.TempDir()
	p := start(t, config(t, dir))
	p.scaffold("shop")
	_, err := p.promote("first")
	require.NoError(t, err)
	p.push("shop", "second", map[string]string{"index.html": repositoryFile(t, "index.html") + "<!-- second -->"})
	p.stop()

	cfg := config(t, dir)
	cfg.Kubernetes.URL = "http://127.0.0.1:9" // the discard port: nobody answers
	p = start(t, cfg)
	_, err = p.promote("second")
	var upstream *flowclient.Upstream
	require.ErrorAs(t, err, &upstream)
	assert.Equal(t, "data plane", upstream.Part)
	assert.True(t, strings.Contains(err.Error(), "shop in production"), err)
}
