package server

import (
	"testing"
	"time"

	sdk "code.gitea.io/sdk/gitea"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// A push is all that a person does: the second hook applies what the
// repository's manifests say, and the commit shows what became of them.
func TestAPushAppliesTheManifestsOfItsRepository(t *testing.T) {
	p := start(t, config(t, t.TempDir()))
	p.scaffold("shop")
	c := p.push("shop", "manifests", map[string]string{
		"openchoreo/project.yaml": "kind: Project\nmetadata:\n  name: shop\n  annotations:\n    " + flowclient.AnnotationSoak + ": 7m\n",
		"openchoreo/secret.yaml":  "kind: Secret\nmetadata:\n  name: db\n",
	})
	p.eventually(time.Minute, "the soak of the manifest", func() bool {
		project, err := p.rooms.plane.Get(t.Context(), flowclient.KindProject, "shop")
		require.NoError(t, err)
		return project.Metadata.Annotations[flowclient.AnnotationSoak] == "7m"
	})
	var shown sdk.Status
	p.eventually(time.Minute, "a status of the commit", func() bool {
		api, owner, name, err := gitPeople{p}.at(t.Context(), "platform/shop")
		require.NoError(t, err)
		statuses, _, err := api.ListStatuses(owner, name, c.SHA, sdk.ListStatusesOption{})
		require.NoError(t, err)
		for _, s := range statuses {
			if s.Context == "platform/manifests" {
				shown = *s
			}
		}
		return shown.Context != ""
	})
	assert.Equal(t, sdk.StatusFailure, shown.State, "one was refused")
	for _, part := range []string{"0 created", "1 updated", "0 skipped"} {
		assert.Contains(t, shown.Description, part)
	}
	state, err := p.Flow().State(t.Context())
	require.NoError(t, err)
	for _, s := range state.Projects {
		assert.Equal(t, "7m", s.Soak, s.Project)
	}
}

// Whoever was killed after it had set a status sets it again.
func TestAStatusThatIsSaidAgainStandsOnce(t *testing.T) {
	p := start(t, config(t, t.TempDir()))
	made := p.scaffold("shop")
	say := func(state, description string) {
		require.NoError(t, p.rooms.repos.SetStatus(t.Context(), "platform/shop", made.Commit.SHA,
			flowclient.CommitStatus{Context: "test/again", State: state, Description: description}))
	}
	api, owner, name, err := gitPeople{p}.at(t.Context(), "platform/shop")
	require.NoError(t, err)
	count := func() (n int, newest string) {
		statuses, _, err := api.ListStatuses(owner, name, made.Commit.SHA, sdk.ListStatusesOption{})
		require.NoError(t, err)
		for _, s := range statuses {
			if s.Context == "test/again" {
				if n++; n == 1 {
					newest = string(s.State) + " " + s.Description
				}
			}
		}
		return n, newest
	}
	for i, step := range []struct {
		state, description string
		count              int
	}{
		{"success", "1 created", 1}, {"success", "1 created", 1}, {"success", "2 created", 2},
		{"failure", "2 created", 3}, {"failure", "2 created", 3}, {"success", "1 created", 4},
	} {
		say(step.state, step.description)
		n, newest := count()
		assert.Equal(t, step.count, n, "step %d", i)
		assert.Equal(t, step.state+" "+step.description, newest, "step %d", i)
	}
}
