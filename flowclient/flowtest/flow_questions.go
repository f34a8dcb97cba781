package flowtest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

func (s *site) why() flowclient.WhyComponent {
	s.t.Helper()
	all, err := s.Flow.Why(s.ctx(), s.project, "")
	require.NoError(s.t, err)
	one, err := s.Flow.Why(s.ctx(), s.project, s.component)
	require.NoError(s.t, err)
	require.Len(s.t, all.Components, 1)
	require.Len(s.t, one.Components, 1)
	assert.Equal(s.t, s.project, all.Project)
	assert.Equal(s.t, s.component, all.Components[0].Component)
	assert.Equal(s.t, all.Components[0].Result, one.Components[0].Result)
	assert.NotEmpty(s.t, all.Sentence)
	return all.Components[0]
}

func whyAgrees(t *testing.T, s *site) {
	first := s.scaffold(false).Commit.SHA
	w := s.why()
	assert.Equal(t, flowclient.Promoted, w.Result)
	assert.Equal(t, first, w.ToCommit)
	assert.Len(t, w.Gates, 9, "every gate, the automatic pass's own included")
	require.NotNil(t, w.Earliest)
	assert.WithinDuration(t, time.Now(), *w.Earliest, time.Hour, "it could move now")
	s.promoted()
	s.reaches(flowclient.Production, first)
	assert.Equal(t, flowclient.Unchanged, s.why().Result)

	second := s.push("index.html", page("second")).SHA
	lock := flowclient.LockRequest{Origin: s.origin(), Component: s.component, Commit: second, Reason: "breaks the cart"}
	_, err := s.Flow.SetLock(s.ctx(), lock)
	require.NoError(t, err)
	_, err = s.promote()
	refused := refusal(t, err, "lock")
	w = s.why()
	assert.Equal(t, flowclient.Refused, w.Result)
	assert.Equal(t, refused.Sentence, w.Sentence, "why and promote agree")
	assert.Nil(t, w.Earliest, "no time lifts a lock")
	lock.Origin = s.origin()
	_, err = s.Flow.ClearLock(s.ctx(), lock)
	require.NoError(t, err)

	day := time.Now().UTC().AddDate(0, 0, 3).Format("Mon")
	s.annotate(flowclient.AnnotationProductionWindow, day+" 09:00-17:00 UTC")
	w = s.why()
	window, err := s.Flow.Window(s.ctx(), s.project)
	require.NoError(t, err)
	assert.Equal(t, flowclient.Refused, w.Result)
	require.NotNil(t, w.Earliest)
	assert.True(t, window.Flips.Equal(*w.Earliest), "it could move when the window opens")

	for _, project := range []string{"nowhere", "No Name"} {
		_, err = s.Flow.Why(s.ctx(), project, "")
		assert.Error(t, err)
	}
	_, err = s.Flow.Why(s.ctx(), s.project, "nothing")
	assert.True(t, flowclient.IsNotFound(err), "%v", err)
}

func (s *site) undo(key string) (flowclient.Outcome, error) {
	return s.Flow.Undo(s.ctx(), s.undoing(key))
}

// undoing asks for an undo under a key, "" for a new one.
func (s *site) undoing(key string) flowclient.UndoRequest {
	o := s.origin()
	if key != "" {
		o.Key = key
	}
	return flowclient.UndoRequest{Origin: o, Project: s.project}
}

// planned is what an undo would come to, which writes nothing.
func (s *site) planned(key string) (flowclient.Outcome, error) {
	s.t.Helper()
	dry := s.undoing(key)
	dry.DryRun = true
	binding := s.component + "-" + flowclient.Production
	before, err := s.ControlPlane.Get(s.ctx(), flowclient.KindReleaseBinding, binding)
	if flowclient.IsNotFound(err) {
		return s.Flow.Undo(s.ctx(), dry)
	}
	require.NoError(s.t, err)
	out, told := s.Flow.Undo(s.ctx(), dry)
	after, err := s.ControlPlane.Get(s.ctx(), flowclient.KindReleaseBinding, binding)
	require.NoError(s.t, err)
	assert.Equal(s.t, before.Spec, after.Spec)
	assert.Equal(s.t, before.Metadata, after.Metadata)
	return out, told
}

