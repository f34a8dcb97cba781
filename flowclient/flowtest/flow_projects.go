package flowtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

func scaffoldOnce(t *testing.T, s *site) {
	request := flowclient.ScaffoldRequest{Origin: s.origin(), Template: "static", Project: s.project}
	made, err := s.Flow.Scaffold(s.ctx(), request)
	require.NoError(t, err)
	assert.Equal(t, []string{s.component}, made.Components)
	assert.Len(t, made.Commit.SHA, 40)
	assert.NotEmpty(t, made.Repository.CloneURL)
	again, err := s.Flow.Scaffold(s.ctx(), request)
	require.NoError(t, err)
	assert.Equal(t, made.Commit.SHA, again.Commit.SHA, "the same request heard twice makes one project")
	s.reaches(flowclient.Staging, made.Commit.SHA)

	request.Origin = s.origin()
	_, err = s.Flow.Scaffold(s.ctx(), request)
	assert.Contains(t, refusal(t, err, "").Sentence, s.project+" exists already")
	assert.Len(t, s.events(flowclient.EventScaffolded), 1)

	delivery, err := s.Flow.Delivery(s.ctx())
	require.NoError(t, err)
	for _, c := range delivery.Components {
		if c.Component == s.component {
			assert.Equal(t, s.project, c.Project)
			assert.Equal(t, made.Repository.CloneURL, c.Repository)
			assert.False(t, c.Walkthrough)
		}
	}
	state, err := s.Flow.State(s.ctx())
	require.NoError(t, err)
	assert.Zero(t, state.OpenIntents)
}

func refusedNames(t *testing.T, s *site) {
	s.scaffold(false)
	ask := func(template, project string) error {
		_, err := s.Flow.Scaffold(s.ctx(), flowclient.ScaffoldRequest{Origin: s.origin(), Template: template, Project: project})
		return err
	}
	assert.Contains(t, refusal(t, ask("rails", "another"), "").Sentence, "there is no template rails yet; there is: static")
	for _, project := range []string{"", "Shop", "-shop", "shop-", "9lives", "a.b", "sh op", "../etc", strings.Repeat("a", 41)} {
		var invalid *flowclient.Invalid
		require.ErrorAs(t, ask("static", project), &invalid, project)
		assert.Equal(t, "project", invalid.Field)
	}
	_, err := s.ControlPlane.Get(s.ctx(), flowclient.KindProject, "another")
	assert.True(t, flowclient.IsNotFound(err), "a refusal makes nothing")
}

func failedBuild(t *testing.T, s *site) {
	first := s.scaffold(false).Commit.SHA
	var script strings.Builder
	for i := range 60 {
		fmt.Fprintf(&script, "echo line %d of 60\n", i+1)
	}
	c, err := s.Flow.Commit(s.ctx(), flowclient.CommitRequest{Origin: s.origin(), Project: s.project, Message: "Break the tests",
		Files: map[string]string{"ci/test.sh": script.String() + "exit 1\n"}})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(s.events(flowclient.EventBuildFailed)) == 1 }, s.Patience, 10*time.Millisecond)
	var body flowclient.BuildEvent
	require.NoError(t, json.Unmarshal(s.events(flowclient.EventBuildFailed)[0].Body, &body))
	assert.Equal(t, c.SHA, body.Build.Commit)
	assert.Equal(t, "test", body.Build.FailedStage)
	assert.Equal(t, "Break the tests", body.Subject)
	assert.Equal(t, "developer", body.Author)
	require.Len(t, body.Lines, 40)
	assert.Contains(t, strings.Join(body.Lines, "\n"), "line 60 of 60")
	assert.NotContains(t, strings.Join(body.Lines, "\n"), "line 5 of 60")
	staging, _ := s.deployment(flowclient.Staging)
	assert.Equal(t, first, staging.Commit, "what fails reaches no environment")

	lines, err := s.Flow.BuildLog(s.ctx(), body.Build.Run, "test", 3)
	require.NoError(t, err)
	assert.Len(t, lines, 3)
}

