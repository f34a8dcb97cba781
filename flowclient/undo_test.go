package flowclient

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// moved is a promotion of the components from a to b through zulip, and the project as it left it.
func movedSite(components ...string) (snapshot, pastMove) {
	s := site(components...)
	past := pastMove{Intent: "4k2j5mabcdefg", Key: "zulip:31", Who: "developer", At: friday.Add(-time.Hour)}
	for i := range s.Components {
		f := &s.Components[i]
		f.Production = runs(f.Name, Production, f.Name+"-1")
		f.Production.Metadata.Annotations = map[string]string{AnnotationDisplaced: f.Name + "-0", AnnotationIntent: past.Intent, AnnotationPromotedBy: "developer"}
		past.Moved = append(past.Moved, ComponentOutcome{Component: f.Name, Result: Promoted, From: f.Name + "-0", FromCommit: shaA, To: f.Name + "-1", ToCommit: shaB})
	}
	return s, past
}

var again = Promotion{Project: "shop", Origin: Origin{Key: "zulip:40", Who: "developer"}}

func TestUndoRollsBackExactlyWhatThePromotionMoved(t *testing.T) {
	s, past := movedSite("shop-api", "shop-web")
	plan, err := planUndo(s, past, again, friday)
	require.NoError(t, err)
	require.Len(t, plan.Moves, 2)
	for i, m := range plan.Moves {
		assert.Equal(t, RolledBack, m.Outcome.Result)
		assert.Equal(t, past.Moved[i].From, m.Outcome.To)
		assert.Equal(t, past.Moved[i].To, m.Outcome.From)
	}
	assert.True(t, plan.Rollback)
	assert.Equal(t, past.Intent, plan.Undoes.Intent)
}

func TestUndoSaysWhatIsDifferent(t *testing.T) {
	var lines []string
	for _, c := range []struct {
		name   string
		change func(s *snapshot, p *pastMove)
	}{
		{"nothing was moved yet", func(_ *snapshot, p *pastMove) { *p = pastMove{} }},
		{"it was rolled back", func(_ *snapshot, p *pastMove) { p.Rollback, p.Who = true, "sre" }},
		{"it was asked for elsewhere", func(_ *snapshot, p *pastMove) { p.Key, p.Who = "slack:T1/C2/3", "operator" }},
		{"it moved by itself", func(_ *snapshot, p *pastMove) { p.Key, p.Who = "auto/shop/2026-11-20T17:00:00Z/1a2b3c4d", Automatic }},
		{"a label asked for it", func(_ *snapshot, p *pastMove) {
			p.Key, p.Who = "pull/platform/shop/7/promote/"+shaB+"/1", "label promote on platform/shop#7"
		}},
		{"a program asked for it", func(_ *snapshot, p *pastMove) { p.Key, p.Who = "nightly-31", "api" }},
		{"the first deployment", func(_ *snapshot, p *pastMove) { p.Moved[1].From = "" }},
		{"a component is gone", func(s *snapshot, _ *pastMove) { s.Components = s.Components[:1] }},
		{"production was pinned by hand", func(s *snapshot, _ *pastMove) {
			f := &s.Components[1]
			annotations := f.Production.Metadata.Annotations
			f.Production = runs(f.Name, Production, f.Name+"-0")
			f.Production.Metadata.Annotations = annotations
		}},
		{"production was pinned by another tool that says so", func(s *snapshot, _ *pastMove) {
			f := &s.Components[1]
			f.Production = runs(f.Name, Production, "shop-web-9")
			f.Production.Metadata.Annotations = map[string]string{AnnotationPromotedBy: "occ"}
		}},
		{"production was taken away", func(s *snapshot, _ *pastMove) { s.Components[1].Production = binding{} }},
		{"the record of what was displaced is gone", func(s *snapshot, _ *pastMove) {
			delete(s.Components[1].Production.Metadata.Annotations, AnnotationDisplaced)
		}},
		{"the record of what was displaced is another", func(s *snapshot, _ *pastMove) {
			s.Components[1].Production.Metadata.Annotations[AnnotationDisplaced] = "shop-web-7"
		}},
		{"what it displaced is locked", func(s *snapshot, _ *pastMove) {
			s.Components[1].Locks = []Lock{{Component: "shop-web", Commit: shaA, Who: "sre", Reason: "leaks", At: friday}}
		}},
		{"the window is closed", func(s *snapshot, _ *pastMove) {
			s.Project.Metadata.Annotations[AnnotationProductionWindow] = "Mon-Fri 09:00-17:00 Europe/London"
		}},
	} {
		s, past := movedSite("shop-api", "shop-web")
		c.change(&s, &past)
		plan, err := planUndo(s, past, again, friday)
		var refusal *Refusal
		require.ErrorAs(t, err, &refusal, c.name)
		assert.Empty(t, plan.Moves, "409 plans no write")
		lines = append(lines, "# "+c.name, refusal.Sentence, "")
	}
	golden(t, "undo", lines)
}

