package flow

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient/wire"
)

// described is the surface's own description, and who finds a request's part of it.
var described = sync.OnceValues(func() (routers.Router, error) {
	whole, err := describe(endpoints)
	if err != nil {
		return nil, err
	}
	doc, err := openapi3.NewLoader().LoadFromData(whole.body)
	if err != nil {
		return nil, err
	}
	return gorillamux.NewRouter(doc)
})

// asDescribed fails the test when an answer is not as the description says, or
// when something was taken that the description does not allow. The answer's
// body is read and put back.
func asDescribed(t testing.TB, c call, resp *http.Response) {
	t.Helper()
	router, err := described()
	require.NoError(t, err)
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	resp.Body = io.NopCloser(bytes.NewReader(raw))
	asked := httptest.NewRequest(c.method, c.target, strings.NewReader(c.body))
	asked.Header = c.header.Clone()
	if asked.Header == nil {
		asked.Header = http.Header{}
	}
	isObject := json.Unmarshal([]byte(c.body), &struct{}{}) == nil && strings.TrimSpace(c.body) != "null"
	if isObject { // the surface reads JSON whatever it is called
		asked.Header.Set("Content-Type", "application/json")
	}
	if asked.Method == http.MethodHead {
		asked.Method = http.MethodGet
	}
	route, params, err := router.FindRoute(asked)
	if err != nil { // no path or no method of the surface: that is all that may be said
		assert.Contains(t, []int{http.StatusUnauthorized, http.StatusNotFound, http.StatusMethodNotAllowed}, resp.StatusCode, "%s %s is not described: %v", c.method, c.target, err)
		return
	}
	input := &openapi3filter.RequestValidationInput{Request: asked, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, MultiError: true}}
	if asked.Header.Get("X-Gitea-Event") != "" && !isObject { // of an event that is not read: it may hold anything
		input.Options.ExcludeRequestBody = true
	}
	if resp.StatusCode < http.StatusBadRequest {
		assert.NoError(t, openapi3filter.ValidateRequest(context.Background(), input), "%s %s was taken: %s", c.method, c.target, c.body)
	}
	assert.NoError(t, openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: resp.StatusCode, Header: resp.Header, Body: io.NopCloser(bytes.NewReader(raw)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true, ExcludeResponseBody: c.method == http.MethodHead},
	}), "%s %s answered %d: %s", c.method, c.target, resp.StatusCode, raw)
}

func TestTheDescriptionIsValidAndNamesEveryEndpointAndNoOther(t *testing.T) {
	s := newSurface(t)
	resp := s.do(call{method: http.MethodGet, target: wire.DescriptionPath}) // without a token
	require.Equal(t, http.StatusOK, resp.StatusCode)
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	require.NoError(t, err)
	require.NoError(t, doc.Validate(t.Context()))

	var indented bytes.Buffer
	require.NoError(t, json.Indent(&indented, raw, "", "  "))
	goldenFile(t, "openapi.json", indented.String())

	var told, served []string
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			told = append(told, method+" "+path)
		}
	}
	for _, e := range endpoints {
		served = append(served, e.method+" "+e.path)
	}
	assert.ElementsMatch(t, served, told)
	for _, secret := range []string{testToken, testSecret} {
		assert.NotContains(t, string(raw), secret)
	}
	assert.Empty(t, s.flow.calls)
}

// document are the flow controller's endpoints as the interface document lists them.
var document = []string{
	"POST /projects/scaffold",
	"POST /projects/teardown",
	"POST /git/commit",
	"POST /git/pr",
	"POST /git/merge",
	"GET /builds",
	"GET /evidence/build/{run}",
	"GET /evidence/binding/{name}",
	"GET /evidence/flow",
	"GET /host",
	"POST /promote",
	"GET /state",
	"GET /window",
	"GET /delivery",
	"POST /sync",
}

func TestEveryEndpointOfTheInterfaceDocumentIsServed(t *testing.T) {
	require.Len(t, document, 15)
	for _, line := range document {
		assert.True(t, slices.ContainsFunc(endpoints, func(e endpoint) bool { return e.method+" "+e.path == line }), line)
	}
}

func TestEveryRowSaysWhatItIs(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range endpoints {
		line := e.method + " " + e.path
		assert.False(t, seen[line], "%s is there twice", line)
		seen[line] = true
		assert.Regexp(t, `^[A-Z].*\.$`, e.summary, "%s: a sentence", line)
		assert.NotNil(t, e.answers, line)
		assert.NotEmpty(t, e.success, line)
		for _, status := range e.success {
			assert.NotEmpty(t, successes[status], "%s: %d", line, status)
		}
		for _, q := range e.query {
			assert.NotEmpty(t, q.says, "%s: %s", line, q.name)
		}
	}
}

// TestTheRowsParametersAreThoseThatAreRead asks each endpoint with one that it
// does not know: its refusal lists those that it does.
func TestTheRowsParametersAreThoseThatAreRead(t *testing.T) {
	for _, e := range endpoints {
		t.Run(e.method+" "+e.path, func(t *testing.T) {
			c := write(e.method, inBraces.ReplaceAllString(e.path, "31")+"?colour=red", "")
			if e.takes() {
				c.body = bodyOf(t, e)
			}
			s := newSurface(t)
			resp := s.do(c)
			var refused wire.Error
			require.NoError(t, json.NewDecoder(resp.Body).Decode(&refused))
			require.Equal(t, http.StatusBadRequest, resp.StatusCode, refused.Error)
			assert.Equal(t, "colour", refused.Field)
			assert.Empty(t, s.flow.calls)
			_, list, _ := strings.Cut(refused.Why, "its parameters are ")
			var told, read []string
			for _, q := range e.query {
				told = append(told, q.name)
			}
			if list != "" {
				read = strings.Split(list, ", ")
			}
			assert.ElementsMatch(t, read, told)
			for _, q := range e.query {
				if q.required && len(e.query) == 1 {
					resp := s.do(write(e.method, inBraces.ReplaceAllString(e.path, "31"), c.body))
					assert.Equal(t, http.StatusBadRequest, resp.StatusCode, "%s is required", q.name)
				}
			}
		})
	}
}

func TestWhatIsNotAsDescribedIsFound(t *testing.T) {
	answer := func(status int, body string) *http.Response {
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}
	}
	for name, tc := range map[string]struct {
		call call
		resp *http.Response
	}{
		"an answer of another type":           {write("GET", "/host", ""), answer(200, `{"availableBytes":"3"}`)},
		"an answer without a field":           {write("GET", "/host", ""), answer(200, `{}`)},
		"a status that is not described":      {write("GET", "/host", ""), answer(201, `{"availableBytes":3}`)},
		"an error that is no sentence":        {write("GET", "/host", ""), answer(404, `{"message":"no"}`)},
		"a field that is taken and not known": {write("POST", "/promote", `{"project":"shop","colour":"red"}`), answer(200, `{"project":"shop","components":[]}`)},
		"a path that is not there":            {write("GET", "/nothing", ""), answer(200, `{}`)},
	} {
		t.Run(name, func(t *testing.T) {
			probe := &failing{TB: t}
			asDescribed(probe, tc.call, tc.resp)
			assert.True(t, probe.failed)
		})
	}
}

// failing notes that a test would have failed.
type failing struct {
	testing.TB
	failed bool
}

func (f *failing) Errorf(string, ...any) { f.failed = true }
