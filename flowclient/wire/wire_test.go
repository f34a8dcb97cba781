package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

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
	o := flowclient.Origin{Key: "zulip:31", Who: "developer", Link: "https://chat.example/31"}
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

	lock.Reason = ""
	cleared, err := ClearRequest(ClearQuery(lock), o)
	require.NoError(t, err)
	assert.Equal(t, lock, cleared)
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
		err := SyncBody{Repo: name, Ref: "main"}.Check()
		assert.Equal(t, good, err == nil, "%q: %v", name, err)
	}
}