func undoTells(t *testing.T, s *site) {
	first := s.scaffold(false).Commit.SHA
	_, err := s.planned("")
	assert.Contains(t, refusal(t, err, "").Sentence, "there is nothing to undo")
	s.promoted()
	s.reaches(flowclient.Production, first)
	second := s.push("index.html", page("second")).SHA
	asked := s.origin()
	asked.Link = "http://chat/31"
	_, err = s.Flow.Promote(s.ctx(), flowclient.Promotion{Origin: asked, Project: s.project})
	require.NoError(t, err)
	s.reaches(flowclient.Production, second)
	_, err = s.planned("elsewhere:1")
	assert.Contains(t, refusal(t, err, "").Sentence, "and not asked for through elsewhere")

	told, err := s.planned("")
	require.NoError(t, err)
	require.Len(t, told.Components, 1)
	assert.Equal(t, first, told.Components[0].ToCommit)
	assert.Equal(t, second, told.Components[0].FromCommit)
	assert.NotEmpty(t, told.Components[0].Gates)
	require.NotNil(t, told.Undoes)
	assert.Equal(t, asked.Who, told.Undoes.Who)
	assert.Equal(t, asked.Link, told.Undoes.Link)
	assert.NotZero(t, told.Undoes.At)
	decision, err := s.Flow.Replay(s.ctx(), told.Undoes.Intent)
	require.NoError(t, err, "it is found by its id")
	assert.Equal(t, "promote", decision.Kind)

	other := s.undoing("")
	other.Intent = "another"
	_, err = s.Flow.Undo(s.ctx(), other)
	assert.Contains(t, refusal(t, err, "").Sentence, "is not the one that was to be taken back; nothing was undone.")
	other.Intent = told.Undoes.Intent
	done, err := s.Flow.Undo(s.ctx(), other)
	require.NoError(t, err)
	assert.Equal(t, told, done, "a dry run is the real outcome when nothing changed")
	again, err := s.Flow.Undo(s.ctx(), other)
	require.NoError(t, err)
	assert.Equal(t, done, again, "the same request heard twice has the outcome recorded for it")
	other.Intent = ""
	_, err = s.Flow.Undo(s.ctx(), other)
	var invalid *flowclient.Invalid
	require.ErrorAs(t, err, &invalid, "its key was used for another")
	assert.Len(t, s.events(flowclient.EventRolledBack), 1)
	_, err = s.planned("")
	assert.Contains(t, refusal(t, err, "").Sentence, s.component+" was rolled back by developer on ")
}

func undoTakesBack(t *testing.T, s *site) {
	first := s.scaffold(false).Commit.SHA
	_, err := s.undo("")
	assert.Contains(t, refusal(t, err, "").Sentence, "there is nothing to undo")
	s.promoted()
	s.reaches(flowclient.Production, first)
	_, err = s.undo("")
	assert.Contains(t, refusal(t, err, "").Sentence, "displaced nothing")

	second := s.push("index.html", page("second")).SHA
	s.promoted()
	s.reaches(flowclient.Production, second)
	_, err = s.undo("elsewhere:1")
	assert.Contains(t, refusal(t, err, "").Sentence, "and not asked for through elsewhere", "another door's promotion is not taken back")
	_, err = s.promote()
	require.NoError(t, err, "what finds everything done is no move")
	lock := flowclient.LockRequest{Origin: s.origin(), Component: s.component, Commit: first, Reason: "too old"}
	_, err = s.Flow.SetLock(s.ctx(), lock)
	require.NoError(t, err)
	_, err = s.undo("")
	assert.Contains(t, refusal(t, err, "lock").Sentence, "too old", "locks bind as for a rollback")
	lock.Origin = s.origin()
	_, err = s.Flow.ClearLock(s.ctx(), lock)
	require.NoError(t, err)

	key := s.project + ":undo"
	out, err := s.undo(key)
	require.NoError(t, err)
	require.Len(t, out.Components, 1)
	assert.Equal(t, flowclient.RolledBack, out.Components[0].Result)
	assert.Equal(t, first, out.Components[0].ToCommit)
	s.reaches(flowclient.Production, first)
	again, err := s.undo(key)
	require.NoError(t, err)
	assert.Equal(t, out, again, "the same request heard twice has the outcome recorded for it")
	_, err = s.undo("")
	assert.Contains(t, refusal(t, err, "").Sentence, s.component+" was rolled back by developer on ")
	assert.Len(t, s.events(flowclient.EventRolledBack), 1)

	s.promoted()
	production := s.reaches(flowclient.Production, second)
	s.pinByHand(production.Displaced)
	_, err = s.undo("")
	says := refusal(t, err, "").Sentence
	assert.Contains(t, says, s.component+" runs "+first[:7]+" in production now and not "+second[:7])
	assert.Contains(t, says, "by hand; nothing was undone.")
}

// pinByHand repoints production past the controller.
func (s *site) pinByHand(release string) {
	s.t.Helper()
	s.bindByHand("releaseName", release)
}

// assertRefused is refusal where its sentence says nothing new.
func assertRefused(t *testing.T, err error, gate string) {
	t.Helper()
	assert.NotEmpty(t, refusal(t, err, gate).Sentence)
}

