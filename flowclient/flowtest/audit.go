package flowtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// aTrail records decisions, intents and events, three of each minute, and gives their keys,
// newest first.
func aTrail(t *testing.T, m Memory, minutes int) (keys []string) {
	for i := range minutes {
		at := noon.Add(time.Duration(i) * time.Minute)
		d := flowclient.Decision{Key: fmt.Sprint("decision/", i), Kind: flowclient.DecisionAllowed, At: at}
		require.NoError(t, m.Decided(t.Context(), d))
		in := intent(fmt.Sprint("intent/", i))
		in.At = at
		_, _, err := m.Begin(t.Context(), in)
		require.NoError(t, err)
		e, other := happened(fmt.Sprint("event/", i)), happened(fmt.Sprint("other/", i))
		e.At, e.Kind, other.At = at, flowclient.EventPromoteRefuse, at
		require.NoError(t, m.Note(t.Context(), e, other))
		keys = append(keys, d.Key, in.Key, e.Key)
	}
	slices.Reverse(keys)
	return keys
}

// keysOf are the origin keys of records.
func keysOf(records []flowclient.Record) (keys []string) {
	for _, r := range records {
		switch {
		case r.Intent != nil:
			keys = append(keys, r.Intent.Key)
		case r.Event != nil:
			keys = append(keys, r.Event.Key)
		default:
			keys = append(keys, r.Decision.Key)
		}
	}
	return keys
}

// trail asks for the kinds of rows that aTrail records.
var trail = flowclient.RecordQuery{Intents: []string{"promote"}, Events: []string{flowclient.EventPromoteRefuse}, Decisions: []string{flowclient.DecisionAllowed}, Limit: 100}

func recordsPaged(t *testing.T, m Memory, reopen func() Memory) {
	want := aTrail(t, m, 7)
	for limit := 1; limit <= len(want)+1; limit++ {
		q, got := trail, []string(nil)
		q.Limit = limit
		for {
			page, err := m.Records(t.Context(), q)
			require.NoError(t, err)
			if len(page) == 0 {
				break
			}
			require.LessOrEqual(t, len(page), limit)
			got, q.Before = append(got, keysOf(page)...), page[len(page)-1].Mark()
		}
		require.Equal(t, want, got, "pages of %d, newest first; at one instant the event after the intent, and that after the decision", limit)
	}

	q := trail
	q.Limit = 3
	page, err := m.Records(t.Context(), q)
	require.NoError(t, err)
	late := happened("late")
	late.Kind, late.At = flowclient.EventPromoteRefuse, noon.Add(time.Hour)
	require.NoError(t, m.Note(t.Context(), late))
	q.Before, q.Limit = page[2].Mark(), 100
	rest, err := reopen().Records(t.Context(), q)
	require.NoError(t, err)
	assert.Equal(t, want[3:], keysOf(rest), "what is recorded meanwhile does not move the next page")

	q = trail
	q.Intents, q.Decisions = nil, nil
	events, err := m.Records(t.Context(), q)
	require.NoError(t, err)
	assert.Len(t, events, 8)
	none, err := m.Records(t.Context(), flowclient.RecordQuery{Limit: 10})
	require.NoError(t, err)
	assert.Empty(t, none, "no kind, no record")
}

