package controlplane_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

const projects = "/api/v1/namespaces/default/projects"

func TestPublicPathsNeedNoToken(t *testing.T) {
	w := newWorld(t)
	for path, want := range map[string]string{"/health": "OK", "/ready": "Ready", "/version": `"name":"platform"`, "/openapi.json": `"openapi":"3.0.3"`} {
		got := w.request(http.MethodGet, path, "", "Authorization", "")
		assert.Equal(t, 200, got.status, path)
		assert.Contains(t, got.body, want, path)
	}
}

func TestEveryOtherPathNeedsTheToken(t *testing.T) {
	w := newWorld(t)
	cases := []struct{ name, method, path, authorization, want string }{
		{"no token", http.MethodGet, projects, "", "MISSING_TOKEN"},
		{"another scheme", http.MethodGet, projects, "Basic " + token, "MISSING_TOKEN"},
		{"a wrong token", http.MethodGet, projects, "Bearer wrong", "INVALID_TOKEN"},
		{"a prefix of the token", http.MethodGet, projects, "Bearer " + token[:5], "INVALID_TOKEN"},
		{"a write without a token", http.MethodPost, projects, "", "MISSING_TOKEN"},
		{"a cluster kind", http.MethodGet, "/api/v1/clusterworkflows", "", "MISSING_TOKEN"},
		{"a method that is not served", http.MethodPatch, projects, "", "MISSING_TOKEN"},
		{"a path that is not served", http.MethodGet, "/nothing", "", "MISSING_TOKEN"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := w.request(c.method, c.path, `{"metadata":{"name":"x"}}`, "Authorization", c.authorization)
			assert.Equal(t, 401, got.status)
			var body map[string]string
			require.NoError(t, json.Unmarshal([]byte(got.body), &body))
			assert.Equal(t, c.want, body["error"])
			assert.NotEmpty(t, body["message"])
			assert.Len(t, body, 2)
		})
	}
	assert.Empty(t, w.list(flowclient.KindProject))
}

func TestTheEnvelope(t *testing.T) {
	w := newWorld(t)
	got := w.request(http.MethodPost, projects, `{"metadata":{"name":"shop","labels":{"a":"b"},"annotations":{"free":"any text at all"},"uid":"mine"},"spec":{"unknown":1,"parameters":{"kept":{"deep":[1,2.50]}}},"status":{"conditions":"mine"},"extra":true}`)
	require.Equal(t, 201, got.status, got.body)
	var o map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.body), &o))
	assert.Equal(t, "openchoreo.dev/v1alpha1", o["apiVersion"])
	assert.Equal(t, "Project", o["kind"])
	meta := o["metadata"].(map[string]any)
	assert.Equal(t, "default", meta["namespace"])
	assert.NotEqual(t, "mine", meta["uid"])
	assert.NotContains(t, meta, "resourceVersion")
	assert.NotContains(t, meta, "generation")
	assert.NotContains(t, o, "extra")
	assert.NotContains(t, o, "status", "a status comes from controllers alone")
	assert.NotContains(t, got.body, "unknown", "unknown fields are dropped")
	assert.Contains(t, got.body, `"kept":{"deep":[1,2.50]}`, "free fields keep their values as written")
	assert.NotEmpty(t, got.header.Get("ETag"))
	assert.Equal(t, got.header.Get("ETag"), w.request(http.MethodGet, projects+"/shop", "").header.Get("ETag"))

	cluster := w.request(http.MethodGet, "/api/v1/clusterworkflows/build", "")
	assert.NotContains(t, cluster.body, `"namespace"`)
}