func TestUndoNeverMovesWhatThePromotionDidNotMove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawFacts(t)
		past := pastMove{Intent: "i", Key: "zulip:31", Who: "developer", At: friday}
		for _, f := range s.Components {
			to := rapid.SampledFrom([]string{f.Name + "-0", f.Name + "-1"}).Draw(t, "to")
			past.Moved = append(past.Moved, ComponentOutcome{Component: f.Name, Result: Promoted, To: to, From: rapid.SampledFrom([]string{"", f.Name + "-0", f.Name + "-1"}).Draw(t, "from")})
		}
		plan, err := planUndo(s, past, again, friday)
		if err != nil {
			require.Empty(t, plan.Moves)
			return
		}
		require.Len(t, plan.Moves, len(past.Moved))
		for i, m := range plan.Moves {
			require.Equal(t, past.Moved[i].To, s.Components[i].Production.spec.ReleaseName, "production still ran what was pinned")
			require.Equal(t, past.Moved[i].From, m.Outcome.To)
			require.Equal(t, RolledBack, m.Outcome.Result)
		}
	})
}

func TestDoors(t *testing.T) {
	for key, want := range map[string]string{
		"zulip:31": "zulip", "slack:T1/C2/3": "slack", "api:ABC": "api", "nightly-31": "api", "": "api", "06ce9e1d-2fb1": "api",
		"auto/shop/2026-11-20T17:00:00Z/1a2b": "auto", "pull/platform/shop/7/promote/x/1": "pull",
	} {
		assert.Equal(t, want, door(key), key)
	}
}

func TestARollbackSaysWhatItLeavesBehind(t *testing.T) {
	old, since := friday.Add(-48*time.Hour), friday.Add(-time.Hour)
	release := func(name, spec string) Object {
		return Object{Kind: KindComponentRelease, Metadata: Metadata{Name: name, Created: &old}, Spec: []byte(spec)}
	}
	plain := `{"componentType":{"kind":"ClusterComponentType","name":"deployment/service","spec":{"a":1,"b":2}},"workload":{"container":{"image":"x"}}}`
	resource := func(name string, at time.Time) Object {
		return Object{Kind: KindResource, Metadata: Metadata{Name: name, Created: &at}}
	}
	for name, c := range map[string]struct {
		older, newer string
		resources    []Object
		want         []string
	}{
		"nothing changed":            {plain, plain, []Object{resource("orders", old)}, nil},
		"only the code changed":      {plain, `{"componentType":{"name":"deployment/service","kind":"ClusterComponentType","spec":{"b":2,"a":1}},"workload":{"container":{"image":"y"}}}`, nil, nil},
		"the component type changed": {plain, `{"componentType":{"kind":"ClusterComponentType","name":"deployment/service","spec":{"a":1,"b":3}},"workload":{}}`, nil, []string{"the component type deployment/service"}},
		"it uses a resource that it did not": {plain, `{"componentType":{"kind":"ClusterComponentType","name":"deployment/service","spec":{"a":1,"b":2}},"workload":{"dependencies":{"resources":[{"ref":"orders","envBindings":{"url":"DB"}}]}}}`, nil,
			[]string{"how it uses the resource orders"}},
		"a resource was made since": {plain, plain, []Object{resource("orders", since)}, []string{"the resource orders, made since"}},
	} {
		got, err := differs(release("r0", c.older), release("r1", c.newer), c.resources)
		require.NoError(t, err)
		assert.Equal(t, c.want, got, name)
	}
	s, _ := movedSite("shop-api", "shop-web")
	assert.Empty(t, codeOnly(s), "a note only when it matters")
	s.Components[1].Differs = []string{"the component type deployment/service", "the resource orders, made since"}
	plan, err := planRollback(s, again, friday)
	require.NoError(t, err)
	assert.Equal(t, "A rollback moves code only. What else changed stays as it is: of shop-web between aaaaaaa and bbbbbbb: the component type deployment/service and the resource orders, made since. Check that the older code can work with it.", plan.Note)
}
