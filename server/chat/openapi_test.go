package chat_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// description is Zulip's public API description, loaded once; nil where it is absent.
var description = sync.OnceValues(func() (routers.Router, error) {
	path := filepath.Join(shared(), "data", "zulip-api.yaml")
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromFile(path)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", path, err)
	}
	doc.Paths.Delete("/users/{email}") // the same shape as /users/{user_id}
	doc.Components.SecuritySchemes["basicAuth"] = doc.Components.SecuritySchemes["BasicAuth"]
	doc.Servers = openapi3.Servers{{URL: site + "/api/v1"}}
	openapi3filter.RegisterBodyDecoder("application/x-www-form-urlencoded", formBody)
	return legacy.NewRouter(doc, openapi3.DisableExamplesValidation())
})

// formBody decodes a form as Zulip describes it: a field is JSON where its
// encoding says so or its type is not a string.
func formBody(body io.Reader, _ http.Header, schema *openapi3.SchemaRef, encoding openapi3filter.EncodingFn) (any, error) {
	text, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	values, err := url.ParseQuery(string(text))
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for name, v := range values {
		property := schema.Value.Properties[name]
		if property == nil {
			continue // unknown parameters pass
		}
		var decoded any
		enc := encoding(name)
		isJSON := enc != nil && enc.ContentType == "application/json" || property.Value.Type != nil && !property.Value.Type.Is("string")
		if !isJSON || json.Unmarshal([]byte(v[0]), &decoded) != nil {
			decoded = v[0]
		}
		out[name] = decoded
	}
	return out, nil
}

// localID is a field of message events that Zulip sends and its description leaves out.
var localID = regexp.MustCompile(`"local_message_id":"[^"]*",`)

// checking validates what passes through it against the description.
type checking struct{ next http.RoundTripper }

// checked wraps a transport; without the description it is the transport itself.
func checked(next http.RoundTripper) http.RoundTripper {
	if router, _ := description(); router == nil {
		return next
	}
	return checking{next: next}
}

// CloseIdleConnections reaches the transport beneath.
func (c checking) CloseIdleConnections() {
	if t, ok := c.next.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
}

// RoundTrip answers a response that breaks the description with an error.
// Failures are checked by hand in the tests: the description has them wrong.
func (c checking) RoundTrip(r *http.Request) (*http.Response, error) {
	router, err := description()
	if err != nil {
		return nil, err
	}
	var sent []byte
	if r.Body != nil {
		if sent, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(sent))
	}
	resp, err := c.next.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/json" || !strings.HasPrefix(r.URL.Path, "/api/v1/") {
		return resp, err
	}
	if strings.Contains(r.URL.Path, "@") {
		return resp, nil // the shape that was deleted above
	}
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(got))
	again := r.Clone(context.Background())
	again.Body = io.NopCloser(bytes.NewReader(sent))
	route, path, err := router.FindRoute(again)
	if err != nil {
		return nil, fmt.Errorf("%s %s is not in the description: %w", r.Method, r.URL.Path, err)
	}
	in := &openapi3filter.RequestValidationInput{Request: again, PathParams: path, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}}
	if err := openapi3filter.ValidateRequest(context.Background(), in); err != nil {
		return nil, fmt.Errorf("request %s %s: %w", r.Method, r.URL.Path, err)
	}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: resp.StatusCode, Header: resp.Header, Options: in.Options}
	out.SetBodyBytes(localID.ReplaceAll(got, nil))
	if err := openapi3filter.ValidateResponse(context.Background(), out); err != nil {
		return nil, fmt.Errorf("response to %s %s: %w\n%s", r.Method, r.URL.Path, err, got)
	}
	return resp, nil
}

func TestEveryAnswerIsValidatedAgainstZulipsDescription(t *testing.T) {
	router, err := description()
	require.NoError(t, err)
	if router == nil {
		t.Skip("Zulip's API description is absent: set PLATFORM_SHARED to the directory that holds data/zulip-api.yaml")
	}
	// The check must be able to fail: an answer that the description does not allow is caught.
	broken := checking{next: roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(bytes.NewReader([]byte(`{"result":"success","msg":"","id":"31"}`)))}, nil
	})}
	_, err = (&http.Client{Transport: broken}).PostForm(site+"/api/v1/messages", url.Values{"type": {"stream"}, "to": {"x"}, "content": {"y"}})
	require.ErrorContains(t, err, "response to POST /api/v1/messages")

	// Beyond it: a message has the fields of Zulip's, no more and no fewer.
	w := fresh(t)
	ann, bob := w.person("Ann"), w.person("Bob")
	w.stream("general", ann, bob)
	ann.post("general", "greetings", "hello *there*")
	ann.ok("POST", "/messages", form{"type": "direct", "to": []int64{bob.ID}, "content": "psst"})
	common := []string{"avatar_url", "client", "content", "content_type", "display_recipient", "flags", "id", "is_me_message", "reactions", "recipient_id",
		"sender_email", "sender_full_name", "sender_id", "sender_realm_str", "subject", "submessages", "timestamp", "topic_links", "type"}
	got := bob.messages(form{})
	require.Len(t, got, 2)
	assert.Equal(t, sorted(append(slices.Clone(common), "stream_id")), keys(got[0]))
	assert.Equal(t, sorted(common), keys(got[1]))
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func keys(m map[string]any) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	return sorted(names)
}

func sorted(names []string) []string { slices.Sort(names); return names }
