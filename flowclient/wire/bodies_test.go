package wire

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// nested has what a body may hold, one within the other.
type nested struct {
	Name  string            `json:"name"`
	Inner *inner            `json:"inner,omitempty"`
	Files map[string]string `json:"files,omitempty"`
	Many  []inner           `json:"many,omitempty"`
	At    *time.Time        `json:"at,omitempty"`
	Raw   []byte            `json:"raw,omitempty"`
}

type inner struct {
	Reason string `json:"reason"`
	Count  int    `json:"count,omitempty"`
}

func TestWhatABodyHoldsIsReadAsStrictlyAsTheBody(t *testing.T) {
	for name, tc := range map[string]struct{ body, field, why string }{
		"an unknown field":           {`{"inner":{"reason":"r","colour":"red"}}`, "inner.colour", "is no field of inner; its fields are count, reason"},
		"a field in other case":      {`{"inner":{"Reason":"r"}}`, "inner.Reason", "is no field of inner; its fields are count, reason"},
		"a field twice":              {`{"inner":{"reason":"r","reason":"s"}}`, "inner.reason", "is given twice"},
		"another type":               {`{"inner":{"reason":7}}`, "inner.reason", "must be a string"},
		"a text for an object":       {`{"inner":"r"}`, "inner", "must be an object"},
		"a list for an object":       {`{"inner":[]}`, "inner", "must be an object"},
		"null for an object":         {`{"inner":null}`, "inner", "must be an object"},
		"null for a text":            {`{"name":null}`, "name", "must be a string"},
		"a key twice":                {`{"files":{"a":"1","a":"2"}}`, "files.a", "is given twice"},
		"null for an item":           {`{"files":{"a":null}}`, "files.a", "must be a string"},
		"an item of another type":    {`{"many":[{"reason":"r"},{"reason":true}]}`, "many.1.reason", "must be a string"},
		"an object for a list":       {`{"many":{}}`, "many", "must be a list of objects"},
		"an instant without a zone":  {`{"at":"2026-03-04T12:00:00"}`, "at", "must be an instant such as 2026-03-04T12:00:00Z"},
		"an object for an instant":   {`{"at":{}}`, "at", "must be an instant such as 2026-03-04T12:00:00Z"},
		"bytes that are no base64":   {`{"raw":"%"}`, "raw", "must be bytes in base64"},
		"numbers in place of base64": {`{"raw":[1,2]}`, "raw", "must be bytes in base64"},
		"the outer field twice":      {`{"name":"a","inner":{"reason":"r"},"name":"b"}`, "name", "is given twice"},
	} {
		t.Run(name, func(t *testing.T) {
			var bad *flowclient.Invalid
			require.ErrorAs(t, Decode([]byte(tc.body), &nested{}), &bad)
			assert.Equal(t, tc.field, bad.Field)
			assert.Equal(t, tc.why, bad.Why)
		})
	}
	var got nested
	require.NoError(t, Decode([]byte(`{ "name" : "n", "inner":{"count":7,"reason":"r"}, "files":{}, "many":[ {"reason":"s"} ], "at":"2026-03-04T12:00:00Z","raw":"AAH/" }`), &got))
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	assert.Empty(t, cmp.Diff(nested{Name: "n", Inner: &inner{"r", 7}, Files: map[string]string{}, Many: []inner{{Reason: "s"}}, At: &noon, Raw: []byte{0, 1, 255}}, got))
}

var someone = flowclient.Origin{Key: "k", Who: "w"}

// FuzzPromoteBody: a body that is taken asks the same when a client sends it on.
func FuzzPromoteBody(f *testing.F) {
	for _, seed := range []string{
		`{"project":"shop"}`, `{"project":"shop","component":"shop-web","dryRun":true}`, `{"project":"shop","rollback":true,"force":false}`,
		`{"project":"shop","force":true,"skipSoak":"the fair opens"}`, `{"project":"shop","environment":"production"}`, `{"project":"\ud800"}`,
		`{"project":null}`, `{"project":["shop"]}`, `{"Project":"shop"}`, `{"project":"a","project":"b"}`, `[]`, `{`, `{}x`, "\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var b PromoteBody
		if !taken(t, body, &b) {
			return
		}
		if p, err := b.Request(someone); err == nil {
			sentOn(t, FromPromotion(p, b.Rollback), b)
		}
	})
}

// FuzzBodies reads the same bytes as each body there is.
func FuzzBodies(f *testing.F) {
	for _, seed := range []string{
		`{"template":"static","project":"shop","walkthrough":true}`, `{"scope":"project:shop"}`, `{"project":"shop","message":"m","files":{"a":"b"},"delete":["c"]}`,
		`{"project":"shop","branch":"b","title":"t","body":"","files":{"a/b":"\u00e9\n"}}`, `{"project":"shop","number":7,"head":"1a2b"}`,
		`{"component":"shop-web","commit":"1a2b3c4","to":"production","reason":"breaks"}`, `{"repo":"platform/shop","ref":"main"}`,
		`{"id":"06ce9e1d","repo":"platform/shop","number":7,"action":"opened"}`, `{"template":"static"}`,
		`{"topic":"static-31","ended":"2026-03-04T12:00:00Z","state":"e30="}`, `{"files":{"a":"1","a":"2"}}`, `{"delete":[null]}`, `{"number":1e3}`, `{"ended":null}`,
		`{"project":"shop","from":"2026-12-20T09:00:00+01:00","until":"2027-01-04T09:00:00Z","reason":"end of year"}`, `{"project":"shop"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		each(t, body, ScaffoldBody.Request, FromScaffold)
		each(t, body, TeardownBody.Request, FromTeardown)
		each(t, body, CommitBody.Request, FromCommit)
		each(t, body, PullBody.Request, FromPull)
		each(t, body, MergeBody.Request, FromMerge)
		each(t, body, LockBody.Request, FromLock)
		each(t, body, SyncBody.Request, FromSync)
		each(t, body, func(b DeliveredBody, _ flowclient.Origin) (flowclient.PullDelivery, error) {
			return b.Request(time.Time{})
		}, FromDelivered)
		each(t, body, func(b UpdateBody, _ flowclient.Origin) (flowclient.Walkthrough, error) { return b.Request("31") }, FromUpdate)
		each(t, body, FreezeBody.Request, FromFreeze)
		each(t, body, UndoBody.Request, FromUndo)
		taken(t, body, &WalkthroughBody{})
	})
}

// each reads bytes as one kind of body; one that is taken asks the same when a client sends it on.
func each[B, R any](t *testing.T, body []byte, request func(B, flowclient.Origin) (R, error), from func(R) B) {
	var b B
	if !taken(t, body, &b) {
		return
	}
	if r, err := request(b, someone); err == nil {
		sentOn(t, from(r), b)
	}
}

// taken decodes; what is not taken is named, and what is taken is one JSON object.
func taken(t *testing.T, body []byte, into any) bool {
	t.Helper()
	err := Decode(body, into)
	var bad *flowclient.Invalid
	switch {
	case err == nil && !json.Valid(body):
		t.Fatalf("took %q", body)
	case err != nil && (!errors.As(err, &bad) || bad.Field == "" && !strings.Contains(string(body), `""`) || bad.Why == ""):
		t.Fatalf("%q: %v", body, err)
	}
	return err == nil
}

// sentOn writes a body as a client does and reads it again.
func sentOn[B any](t *testing.T, body, want B) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	var again B
	if err := Decode(text, &again); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	first, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := json.Marshal(again); err != nil || string(second) != string(first) {
		t.Fatalf("%s came back as %s: %v", first, second, err)
	}
}
