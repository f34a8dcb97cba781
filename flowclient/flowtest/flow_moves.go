package flowtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

func pushReachesStaging(t *testing.T, s *site) {
	first := s.scaffold(false).Commit.SHA
	s.promoted()
	s.reaches(flowclient.Production, first)
	second := s.push("index.html", page("second"))
	production, _ := s.deployment(flowclient.Production)
	assert.Equal(t, first, production.Commit, "production follows a promotion, never a push")
	staging, _ := s.deployment(flowclient.Staging)
	assert.Equal(t, second.SHA, staging.Commit)
	assert.NotEmpty(t, staging.Build, "what built it")
	assert.NotEmpty(t, staging.URL)
	build, err := s.Flow.Build(s.ctx(), staging.Build)
	require.NoError(t, err)
	assert.Equal(t, flowclient.BuildSucceeded, build.Phase)
	assert.Equal(t, s.component, build.Component)
	require.Eventually(t, func() bool { return len(s.events(flowclient.EventBuildPassed)) == 2 }, s.Patience, 10*time.Millisecond)
	assert.Len(t, s.events(flowclient.EventBuildStarted), 2)
}

func promoteMoves(t *testing.T, s *site) {
	first := s.scaffold(false).Commit.SHA
	request := flowclient.Promotion{Origin: s.origin(), Project: s.project}
	out, err := s.Flow.Promote(s.ctx(), request)
	require.NoError(t, err)
	require.Len(t, out.Components, 1)
	one := out.Components[0]
	assert.Equal(t, flowclient.Promoted, one.Result)
	assert.Equal(t, first, one.ToCommit)
	assert.Empty(t, one.From, "production ran nothing before")
	assert.True(t, out.Complete())

	production := s.reaches(flowclient.Production, first)
	assert.Equal(t, "developer", production.PromotedBy)
	assert.Empty(t, production.Displaced)
	_, err = s.ControlPlane.Get(s.ctx(), flowclient.KindProjectReleaseBinding, s.project+"-"+flowclient.Production)
	require.NoError(t, err, "without its project binding nothing applies in production")

	again, err := s.Flow.Promote(s.ctx(), request)
	require.NoError(t, err)
	assert.Equal(t, out, again, "the same request heard twice has the outcome recorded for it")

	out, err = s.promote()
	require.NoError(t, err)
	assert.Equal(t, flowclient.Unchanged, out.Components[0].Result)

	second := s.push("index.html", page("second")).SHA
	one = s.promoted()
	assert.Equal(t, first, one.FromCommit)
	assert.Equal(t, second, one.ToCommit)
	assert.Equal(t, s.reaches(flowclient.Production, second).Displaced, one.From)

	again, err = s.Flow.Promote(s.ctx(), request)
	require.NoError(t, err)
	assert.Equal(t, first, again.Components[0].ToCommit, "a request heard again late does not move what came after it")
	assert.Len(t, s.events(flowclient.EventPromoted), 2)
}

func dryRun(t *testing.T, s *site) {
	s.scaffold(false)
	s.promoted()
	second := s.push("index.html", page("second")).SHA
	binding := s.component + "-" + flowclient.Production
	before, err := s.ControlPlane.Get(s.ctx(), flowclient.KindReleaseBinding, binding)
	require.NoError(t, err)
	told, err := s.Flow.Promote(s.ctx(), flowclient.Promotion{Origin: s.origin(), Project: s.project, DryRun: true})
	require.NoError(t, err)
	after, err := s.ControlPlane.Get(s.ctx(), flowclient.KindReleaseBinding, binding)
	require.NoError(t, err)
	assert.Equal(t, before.Spec, after.Spec)
	assert.Equal(t, before.Metadata, after.Metadata)

	done, err := s.promote()
	require.NoError(t, err)
	assert.Equal(t, done, told, "a dry run is the real outcome when nothing changed")

	s.reaches(flowclient.Production, second)
	told, err = s.Flow.Rollback(s.ctx(), flowclient.Promotion{Origin: s.origin(), Project: s.project, DryRun: true})
	require.NoError(t, err)
	done, err = s.rollback()
	require.NoError(t, err)
	assert.Equal(t, done, told)
}

