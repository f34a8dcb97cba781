package platform_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands/commandstest"
	"platform.dev/platform/flowclient"
)

func TestStateTellsWhatEachProjectWaitsFor(t *testing.T) {
	since := now.Add(-time.Hour)
	for _, c := range []struct {
		name, text, stream, kind string
		state                    flowclient.State
		says                     []string
		not                      string
	}{
		{"well, of all", "state", "", "state.well", flowclient.State{LastPass: &since, Projects: []flowclient.ProjectState{{Project: "blog"}, {Project: "shop"}}}, []string{"its last pass was 1 h ago", "blog", "shop", "Production runs everywhere"}, ""},
		{"of one", "state blog", "shop", "state.well", flowclient.State{Projects: []flowclient.ProjectState{{Project: "blog"}, {Project: "shop"}}}, []string{"blog"}, "shop"},
		{"of the stream's", "state", "shop", "state.well", flowclient.State{Projects: []flowclient.ProjectState{{Project: "blog"}, {Project: "shop", Components: []flowclient.ComponentStanding{
			{Component: "shop-web", Standing: "parked", Since: &since, ToCommit: "9f8e7d6c", Sentence: "the window is closed."}}}}}, []string{"shop-web 9f8e7d6: parked since Fri 20 Nov 17:00 UTC. the window is closed."}, "blog"},
		{"overdue", "state", "", "state.overdue", flowclient.State{Overdue: true, Health: "no pass for 5 min."}, []string{"nothing moves by itself", "no pass for 5 min.", "There is no project yet."}, ""},
		{"failing", "state", "", "state.failing", flowclient.State{PassError: "control plane: gone"}, []string{"control plane: gone"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFlow()
			f.state = c.state
			rec := ask(t, f, commandstest.Ask{Text: c.text, Project: c.stream})
			require.NoError(t, rec.Err)
			assert.Equal(t, c.kind, rec.Answer().Kind)
			for _, says := range c.says {
				assert.Contains(t, markup.Plain(rec.Answer()), says)
			}
			if c.not != "" {
				assert.NotContains(t, markup.Plain(rec.Answer()), c.not)
			}
		})
	}
}

func (f *flow) State(context.Context) (flowclient.State, error) { return f.state, f.err }

func (f *flow) EvidenceOfBuild(_ context.Context, run string) (flowclient.Evidence, error) {
	f.compared = append(f.compared, "build "+run)
	return f.known, f.err
}

func (f *flow) EvidenceOfBinding(_ context.Context, name string) (flowclient.Evidence, error) {
	f.compared = append(f.compared, "binding "+name)
	return f.known, f.err
}

func (f *flow) EvidenceOfFlow(_ context.Context, trace string) (flowclient.Evidence, error) {
	f.compared = append(f.compared, "trace "+trace)
	return f.known, f.err
}

func TestEvidenceIsAskedByKindAndName(t *testing.T) {
	f := newFlow()
	for text, kind := range map[string]string{"evidence build run-1": "evidence.build", "evidence binding shop-web-production": "evidence.binding", "evidence trace 0af7": "evidence.trace"} {
		f.compared = nil
		rec := ask(t, f, commandstest.Ask{Text: text})
		require.NoError(t, rec.Err)
		assert.Equal(t, kind, rec.Answer().Kind)
		assert.Equal(t, []string{text[len("evidence "):]}, f.compared)
		assert.Contains(t, markup.Plain(rec.Answer()), "nothing is recorded about it")
	}
	require.ErrorContains(t, ask(t, f, commandstest.Ask{Text: "evidence pod x"}).Err, "build")
	for kind, again := range map[string]flowclient.Replayed{
		"evidence.decision":  {ID: "promote-1", Same: true, Replayed: []byte(`{}`)},
		"evidence.otherwise": {ID: "promote-1", Recorded: []byte("not json"), Replayed: []byte(`{"lines": [` + strings.Repeat("1,", 99) + `1]}`)},
	} {
		f.again = again
		rec := ask(t, f, commandstest.Ask{Text: "evidence decision promote-1"})
		require.NoError(t, rec.Err)
		assert.Equal(t, kind, rec.Answer().Kind)
	}
	assert.Contains(t, markup.Plain(ask(t, f, commandstest.Ask{Text: "evidence decision promote-1"}).Answer()), "promote-1")
	f.again = flowclient.Replayed{ID: "promote-0", Sentence: "its inputs were not kept."}
	assert.Contains(t, markup.Plain(ask(t, f, commandstest.Ask{Text: "evidence decision promote-0"}).Answer()), "promote-0 cannot be decided again")
	f.err = &flowclient.NotFound{Kind: "trace", Name: "0af7"}
	require.EqualError(t, ask(t, f, commandstest.Ask{Text: "evidence trace 0af7"}).Err, `trace "0af7" does not exist`)
}

func TestOfVeryMuchAPartIsShownAndSaid(t *testing.T) {
	f := newFlow()
	for i := range 60 {
		name := fmt.Sprintf("project-%d", i)
		f.state.Projects = append(f.state.Projects, flowclient.ProjectState{Project: name, Components: []flowclient.ComponentStanding{{Component: name + "-web", Standing: "waiting"}}})
	}
	text := markup.Plain(ask(t, f, commandstest.Ask{Text: "state"}).Answer())
	assert.Contains(t, text, "There are 60 projects with 60 such components in all; @platform state <project> shows one.")
	assert.Contains(t, text, "project-49-web")
	assert.NotContains(t, text, "project-50")
	f.why.Project = "shop"
	for i := range 30 {
		c := flowclient.WhyComponent{Component: fmt.Sprintf("web-%d", i), Result: flowclient.Retry}
		for _, gate := range []string{"ready", "soak", "check"} {
			c.Gates = append(c.Gates, flowclient.Verdict{Gate: gate, Component: c.Component, Pass: true, Sentence: "fine."})
		}
		f.why.Components = append(f.why.Components, c)
	}
	text = markup.Plain(ask(t, f, commandstest.Ask{Text: "why shop"}).Answer())
	assert.Equal(t, 60, strings.Count(text, "fine."))
	assert.Contains(t, text, "And 30 more; ask about one component to see its own.")
}

func (f *flow) Replay(context.Context, string) (flowclient.Replayed, error) { return f.again, f.err }