func TestBadInputIsRefusedWithItsFieldAndValueAndChangesNothing(t *testing.T) {
	w := newWorld(t)
	w.shop("")
	before := len(w.list(flowclient.KindComponent)) + len(w.list(flowclient.KindProject)) + len(w.list(flowclient.KindReleaseBinding))
	comp := "/api/v1/namespaces/default/components"
	bind := "/api/v1/namespaces/default/releasebindings"
	owner := `"owner":{"projectName":"shop"}`
	ctype := `"componentType":{"kind":"ClusterComponentType","name":"deployment/static-site"}`
	bowner := `"owner":{"projectName":"shop","componentName":"shop-web"}`
	cases := []struct {
		name, path, body string
		status           int
		says             []string
	}{
		{"an empty body", projects, ``, 400, []string{"body", "empty"}},
		{"a body that is not JSON", projects, `{"metadata":`, 400, []string{"body", "JSON"}},
		{"a list", projects, `[]`, 400, []string{"body", "object"}},
		{"two objects", projects, `{"metadata":{"name":"a"}}{}`, 400, []string{"nothing after"}},
		{"no name", projects, `{"metadata":{}}`, 400, []string{"metadata.name", "required"}},
		{"a name that is a number", projects, `{"metadata":{"name":7}}`, 400, []string{"metadata.name", "string"}},
		{"a name with capitals", projects, `{"metadata":{"name":"Shop"}}`, 400, []string{"metadata.name", "Shop"}},
		{"a name that ends in a dash", projects, `{"metadata":{"name":"shop-"}}`, 400, []string{"metadata.name", "shop-"}},
		{"a name of 64 letters", projects, `{"metadata":{"name":"` + strings.Repeat("a", 64) + `"}}`, 400, []string{"metadata.name", "63"}},
		{"a path in a name", projects, `{"metadata":{"name":"../x"}}`, 400, []string{"metadata.name", "../x"}},
		{"another kind", projects, `{"kind":"Component","metadata":{"name":"x"}}`, 400, []string{"kind", "Component", "Project"}},
		{"another API version", projects, `{"apiVersion":"v9","metadata":{"name":"x"}}`, 400, []string{"apiVersion", "v9"}},
		{"another namespace", projects, `{"metadata":{"name":"x","namespace":"other"}}`, 400, []string{"metadata.namespace", "other"}},
		{"a label value with a space", projects, `{"metadata":{"name":"x","labels":{"a":"b c"}}}`, 400, []string{"metadata.labels.a", "b c"}},
		{"a label key with a quote", projects, `{"metadata":{"name":"x","labels":{"a\"":"b"}}}`, 400, []string{"metadata.labels"}},
		{"a spec that is a string", projects, `{"metadata":{"name":"x"},"spec":"y"}`, 400, []string{"spec", "object"}},
		{"no owner", comp, `{"metadata":{"name":"x"},"spec":{` + ctype + `}}`, 400, []string{"spec.owner", "required"}},
		{"an owner without a project", comp, `{"metadata":{"name":"x"},"spec":{"owner":{},` + ctype + `}}`, 400, []string{"spec.owner.projectName", "required"}},
		{"a project that does not exist", comp, `{"metadata":{"name":"x"},"spec":{"owner":{"projectName":"nope"},` + ctype + `}}`, 422, []string{"spec.owner.projectName", "nope"}},
		{"a component type without its prefix", comp, `{"metadata":{"name":"x"},"spec":{` + owner + `,"componentType":{"name":"static-site"}}}`, 422, []string{"spec.componentType.name", "static-site"}},
		{"autoDeploy in words", comp, `{"metadata":{"name":"x"},"spec":{` + owner + `,` + ctype + `,"autoDeploy":"yes"}}`, 400, []string{"spec.autoDeploy", "yes"}},
		{"a commit that is none", comp, `{"metadata":{"name":"x"},"spec":{` + owner + `,` + ctype + `,"workflow":{"name":"build","parameters":{"repository":{"url":"u","revision":{"commit":"HEAD"}}}}}}`, 422, []string{"revision.commit", "HEAD"}},
		{"one field in two spellings with two values", comp, `{"metadata":{"name":"x"},"spec":{` + owner + `,` + ctype + `,"appPath":"a","workflow":{"name":"build","parameters":{"repository":{"url":"u","appPath":"b"}}}}}`, 400, []string{"spec.appPath", "twice"}},
		{"a state that is none", bind, `{"metadata":{"name":"x"},"spec":{` + bowner + `,"environment":"production","state":"Paused"}}`, 422, []string{"spec.state", "Paused"}},
		{"a binding without an environment", bind, `{"metadata":{"name":"x"},"spec":{` + bowner + `}}`, 400, []string{"spec.environment", "required"}},
		{"a component of another project", bind, `{"metadata":{"name":"x"},"spec":{"owner":{"projectName":"nope","componentName":"shop-web"},"environment":"production"}}`, 422, []string{"nope"}},
		{"a port that is none", "/api/v1/namespaces/default/workloads", `{"metadata":{"name":"x"},"spec":{` + bowner + `,"container":{"image":"i"},"endpoints":{"http":{"type":"HTTP","port":70000}}}}`, 422, []string{"spec.endpoints.http.port", "70000"}},
		{"a run of no component", "/api/v1/namespaces/default/workflowruns", `{"metadata":{"name":"x"},"spec":{"workflow":{"name":"build"}}}`, 400, []string{"openchoreo.dev/component"}},
		{"a run of a component that does not exist", "/api/v1/namespaces/default/workflowruns", `{"metadata":{"name":"x","labels":{"openchoreo.dev/project":"shop","openchoreo.dev/component":"nope"}},"spec":{"workflow":{"name":"build","parameters":{"repository":{"url":"u"}}}}}`, 422, []string{"openchoreo.dev/component", "nope"}},
		{"a namespace that is not served", "/api/v1/namespaces/other/projects", `{"metadata":{"name":"x"}}`, 404, []string{"other"}},
		{"a path that is not served", "/api/v1/namespaces/default/things", `{}`, 404, []string{"/api/v1/namespaces/default/things"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := w.request(http.MethodPost, c.path, c.body)
			assert.Equal(t, c.status, got.status, got.body)
			var body struct{ Code, Error string }
			require.NoError(t, json.Unmarshal([]byte(got.body), &body), got.body)
			assert.NotEmpty(t, body.Code)
			for _, s := range c.says {
				assert.Contains(t, body.Error, s)
			}
		})
	}
	assert.Equal(t, before, len(w.list(flowclient.KindComponent))+len(w.list(flowclient.KindProject))+len(w.list(flowclient.KindReleaseBinding)))
	assert.Empty(t, w.list(flowclient.KindWorkflowRun))
}