func teardownLabelled(t *testing.T, s *site) {
	made := s.scaffold(true)
	s.promoted()
	s.reaches(flowclient.Production, made.Commit.SHA)
	kept := &site{World: s.World, t: t, project: s.project + "k", component: s.project + "k-web"}
	keptCommit := kept.scaffold(false).Commit.SHA

	request := flowclient.TeardownRequest{Origin: s.origin(), Scope: "project:" + kept.project}
	_, err := s.Flow.Teardown(s.ctx(), request)
	assert.Contains(t, refusal(t, err, "").Sentence, kept.project+" was not made by a walkthrough")

	request = flowclient.TeardownRequest{Origin: s.origin(), Scope: "static"}
	out, err := s.Flow.Teardown(s.ctx(), request)
	require.NoError(t, err)
	assert.Contains(t, out.Projects, s.project)
	assert.NotContains(t, out.Projects, kept.project)
	assert.Contains(t, strings.Join(out.Refused, "\n"), kept.project)
	assert.LessOrEqual(t, len(out.Refused), 1, "what is not a walkthrough's is one sentence, however much it is")
	for _, kind := range []flowclient.Kind{flowclient.KindComponent, flowclient.KindReleaseBinding, flowclient.KindProjectReleaseBinding,
		flowclient.KindComponentRelease, flowclient.KindWorkload, flowclient.KindWorkflowRun, flowclient.KindProject} {
		objects, err := s.ControlPlane.List(s.ctx(), kind, flowclient.Filter{})
		require.NoError(t, err)
		for _, o := range objects {
			assert.False(t, o.Metadata.Name == s.project || strings.HasPrefix(o.Metadata.Name, s.project+"-"), "%s %s is left", kind, o.Metadata.Name)
		}
	}
	again, err := s.Flow.Teardown(s.ctx(), request)
	require.NoError(t, err)
	assert.Equal(t, out, again)
	assert.Len(t, s.events(flowclient.EventRemoved), 1)
	kept.reaches(flowclient.Staging, keptCommit)

	made = s.scaffold(true)
	s.reaches(flowclient.Staging, made.Commit.SHA)
}

func oneWalkthrough(t *testing.T, s *site) {
	key := s.project + ":walk"
	w, err := s.Flow.BeginWalkthrough(s.ctx(), key, "static", "developer")
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprintf("static-%d", w.ID), w.Project)
	same, err := s.Flow.BeginWalkthrough(s.ctx(), key, "static", "developer")
	require.NoError(t, err)
	assert.Equal(t, w, same, "the same request heard twice is one walkthrough")

	_, err = s.Flow.BeginWalkthrough(s.ctx(), key+"2", "static", "sre")
	sentence := refusal(t, err, "").Sentence
	for _, part := range []string{w.Project, "developer", "@walkthrough stop"} {
		assert.Contains(t, sentence, part)
	}
	_, err = s.Flow.BeginWalkthrough(s.ctx(), key+"3", "rails", "sre")
	assert.Contains(t, refusal(t, err, "").Sentence, "there is no template rails yet")

	ended := w.Started.Add(time.Minute)
	w.Step, w.Ended, w.Result = "closing", &ended, "passed"
	require.NoError(t, s.Flow.UpdateWalkthrough(s.ctx(), w))
	late := w
	late.Ended, late.Step = nil, "promoting"
	require.NoError(t, s.Flow.UpdateWalkthrough(s.ctx(), late))
	runs, err := s.Flow.Walkthroughs(s.ctx())
	require.NoError(t, err)
	assert.Equal(t, w, runs[0], "a run that has ended does not begin again")

	next, err := s.Flow.BeginWalkthrough(s.ctx(), key+"4", "static", "sre")
	require.NoError(t, err)
	assert.NotEqual(t, w.Project, next.Project)
	next.Ended = &ended
	require.NoError(t, s.Flow.UpdateWalkthrough(s.ctx(), next))
}

