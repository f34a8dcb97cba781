package controlplane_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shared is a file of the shared data, or a reason to skip.
func shared(name string) (path, skip string) {
	root := os.Getenv("PLATFORM_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared")
	}
	path = filepath.Join(root, "data", name)
	if _, err := os.Stat(path); err != nil {
		return "", "no " + name + " here: set PLATFORM_SHARED to the directory that holds data/" + name
	}
	return path, ""
}

// description is OpenChoreo's own description of the API; nil where it is not present.
var description = sync.OnceValues(func() (routers.Router, error) {
	path, skip := shared("openchoreo-api.yaml")
	if skip != "" {
		return nil, nil
	}
	doc, err := openapi3.NewLoader().LoadFromFile(path)
	if err != nil {
		return nil, err
	}
	doc.Servers = nil // whatever the address
	return gorillamux.NewRouter(doc)
})

// departures are the statuses that the embedded control plane answers and the
// description does not have, with the reason.
var departures = map[int]string{
	http.StatusUnauthorized:          "the token check answers before the API does, in its own shape, on every path",
	http.StatusPreconditionFailed:    "If-Match is ours",
	http.StatusRequestEntityTooLarge: "the real server answers it from its HTTP layer",
	http.StatusMethodNotAllowed:      "the real server answers it from its HTTP layer",
	http.StatusNotFound:              "a namespace that does not exist; lists of a real server are empty",
	http.StatusConflict:              "a run's name that is taken, a release that is in use",
	http.StatusUnprocessableEntity:   "listed for most writes, not for all",
}

// validating checks every answer that passes through against the description, where it is present.
func validating(t *testing.T, next http.RoundTripper) http.RoundTripper {
	router, err := description()
	require.NoError(t, err)
	if router == nil {
		return next
	}
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		raw, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		if err := resp.Body.Close(); err != nil {
			return nil, err
		}
		resp.Body = io.NopCloser(bytes.NewReader(raw))
		check(t, router, req, resp, raw)
		return resp, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// check fails the test when an answer is not as described.
func check(t *testing.T, router routers.Router, req *http.Request, resp *http.Response, raw []byte) {
	asked := req.Clone(context.Background())
	asked.Body = http.NoBody
	route, params, err := router.FindRoute(asked)
	if err != nil {
		// A path or a method that OpenChoreo does not have: only a refusal may come back.
		assert.GreaterOrEqual(t, resp.StatusCode, 400, "%s %s is not described and was answered %d", req.Method, req.URL.Path, resp.StatusCode)
		return
	}
	described := route.Operation.Responses.Status(resp.StatusCode) != nil
	if !described || resp.StatusCode == http.StatusUnauthorized && bytes.Contains(raw, []byte("_TOKEN")) {
		assert.NotEmpty(t, departures[resp.StatusCode], "%s %s: status %d is neither described nor a known departure: %s", req.Method, req.URL.Path, resp.StatusCode, raw)
		return
	}
	err = openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: asked, PathParams: params, Route: route},
		Status:                 resp.StatusCode, Header: resp.Header, Body: io.NopCloser(bytes.NewReader(raw)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	})
	assert.NoError(t, err, "%s %s answered %d: %s", req.Method, req.URL.Path, resp.StatusCode, raw)
}

func TestAnswersAreCheckedAgainstTheDescription(t *testing.T) {
	if _, skip := shared("openchoreo-api.yaml"); skip != "" {
		t.Skip(skip)
	}
	router, err := description()
	require.NoError(t, err)
	t.Run("an answer that is not as described is found", func(t *testing.T) {
		probe := &testing.T{}
		req, err := http.NewRequest(http.MethodGet, "http://x/api/v1/namespaces/default/projects", http.NoBody)
		require.NoError(t, err)
		resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}}
		check(probe, router, req, resp, []byte(`{"items":[{"metadata":{"name":7}}],"pagination":{}}`))
		assert.True(t, probe.Failed())
	})
}

func TestEveryServedPathIsDescribedByOpenChoreo(t *testing.T) {
	path, skip := shared("openchoreo-api.yaml")
	if skip != "" {
		t.Skip(skip)
	}
	theirs, err := openapi3.NewLoader().LoadFromFile(path)
	require.NoError(t, err)
	described := map[string]bool{}
	for p, item := range theirs.Paths.Map() {
		for verb := range item.Operations() {
			described[verb+" "+anonymous(p)] = true
		}
	}
	w := newWorld(t)
	got := w.request(http.MethodGet, "/openapi.json", "")
	ours, err := openapi3.NewLoader().LoadFromData([]byte(got.body))
	require.NoError(t, err)
	require.NoError(t, ours.Validate(t.Context()))
	for p, item := range ours.Paths.Map() {
		for verb := range item.Operations() {
			assert.True(t, described[verb+" "+anonymous(p)], "%s %s is served and not OpenChoreo's", verb, p)
		}
	}
}

// anonymous is a path without the names of its parameters.
func anonymous(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if strings.HasPrefix(p, "{") {
			parts[i] = "{}"
		}
	}
	return strings.Join(parts, "/")
}
