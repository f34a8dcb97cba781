package wire

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// deliveries are the bodies that a real Gitea sent, by name.
func deliveries(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "fixtures", "webhooks", "*.raw"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	bodies := map[string][]byte{}
	for _, file := range files {
		body, err := os.ReadFile(file)
		require.NoError(t, err)
		bodies[strings.TrimSuffix(filepath.Base(file), ".raw")] = body
	}
	return bodies
}

// payloads are the two kinds of delivery that are read: into an empty one, with the fields that point into it.
func payloads() map[string]func() (into any, fields []wanted) {
	return map[string]func() (any, []wanted){
		"push": func() (any, []wanted) { b := &PushBody{}; return b, b.fields() },
		"pull": func() (any, []wanted) { b := &PullEventBody{}; return b, b.fields() },
	}
}

// oddities are objects of which encoding/json has to say what they mean, or
// that no reader may take for whole.
var oddities = []string{
	``, ` `, `{`, `}`, `[]`, `null`, `true`, `"ref"`, `{}`, ` {} `, `{}{}`, "{}\x00", "\ufeff{}", `{"ref"}`, `{"ref":}`, `{"ref":"a",}`, `{,"ref":"a"}`, `{"ref":"a" "after":"b"}`,
	`{"Ref":"a"}`, `{"ref":"a","REF":"b"}`, `{"ref":"a","ref":"b"}`, `{"ref":"a","ref":null}`, `{"\u0072ef":"a"}`, "{\"\u017fef\":\"a\",\"re\u0066\":\"b\"}", "{\"pu\u017fher\":{\"login\":\"a\"}}",
	`{"ref":null}`, `{"ref":7}`, `{"ref":"\u0061\ud83d\ude00"}`, `{"ref":"\ud83d"}`, `{"ref":"\x"}`, `{"ref":"\u00g0"}`, "{\"ref\":\"\\u\x11\x11\x11\x11\"}", "{\"ref\":\"a\nb\"}", "{\"ref\":\"\xff\"}", "{\"ref\":\"jürgen\"}", `{"ref":"a\\"}`, `{"ref":"a\"}`,
	`{"number":7}`, `{"number":-7}`, `{"number":07}`, `{"number":0}`, `{"number":7.0}`, `{"number":7e0}`, `{"number":1e400}`, `{"number":99999999999999999999}`, `{"number":"7"}`, `{"number":7 }`, `{"number":}`, `{"number":-}`,
	`{"repository":{"full_name":"a/b"},"repository":{"default_branch":"main"}}`, `{"repository":null}`, `{"repository":[]}`, `{"repository":"a/b"}`, `{"repository":{"Full_Name":"a/b"}}`, `{"repository":{"full_name":"a/b"`,
	`{"x":[1,-0.5e+10,true,false,null,"\t",{"y":[[]]}],"ref":"a"}`, `{"x":[1,],"ref":"a"}`, `{"x":tru,"ref":"a"}`, `{"x":1.,"ref":"a"}`, `{"x":.5,"ref":"a"}`, `{"x":01,"ref":"a"}`, `{"x":1e,"ref":"a"}`, `{"x":+1,"ref":"a"}`, "{\"x\":\"\x1f\",\"ref\":\"a\"}", "{\"x\":\"01234567\\\x7f\",\"ref\":\"a\"}", "{\"x\xff\":\"\xff\",\"ref\":\"a\"}",
	`{"x":` + strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth) + `,"ref":"a"}`,
}

// FuzzAPayloadIsReadAsEncodingJSONReadsIt holds the one pass against
// json.Unmarshal: what it takes, it takes for the same; what it leaves, it
// leaves to it. What is accepted says where to look.
func FuzzAPayloadIsReadAsEncodingJSONReadsIt(f *testing.F) {
	for _, body := range deliveries(f) {
		f.Add(body)
	}
	for _, body := range oddities {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for name, payload := range payloads() {
			want, _ := payload()
			wantErr := json.Unmarshal(body, want)
			got, fields := payload()
			if pick(body, fields) {
				require.NoError(t, wantErr, "%s %q", name, body)
				require.Equal(t, want, got, "%s %q", name, body)
			}
			got, fields = payload()
			err := readPayload(body, got, fields)
			require.Equal(t, wantErr == nil, err == nil, "%s %q: %v", name, body, err)
			if err == nil {
				require.Equal(t, want, got, "%s %q", name, body)
			}
		}
		if about, err := DecodePull(body); err == nil {
			require.Regexp(t, repository, about.Repository.FullName)
			require.Positive(t, about.Number)
			require.NotEmpty(t, about.Action)
		}
		if pushed, err := DecodePush(body); err == nil {
			require.Regexp(t, repository, pushed.Repository.FullName)
			require.Regexp(t, commitSHA, pushed.After)
			require.True(t, strings.HasPrefix(pushed.Ref, "refs/"))
			require.NotEmpty(t, pushed.Who())
		}
	})
}

func TestWhatGiteaSendsIsReadInOnePass(t *testing.T) {
	for name, body := range deliveries(t) {
		if strings.Contains(name, "form_encoded") {
			continue
		}
		kind := "push"
		if strings.HasPrefix(name, "pull_request") && name != "pull_request_comment" {
			kind = "pull"
		}
		into, fields := payloads()[kind]()
		assert.True(t, pick(body, fields), name)
		assert.NotContains(t, jsonOf(t, into), `"full_name":""`, name)
	}
}

func TestAStringEndsAtTheFirstLetterThatMayNotStandInIt(t *testing.T) {
	for c := range 256 {
		for at := range 17 {
			body := []byte(`"` + strings.Repeat("x", 17) + `"`)
			body[1+at] = byte(c)
			p := picker{body: body}
			text, plain, ok := p.text()
			whole := ok && p.at == len(body)
			assert.Equal(t, json.Valid(body), whole, "%q", body)
			if whole && plain {
				assert.Equal(t, body[1:18], text)
			}
		}
	}
}

func TestDepthIsBounded(t *testing.T) {
	nested := func(depth int) []byte {
		return []byte(`{"ref":"a","x":` + strings.Repeat(`{"y":[`, depth/2) + strings.Repeat("]}", depth/2) + `}`)
	}
	for depth, want := range map[int]bool{2: true, maxDepth - 2: true, maxDepth: false, 1 << 20: false} {
		var b PushBody
		assert.Equal(t, want, pick(nested(depth), b.fields()), depth)
		err := readPayload(nested(depth), &b, b.fields())
		assert.Equal(t, depth > 10000, err != nil, "%d: %v", depth, err)
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}
