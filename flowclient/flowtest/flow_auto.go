package flowtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

func movesByItself(t *testing.T, s *site) {
	first := s.scaffold(false)
	s.automatic()
	d := s.reaches(flowclient.Production, first.Commit.SHA)
	assert.Equal(t, flowclient.Automatic, d.PromotedBy)
	second := s.push("index.html", page("second"))
	d = s.reaches(flowclient.Production, second.SHA)
	assert.NotEmpty(t, d.Displaced)

	_, err := s.rollback()
	require.NoError(t, err)
	require.Eventually(t, func() bool { return s.standing() == flowclient.StandHeld }, s.Patience, 10*time.Millisecond, "it is held")
	s.reaches(flowclient.Production, first.Commit.SHA)

	third := s.push("index.html", page("third"))
	s.reaches(flowclient.Production, third.SHA)
	require.Eventually(t, func() bool { return s.standing() == "" }, s.Patience, 10*time.Millisecond, "nothing differs")
}

// standing is how the component stands in /state, "" where nothing differs.
func (s *site) standing() string {
	s.t.Helper()
	state, err := s.Flow.State(s.ctx())
	require.NoError(s.t, err)
	for _, p := range state.Projects {
		for _, c := range p.Components {
			if c.Component == s.component {
				return c.Standing
			}
		}
	}
	return ""
}