func TestABodyOverOneMebibyteIs413(t *testing.T) {
	w := newWorld(t)
	got := w.request(http.MethodPost, projects, `{"metadata":{"name":"x","annotations":{"a":"`+strings.Repeat("a", 1<<20)+`"}}}`)
	assert.Equal(t, 413, got.status)
	assert.Contains(t, got.body, `"code":"BAD_REQUEST"`)
}

func TestAMethodThatIsNotServedIs405AndSaysWhichAre(t *testing.T) {
	w := newWorld(t)
	got := w.request(http.MethodPatch, projects+"/shop", `{}`)
	assert.Equal(t, 405, got.status)
	assert.Equal(t, "DELETE, GET, PUT", got.header.Get("Allow"))
	got = w.request(http.MethodPut, "/api/v1/namespaces/default/componentreleases/x", `{}`)
	assert.Equal(t, 405, got.status, "a release is written once")
}

func TestNotFoundNamesTheObject(t *testing.T) {
	w := newWorld(t)
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
		got := w.request(method, projects+"/nope", `{}`)
		assert.Equal(t, 404, got.status)
		assert.JSONEq(t, `{"code":"NOT_FOUND","error":"Project 'nope' not found"}`, got.body)
	}
}

func TestPut(t *testing.T) {
	w := newWorld(t)
	w.shop("")
	path := projects + "/shop"
	w.eventually(flowclient.KindProject, "shop", ready)

	t.Run("an identical body changes nothing", func(t *testing.T) {
		before := w.request(http.MethodGet, path, "")
		const told = 2 // it was made, and became ready; the second is told a moment after it can be read
		require.Eventually(t, func() bool { return w.changes.count(flowclient.KindProject, "shop") == told }, soon, interval)
		got := w.request(http.MethodPut, path, `{"metadata":{"name":"shop"},"spec":{"deploymentPipelineRef":{"name":"default","kind":"DeploymentPipeline"}}}`)
		require.Equal(t, 200, got.status, got.body)
		assert.Equal(t, before.header.Get("ETag"), got.header.Get("ETag"))
		assert.Equal(t, told, w.changes.count(flowclient.KindProject, "shop"))
	})
	t.Run("labels and annotations are replaced, status stays, the generation stays", func(t *testing.T) {
		before := w.get(flowclient.KindProject, "shop")
		got := w.request(http.MethodPut, path, `{"metadata":{"labels":{"a":"b"},"annotations":{"c":"d"}},"spec":{"deploymentPipelineRef":{"kind":"DeploymentPipeline","name":"default"}}}`)
		require.Equal(t, 200, got.status, got.body)
		assert.NotEqual(t, before.ETag, got.header.Get("ETag"))
		after := w.get(flowclient.KindProject, "shop")
		assert.JSONEq(t, string(before.Status), string(after.Status))
		assert.Equal(t, map[string]string{"c": "d"}, after.Metadata.Annotations)
	})
	t.Run("a changed spec is a new generation, which the controller then observes", func(t *testing.T) {
		got := w.request(http.MethodPut, path, `{"spec":{"parameters":{"x":1}}}`)
		require.Equal(t, 200, got.status, got.body)
		w.eventually(flowclient.KindProject, "shop", func(o flowclient.Object) bool {
			var st struct{ ObservedGeneration int64 }
			return o.Decode(nil, &st) == nil && st.ObservedGeneration == 2
		})
	})
	t.Run("If-Match of another version is 412", func(t *testing.T) {
		got := w.request(http.MethodPut, path, `{}`, "If-Match", `"stale"`)
		assert.Equal(t, 412, got.status)
		assert.Contains(t, got.body, "CONFLICT")
		current := w.request(http.MethodGet, path, "").header.Get("ETag")
		assert.Equal(t, 200, w.request(http.MethodPut, path, `{}`, "If-Match", `"stale", `+current).status)
		assert.Equal(t, 200, w.request(http.MethodPut, path, `{}`, "If-Match", "*").status)
	})
	t.Run("another name than the path's is refused", func(t *testing.T) {
		got := w.request(http.MethodPut, path, `{"metadata":{"name":"other"}}`)
		assert.Equal(t, 400, got.status)
	})
	t.Run("a data plane is set once", func(t *testing.T) {
		env := "/api/v1/namespaces/default/environments/staging"
		plane := func(name string) string {
			return `{"spec":{"isProduction":false,"dataPlaneRef":{"kind":"DataPlane","name":"` + name + `"}}}`
		}
		require.Equal(t, 200, w.request(http.MethodPut, env, plane("one")).status)
		got := w.request(http.MethodPut, env, plane("two"))
		assert.Equal(t, 422, got.status)
		assert.Contains(t, got.body, "spec.dataPlaneRef")
	})
	t.Run("an owner keeps its value", func(t *testing.T) {
		got := w.request(http.MethodPut, "/api/v1/namespaces/default/components/shop-web",
			`{"spec":{"owner":{"projectName":"other"},"componentType":{"kind":"ClusterComponentType","name":"deployment/static-site"}}}`)
		assert.Equal(t, 422, got.status)
		assert.Contains(t, got.body, "spec.owner")
	})
}