func concurrentPromotes(t *testing.T, s *site) {
	first := s.scaffold(false).Commit.SHA
	s.promoted()
	s.reaches(flowclient.Production, first)
	second := s.push("index.html", page("second")).SHA
	origins := []flowclient.Origin{s.origin(), s.origin()}
	moved := make([]bool, 8)
	for _, err := range together(len(moved), func(i int) error {
		out, err := s.Flow.Promote(s.ctx(), flowclient.Promotion{Origin: origins[i%2], Project: s.project})
		moved[i] = err == nil && out.Components[0].Result == flowclient.Promoted
		return err
	}) {
		require.NoError(t, err)
	}
	assert.Contains(t, moved, true)
	assert.Len(t, s.events(flowclient.EventPromoted), 2, "the first promotion and one more")
	production := s.reaches(flowclient.Production, second)
	displaced, err := s.ControlPlane.Get(s.ctx(), flowclient.KindComponentRelease, production.Displaced)
	require.NoError(t, err)
	assert.Equal(t, first, displaced.Metadata.Labels[flowclient.LabelCommit], "what was displaced first is not lost")
}

func rollbackOnce(t *testing.T, s *site) {
	first := s.scaffold(false).Commit.SHA
	_, err := s.rollback()
	assert.Contains(t, refusal(t, err, "").Sentence, "nothing recorded")
	s.promoted()
	_, err = s.rollback()
	assert.Contains(t, refusal(t, err, "").Sentence, "nothing recorded", "the first promotion displaced nothing")
	before := s.reaches(flowclient.Production, first)

	second := s.push("index.html", page("second")).SHA
	s.promoted()
	s.reaches(flowclient.Production, second)
	request := flowclient.Promotion{Origin: s.origin(), Project: s.project, Component: s.component}
	out, err := s.Flow.Rollback(s.ctx(), request)
	require.NoError(t, err)
	require.Len(t, out.Components, 1)
	assert.Equal(t, flowclient.RolledBack, out.Components[0].Result)
	after := s.reaches(flowclient.Production, first)
	assert.Equal(t, before.Release, after.Release, "promote, then roll back, restores the exact release")
	assert.Empty(t, after.Displaced, "a rollback consumes the record")

	again, err := s.Flow.Rollback(s.ctx(), request)
	require.NoError(t, err)
	assert.Equal(t, out, again, "the same request heard twice has the outcome recorded for it")
	_, err = s.rollback()
	assert.Contains(t, refusal(t, err, "").Sentence, "nothing recorded")
	assert.Len(t, s.events(flowclient.EventRolledBack), 1)
}

func lockRefuses(t *testing.T, s *site) {
	first := s.scaffold(false).Commit.SHA
	s.promoted()
	s.reaches(flowclient.Production, first)
	second := s.push("index.html", page("second")).SHA
	request := flowclient.LockRequest{Origin: s.origin(), Component: s.component, Commit: second[:8], Environment: flowclient.Production, Reason: "breaks the cart"}
	lock, err := s.Flow.SetLock(s.ctx(), request)
	require.NoError(t, err)
	assert.Equal(t, second, lock.Commit, "a short commit is resolved in the repository")
	staging, _ := s.deployment(flowclient.Staging)
	assert.Equal(t, []string{staging.Release}, lock.Releases)
	again := request
	again.Origin, again.Reason = s.origin(), "another"
	same, err := s.Flow.SetLock(s.ctx(), again)
	require.NoError(t, err)
	assert.Equal(t, lock, same, "set twice is one lock")

	held, err := s.Flow.Locks(s.ctx())
	require.NoError(t, err)
	assert.Contains(t, held, lock)

	_, err = s.promote()
	r := refusal(t, err, "lock")
	for _, part := range []string{"breaks the cart", "developer", second[:7], s.component} {
		assert.Contains(t, r.Sentence, part)
	}
	assert.NotEmpty(t, r.Gates)
	s.reaches(flowclient.Production, first)

	request.Origin, request.Environment = s.origin(), ""
	cleared, err := s.Flow.ClearLock(s.ctx(), request)
	require.NoError(t, err)
	assert.Equal(t, []flowclient.Lock{lock}, cleared, "without an environment every entry of the pair")
	twice, err := s.Flow.ClearLock(s.ctx(), request)
	require.NoError(t, err)
	assert.Equal(t, cleared, twice, "the same request heard twice has one effect")
	request.Origin = s.origin()
	_, err = s.Flow.ClearLock(s.ctx(), request)
	assert.True(t, flowclient.IsNotFound(err), "%v", err)

	s.promoted()
	s.reaches(flowclient.Production, second)
	_, err = s.Flow.SetLock(s.ctx(), flowclient.LockRequest{Origin: s.origin(), Component: s.component, Commit: first, Reason: "old"})
	require.NoError(t, err)
	_, err = s.rollback()
	assert.Contains(t, refusal(t, err, "lock").Sentence, "old")
	assert.Len(t, s.events(flowclient.EventLockSet), 2)
	assert.Len(t, s.events(flowclient.EventLockCleared), 1)
}

