package server

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// What whoever runs the platform chooses is what the controller goes by.
func TestTheOperatorsSettingsReachTheController(t *testing.T) {
	cfg := config(t, t.TempDir())
	cfg.DefaultSoak, cfg.AllowSkipSoak, cfg.CapacityMargin = 1<<62, true, -1
	p := start(t, cfg)
	first := p.scaffold("shop")
	p.deployed("shop-web", flowclient.Staging, first.Commit.SHA)
	assert.Equal(t, cfg.DefaultSoak.String(), p.projectState("shop").Soak)
	out, err := p.promote("first")
	require.NoError(t, err)
	require.Len(t, out.Components, 1)
	assert.Equal(t, flowclient.Retry, out.Components[0].Result, "the soak of a project that names none")

	hurry := flowclient.Promotion{Origin: flowclient.Origin{Key: "test:hurry", Who: "developer"}, Project: "shop", SkipSoak: "the fair begins"}
	out, err = p.Flow().Promote(t.Context(), hurry)
	require.NoError(t, err)
	assert.Equal(t, flowclient.Promoted, out.Components[0].Result)
	assert.Contains(t, out.Note, "the fair begins")

	p.quota("shop", "400Mi")
	why, err := p.Flow().Why(t.Context(), "shop", "")
	require.NoError(t, err)
	assert.Equal(t, flowclient.Unchanged, why.Components[0].Result)
	second := p.push("shop", "second", map[string]string{"index.html": repositoryFile(t, "index.html") + "<!-- second -->"})
	p.deployed("shop-web", flowclient.Staging, second.SHA)
	hurry.Origin.Key = "test:hurry:again"
	out, err = p.Flow().Promote(t.Context(), hurry)
	require.NoError(t, err, "nothing is kept free besides what the set needs")
	assert.Equal(t, flowclient.Promoted, out.Components[0].Result)
}
