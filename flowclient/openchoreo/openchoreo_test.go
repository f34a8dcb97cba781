package openchoreo_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/openchoreo"
)

// against gives a client of a server that answers as the test says.
func against(t *testing.T, handle http.HandlerFunc) *openchoreo.Client {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	client, err := openchoreo.New(openchoreo.Config{BaseURL: server.URL + "/", Namespace: "default", Token: "the-token", Transport: server.Client().Transport})
	require.NoError(t, err)
	return client
}

func object(kind flowclient.Kind, name string) flowclient.Object {
	return flowclient.Object{Kind: kind, Metadata: flowclient.Metadata{Name: name}, Spec: json.RawMessage(`{}`)}
}

func TestConfigurationIsChecked(t *testing.T) {
	good := openchoreo.Config{BaseURL: "http://127.0.0.1:8080", Namespace: "default", Token: "t"}
	_, err := openchoreo.New(good)
	require.NoError(t, err)
	for field, spoil := range map[string]func(*openchoreo.Config){
		"BaseURL":   func(c *openchoreo.Config) { c.BaseURL = "127.0.0.1:8080" },
		"Namespace": func(c *openchoreo.Config) { c.Namespace = "" },
		"Token":     func(c *openchoreo.Config) { c.Token = "" },
	} {
		bad := good
		spoil(&bad)
		_, err := openchoreo.New(bad)
		var invalid *flowclient.Invalid
		require.ErrorAs(t, err, &invalid)
		assert.Equal(t, field, invalid.Field)
	}
}

func TestEveryKindHasItsPath(t *testing.T) {
	want := map[flowclient.Kind]string{
		flowclient.KindProject: "namespaces/default/projects", flowclient.KindComponent: "namespaces/default/components",
		flowclient.KindWorkload: "namespaces/default/workloads", flowclient.KindComponentRelease: "namespaces/default/componentreleases",
		flowclient.KindReleaseBinding: "namespaces/default/releasebindings", flowclient.KindProjectReleaseBinding: "namespaces/default/projectreleasebindings",
		flowclient.KindResource: "namespaces/default/resources", flowclient.KindResourceReleaseBinding: "namespaces/default/resourcereleasebindings",
		flowclient.KindWorkflowRun: "namespaces/default/workflowruns", flowclient.KindEnvironment: "namespaces/default/environments",
		flowclient.KindDeploymentPipeline: "namespaces/default/deploymentpipelines", flowclient.KindClusterComponentType: "clustercomponenttypes",
		flowclient.KindClusterWorkflow: "clusterworkflows",
	}
	for kind, path := range want {
		client := against(t, func(w http.ResponseWriter, r *http.Request) {
			assert.Equal(t, "/api/v1/"+path+"/a", r.URL.Path)
			assert.Equal(t, "Bearer the-token", r.Header.Get("Authorization"))
			w.Header().Set("ETag", `"7"`)
			_, _ = io.WriteString(w, `{"metadata":{"name":"a"},"spec":{"x":1}}`)
		})
		o, err := client.Get(t.Context(), kind, "a")
		require.NoError(t, err)
		assert.Equal(t, kind, o.Kind, "filled in where the server leaves it out")
		assert.Equal(t, `"7"`, o.ETag)
	}
	_, err := against(t, nil).Get(t.Context(), "Secret", "a")
	var invalid *flowclient.Invalid
	require.ErrorAs(t, err, &invalid)
	assert.Equal(t, "Secret", invalid.Value)
}

func TestANameThatIsAPathIsRefusedBeforeItIsSent(t *testing.T) {
	client := against(t, func(http.ResponseWriter, *http.Request) { t.Error("sent") })
	for _, name := range []string{"", ".", "..", "a/b", "../secrets"} {
		_, err := client.Get(t.Context(), flowclient.KindProject, name)
		var invalid *flowclient.Invalid
		require.ErrorAs(t, err, &invalid, name)
		require.ErrorAs(t, client.Delete(t.Context(), flowclient.KindProject, name), &invalid, name)
	}
}

func TestStatusesBecomeErrors(t *testing.T) {
	ctx := context.Background()
	get := func(c *openchoreo.Client) error { _, err := c.Get(ctx, flowclient.KindProject, "a"); return err }
	create := func(c *openchoreo.Client) error {
		_, err := c.Create(ctx, object(flowclient.KindProject, "a"))
		return err
	}
	update := func(c *openchoreo.Client) error {
		_, err := c.Update(ctx, object(flowclient.KindProject, "a"))
		return err
	}
	remove := func(c *openchoreo.Client) error { return c.Delete(ctx, flowclient.KindProject, "a") }
	cases := []struct {
		name   string
		status int
		body   string
		call   func(*openchoreo.Client) error
		check  func(t *testing.T, err error)
	}{
		{"404 on a read", 404, `{"code":"NOT_FOUND","error":"x"}`, get, func(t *testing.T, err error) { assert.True(t, flowclient.IsNotFound(err)) }},
		{"404 on a create is no missing object", 404, `{"code":"NOT_FOUND","error":"Namespace not found"}`, create, upstream("Namespace not found")},
		{"409 on a create", 409, `{"code":"CONFLICT","error":"x"}`, create, is(flowclient.ErrExists)},
		{"409 on an update", 409, `{"code":"CONFLICT","error":"x"}`, update, is(flowclient.ErrConflict)},
		{"412 on an update", 412, `{"code":"CONFLICT","error":"x"}`, update, is(flowclient.ErrConflict)},
		{"409 on a delete is a decision", 409, `{"code":"CONFLICT","error":"it is in use; delete the binding first"}`, remove, func(t *testing.T, err error) {
			var refusal *flowclient.Refusal
			require.ErrorAs(t, err, &refusal)
			assert.Equal(t, "it is in use; delete the binding first", refusal.Sentence)
		}},
		{"400 with details", 400, `{"code":"BAD_REQUEST","error":"x","details":[{"field":"spec.state","value":"Paused","message":"must be one of"}]}`, create, invalid("spec.state", "Paused")},
		{"422 without details", 422, `{"code":"UNPROCESSABLE_CONTENT","error":"owner is immutable"}`, update, invalid("Project", "a")},
		{"401 of the token check", 401, `{"error":"INVALID_TOKEN","message":"expired"}`, create, upstream("INVALID_TOKEN: expired")},
		{"403", 403, `{"code":"FORBIDDEN","error":"no"}`, create, upstream("403")},
		{"500 without JSON", 500, `<html>`, create, upstream("<html>")},
		{"a redirect is not followed", 302, ``, create, upstream("302")},
		{"an answer that is not JSON", 200, `hello`, get, upstream("decode")},
		{"an answer of 33 MiB", 200, strings.Repeat(" ", 33<<20), get, upstream("32 MiB")},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			client := against(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "http://127.0.0.1:1/")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			err := c.call(client)
			require.Error(t, err)
			c.check(t, err)
			assert.NotContains(t, err.Error(), "the-token")
		})
	}
}