func lockTrapsNothing(t *testing.T, s *site) {
	first := s.scaffold(false).Commit.SHA
	s.promoted()
	s.reaches(flowclient.Production, first)
	second := s.push("index.html", page("second")).SHA
	request := flowclient.LockRequest{Origin: s.origin(), Component: s.component, Commit: second, Environment: flowclient.Staging, Reason: "bad"}
	lock, err := s.Flow.SetLock(s.ctx(), request)
	require.NoError(t, err)
	assert.Contains(t, lock.Note, "nothing in staging is held back by it", "staging takes what is built")
	s.promoted()
	s.reaches(flowclient.Production, second)
	request.Origin, request.Environment = s.origin(), ""
	lock, err = s.Flow.SetLock(s.ctx(), request)
	require.NoError(t, err)
	assert.Contains(t, lock.Note, "production runs "+second[:7]+" already", "a lock that comes too late says so")
	again, err := s.Flow.SetLock(s.ctx(), request)
	require.NoError(t, err)
	assert.Equal(t, lock, again)
	_, err = s.rollback()
	require.NoError(t, err, "the lock is on what production leaves")
	s.reaches(flowclient.Production, first)
}

func windowRefuses(t *testing.T, s *site) {
	first := s.scaffold(false).Commit.SHA
	s.promoted()
	s.reaches(flowclient.Production, first)
	s.push("index.html", page("second"))
	day := time.Now().UTC().AddDate(0, 0, 3).Format("Mon")
	s.annotate(flowclient.AnnotationProductionWindow, day+" 09:00-17:00 UTC")
	_, err := s.promote()
	r := refusal(t, err, "window")
	assert.Contains(t, r.Sentence, "Closed now; opens "+day)
	w, err := s.Flow.Window(s.ctx(), s.project)
	require.NoError(t, err)
	assert.False(t, w.Open)
	assert.Contains(t, w.Sentence, "Closed now; opens "+day)

	s.annotate(flowclient.AnnotationProductionWindow, day+" 09:00-17:00 Europe/Londn")
	_, err = s.promote()
	assert.Contains(t, refusal(t, err, "window").Sentence, day+" 09:00-17:00 Europe/Londn", "what cannot be read is quoted and refuses")
	s.reaches(flowclient.Production, first)

	s.annotate(flowclient.AnnotationProductionWindow, "Mon-Sun 00:00-24:00 UTC")
	s.promoted()
}

func reactivates(t *testing.T, s *site) {
	first := s.scaffold(false).Commit.SHA
	s.promoted()
	before := s.reaches(flowclient.Production, first)
	s.setState("Undeploy")
	require.Eventually(t, func() bool { d, _ := s.deployment(flowclient.Production); return !d.Ready }, s.Patience, 10*time.Millisecond)
	one := s.promoted()
	assert.Contains(t, one.Sentence, "was out of service")
	after := s.reaches(flowclient.Production, first)
	assert.Equal(t, before.Release, after.Release)
	assert.Equal(t, "Active", after.State)
	assert.Empty(t, after.Displaced, "a release does not displace itself")
}

// page is a page that the template's own tests accept.
func page(heading string) string {
	return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="commit" content="@COMMIT@"><title>` + heading + `</title></head>
<body><h1>` + heading + `</h1><p id="commit">@SHORT_COMMIT@</p></body>
</html>
`
}
