package flowclient

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// constants are the string constants of a file whose names have a prefix.
func constants(t *testing.T, file, prefix string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	found := map[string]string{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		value, ok := spec.Values[0].(*ast.BasicLit)
		if ok && value.Kind == token.STRING && strings.HasPrefix(spec.Names[0].Name, prefix) {
			text, err := strconv.Unquote(value.Value)
			require.NoError(t, err)
			found[text] = spec.Names[0].Name
		}
		return true
	})
	require.NotEmpty(t, found)
	return found
}

func TestEveryKindOfRowIsAnEntryOrSaysWhyNot(t *testing.T) {
	seen := map[string]int{}
	for _, row := range audited {
		key := "event " + row.kind
		if row.intent {
			key = "intent " + row.kind
		}
		seen[key]++
		assert.Equal(t, 1, seen[key], key)
		assert.NotEqual(t, row.entry == "", row.why == "", "%s is an entry, or says why it is none", key)
		assert.Equal(t, row.entry == "", row.tell == nil, key)
	}
	events := constants(t, "event.go", "Event")
	for kind, name := range events {
		assert.Equal(t, 1, seen["event "+kind], "%s stands in the table once", name)
	}
	intents := constants(t, "intent.go", "kind")
	for kind, name := range intents {
		assert.Equal(t, 1, seen["intent "+kind], "%s stands in the table once", name)
	}
	assert.Len(t, audited, len(events)+len(intents), "nothing else does")
	decided := constants(t, "decision.go", "Decision")
	for _, row := range decisions {
		assert.Contains(t, decided, row.kind)
		delete(decided, row.kind)
	}
	assert.Empty(t, decided, "every kind of decision is told, each once")
	kinds := AuditKinds()
	assert.Len(t, slices.Compact(slices.Clone(kinds)), len(kinds))
	for _, row := range decisions {
		for _, other := range audited {
			assert.NotEqual(t, row.kind, other.entry, "a decision is told apart from what came of it")
			assert.NotEqual(t, row.kind, other.kind, "nor is it one that an index has under the same name")
		}
	}
}

func TestACursorNamesARecordAndNothingElseIsOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := RecordMark{At: minute(0).Add(1), Seq: rapid.Int64Min(1).Draw(t, "seq"), Row: rapid.SampledFrom([]Row{RowDecision, RowIntent, RowEvent}).Draw(t, "row")}
		back, err := readCursor(m.cursor())
		require.NoError(t, err)
		require.Equal(t, m, back)
	})
	for _, text := range []string{"x", "-", "7", "7-", "7-e", "7-e0", "7-e-1", "7-x1", "7-d0", "7-de1", "7-i1 ", "07-e1", "7-e01", "7-e1-2", "99999999999999999999-e1", "7-e99999999999999999999", "7-é1"} {
		_, err := readCursor(text)
		var invalid *Invalid
		require.ErrorAs(t, err, &invalid, text)
		assert.Equal(t, "cursor", invalid.Field)
	}
}

func TestAnAuditQueryIsCheckedAndAsksForTheTablesKinds(t *testing.T) {
	for field, q := range map[string]AuditQuery{
		"project": {Project: "Shop!"}, "component": {Component: "-"}, "who": {Who: strings.Repeat("x", maxWho+1)}, "kind": {Kind: "gossip"},
		"limit": {Limit: MaxAudit + 1}, "cursor": {Cursor: "x"},
	} {
		_, err := q.records()
		var invalid *Invalid
		require.ErrorAs(t, err, &invalid, field)
		assert.Equal(t, field, invalid.Field)
	}
	_, err := AuditQuery{Limit: -1}.records()
	require.Error(t, err)

	all, err := AuditQuery{}.records()
	require.NoError(t, err)
	assert.Equal(t, DefaultAudit, all.Limit)
	assert.Contains(t, all.Events, EventLockSet)
	assert.NotContains(t, all.Events, EventBuildStarted)
	assert.NotContains(t, all.Events, EventPromoted, "its intent is the entry")
	refusals, err := AuditQuery{Kind: "refusal", Who: "sre"}.records()
	require.NoError(t, err)
	assert.Empty(t, refusals.Intents)
	assert.Equal(t, []string{EventPromoteRefuse, EventRollbackRefuse}, refusals.Events)
	denied, err := AuditQuery{Kind: DecisionDenied}.records()
	require.NoError(t, err)
	assert.Equal(t, [][]string{nil, nil, {DecisionDenied}}, [][]string{denied.Intents, denied.Events, denied.Decisions})
	for _, kind := range AuditKinds() {
		one, err := AuditQuery{Kind: kind}.records()
		require.NoError(t, err)
		assert.NotEmpty(t, slices.Concat(one.Intents, one.Events, one.Decisions), kind)
	}
}