func is(target error) func(*testing.T, error) {
	return func(t *testing.T, err error) { assert.ErrorIs(t, err, target) }
}

func upstream(says string) func(*testing.T, error) {
	return func(t *testing.T, err error) {
		var up *flowclient.Upstream
		require.ErrorAs(t, err, &up)
		assert.Equal(t, "control plane", up.Part)
		assert.Contains(t, err.Error(), says)
	}
}

func invalid(field, value string) func(*testing.T, error) {
	return func(t *testing.T, err error) {
		var bad *flowclient.Invalid
		require.ErrorAs(t, err, &bad)
		assert.Equal(t, field, bad.Field)
		assert.Equal(t, value, bad.Value)
	}
}

func TestOnlyReadsAreRetried(t *testing.T) {
	var calls atomic.Int32
	client := against(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, `{"metadata":{"name":"a"}}`)
	})
	_, err := client.Get(t.Context(), flowclient.KindProject, "a")
	require.NoError(t, err)
	assert.EqualValues(t, 3, calls.Load())

	calls.Store(0)
	_, err = client.Create(t.Context(), object(flowclient.KindProject, "a"))
	require.Error(t, err)
	assert.EqualValues(t, 1, calls.Load(), "a write whose answer was lost may have happened")
}

func TestAWriteCarriesLabelsAnnotationsAndSpecAndTheETag(t *testing.T) {
	client := against(t, func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		assert.JSONEq(t, `{"metadata":{"name":"a","labels":{"l":"1"},"annotations":{"a":"2"}},"spec":{"x":1}}`, string(raw))
		assert.Equal(t, `"7"`, r.Header.Get("If-Match"))
		assert.Equal(t, "application/json", r.Header.Get("Content-Type"))
		_, _ = w.Write(raw)
	})
	_, err := client.Update(t.Context(), flowclient.Object{
		Kind: flowclient.KindProject, ETag: `"7"`, Status: json.RawMessage(`{"conditions":[]}`), Spec: json.RawMessage(`{"x":1}`),
		Metadata: flowclient.Metadata{Name: "a", UID: "u", Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"a": "2"}},
	})
	require.NoError(t, err)
}

func TestListFollowsCursorsAndNarrows(t *testing.T) {
	cases := []struct {
		kind   flowclient.Kind
		filter flowclient.Filter
		query  string
	}{
		{flowclient.KindComponent, flowclient.Filter{Project: "p"}, "limit=100&project=p"},
		{flowclient.KindReleaseBinding, flowclient.Filter{Project: "p", Component: "c"}, "component=c&limit=100"},
		{flowclient.KindWorkflowRun, flowclient.Filter{Component: "c"}, "labelSelector=openchoreo.dev%2Fcomponent%3Dc&limit=100"},
		{flowclient.KindProject, flowclient.Filter{LabelSelector: "a=b"}, "labelSelector=a%3Db&limit=100"},
	}
	for _, c := range cases {
		client := against(t, func(w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			cursor := q.Get("cursor")
			q.Del("cursor")
			assert.Equal(t, c.query, q.Encode())
			next := map[string]string{"": "two", "two": "three", "three": ""}[cursor]
			_, _ = io.WriteString(w, `{"items":[{"metadata":{"name":"x`+cursor+`"},"spec":{"owner":{"projectName":"p","componentName":"c"}}},
				{"metadata":{"name":"y"},"spec":{"owner":{"projectName":"other","componentName":"other"}}}],"pagination":{"nextCursor":"`+next+`"}}`)
		})
		found, err := client.List(t.Context(), c.kind, c.filter)
		require.NoError(t, err)
		want := 3
		if c.filter.Project == "" && c.filter.Component == "" {
			want = 6
		}
		assert.Len(t, found, want, "%s: objects of others are left out", c.kind)
	}
}

func TestAListThatNeverEndsIsGivenUp(t *testing.T) {
	client := against(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"items":[],"pagination":{"nextCursor":"again"}}`)
	})
	_, err := client.List(t.Context(), flowclient.KindProject, flowclient.Filter{})
	upstream("pages")(t, err)
}

func TestTheCallersEndIsTheCallersError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	client := against(t, func(http.ResponseWriter, *http.Request) { cancel() })
	_, err := client.Get(ctx, flowclient.KindProject, "a")
	require.ErrorIs(t, err, context.Canceled)
}