func recordsNarrowed(t *testing.T, m Memory, _ func() Memory) {
	begin := func(key, who, body string) {
		in := intent(key)
		in.Who, in.Body = who, json.RawMessage(body)
		_, _, err := m.Begin(t.Context(), in)
		require.NoError(t, err)
	}
	note := func(key, project, component, body string) {
		e := happened(key)
		e.Kind, e.Project, e.Component, e.Body = flowclient.EventPromoteRefuse, project, component, json.RawMessage(body)
		require.NoError(t, m.Note(t.Context(), e))
	}
	begin("one", "developer", `{"project":"shop","component":"shop-web","moves":[{"outcome":{"component":"shop-web"}}]}`)
	begin("both", "sre", `{"project":"shop","moves":[{"outcome":{"component":"shop-api"}},{"outcome":{"component":"shop-web"}}],"inputs":{"large":1}}`)
	begin("blog", "sre", `{"project":"blog"}`)
	decide := func(key, project, persona, chatID string) {
		d := flowclient.Decision{Key: key, Kind: flowclient.DecisionAllowed, At: noon, Project: project, Persona: persona, ChatID: chatID}
		require.NoError(t, m.Decided(t.Context(), d))
	}
	decide("decided", "shop", "sre", "zulip:9")
	decide("decided anywhere", "", "", "zulip:66")
	note("named", "shop", "shop-web", `{"who":"sre"}`)
	note("judged", "shop", "", `{"origin":{"who":"developer"},"refusal":{"gates":[{"gate":"lock","component":"shop-api"},{"gate":"ready","component":"shop-api"},{"gate":"window"}]}}`)
	for _, c := range []struct {
		name  string
		query flowclient.RecordQuery
		want  []string
	}{
		{"all", flowclient.RecordQuery{}, []string{"judged", "named", "blog", "both", "one", "decided anywhere", "decided"}},
		{"a project", flowclient.RecordQuery{Project: "shop"}, []string{"judged", "named", "both", "one", "decided"}},
		{"a component, named or moved", flowclient.RecordQuery{Component: "shop-web"}, []string{"named", "both", "one"}},
		{"a component, judged", flowclient.RecordQuery{Component: "shop-api"}, []string{"judged", "both"}},
		{"who asked", flowclient.RecordQuery{Who: "sre"}, []string{"named", "blog", "both", "decided"}},
		{"who is known by an account alone", flowclient.RecordQuery{Who: "zulip:66"}, []string{"decided anywhere"}},
		{"who asked, of a project", flowclient.RecordQuery{Who: "sre", Project: "shop"}, []string{"named", "both", "decided"}},
		{"everything at once", flowclient.RecordQuery{Who: "developer", Project: "shop", Component: "shop-api"}, []string{"judged"}},
		{"nobody", flowclient.RecordQuery{Who: "nobody"}, nil},
	} {
		c.query.Intents, c.query.Events, c.query.Decisions, c.query.Limit = trail.Intents, trail.Events, trail.Decisions, 100
		records, err := m.Records(t.Context(), c.query)
		require.NoError(t, err, c.name)
		assert.Equal(t, c.want, keysOf(records), c.name)
	}
	parked := happened("parked")
	parked.Kind, parked.Component, parked.Body = flowclient.EventAutoParked, "", json.RawMessage(`{"set":["shop-api","shop-web"],"cause":"window"}`)
	require.NoError(t, m.Note(t.Context(), parked))
	found, err := m.Records(t.Context(), flowclient.RecordQuery{Events: []string{flowclient.EventAutoParked}, Who: flowclient.Automatic, Component: "shop-api", Limit: 1})
	require.NoError(t, err)
	assert.Equal(t, []string{"parked"}, keysOf(found), "what the automatic pass kept is its own, and about each of the set")

	q := trail
	q.Who, q.Without = "sre", []string{"$.inputs", "$.moves"}
	records, err := m.Records(t.Context(), q)
	require.NoError(t, err)
	assert.JSONEq(t, `{"project":"shop"}`, string(records[2].Intent.Body), "what is not asked for is not read")
}

func recordsWhole(t *testing.T, m Memory, reopen func() Memory) {
	open, _, err := m.Begin(t.Context(), intent("open"))
	require.NoError(t, err)
	ended, _, err := m.Begin(t.Context(), intent("ended"))
	require.NoError(t, err)
	ended.Outcome = json.RawMessage(`{"result":7}`)
	require.NoError(t, m.Settle(t.Context(), ended.ID, flowclient.Settlement{Outcome: ended.Outcome, At: noon}))
	e := happened("event")
	e.Kind = flowclient.EventPromoteRefuse
	require.NoError(t, m.Note(t.Context(), e))
	records, err := reopen().Records(t.Context(), trail)
	require.NoError(t, err)
	require.Len(t, records, 3)
	e.Seq = records[0].Event.Seq
	assert.Equal(t, flowclient.Record{Seq: e.Seq, At: noon, Event: &e}, records[0])
	assert.Equal(t, flowclient.Record{Seq: records[1].Seq, At: noon, Intent: &ended}, records[1])
	assert.Equal(t, flowclient.Record{Seq: records[2].Seq, At: noon, Intent: &open}, records[2])
	assert.Greater(t, records[1].Seq, records[2].Seq)
}