func unlockingTells(t *testing.T, s *site) {
	s.scaffold(false)
	s.promoted()
	second := s.push("index.html", page("second")).SHA
	request := flowclient.LockRequest{Origin: s.origin(), Component: s.component, Commit: second[:8], Reason: "bad"}
	_, err := s.Flow.Unlocking(s.ctx(), request)
	assert.True(t, flowclient.IsNotFound(err), "%v", err)
	lock, err := s.Flow.SetLock(s.ctx(), request)
	require.NoError(t, err)
	u, err := s.Flow.Unlocking(s.ctx(), request)
	require.NoError(t, err)
	lock.Note = ""
	assert.Equal(t, []flowclient.Lock{lock}, u.Locks)
	require.Len(t, u.Moves, 1)
	assert.Equal(t, flowclient.Promoted, u.Moves[0].Result)
	assert.Equal(t, second, u.Moves[0].ToCommit)
	assert.Contains(t, u.Sentence, "Without it, a promotion would move "+s.component+" to "+second[:7]+" now.")
	held, err := s.Flow.Locks(s.ctx())
	require.NoError(t, err)
	assert.Contains(t, held, lock, "nothing was cleared")
	_, err = s.promote()
	assertRefused(t, err, "lock")
	request.Environment = flowclient.Staging
	_, err = s.Flow.Unlocking(s.ctx(), request)
	assert.True(t, flowclient.IsNotFound(err), "%v", err)
}

func decisionsReplay(t *testing.T, s *site) {
	first := s.scaffold(false).Commit.SHA
	s.promoted()
	s.reaches(flowclient.Production, first)
	second := s.push("index.html", page("second")).SHA
	lock := flowclient.LockRequest{Origin: s.origin(), Component: s.component, Commit: second, Reason: "bad"}
	_, err := s.Flow.SetLock(s.ctx(), lock)
	require.NoError(t, err)
	_, err = s.promote()
	assertRefused(t, err, "lock")
	lock.Origin = s.origin()
	_, err = s.Flow.ClearLock(s.ctx(), lock)
	require.NoError(t, err)
	s.promoted()
	s.reaches(flowclient.Production, second)
	_, err = s.undo("")
	require.NoError(t, err)

	e, err := s.Flow.EvidenceOfBinding(s.ctx(), s.component+"-"+flowclient.Production)
	require.NoError(t, err)
	moves := 0
	for _, in := range e.Intents {
		if in.Kind != "promote" && in.Kind != "rollback" {
			assert.Nil(t, in.Replayed, "no rule decides a %s", in.Kind)
			_, err := s.Flow.Replay(s.ctx(), in.ID)
			assert.True(t, flowclient.IsNotFound(err), "%v", err)
			continue
		}
		moves++
		assert.Equal(t, "http://chat/#31", in.Link, "the message that asked")
		assert.NotEmpty(t, in.Gates)
		if moves == 1 {
			require.Len(t, in.Writes, 2, "the first promotion makes the project's cell")
			assert.Equal(t, flowclient.KindProjectReleaseBinding, in.Writes[0].After.Kind)
			assert.Nil(t, in.Writes[0].Before)
			in.Writes = in.Writes[1:]
		}
		require.Len(t, in.Writes, 1)
		assert.Equal(t, moves == 1, in.Writes[0].Before == nil, "each object before and after the write")
		assert.Equal(t, s.component+"-"+flowclient.Production, in.Writes[0].After.Metadata.Name)
		require.NotNil(t, in.Replayed)
		assert.True(t, *in.Replayed)
		again, err := s.Flow.Replay(s.ctx(), in.ID)
		require.NoError(t, err)
		assert.True(t, again.Same, "%s\n%s", again.Recorded, again.Replayed)
		assert.JSONEq(t, string(again.Recorded), string(again.Replayed))
		assert.Equal(t, "developer", again.Who)
	}
	assert.Equal(t, 3, moves, "two promotions and what took one back")
	require.Len(t, e.Refused, 1)
	refused := e.Refused[0]
	assert.Equal(t, flowclient.EventPromoteRefuse, refused.Kind)
	assert.Equal(t, "lock", refused.Gates[0].Gate)
	assert.False(t, refused.Gates[0].Pass)
	require.NotNil(t, refused.Replayed)
	assert.True(t, *refused.Replayed)
	again, err := s.Flow.Replay(s.ctx(), refused.ID)
	require.NoError(t, err)
	assert.True(t, again.Same, "%s\n%s", again.Recorded, again.Replayed)
	_, err = s.Flow.Replay(s.ctx(), "no/such/decision")
	assert.True(t, flowclient.IsNotFound(err), "%v", err)

	staging := s.reaches(flowclient.Staging, second)
	e, err = s.Flow.EvidenceOfBuild(s.ctx(), staging.Build)
	require.NoError(t, err)
	assert.Len(t, e.Refused, 1, "what was refused of this commit")
	require.NotEmpty(t, e.Logs)
	assert.Equal(t, staging.Build, e.Logs[0].Run)
	first7, err := s.Flow.EvidenceOfBuild(s.ctx(), s.buildOf(first))
	require.NoError(t, err)
	assert.Empty(t, first7.Refused, "and not of another")
}

// buildOf is the run that built a commit.
func (s *site) buildOf(sha string) string {
	s.t.Helper()
	for _, e := range s.events(flowclient.EventBuildPassed) {
		var body flowclient.BuildEvent
		require.NoError(s.t, json.Unmarshal(e.Body, &body))
		if body.Build.Commit == sha {
			return body.Build.Run
		}
	}
	s.t.Fatalf("no build of %s", sha)
	return ""
}
