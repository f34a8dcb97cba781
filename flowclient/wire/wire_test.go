package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/flowclient"
)

func TestErrorsComeBackAsTheyWent(t *testing.T) {
	for name, tc := range map[string]struct {
		err    error
		status int
	}{
		"a refusal":              {&flowclient.Refusal{Sentence: "locked; clear it", Gate: "lock", Gates: []flowclient.Verdict{{Gate: "lock", Sentence: "locked"}}}, 409},
		"a bare refusal":         {flowclient.Refuse("no"), 409},
		"an invalid field":       {&flowclient.Invalid{Field: "commit", Value: "1a2", Why: "is ambiguous"}, 400},
		"a key used before":      {&flowclient.Invalid{Field: "origin.key", Value: "k", Why: "was used before"}, 400},
		"an invalid empty value": {&flowclient.Invalid{Field: "project", Value: "", Why: "is required"}, 400},
		"nothing of that name":   {&flowclient.NotFound{Kind: "project", Name: "shop"}, 404},
		"an upstream":            {&flowclient.Upstream{Part: "control plane", Err: errors.New("refused: connection")}, 502},
		"a large body":           {ErrTooLarge, 413},
		"a wrong token":          {ErrToken, 401},
	} {
		t.Run(name, func(t *testing.T) {
			status, body, fault := Status(fmt.Errorf("wrapped: %w", tc.err), "id")
			assert.Equal(t, tc.status, status)
			assert.False(t, fault)
			text, err := json.Marshal(body)
			require.NoError(t, err)
			back := FromStatus(status, text)
			assert.Equal(t, tc.err.Error(), back.Error())
			assert.IsType(t, tc.err, back)
			if up := (*flowclient.Upstream)(nil); !errors.As(tc.err, &up) {
				assert.Equal(t, tc.err, back)
			}
		})
	}
}

func TestAnErrorThatIsNoAnswerBecomesAFault(t *testing.T) {
	status, body, fault := Status(errors.New("secret detail"), "the-id")
	assert.Equal(t, 500, status)
	assert.True(t, fault)
	assert.Equal(t, "the-id", body.ID)
	assert.Contains(t, body.Error, "the-id")
	assert.NotContains(t, body.Error, "secret detail")
}

func TestAnswersThatAreNoErrorBodyBecomeUpstreamErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		body   string
		want   string
	}{
		"a proxy's page":           {502, "<html>bad gateway</html>", "flow controller: answered 502: <html>bad gateway</html>"},
		"an empty answer":          {500, "", "flow controller: answered 500: "},
		"a 404 of something else":  {404, `{"error":"no such page"}`, "flow controller: answered 404: no such page"},
		"a 401 of something else":  {401, `{"error":"sign in"}`, "flow controller: answered 401: sign in"},
		"a redirect":               {307, "", "flow controller: answered 307: "},
		"the controller's end":     {503, `{"error":"stopping"}`, "flow controller: answered 503: stopping"},
		"a 400 that names nothing": {400, `{"error":"bad"}`, "flow controller: answered 400: bad"},
	} {
		t.Run(name, func(t *testing.T) {
			err := FromStatus(tc.status, []byte(tc.body))
			var upstream *flowclient.Upstream
			require.ErrorAs(t, err, &upstream)
			assert.Equal(t, tc.want, err.Error())
		})
	}
	for _, status := range []int{200, 201, 207} {
		assert.NoError(t, FromStatus(status, nil))
	}
	status, _, fault := Status(context.Canceled, "")
	assert.Equal(t, 503, status)
	assert.False(t, fault)
}