func badInput(t *testing.T, s *site) {
	origin := s.origin()
	keyless := flowclient.Origin{Who: "developer"}
	for name, c := range map[string]struct {
		field string
		call  func() error
	}{
		"promote without an origin": {"origin.key", func() error {
			_, err := s.Flow.Promote(s.ctx(), flowclient.Promotion{Origin: keyless, Project: "shop"})
			return err
		}},
		"promote by nobody": {"origin.who", func() error {
			_, err := s.Flow.Promote(s.ctx(), flowclient.Promotion{Origin: flowclient.Origin{Key: "k"}, Project: "shop"})
			return err
		}},
		"promote with a far too long key": {"origin.key", func() error {
			_, err := s.Flow.Promote(s.ctx(), flowclient.Promotion{Origin: flowclient.Origin{Key: strings.Repeat("k", 301), Who: "x"}, Project: "shop"})
			return err
		}},
		"rollback of nothing": {"project", func() error {
			_, err := s.Flow.Rollback(s.ctx(), flowclient.Promotion{Origin: origin})
			return err
		}},
		"promote a component that is no name": {"component", func() error {
			_, err := s.Flow.Promote(s.ctx(), flowclient.Promotion{Origin: origin, Project: "shop", Component: "Shop_Web"})
			return err
		}},
		"lock a branch": {"commit", func() error {
			_, err := s.Flow.SetLock(s.ctx(), flowclient.LockRequest{Origin: origin, Component: "shop-web", Commit: "main", Reason: "r"})
			return err
		}},
		"lock without a reason": {"reason", func() error {
			_, err := s.Flow.SetLock(s.ctx(), flowclient.LockRequest{Origin: origin, Component: "shop-web", Commit: "abcd"})
			return err
		}},
		"lock with a novel for a reason": {"reason", func() error {
			_, err := s.Flow.SetLock(s.ctx(), flowclient.LockRequest{Origin: origin, Component: "shop-web", Commit: "abcd", Reason: strings.Repeat("x", 2000)})
			return err
		}},
		"clear without a commit": {"commit", func() error {
			_, err := s.Flow.ClearLock(s.ctx(), flowclient.LockRequest{Origin: origin, Component: "shop-web"})
			return err
		}},
		"commit outside the repository": {"files", func() error {
			_, err := s.Flow.Commit(s.ctx(), flowclient.CommitRequest{Origin: origin, Project: "shop", Message: "m", Files: map[string]string{"../x": ""}})
			return err
		}},
		"commit into git's own directory": {"files", func() error {
			_, err := s.Flow.Commit(s.ctx(), flowclient.CommitRequest{Origin: origin, Project: "shop", Message: "m", Files: map[string]string{".git/config": ""}})
			return err
		}},
		"commit without a message": {"message", func() error {
			_, err := s.Flow.Commit(s.ctx(), flowclient.CommitRequest{Origin: origin, Project: "shop", Files: map[string]string{"x": ""}})
			return err
		}},
		"commit of nothing": {"files", func() error {
			_, err := s.Flow.Commit(s.ctx(), flowclient.CommitRequest{Origin: origin, Project: "shop", Message: "m"})
			return err
		}},
		"commit to an option": {"branch", func() error {
			_, err := s.Flow.Commit(s.ctx(), flowclient.CommitRequest{Origin: origin, Project: "shop", Message: "m", Branch: "--force", Files: map[string]string{"x": ""}})
			return err
		}},
		"teardown of an unknown scope": {"scope", func() error {
			_, err := s.Flow.Teardown(s.ctx(), flowclient.TeardownRequest{Origin: origin, Scope: "everything"})
			return err
		}},
		"window of no name": {"project", func() error { _, err := s.Flow.Window(s.ctx(), ""); return err }},
		"log of -1 lines":   {"last", func() error { _, err := s.Flow.BuildLog(s.ctx(), "run", "", -1); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			var invalid *flowclient.Invalid
			require.ErrorAs(t, c.call(), &invalid)
			assert.Equal(t, c.field, invalid.Field)
			assert.NotEmpty(t, invalid.Why)
		})
	}
	state, err := s.Flow.State(s.ctx())
	require.NoError(t, err)
	assert.Zero(t, state.OpenIntents)
}

func unknownNames(t *testing.T, s *site) {
	s.scaffold(false)
	for name, call := range map[string]func() error{
		"project": func() error {
			_, err := s.Flow.Promote(s.ctx(), flowclient.Promotion{Origin: s.origin(), Project: "nowhere"})
			return err
		},
		"component": func() error {
			_, err := s.Flow.Promote(s.ctx(), flowclient.Promotion{Origin: s.origin(), Project: s.project, Component: "nothing"})
			return err
		},
		"commit": func() error {
			_, err := s.Flow.SetLock(s.ctx(), flowclient.LockRequest{Origin: s.origin(), Component: s.component, Commit: "0123456", Reason: "r"})
			return err
		},
		"component of a lock": func() error {
			_, err := s.Flow.SetLock(s.ctx(), flowclient.LockRequest{Origin: s.origin(), Component: "nothing", Commit: "0123456", Reason: "r"})
			return err
		},
		"build":  func() error { _, err := s.Flow.Build(s.ctx(), "no-run"); return err },
		"window": func() error { _, err := s.Flow.Window(s.ctx(), "nowhere"); return err },
		"teardown": func() error {
			_, err := s.Flow.Teardown(s.ctx(), flowclient.TeardownRequest{Origin: s.origin(), Scope: "project:nowhere"})
			return err
		},
		"commit target": func() error {
			_, err := s.Flow.Commit(s.ctx(), flowclient.CommitRequest{Origin: s.origin(), Project: "nowhere", Message: "m", Files: map[string]string{"x": ""}})
			return err
		},
	} {
		err := call()
		assert.True(t, flowclient.IsNotFound(err), "%s: %v", name, err)
	}
	state, err := s.Flow.State(s.ctx())
	require.NoError(t, err)
	assert.Zero(t, state.OpenIntents)
}