// raw is a value as JSON.
func raw(t *testing.T, v any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return text
}

func TestEachRowIsToldInASentence(t *testing.T) {
	move := func(results ...ComponentOutcome) settled {
		return settled{Result: raw(t, Outcome{Project: "shop", Components: results})}
	}
	one := func(component, result, sentence string) ComponentOutcome {
		return ComponentOutcome{Component: component, Result: result, Sentence: sentence}
	}
	var many []ComponentOutcome
	for range 12 {
		many = append(many, one("c", Promoted, "Moved."))
	}
	plan := movePlan{Project: "shop", Origin: Origin{Key: "zulip:31", Who: "developer", Link: "http://chat/31"}, Moves: []aMove{{Outcome: ComponentOutcome{
		Component: "shop-web", Gates: []Verdict{{Gate: "lock", Component: "shop-web", Pass: true, Sentence: "not told"}}}}}}
	lock := LockEvent{Who: "sre", Link: "http://chat/32", Locks: []Lock{{Component: "shop-web", Commit: shaA, Environment: "production", Reason: "breaks the cart"}, {Component: "shop-web", Commit: shaA, Reason: "Wait!"}}}
	freeze := FreezeEvent{Who: "ops", Freeze: Freeze{From: minute(0), Until: minute(day), Reason: "end of year"}}
	review := ReviewEvent{Review: Review{Repo: "platform/shop", Number: 7, Environment: "pr-7", Head: shaA}, Why: "the pull request was merged"}
	pull := Pull{Repo: "platform/shop", Number: 7, Title: "Say hello", Branch: "hello", MergeCommit: shaA}
	for _, c := range []struct {
		name   string
		record Record
		want   string // kind, result, who, link: outcome
	}{
		{"a promotion", anIntent(t, kindPromote, plan, move(one("shop-web", Promoted, "It moved."))), "promotion done developer http://chat/31 shop-web: It moved."},
		{"a part of one", anIntent(t, kindPromote, plan, move(one("a", Promoted, "It moved."), one("b", Retry, "It waits."))), "promotion partly developer http://chat/31 : It moved. It waits."},
		{"nothing to do", anIntent(t, kindPromote, plan, move(one("a", Unchanged, "It runs already."))), "promotion unchanged developer http://chat/31 a: It runs already."},
		{"superseded", anIntent(t, kindPromote, plan, move(one("a", Superseded, "Staging moved on."))), "promotion waits developer http://chat/31 a: Staging moved on."},
		{"many", anIntent(t, kindPromote, plan, move(many...)), "promotion done developer http://chat/31 : " + strings.Repeat("Moved. ", 10) + "And 2 more."},
		{"a rollback", anIntent(t, kindRollback, plan, move(one("shop-web", RolledBack, "It is back."))), "rollback done developer http://chat/31 shop-web: It is back."},
		{"one that has begun", anIntent(t, kindPromote, plan, nil), "promotion open developer http://chat/31 shop-web: It was begun and has not ended yet; the next pass goes on with it."},
		{"one that ended in a refusal", anIntent(t, kindMerge, mergePlan{Project: "shop"}, settled{Refusal: Refuse("a conflict; rebase it.")}), "merge refused developer : a conflict; rebase it."},
		{"one that turned out to be bad input", anIntent(t, kindCommit, commitPlan{Project: "shop"}, settled{Invalid: &Invalid{Field: "branch", Value: "x", Why: "is none"}}), `commit refused developer : branch "x": is none`},
		{"a project made", anIntent(t, kindScaffold, scaffoldPlan{Project: "shop", Request: ScaffoldRequest{Template: "static"}}, settled{Result: raw(t, Scaffolded{Repository: Repository{Name: "platform/shop"}, Commit: Commit{SHA: shaA}})}),
			"scaffold done developer : Made shop from the template static, in repository platform/shop at aaaaaaa."},
		{"projects removed", anIntent(t, kindTeardown, teardownPlan{}, settled{Result: raw(t, Removed{Projects: []string{"a", "b"}, Objects: 1, Refused: []string{"x"}})}),
			"teardown done developer : Removed 2 projects with 1 object. Left what no walkthrough made: 1 refusal."},
		{"a commit", anIntent(t, kindCommit, commitPlan{Project: "shop"}, settled{Result: raw(t, Commit{SHA: shaA, Subject: "Say hello"})}), "commit done developer : Pushed aaaaaaa to main of shop: Say hello."},
		{"a pull request", anIntent(t, kindOpenPull, openPlan{Project: "shop"}, settled{Result: raw(t, pull)}), "pull done developer : Opened platform/shop#7 of hello: Say hello."},
		{"a merge", anIntent(t, kindMerge, mergePlan{Project: "shop"}, settled{Result: raw(t, pull)}), "merge done developer : Merged platform/shop#7 as aaaaaaa: Say hello."},
		{"manifests", anIntent(t, kindSync, syncPlan{Repo: "platform/shop", Project: "shop"}, settled{Result: raw(t, Synced{Repo: "platform/shop", Commit: shaA, Created: 1, Refused: 2})}),
			"sync partly developer : Applied the manifests of platform/shop at aaaaaaa: 1 created, 0 updated, 0 skipped, 2 refused."},
		{"a refusal", anEvent(t, EventPromoteRefuse, MoveEvent{Origin: plan.Origin, Refusal: Refuse("it is locked.")}), "refusal refused developer http://chat/31 shop-web: it is locked."},
		{"a refused rollback", anEvent(t, EventRollbackRefuse, MoveEvent{Origin: plan.Origin, Refusal: Refuse("it is locked.")}), "refusal refused developer http://chat/31 shop-web: it is locked."},
		{"what the automatic pass keeps", anEvent(t, EventAutoParked, AutoEvent{Set: []string{"shop-api", "shop-web"}, Sentence: "the window is closed."}), "automatic waits auto shop-web: Kept shop-api, shop-web where it is: the window is closed."},
		{"a foreign pin", anEvent(t, EventExternal, ExternalEvent{Binding: "shop-web-production", From: "shop-web-1", To: "shop-web-2", ToCommit: shaA}), "external done shop-web: shop-web-production was pinned to aaaaaaa past the controller; it had been put at shop-web-1."},
		{"a foreign pin over a release whose commit is known", anEvent(t, EventExternal, ExternalEvent{Binding: "shop-web-production", From: "shop-web-1", FromCommit: shaB, To: "shop-web-2", ToCommit: shaA}), "external done shop-web: shop-web-production was pinned to aaaaaaa past the controller; it had been put at bbbbbbb."},
		{"locks", anEvent(t, EventLockSet, lock), "lock done sre http://chat/32 shop-web: Locked shop-web aaaaaaa in production: breaks the cart. Locked shop-web aaaaaaa in every environment: Wait!"},
		{"locks cleared", anEvent(t, EventLockCleared, LockEvent{Who: "sre", Locks: lock.Locks[:1]}), "unlock done sre shop-web: Unlocked shop-web aaaaaaa in production: breaks the cart."},
		{"a freeze", anEvent(t, EventFreezeSet, freeze), "freeze done ops shop-web: Frozen: production of every project from Sun 1 Mar 2026 00:00 UTC until Mon 2 Mar 2026 00:00 UTC: end of year."},
		{"a freeze ended", anEvent(t, EventFreezeCleared, FreezeEvent{Who: "ops", Freeze: Freeze{Project: "shop", From: minute(0), Until: minute(day), Reason: "r"}}),
			"unfreeze done ops shop-web: No longer frozen: production of shop from Sun 1 Mar 2026 00:00 UTC until Mon 2 Mar 2026 00:00 UTC: r."},
		{"a project gone", anEvent(t, EventRemoved, ProjectEvent{Who: "admin", Template: "static", Repository: Repository{Name: "platform/shop"}}), "removal done admin shop-web: Removed this project, made from the template static, with repository platform/shop."},
		{"a review environment", anEvent(t, EventReviewDestroyed, review), "review done shop-web: The review environment pr-7 of platform/shop#7 at aaaaaaa was removed: the pull request was merged."},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := entryOf(c.record)
			require.NoError(t, err)
			head := strings.Join(strings.Fields(strings.Join([]string{e.Kind, e.Result, e.Who, e.Link, e.Component}, " ")), " ")
			want := strings.Join(strings.Fields(strings.Replace(c.want, " : ", ": ", 1)), " ")
			assert.Equal(t, want, head+": "+e.Outcome)
			assert.True(t, strings.HasPrefix(e.Ref, "intent/"+e.Intent) && e.Intent != "" || strings.HasPrefix(e.Ref, "event/"), e.Ref)
		})
	}
	e, err := entryOf(anIntent(t, kindPromote, plan, nil))
	require.NoError(t, err)
	assert.Equal(t, []AuditGate{{Gate: "lock", Component: "shop-web", Pass: true}}, e.Gates, "what was asked is told of a plan too, by reference")
	assert.NotContains(t, string(raw(t, e)), "not told")
	e, err = entryOf(anEvent(t, EventRemoved, ProjectEvent{}))
	require.NoError(t, err)
	assert.Equal(t, "4k2j", e.Intent)
}

