package flow

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient/wire"
)

// bodyOf is a body that an endpoint takes: that of its first good request.
func bodyOf(t *testing.T, e endpoint) string {
	t.Helper()
	for _, tc := range good {
		if tc.call.method != e.method || tc.call.body == "" {
			continue
		}
		r, err := http.NewRequest(tc.call.method, tc.call.target, nil)
		require.NoError(t, err)
		if found, ok := find(route(endpoints), r)[e.method]; ok && found.path == e.path {
			return tc.call.body
		}
	}
	t.Fatalf("no good request to %s %s is here", e.method, e.path)
	return ""
}

// wrongTypes are values of JSON that no field of the type takes, by the type's kind.
var wrongTypes = map[reflect.Kind][]string{
	reflect.String:  {`7`, `true`, `null`, `[]`, `{}`},
	reflect.Bool:    {`"yes"`, `0`, `null`, `[]`},
	reflect.Int:     {`"7"`, `7.5`, `1e400`, `null`, `99999999999999999999`},
	reflect.Int64:   {`"7"`, `7.5`, `null`, `99999999999999999999`},
	reflect.Map:     {`"a"`, `[]`, `null`, `{"a":1}`, `{"a":null}`, `{"a":"1","a":"2"}`},
	reflect.Slice:   {`7`, `{}`, `null`, `[1]`, `[null]`},
	reflect.Struct:  {`7`, `"noon"`, `null`},
	reflect.Pointer: {`7`, `"noon"`, `null`},
}

// TestEveryBodyIsReadStrictly sends each endpoint that takes a body what it must not take.
func TestEveryBodyIsReadStrictly(t *testing.T) {
	for _, e := range endpoints {
		if !e.takes() {
			continue
		}
		fine := bodyOf(t, e)
		require.True(t, strings.HasPrefix(fine, "{"), fine)
		cases := map[string]struct {
			body, field string
			status      int
		}{
			"an unknown field":      {`{"colour":"red",` + fine[1:], "colour", 400},
			"bytes behind its end":  {fine + "x", "body", 400},
			"another body behind":   {fine + fine, "body", 400},
			"text that is no UTF-8": {strings.Replace(fine, `":"`, "\":\"\xff", 1), "body", 400},
			"its end cut off":       {fine[:len(fine)-1], "body", 400},
			"a list around it":      {"[" + fine + "]", "body", 400},
			"nothing in it":         {"", "body", 400},
			"null":                  {"null", "body", 400},
			"more than is read":     {`{"` + strings.Repeat("x", wire.MaxBody) + `":1}`, "", 413},
		}
		for i := range reflect.TypeOf(e.sends).NumField() {
			f := reflect.TypeOf(e.sends).Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			wrong := wrongTypes[f.Type.Kind()]
			require.NotEmpty(t, wrong, "%s is a %s", name, f.Type.Kind())
			without := withoutField(t, fine, name)
			for _, value := range wrong {
				cases[name+" as "+value] = struct {
					body, field string
					status      int
				}{fmt.Sprintf(`{%q:%s%s`, name, value, without), name, 400}
			}
			cases[name+" twice"] = struct {
				body, field string
				status      int
			}{fmt.Sprintf(`{%q:%s,%[1]q:%[2]s%[3]s`, name, rightValue(f.Type), without), name, 400}
		}
		for name, tc := range cases {
			t.Run(e.method+e.path+" with "+name, func(t *testing.T) {
				s := newSurface(t)
				resp := s.do(write(e.method, inBraces.ReplaceAllString(e.path, "31"), tc.body))
				var refused wire.Error
				require.NoError(t, json.NewDecoder(resp.Body).Decode(&refused))
				require.Equal(t, tc.status, resp.StatusCode, "%s: %+v", shortened(tc.body), refused)
				outer, _, _ := strings.Cut(refused.Field, ".")
				assert.Equal(t, tc.field, outer, refused.Error)
				assert.Empty(t, s.flow.calls)
				assert.Less(t, len(refused.Error), 2000)
			})
		}
	}
}

// withoutField is a body without its brace and without a field: `,"a":1}` or `}`.
func withoutField(t *testing.T, body, field string) string {
	t.Helper()
	var all map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(body), &all))
	delete(all, field)
	rest, err := json.Marshal(all)
	require.NoError(t, err)
	if len(all) == 0 {
		return "}"
	}
	return "," + string(rest[1:])
}

// rightValue is a value that a field of the type takes.
func rightValue(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true"
	case reflect.Int, reflect.Int64:
		return "7"
	case reflect.Map:
		return `{"a":"b"}`
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return `"e30="`
		}
		return `["a"]`
	case reflect.Pointer, reflect.Struct:
		return `"2026-03-04T12:00:00Z"`
	default:
		return `"a"`
	}
}

// shortened is a body as a failure shows it.
func shortened(body string) string { return body[:min(len(body), 200)] }

func TestWhatTakesNoBodyIsNotSentOne(t *testing.T) {
	for _, c := range []call{write("GET", "/state", `{"project":"shop"}`), write("DELETE", "/locks?component=shop-web&commit=1a2b3c4", `{"to":"production"}`)} {
		s := newSurface(t)
		resp := s.do(c)
		assert.Equal(t, http.StatusBadRequest, resp.StatusCode)
		assert.Contains(t, text(t, resp), "is not read by "+c.method)
		assert.Empty(t, s.flow.calls)
	}
}

func TestAddressesAndHeadersAreBounded(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	for name, tc := range map[string]struct {
		call   call
		status int
	}{
		"a long query":           {write("GET", "/window?project="+long, ""), 400},
		"a long path":            {write("GET", "/builds/"+long, ""), 404},
		"an unknown long path":   {write("GET", "/"+long, ""), 404},
		"a long method":          {write(long, "/state", ""), 405},
		"a long name of a field": {write("POST", "/promote", `{"`+long+`":1}`), 400},
		"a key sent twice":       {twice(write("POST", "/promote", `{"project":"shop"}`), wire.HeaderKey), 400},
		"an actor sent twice":    {twice(write("POST", "/promote", `{"project":"shop"}`), wire.HeaderActor), 400},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSurface(t)
			resp := s.do(tc.call)
			got := text(t, resp)
			assert.Equal(t, tc.status, resp.StatusCode, shortened(got))
			assert.Less(t, len(got), 2000, "what is too long is not repeated whole")
			assert.Empty(t, s.flow.calls)
		})
	}
}

// twice sends a header two times.
func twice(c call, name string) call {
	c = c.with(name, "one")
	c.header[http.CanonicalHeaderKey(name)] = []string{"one", "two"}
	return c
}