func happenedBetween(t *testing.T, m Memory, _ func() Memory) {
	at := func(key, kind, project string, minutes int) flowclient.Event {
		e := happened(key)
		e.Kind, e.Project, e.At = kind, project, noon.Add(time.Duration(minutes)*time.Minute)
		return e
	}
	require.NoError(t, m.Note(t.Context(),
		at("late", flowclient.EventPromoted, "shop", 9), at("begin", flowclient.EventBuildStarted, "shop", 0), at("inside", flowclient.EventPromoted, "shop", 5),
		at("same", flowclient.EventBuildStarted, "shop", 5), at("other kind", flowclient.EventBuildPassed, "shop", 5), at("other project", flowclient.EventPromoted, "blog", 5),
		at("end", flowclient.EventPromoted, "shop", 10), at("before", flowclient.EventPromoted, "shop", -1)))
	keys := func(limit int, kinds ...string) (keys []string) {
		events, err := m.Happened(t.Context(), "shop", kinds, noon, noon.Add(10*time.Minute), limit)
		require.NoError(t, err)
		for _, e := range events {
			keys = append(keys, e.Key)
		}
		return keys
	}
	assert.Equal(t, []string{"begin", "inside", "same", "late"}, keys(100, flowclient.EventPromoted, flowclient.EventBuildStarted), "in the order in which they happened, the end left out")
	assert.Equal(t, []string{"begin", "inside"}, keys(2, flowclient.EventPromoted, flowclient.EventBuildStarted))
	assert.Equal(t, []string{"inside", "late"}, keys(100, flowclient.EventPromoted))
	assert.Empty(t, keys(100))
}

// audited reads a whole trail in pages of one, newest first.
func (s *site) audited(q flowclient.AuditQuery) (entries []flowclient.AuditEntry) {
	s.t.Helper()
	for q.Limit = 1; ; {
		page, err := s.Flow.Audit(s.ctx(), q)
		require.NoError(s.t, err)
		require.LessOrEqual(s.t, len(page.Entries), 1)
		entries = append(entries, page.Entries...)
		if q.Cursor = page.Next; q.Cursor == "" {
			return entries
		}
	}
}

func auditTold(t *testing.T, s *site) {
	first := s.scaffold(false).Commit.SHA
	s.promoted()
	s.push("index.html", page("second"))
	staging, _ := s.deployment(flowclient.Staging)
	lock := flowclient.LockRequest{Origin: s.origin(), Component: s.component, Commit: staging.Commit, Reason: "breaks the cart"}
	_, err := s.Flow.SetLock(s.ctx(), lock)
	require.NoError(t, err)
	_, err = s.promote()
	assert.Contains(t, refusal(t, err, "lock").Sentence, "breaks the cart")

	var kinds []string
	all := s.audited(flowclient.AuditQuery{Project: s.project})
	for _, e := range all {
		kinds = append(kinds, e.Kind+" "+e.Result)
		assert.Equal(t, "developer", e.Who)
		assert.Equal(t, "http://chat/#31", e.Link, "%s: the message that asked", e.Kind)
		assert.Equal(t, s.project, e.Project)
		assert.NotEmpty(t, e.Outcome)
	}
	require.Equal(t, []string{"refusal refused", "lock done", "commit done", "promotion done", "scaffold done"}, kinds)
	assert.Contains(t, all[0].Outcome, "breaks the cart")
	assert.Contains(t, all[0].Gates, flowclient.AuditGate{Gate: "lock", Component: s.component})
	assert.Contains(t, all[3].Outcome, "production runs "+first[:7]+" now")
	assert.NotEmpty(t, all[3].Intent)
	assert.Equal(t, []flowclient.AuditEntry{all[0], all[1], all[3]}, s.audited(flowclient.AuditQuery{Component: s.component}), "what was about the component")
	assert.Equal(t, all[1:2], s.audited(flowclient.AuditQuery{Component: s.component, Who: "developer", Kind: "lock"}))
	assert.Empty(t, s.audited(flowclient.AuditQuery{Project: s.project, Who: "nobody"}))
	for field, q := range map[string]flowclient.AuditQuery{"kind": {Kind: "gossip"}, "cursor": {Cursor: "elsewhere"}, "limit": {Limit: flowclient.MaxAudit + 1}} {
		_, err := s.Flow.Audit(s.ctx(), q)
		var invalid *flowclient.Invalid
		require.ErrorAs(t, err, &invalid)
		assert.Equal(t, field, invalid.Field)
	}
}