func TestRequestsComeBackAsTheyWent(t *testing.T) {
	o := flowclient.Origin{Key: "zulip:31", Who: "developer", Link: "https://chat.example/31", Trace: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
	require.NoError(t, CheckOrigin(o))
	h := http.Header{}
	SetOrigin(h, o)
	got, err := Origin(h)
	require.NoError(t, err)
	assert.Equal(t, o, got)

	scaffold := flowclient.ScaffoldRequest{Origin: o, Template: "static", Project: "shop", Walkthrough: true}
	carried(t, FromScaffold(scaffold), func(b ScaffoldBody) (flowclient.ScaffoldRequest, error) { return b.Request(o) }, scaffold)
	teardown := flowclient.TeardownRequest{Origin: o, Scope: "project:shop"}
	carried(t, FromTeardown(teardown), func(b TeardownBody) (flowclient.TeardownRequest, error) { return b.Request(o) }, teardown)
	commit := flowclient.CommitRequest{Origin: o, Project: "shop", Branch: "main", Message: "m\n\nbody", Files: map[string]string{"a/b": "é\n"}, Delete: []string{"c"}}
	carried(t, FromCommit(commit), func(b CommitBody) (flowclient.CommitRequest, error) { return b.Request(o) }, commit)
	promotion := flowclient.Promotion{Origin: o, Project: "shop", Component: "shop-web", DryRun: true}
	assert.True(t, FromPromotion(promotion, true).Rollback)
	carried(t, FromPromotion(promotion, false), func(b PromoteBody) (flowclient.Promotion, error) { return b.Request(o) }, promotion)
	lock := flowclient.LockRequest{Origin: o, Component: "shop-web", Commit: "1a2b3c4", Environment: "production", Reason: "r"}
	carried(t, FromLock(lock), func(b LockBody) (flowclient.LockRequest, error) { return b.Request(o) }, lock)

	pull := flowclient.PullRequest{Origin: o, Project: "shop", Branch: "hello", Base: "main", Title: "Say hello", Body: "b", Files: map[string]string{"a": "b"}, Delete: []string{"c"}}
	carried(t, FromPull(pull), func(b PullBody) (flowclient.PullRequest, error) { return b.Request(o) }, pull)
	merge := flowclient.MergeRequest{Origin: o, Project: "shop", Number: 7, Head: "1a2b"}
	carried(t, FromMerge(merge), func(b MergeBody) (flowclient.MergeRequest, error) { return b.Request(o) }, merge)
	sync := flowclient.SyncRequest{Origin: o, Repo: "platform/shop", Ref: "main"}
	carried(t, FromSync(sync), func(b SyncBody) (flowclient.SyncRequest, error) { return b.Request(o) }, sync)
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	told := flowclient.PullDelivery{ID: "06ce9e1d", Repo: "platform/shop", Number: 7, Action: "opened", At: noon}
	carried(t, FromDelivered(told), func(b DeliveredBody) (flowclient.PullDelivery, error) { return b.Request(noon) }, told)
	walk := flowclient.Walkthrough{ID: 31, Topic: "static-31", Step: "push", Ended: &noon, Result: "passed", Message: "m", State: []byte{0, 1, 255}}
	carried(t, FromUpdate(walk), func(b UpdateBody) (flowclient.Walkthrough, error) { return b.Request("31") }, walk)
	stage, last, err := LogRequest(LogQuery("test & build", 40))
	require.NoError(t, err)
	assert.Equal(t, "test & build 40", fmt.Sprint(stage, " ", last))
	trace, err := FlowTrace(FlowQuery(o.Trace[3:35]))
	require.NoError(t, err)
	assert.Equal(t, o.Trace[3:35], trace)

	lock.Reason = ""
	for _, dryRun := range []bool{false, true} {
		cleared, told, err := ClearRequest(ClearQuery(lock, dryRun), o)
		require.NoError(t, err)
		assert.Equal(t, lock, cleared)
		assert.Equal(t, dryRun, told)
	}
	of, component, err := WhyRequest(WhyQuery("sh op&x=1", "shop-web"))
	require.NoError(t, err)
	assert.Equal(t, "sh op&x=1 shop-web", of+" "+component)
	undo := flowclient.UndoRequest{Origin: o, Project: "shop", DryRun: true, Intent: "4k2j5mabcdefg"}
	carried(t, FromUndo(undo), func(b UndoBody) (flowclient.UndoRequest, error) { return b.Request(o) }, undo)
	p, age, err := LocksRequest("olderThan=336h&limit=7")
	require.NoError(t, err)
	assert.Equal(t, "7 336h0m0s", fmt.Sprint(p.Limit, " ", age))
	project, err := WindowProject(WindowQuery("sh op&x=1"))
	require.NoError(t, err)
	assert.Equal(t, "sh op&x=1", project)
}

// carried sends a body through JSON and reads the request that it makes.
func carried[B, R any](t *testing.T, body B, read func(B) (R, error), want R) {
	t.Helper()
	text, err := json.Marshal(body)
	require.NoError(t, err)
	var back B
	require.NoError(t, Decode(text, &back))
	got, err := read(back)
	require.NoError(t, err)
	assert.Empty(t, cmp.Diff(want, got))
}

func TestOutcomesThatWaitAre207(t *testing.T) {
	for result, want := range map[string]int{
		flowclient.Promoted: 200, flowclient.Unchanged: 200, flowclient.RolledBack: 200, flowclient.Retry: 207, flowclient.Superseded: 207,
	} {
		assert.Equal(t, want, OutcomeStatus(flowclient.Outcome{Components: []flowclient.ComponentOutcome{{Result: flowclient.Promoted}, {Result: result}}}), result)
	}
}

func TestReadStopsAtTheLimit(t *testing.T) {
	got, err := Read(strings.NewReader(strings.Repeat("x", MaxBody)))
	require.NoError(t, err)
	assert.Len(t, got, MaxBody)
	_, err = Read(strings.NewReader(strings.Repeat("x", MaxBody+1)))
	require.ErrorIs(t, err, ErrTooLarge)
	_, err = Read(broken{})
	var bad *flowclient.Invalid
	require.ErrorAs(t, err, &bad)
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

// TestDecodeTakesWhatMarshalWrites and nothing that differs from it by a field.
func TestDecodeTakesWhatMarshalWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := CommitBody{
			Project: rapid.String().Draw(t, "project"), Branch: rapid.String().Draw(t, "branch"), Message: rapid.String().Draw(t, "message"),
			Files:  rapid.MapOfN(rapid.String(), rapid.String(), 1, 3).Draw(t, "files"),
			Delete: rapid.SliceOfN(rapid.String(), 1, 3).Draw(t, "delete"),
		}
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got CommitBody
		if err := Decode(text, &got); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		name := rapid.StringMatching(`[a-z]{1,8}X`).Draw(t, "unknown")
		more := strings.Replace(string(text), "{", fmt.Sprintf("{%q:1,", name), 1)
		var bad *flowclient.Invalid
		if err := Decode([]byte(more), &got); !errors.As(err, &bad) || bad.Field != name {
			t.Fatalf("%s: %v", more, err)
		}
	})
}