func TestEachDecisionIsToldWithWhatWasAskedAndWhy(t *testing.T) {
	promote := Decision{Key: "zulip:31/x", At: minute(1), Bot: "platform", Verb: "promote", Text: "promote shop\n @all", ChatID: "zulip:9", Persona: "sre",
		Actions: []string{"component:promote", "component:force"}, Link: "http://chat/31", Project: "shop"}
	word := promote
	word.Verb, word.Text, word.Question, word.About = "confirm", "confirm abcdef", "zulip:30/question/1", "undo shop"
	press := word
	press.Text = ""
	for _, c := range []struct {
		kind string
		d    Decision
		want string
	}{
		{DecisionAllowed, promote, "done sre: Asked of platform: promote shop @all. Allowed: component:promote, component:force."},
		{DecisionAllowed, with(promote, func(d *Decision) { d.Via = "release" }), "done sre: Asked of platform by its command release: promote shop @all. Allowed: component:promote, component:force."},
		{DecisionDenied, with(promote, func(d *Decision) { d.Lacking = "component:force" }), "refused sre: Asked of platform: promote shop @all. Denied, since sre is not granted component:force."},
		{DecisionDenied, promote, "refused sre: Asked of platform: promote shop @all. Denied, since nobody is granted it."},
		{DecisionUnknown, Decision{Bot: "platform", Text: "status", ChatID: "zulip:66"}, "refused zulip:66: Asked of platform: status. Refused, since nobody knows who zulip:66 is."},
		{DecisionStale, promote, "refused sre: Asked of platform: promote shop @all. Not run, since it was heard too late."},
		{DecisionLimited, Decision{ChatID: "zulip:66"}, "refused zulip:66: Not looked at, since zulip:66 asked too fast."},
		{DecisionAsked, promote, "waits sre: Asked of platform: promote shop @all. Put before somebody to confirm."},
		{DecisionConfirmed, word, "done sre: Asked of platform: confirm abcdef. Confirmed: undo shop."},
		{DecisionConfirmed, press, "done sre: Asked of platform: confirm. Confirmed: undo shop."},
		{DecisionCancelled, word, "done sre: Asked of platform: confirm abcdef. Called off: undo shop."},
		{DecisionChanged, word, "refused sre: Asked of platform: confirm abcdef. Confirmed, and no longer what was shown: undo shop."},
		{DecisionRefused, with(word, func(d *Decision) { d.Why = "another asked" }), "refused sre: Asked of platform: confirm abcdef. A word that does not count, since another asked: undo shop."},
	} {
		c.d.Kind = c.kind
		e, err := entryOf(Record{Seq: 1, At: c.d.At, Decision: &c.d})
		require.NoError(t, err)
		assert.Equal(t, c.want, e.Result+" "+e.Who+": "+e.Outcome, c.kind)
		assert.Equal(t, AuditEntry{Ref: "decision/" + c.d.Key, At: c.d.At, Who: e.Who, Link: c.d.Link, Project: c.d.Project, Kind: c.kind, Result: e.Result, Outcome: e.Outcome}, e)
	}
	e, err := entryOf(Record{Decision: &Decision{Kind: DecisionDenied, Project: "General @all"}})
	require.NoError(t, err)
	assert.Empty(t, e.Project, "what cannot be a project's name is told as none")
	_, err = entryOf(Record{Decision: &Decision{Kind: "gossip"}})
	require.ErrorContains(t, err, "no kind that was asked for")
}

func with(d Decision, change func(*Decision)) Decision {
	change(&d)
	return d
}

func anIntent(t *testing.T, kind string, plan, outcome any) Record {
	in := Intent{ID: "4k2j5m", Key: "zulip:31", Kind: kind, Who: "developer", At: minute(1), Body: raw(t, plan)}
	if outcome != nil {
		in.Outcome = raw(t, outcome)
	}
	return Record{Seq: 1, At: in.At, Intent: &in}
}

func anEvent(t *testing.T, kind string, body any) Record {
	e := Event{Seq: 1, Key: "teardown/4k2j/shop", Kind: kind, At: minute(1), Project: "shop", Component: "shop-web", Body: raw(t, body)}
	return Record{Seq: 1, At: e.At, Event: &e}
}