func TestListPages(t *testing.T) {
	w := newWorld(t)
	for i := range 23 {
		w.create(flowclient.KindProject, fmt.Sprintf("p%02d", i), `{}`)
	}
	page := func(query string) (names []string, cursor string) {
		got := w.request(http.MethodGet, projects+query, "")
		require.Equal(t, 200, got.status, got.body)
		var body struct {
			Items      []flowclient.Object
			Pagination *struct{ NextCursor string }
		}
		require.NoError(t, json.Unmarshal([]byte(got.body), &body))
		require.NotNil(t, body.Pagination, "pagination is always there")
		for _, o := range body.Items {
			names = append(names, o.Metadata.Name)
		}
		return names, body.Pagination.NextCursor
	}
	first, cursor := page("")
	assert.Len(t, first, 20, "the page of a client that asks for no size")
	rest, end := page("?cursor=" + cursor)
	assert.Equal(t, []string{"p20", "p21", "p22"}, rest)
	assert.Empty(t, end)
	all, _ := page("?limit=500")
	assert.Len(t, all, 23, "a limit over the largest page is clamped, not refused")
	one, _ := page("?limit=-3")
	assert.Len(t, one, 1)
	full, end := page("?limit=23")
	assert.Len(t, full, 23)
	assert.Empty(t, end, "no cursor after the last page, even when it is full")

	for _, query := range []string{"?limit=many", "?cursor=%21%21", "?labelSelector=a%20b%20c", "?labelSelector=a%3D%22"} {
		got := w.request(http.MethodGet, projects+query, "")
		assert.Equal(t, 400, got.status, query)
		assert.Contains(t, got.body, "BAD_REQUEST")
	}
}