func FuzzDecodeNeverPanicsAndAlwaysNamesAField(f *testing.F) {
	for _, seed := range []string{``, `{`, `{}`, `{"project":"a"}`, `{"project":{"a":[1,2]}}`, `[]`, `{"a":1}x`, "\xff", `{"project":null}`, `{1:2}`, `{"a" 1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var b PromoteBody
		err := Decode(body, &b)
		if err == nil {
			if !json.Valid(body) {
				t.Fatalf("took %q", body)
			}
			return
		}
		var bad *flowclient.Invalid
		if !errors.As(err, &bad) || bad.Why == "" {
			t.Fatalf("%q: %v", body, err)
		}
	})
}

func TestRepositoryNames(t *testing.T) {
	for name, good := range map[string]bool{
		"platform/shop": true, "a/b": true, "org.x/.profile": true, "shop": false, "/shop": false, "a/": false, "../x": false, "a/..": false,
		"a/.": false, "a/b/c": false, "a/b c": false, "": false, "a/" + strings.Repeat("b", 200): false,
	} {
		_, err := SyncBody{Repo: name, Ref: "main"}.Request(flowclient.Origin{})
		assert.Equal(t, good, err == nil, "%q: %v", name, err)
	}
}

func TestOriginsThatHeadersCannotCarryAreNamed(t *testing.T) {
	good := flowclient.Origin{Key: "k", Who: "w"}
	for name, tc := range map[string]struct {
		field  string
		change func(*flowclient.Origin)
	}{
		"no key":           {"origin.key", func(o *flowclient.Origin) { o.Key = " " }},
		"nobody":           {"origin.who", func(o *flowclient.Origin) { o.Who = "" }},
		"a long key":       {"origin.key", func(o *flowclient.Origin) { o.Key = strings.Repeat("k", 301) }},
		"a key of lines":   {"origin.key", func(o *flowclient.Origin) { o.Key = "a\nb" }},
		"a name of lines":  {"origin.who", func(o *flowclient.Origin) { o.Who = "a\rb" }},
		"a link that runs": {"origin.link", func(o *flowclient.Origin) { o.Link = "javascript:alert(1)" }},
	} {
		t.Run(name, func(t *testing.T) {
			o := good
			tc.change(&o)
			var bad *flowclient.Invalid
			require.ErrorAs(t, CheckOrigin(o), &bad)
			assert.Equal(t, tc.field, bad.Field)
		})
	}
}

func TestATraceContextThatIsMalformedIsDropped(t *testing.T) {
	for _, trace := range []string{"", "x", "00-0-0-01", "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"} {
		h := http.Header{"Traceparent": {trace}}
		o, err := Origin(h)
		require.NoError(t, err)
		assert.Empty(t, o.Trace, trace)
		sent := http.Header{}
		SetOrigin(sent, flowclient.Origin{Key: "k", Trace: trace})
		assert.Empty(t, sent.Get(HeaderTrace), trace)
	}
}

func TestAddressesKeepEveryNameOneSegment(t *testing.T) {
	assert.Equal(t, "/builds/shop-web-run-1", Address(BuildPath, "shop-web-run-1"))
	assert.Equal(t, "/builds/..%2Fstate/log", Address(BuildLogPath, "../state"))
	assert.Equal(t, "/builds/", Address(BuildPath, ""))
}

func TestTextIsOneLinePerFact(t *testing.T) {
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		answer any
		want   string
	}{
		"a refusal":  {Error{Error: "shop-web 1a2b is locked: \x1b[31mred\nline. Clear it."}, "shop-web 1a2b is locked:  [31mred line. Clear it.\n"},
		"an outcome": {flowclient.Outcome{Components: []flowclient.ComponentOutcome{{Sentence: "a: moved."}, {Sentence: "b: waits."}}, Note: "n."}, "a: moved.\nb: waits.\nn.\n"},
		"no locks":   {LocksAnswer{}, "no commit is locked\n"},
		"no old":     {LocksAnswer{OlderThan: "336h0m0s"}, "no commit has been locked for 336h0m0s\n"},
		"locks": {LocksAnswer{Locks: []flowclient.Lock{{Component: "shop-web", Commit: "1a2b", Reason: "breaks", Who: "sre", At: at}, {Component: "shop-web", Commit: "3c4d", Environment: "production", Reason: "r", Who: "w", At: at}}},
			"shop-web 1a2b in every environment, by sre on 2026-03-04 12:00 UTC: breaks\nshop-web 3c4d in production, by w on 2026-03-04 12:00 UTC: r\n"},
	} {
		text, ok := Text(tc.answer)
		assert.True(t, ok, name)
		assert.Equal(t, tc.want, text, name)
	}
	_, ok := Text(flowclient.State{})
	assert.False(t, ok, "what has no text is JSON")
}

func TestPullDeliveriesNameTheirPullRequest(t *testing.T) {
	for name, tc := range map[string]struct{ body, field string }{
		"no JSON":        {`{"action":`, "body"},
		"no repository":  {`{"action":"opened","number":1}`, "repository.full_name"},
		"no number":      {`{"action":"opened","repository":{"full_name":"a/b"}}`, "number"},
		"a negative one": {`{"action":"opened","number":-1,"repository":{"full_name":"a/b"}}`, "number"},
		"a text for one": {`{"action":"opened","number":"1","repository":{"full_name":"a/b"}}`, "number"},
		"no action":      {`{"number":1,"repository":{"full_name":"a/b"}}`, "action"},
	} {
		_, err := DecodePull([]byte(tc.body))
		var bad *flowclient.Invalid
		require.ErrorAs(t, err, &bad, name)
		assert.Equal(t, tc.field, bad.Field, name)
	}
}

func TestManifestsAreThoseOfTheDefaultBranch(t *testing.T) {
	sha, none := strings.Repeat("1a", 20), strings.Repeat("0", 40)
	for _, tc := range []struct {
		ref, after string
		ok         bool
	}{{"refs/heads/main", sha, true}, {"refs/heads/main", none, false}, {"refs/heads/other", sha, false}, {"refs/tags/main", sha, false}} {
		b, err := DecodePush([]byte(`{"ref":"` + tc.ref + `","after":"` + tc.after + `","repository":{"full_name":"a/b","default_branch":"main"},"pusher":{"login":"dev"}}`))
		require.NoError(t, err)
		branch, ok := b.Manifests()
		assert.Equal(t, tc.ok, ok, tc.ref)
		assert.Equal(t, "dev", b.Who())
		if ok {
			assert.Equal(t, "main", branch)
		}
	}
}