func decisionsTold(t *testing.T, s *site) {
	s.scaffold(false)
	s.promoted()
	keeper, ok := s.Journal.(Decider)
	require.True(t, ok)
	decided := func(key, kind, project string) flowclient.AuditEntry {
		d := flowclient.Decision{Key: key, Kind: kind, At: time.Now().Add(time.Hour), Bot: "platform", Text: "undo " + s.project, ChatID: "zulip:9", Persona: s.project + "-sre",
			Lacking: "component:undo", Project: project, Link: "http://chat/#32"}
		for range 2 {
			require.NoError(t, keeper.Decided(s.ctx(), d))
		}
		return flowclient.AuditEntry{Ref: "decision/" + key, At: d.At.UTC().Round(0), Who: d.Persona, Link: d.Link, Project: project, Kind: kind, Result: flowclient.AuditRefused,
			Outcome: "Asked of platform: undo " + s.project + ". Denied, since " + d.Persona + " is not granted component:undo."}
	}
	anywhere := decided(s.project+":1/denied", flowclient.DecisionDenied, "")
	here := decided(s.project+":2/denied", flowclient.DecisionDenied, s.project)
	all := s.audited(flowclient.AuditQuery{Project: s.project})
	require.Len(t, all, 3, "what is about no project is in the trail of all of them alone")
	assert.Equal(t, here, all[0])
	assert.Equal(t, []string{"promotion", "scaffold"}, []string{all[1].Kind, all[2].Kind})
	assert.Equal(t, all[:1], s.audited(flowclient.AuditQuery{Project: s.project, Kind: flowclient.DecisionDenied}))
	assert.Equal(t, []flowclient.AuditEntry{here, anywhere}, s.audited(flowclient.AuditQuery{Who: s.project + "-sre"}))
	assert.Empty(t, s.audited(flowclient.AuditQuery{Component: s.component, Kind: flowclient.DecisionDenied}))
}

func doraMeasured(t *testing.T, s *site) {
	s.scaffold(false)
	s.promoted()
	s.push("index.html", page("second"))
	s.promoted()
	_, err := s.rollback()
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(s.events(flowclient.EventBuildPassed)) == 2 }, s.Patience, 10*time.Millisecond)
	r, err := s.Flow.Dora(s.ctx(), s.project, 7)
	require.NoError(t, err)
	assert.Equal(t, s.project, r.Project)
	assert.Equal(t, 7*24*time.Hour, r.To.Sub(r.From))
	assert.Equal(t, 2, r.Promotions)
	assert.Equal(t, 1, r.Rollbacks)
	assert.Equal(t, 1, r.Failed)
	require.NotNil(t, r.FailureRate)
	assert.InDelta(t, 0.5, *r.FailureRate, 1e-9)
	assert.Equal(t, 2, r.LeadTime.Count)
	assert.Equal(t, 1, r.Restore.Count)
	assert.Equal(t, 2, r.Merges)
	for _, m := range r.Measures {
		assert.NotEmpty(t, m.Value, m.Name)
		assert.NotEmpty(t, m.Means, m.Name)
	}
	_, err = s.Flow.Dora(s.ctx(), "nowhere", 7)
	assert.True(t, flowclient.IsNotFound(err), "%v", err)
	for _, days := range []int{0, flowclient.MaxDoraDays + 1} {
		_, err = s.Flow.Dora(s.ctx(), s.project, days)
		var invalid *flowclient.Invalid
		require.ErrorAs(t, err, &invalid)
		assert.Equal(t, "days", invalid.Field)
	}
}