func TestLabelSelectors(t *testing.T) {
	w := newWorld(t)
	for name, labels := range map[string]string{"a": `{"tier":"web","x.io/on":"true"}`, "b": `{"tier":"api"}`, "c": `{}`} {
		require.Equal(t, 201, w.request(http.MethodPost, projects, `{"metadata":{"name":"`+name+`","labels":`+labels+`}}`).status)
	}
	for selector, want := range map[string]string{
		"": "a b c", "tier=web": "a", "tier==web": "a", "tier!=web": "b c", "tier in (web, api)": "a b", "tier notin (web)": "b c",
		"tier": "a b", "!tier": "c", "x.io/on=true,tier=web": "a", "tier=web,tier=api": "", "tier=": "",
	} {
		found, err := w.client.List(t.Context(), flowclient.KindProject, flowclient.Filter{LabelSelector: selector})
		require.NoError(t, err)
		names := []string{}
		for _, o := range found {
			names = append(names, o.Metadata.Name)
		}
		assert.Equal(t, want, strings.Join(names, " "), selector)
	}
}

func TestTheFlatSpellingOfComponentFieldsIsAnsweredNested(t *testing.T) {
	w := newWorld(t)
	w.create(flowclient.KindProject, "shop", `{}`)
	w.create(flowclient.KindComponent, "shop-web", `{"owner":{"projectName":"shop"},"componentType":{"kind":"ClusterComponentType","name":"deployment/static-site"},
		"repository":{"url":"`+repository+`","secretRef":"s","allowInsecureAuth":true},"appPath":"web","buildPath":"b","workloadPath":"w.yaml","imageName":"i",
		"siblingWorkloads":[{"component":"shop-api","workloadPath":"api.yaml"}],"autoBuild":true}`)
	assert.JSONEq(t, `{"owner":{"projectName":"shop"},"autoBuild":true,"componentType":{"kind":"ClusterComponentType","name":"deployment/static-site"},
		"workflow":{"kind":"ClusterWorkflow","name":"build","parameters":{
			"repository":{"url":"`+repository+`","secretRef":"s","allowInsecureAuth":true,"appPath":"web"},
			"buildPath":"b","workloadPath":"w.yaml","imageName":"i","siblingWorkloads":[{"component":"shop-api","workloadPath":"api.yaml"}]}}}`,
		string(w.get(flowclient.KindComponent, "shop-web").Spec))
}

func TestNamesThatWouldMeanTwoThingsAreRefused(t *testing.T) {
	w := newWorld(t)
	w.create(flowclient.KindProject, "shop", `{}`)
	w.component("web", "")
	w.create(flowclient.KindEnvironment, "blue-staging", `{}`)
	refused := func(kind flowclient.Kind, name, spec string) string {
		_, err := w.client.Create(t.Context(), flowclient.Object{Kind: kind, Metadata: flowclient.Metadata{Name: name}, Spec: json.RawMessage(spec)})
		var invalid *flowclient.Invalid
		require.ErrorAs(t, err, &invalid)
		return invalid.Error()
	}
	component := `{"owner":{"projectName":"shop"},"componentType":{"kind":"ClusterComponentType","name":"deployment/static-site"}}`
	says := refused(flowclient.KindComponent, "web-blue", component)
	assert.Contains(t, says, "web-blue-staging")
	assert.Contains(t, says, "'web' in environment 'blue-staging'")

	w.create(flowclient.KindProject, "green-shop", `{}`)
	says = refused(flowclient.KindEnvironment, "staging-green", `{}`)
	assert.Contains(t, says, "staging-green-shop")
	assert.Contains(t, says, "'green-shop' in environment 'staging'")

	w.create(flowclient.KindComponent, "web-red", component)
	says = refused(flowclient.KindEnvironment, "red-staging", `{}`)
	assert.Contains(t, says, "web-red-staging")

	says = refused(flowclient.KindProject, strings.Repeat("p", 60), `{}`)
	assert.Contains(t, says, "63")

	w.create(flowclient.KindReleaseBinding, "web-production", `{"owner":{"projectName":"shop","componentName":"web"},"environment":"production","state":"Undeploy"}`)
	says = refused(flowclient.KindReleaseBinding, "web-again", `{"owner":{"projectName":"shop","componentName":"web"},"environment":"production"}`)
	assert.Contains(t, says, "web-production")
}
