package controlplane_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/server/controlplane"
)

const (
	sha2     = "ea69e072912b0fde23e8e9c403aff728fa8e270a"
	registry = "127.0.0.1:10082/shop/web"
	digest2  = "@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
)

// pushed delivers a push and gives the name of the run that it started.
func (w *world) pushed(commit string) string {
	w.t.Helper()
	known := map[string]bool{}
	for _, r := range w.list(flowclient.KindWorkflowRun) {
		known[r.Metadata.Name] = true
	}
	require.Equal(w.t, 1, w.accepted(pushBody("refs/heads/main", commit, "index.html")).TriggeredBuilds)
	for _, r := range w.list(flowclient.KindWorkflowRun) {
		if !known[r.Metadata.Name] {
			return r.Metadata.Name
		}
	}
	w.t.Fatal("no run was started")
	return ""
}

// boundTo waits until a binding runs a release of the commit and gives the release's name.
func (w *world) boundTo(binding, commit string) string {
	w.t.Helper()
	var release string
	w.eventually(flowclient.KindReleaseBinding, binding, func(o flowclient.Object) bool {
		var spec flowclient.ReleaseBindingSpec
		if o.Decode(&spec, nil) != nil || !ready(o) {
			return false
		}
		release = spec.ReleaseName
		r, err := w.client.Get(w.t.Context(), flowclient.KindComponentRelease, release)
		return err == nil && r.Metadata.Labels[flowclient.LabelCommit] == commit
	})
	return release
}

func TestAPushBecomesWhatStagingServes(t *testing.T) {
	w := newWorld(t)
	w.shop("")
	run := w.pushed(sha)
	o := w.eventually(flowclient.KindWorkflowRun, run, func(o flowclient.Object) bool { return condition(o, "WorkflowRunning").Status == "True" })
	assert.Equal(t, "False", condition(o, "WorkflowCompleted").Status)

	w.builder.stand(run, built(sha, registry+digest))
	release := w.boundTo("shop-web-staging", sha)

	o = w.get(flowclient.KindWorkflowRun, run)
	for kind, want := range map[string]string{"WorkflowRunning": "False", "WorkflowSucceeded": "True", "WorkflowFailed": "False", "WorkflowCompleted": "True"} {
		assert.Equal(t, want, condition(o, kind).Status, kind)
	}
	var st flowclient.WorkflowRunStatus
	require.NoError(t, o.Decode(nil, &st))
	assert.Len(t, st.Tasks, 2)
	assert.NotNil(t, st.CompletedAt)

	var workload flowclient.WorkloadSpec
	wl := w.get(flowclient.KindWorkload, "shop-web")
	require.NoError(t, wl.Decode(&workload, nil))
	assert.Equal(t, registry+digest, workload.Container.Image)
	assert.Equal(t, run, wl.Metadata.Annotations["project-flow.platform.dev/run"])

	assert.Regexp(t, `^shop-web-[0-9a-f]{10}$`, release)
	r := w.get(flowclient.KindComponentRelease, release)
	assert.Equal(t, map[string]string{flowclient.LabelProject: "shop", flowclient.LabelComponent: "shop-web", flowclient.LabelCommit: sha}, r.Metadata.Labels)
	var frozen flowclient.ComponentReleaseSpec
	require.NoError(t, r.Decode(&frozen, nil))
	assert.Equal(t, "deployment/static-site", frozen.ComponentType.Name)
	assert.Contains(t, string(frozen.ComponentType.Spec), `"workloadType":"deployment"`)

	d, ok := w.runtime.serving("shop-web-staging")
	require.True(t, ok)
	assert.Equal(t, controlplane.Deployment{
		Name: "shop-web-staging", Project: "shop", Component: "shop-web", Environment: "staging", Release: release,
		Route: "shop-web", Type: "deployment/static-site", Workload: frozen.Workload,
		Cell: "dp-default-shop-staging-09b82f5f", Declared: flowclient.Quantities{},
	}, d)
	b := w.get(flowclient.KindReleaseBinding, "shop-web-staging")
	for _, kind := range []string{"ReleaseSynced", "Synced", "ConnectionsResolved", "ResourceDependenciesReady", "ResourcesReady", "Ready"} {
		assert.Equal(t, "True", condition(b, kind).Status, kind)
	}
	assert.Equal(t, "False", condition(b, "ResourcesProgressing").Status)
	var bst flowclient.ReleaseBindingStatus
	require.NoError(t, b.Decode(nil, &bst))
	assert.Equal(t, int64(1), bst.ObservedGeneration)
	require.NotNil(t, bst.LastSpecUpdateTime)
	assert.Equal(t, "http://staging-shop.apps.platform.localhost:19080/shop-web-http", bst.Endpoints[0].ExternalURLs["http"].String())

	var latest struct {
		LatestRelease struct{ Name, ReleaseHash string }
	}
	c := w.eventually(flowclient.KindComponent, "shop-web", ready)
	require.NoError(t, c.Decode(nil, &latest))
	assert.Equal(t, release, latest.LatestRelease.Name)
	assert.True(t, strings.HasSuffix(release, latest.LatestRelease.ReleaseHash))

	require.Equal(t, 200, w.request(http.MethodGet, "/api/v1/namespaces/default/workflowruns/"+run+"/status", "").status)
	assert.NotZero(t, w.changes.count(flowclient.KindWorkflowRun, run))
	assert.NotZero(t, w.changes.count(flowclient.KindReleaseBinding, "shop-web-staging"))
}

func TestEqualContentIsOneRelease(t *testing.T) {
	w := newWorld(t)
	w.shop("")
	w.builder.stand(w.pushed(sha), built(sha, registry+digest))
	first := w.boundTo("shop-web-staging", sha)

	again := w.pushed(sha)
	w.builder.stand(again, built(sha, registry+digest))
	w.eventually(flowclient.KindWorkload, "shop-web", func(o flowclient.Object) bool {
		return o.Metadata.Annotations["project-flow.platform.dev/run"] == again
	})
	moved := w.pushed(sha)
	w.builder.stand(moved, built(sha, "localhost:5000/shop/web"+digest))
	w.eventually(flowclient.KindWorkload, "shop-web", func(o flowclient.Object) bool { return strings.Contains(string(o.Spec), "localhost:5000") })
	w.eventually(flowclient.KindComponent, "shop-web", ready)
	assert.Len(t, w.list(flowclient.KindComponentRelease), 1, "the registry's address is no content")

	w.builder.stand(w.pushed(sha2), built(sha2, registry+digest2))
	second := w.boundTo("shop-web-staging", sha2)
	assert.NotEqual(t, first, second)

	_, err := w.client.Update(t.Context(), flowclient.Object{Kind: flowclient.KindClusterComponentType, Metadata: flowclient.Metadata{Name: "static-site"},
		Spec: json.RawMessage(`{"workloadType":"deployment","resources":[{"id":"site","template":{"kind":"Site","version":2}}]}`)})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(w.list(flowclient.KindComponentRelease)) == 3 }, soon, interval, "a changed component type cuts a release")
}

func TestAnOlderRunDoesNotOverwriteANewerOne(t *testing.T) {
	w := newWorld(t)
	w.shop("")
	older, newer := w.pushed(sha), w.pushed(sha2)
	w.builder.stand(newer, built(sha2, registry+digest2))
	want := w.boundTo("shop-web-staging", sha2)
	w.builder.stand(older, built(sha, registry+digest))
	w.eventually(flowclient.KindWorkflowRun, older, func(o flowclient.Object) bool { return condition(o, "WorkflowSucceeded").Status == "True" })
	wl := w.get(flowclient.KindWorkload, "shop-web")
	assert.Equal(t, newer, wl.Metadata.Annotations["project-flow.platform.dev/run"])
	assert.Contains(t, string(wl.Spec), digest2)
	assert.Equal(t, want, w.boundTo("shop-web-staging", sha2))
	assert.Len(t, w.list(flowclient.KindComponentRelease), 1)
}

func TestAFailedRunMakesNothing(t *testing.T) {
	w := newWorld(t)
	w.shop("")
	run := w.pushed(sha)
	w.builder.lines = []flowclient.LogLine{{At: time.Now(), Text: "checkout"}, {At: time.Now(), Text: "not ok 1"}}
	w.builder.stand(run, controlplane.BuildStatus{Phase: flowclient.BuildFailed, Message: "stage test: exit status 1", Commit: sha,
		Tasks: []flowclient.Task{{Name: "test", Phase: "Failed", Message: "exit status 1"}}})
	o := w.eventually(flowclient.KindWorkflowRun, run, func(o flowclient.Object) bool { return condition(o, "WorkflowCompleted").Status == "True" })
	assert.Equal(t, "True", condition(o, "WorkflowFailed").Status)
	assert.Equal(t, "stage test: exit status 1", condition(o, "WorkflowFailed").Message)
	assert.Empty(t, w.list(flowclient.KindWorkload))
	assert.Equal(t, "WorkloadNotFound", condition(w.get(flowclient.KindComponent, "shop-web"), "Ready").Reason)

	path := "/api/v1/namespaces/default/workflowruns/" + run
	assert.JSONEq(t, `{"status":"Failed","steps":[{"name":"test","phase":"Failed"}],"hasLiveObservability":false}`, w.request(http.MethodGet, path+"/status", "").body)
	lines, err := w.client.RunLog(t.Context(), run, "")
	require.NoError(t, err)
	require.Len(t, lines, 2)
	assert.Equal(t, "not ok 1", lines[1].Text)
	lines, err = w.client.RunLog(t.Context(), run, "checkout")
	require.NoError(t, err)
	assert.Len(t, lines, 1)
	assert.Equal(t, 400, w.request(http.MethodGet, path+"/logs?sinceSeconds=soon", "").status)
	assert.True(t, strings.HasPrefix(w.request(http.MethodGet, path+"/logs?sinceSeconds=0", "").body, "["), "a bare list")
}

func TestAWorkloadThatTheBuildGotWrongFailsTheRun(t *testing.T) {
	w := newWorld(t)
	w.shop("")
	run := w.pushed(sha)
	st := built(sha, registry+digest)
	st.Workload.Endpoints["http"] = flowclient.Endpoint{Type: "CARRIER-PIGEON", Port: 1}
	w.builder.stand(run, st)
	o := w.eventually(flowclient.KindWorkflowRun, run, func(o flowclient.Object) bool { return condition(o, "WorkflowFailed").Status == "True" })
	assert.Contains(t, condition(o, "WorkflowFailed").Message, "CARRIER-PIGEON")
	assert.Empty(t, w.list(flowclient.KindWorkload))
}

func TestABuilderThatCannotBeReachedIsTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.shop("")
	w.builder.mu.Lock()
	w.builder.fail = errors.New("connection refused")
	w.builder.mu.Unlock()
	run := w.pushed(sha)
	o := w.eventually(flowclient.KindWorkflowRun, run, func(o flowclient.Object) bool { return condition(o, "WorkflowRunning").Message != "" })
	assert.Contains(t, condition(o, "WorkflowRunning").Message, "connection refused")
	w.builder.mu.Lock()
	w.builder.fail = nil
	w.builder.mu.Unlock()
	w.eventually(flowclient.KindWorkflowRun, run, func(o flowclient.Object) bool { return condition(o, "WorkflowRunning").Status == "True" })
}

// delivered brings a first commit to staging.
func (w *world) delivered() (release string) {
	w.t.Helper()
	w.shop("")
	w.builder.stand(w.pushed(sha), built(sha, registry+digest))
	return w.boundTo("shop-web-staging", sha)
}

func TestABindingNeedsTheProjectsCell(t *testing.T) {
	w := newWorld(t)
	release := w.delivered()
	w.create(flowclient.KindReleaseBinding, "shop-web-production", `{"owner":{"projectName":"shop","componentName":"shop-web"},"environment":"production","releaseName":"`+release+`","state":"Active"}`)
	o := w.eventually(flowclient.KindReleaseBinding, "shop-web-production", func(o flowclient.Object) bool { return condition(o, "Ready").Reason != "" })
	assert.Equal(t, "False", condition(o, "Ready").Status)
	assert.Equal(t, "ProjectReleaseBindingNotFound", condition(o, "Ready").Reason)
	_, serving := w.runtime.serving("shop-web-production")
	assert.False(t, serving)

	w.create(flowclient.KindProjectReleaseBinding, "shop-production", `{"owner":{"projectName":"shop"},"environment":"production"}`)
	w.eventually(flowclient.KindReleaseBinding, "shop-web-production", ready)
	cell := w.eventually(flowclient.KindProjectReleaseBinding, "shop-production", ready)
	assert.Equal(t, "True", condition(cell, "NamespaceReady").Status)

	require.NoError(t, w.client.Delete(t.Context(), flowclient.KindProjectReleaseBinding, "shop-production"))
	w.eventually(flowclient.KindReleaseBinding, "shop-web-production", func(o flowclient.Object) bool { return !ready(o) })
	_, serving = w.runtime.serving("shop-web-production")
	assert.False(t, serving, "what was applied goes with the cell")
}

func TestUndeployAndActive(t *testing.T) {
	w := newWorld(t)
	release := w.delivered()
	state := func(state string) {
		o := w.get(flowclient.KindReleaseBinding, "shop-web-staging")
		o.Spec = json.RawMessage(`{"owner":{"projectName":"shop","componentName":"shop-web"},"environment":"staging","releaseName":"` + release + `","state":"` + state + `"}`)
		_, err := w.client.Update(t.Context(), o)
		require.NoError(t, err)
	}
	state("Undeploy")
	o := w.eventually(flowclient.KindReleaseBinding, "shop-web-staging", func(o flowclient.Object) bool { return !ready(o) })
	assert.Equal(t, "ResourcesUndeployed", condition(o, "Ready").Reason)
	var st flowclient.ReleaseBindingStatus
	require.NoError(t, o.Decode(nil, &st))
	assert.Empty(t, st.Endpoints)
	assert.Equal(t, int64(2), st.ObservedGeneration)
	_, serving := w.runtime.serving("shop-web-staging")
	assert.False(t, serving)
	state("Active")
	w.eventually(flowclient.KindReleaseBinding, "shop-web-staging", ready)
	_, serving = w.runtime.serving("shop-web-staging")
	assert.True(t, serving)
}

func TestAMissingReleaseKeepsWhatIsServed(t *testing.T) {
	w := newWorld(t)
	w.shop(`,"autoDeploy":false`)
	w.builder.stand(w.pushed(sha), built(sha, registry+digest))
	w.eventually(flowclient.KindComponent, "shop-web", ready)
	release := w.list(flowclient.KindComponentRelease)[0].Metadata.Name
	spec := func(release string) json.RawMessage {
		return json.RawMessage(`{"owner":{"projectName":"shop","componentName":"shop-web"},"environment":"staging","releaseName":"` + release + `"}`)
	}
	w.create(flowclient.KindReleaseBinding, "shop-web-staging", string(spec(release)))
	o := w.eventually(flowclient.KindReleaseBinding, "shop-web-staging", ready)
	o.Spec = spec("shop-web-nothing")
	_, err := w.client.Update(t.Context(), o)
	require.NoError(t, err, "a release that does not exist is accepted")
	o = w.eventually(flowclient.KindReleaseBinding, "shop-web-staging", func(o flowclient.Object) bool { return !ready(o) })
	assert.Equal(t, "ComponentReleaseNotFound", condition(o, "ReleaseSynced").Reason)
	d, serving := w.runtime.serving("shop-web-staging")
	require.True(t, serving)
	assert.Equal(t, release, d.Release)

	_, err = w.client.Create(t.Context(), flowclient.Object{Kind: flowclient.KindComponentRelease, Metadata: flowclient.Metadata{Name: "shop-web-nothing"}, Spec: w.get(flowclient.KindComponentRelease, release).Spec})
	require.NoError(t, err)
	w.eventually(flowclient.KindReleaseBinding, "shop-web-staging", ready)
}

func TestARuntimeThatIsNotReadyOrFails(t *testing.T) {
	w := newWorld(t, func(c *controlplane.Config) { c.Resync = 20 * time.Millisecond })
	w.runtime.set(controlplane.DeploymentStatus{Reason: "Pulling", Message: "pulling the image"}, nil)
	w.shop("")
	w.builder.stand(w.pushed(sha), built(sha, registry+digest))
	o := w.eventually(flowclient.KindReleaseBinding, "shop-web-staging", func(o flowclient.Object) bool { return condition(o, "Ready").Reason == "Pulling" })
	assert.Equal(t, "True", condition(o, "ResourcesProgressing").Status)
	assert.Equal(t, "True", condition(o, "ReleaseSynced").Status)
	assert.Equal(t, "pulling the image", condition(o, "Ready").Message)

	w.runtime.set(controlplane.DeploymentStatus{}, errors.New("registry: connection refused"))
	o = w.eventually(flowclient.KindReleaseBinding, "shop-web-staging", func(o flowclient.Object) bool { return condition(o, "Ready").Reason == "ApplyFailed" })
	assert.Contains(t, condition(o, "ResourcesReady").Message, "connection refused")

	w.runtime.set(controlplane.DeploymentStatus{Ready: true}, nil)
	o = w.eventually(flowclient.KindReleaseBinding, "shop-web-staging", ready)
	since := condition(o, "ReleaseSynced").LastTransitionTime
	told := w.changes.count(flowclient.KindReleaseBinding, "shop-web-staging")
	w.server.Wake(flowclient.KindReleaseBinding, "shop-web-staging")
	require.Never(t, func() bool { return w.changes.count(flowclient.KindReleaseBinding, "shop-web-staging") != told }, 100*time.Millisecond, 10*time.Millisecond,
		"a status that says the same is not written")
	assert.Equal(t, since, condition(w.get(flowclient.KindReleaseBinding, "shop-web-staging"), "ReleaseSynced").LastTransitionTime)
}

func TestAutoDeployKeepsTheRootEnvironmentOnly(t *testing.T) {
	w := newWorld(t)
	first := w.delivered()
	w.builder.stand(w.pushed(sha2), built(sha2, registry+digest2))
	second := w.boundTo("shop-web-staging", sha2)
	w.create(flowclient.KindProjectReleaseBinding, "shop-production", `{"owner":{"projectName":"shop"},"environment":"production"}`)
	w.create(flowclient.KindReleaseBinding, "shop-web-production", `{"owner":{"projectName":"shop","componentName":"shop-web"},"environment":"production","releaseName":"`+first+`"}`)
	w.eventually(flowclient.KindReleaseBinding, "shop-web-production", ready)

	o := w.get(flowclient.KindReleaseBinding, "shop-web-staging")
	o.Spec = json.RawMessage(strings.Replace(string(o.Spec), second, first, 1))
	o.Metadata.Annotations = map[string]string{"kept": "yes"}
	_, err := w.client.Update(t.Context(), o)
	require.NoError(t, err)
	o = w.eventually(flowclient.KindReleaseBinding, "shop-web-staging", func(o flowclient.Object) bool { return strings.Contains(string(o.Spec), second) })
	assert.Equal(t, "yes", o.Metadata.Annotations["kept"])
	assert.Contains(t, string(w.get(flowclient.KindReleaseBinding, "shop-web-production").Spec), first)
}

func TestGenerateRelease(t *testing.T) {
	w := newWorld(t)
	w.shop(`,"autoDeploy":false`)
	path := "/api/v1/namespaces/default/components/shop-web/generate-release"
	got := w.request(http.MethodPost, path, `{}`)
	assert.Equal(t, 422, got.status)
	assert.Contains(t, got.body, "no workload yet")
	assert.Equal(t, 400, w.request(http.MethodPost, path, ``).status)
	assert.Equal(t, 400, w.request(http.MethodPost, path, `{"releaseName":"No Name"}`).status)
	assert.Equal(t, 404, w.request(http.MethodPost, strings.Replace(path, "shop-web", "nope", 1), `{}`).status)

	w.builder.stand(w.pushed(sha), built(sha, registry+digest))
	w.eventually(flowclient.KindComponent, "shop-web", ready)
	made := w.list(flowclient.KindComponentRelease)
	require.Len(t, made, 1)
	got = w.request(http.MethodPost, path, `{}`)
	require.Equal(t, 201, got.status, got.body)
	assert.Contains(t, got.body, made[0].Metadata.Name)
	got = w.request(http.MethodPost, path, `{"releaseName":"v1"}`)
	require.Equal(t, 201, got.status, got.body)
	assert.Len(t, w.list(flowclient.KindComponentRelease), 2)
	assert.Empty(t, w.list(flowclient.KindReleaseBinding))
}

func TestAManualRunTakesWhatItDoesNotNameFromItsComponent(t *testing.T) {
	w := newWorld(t)
	w.shop("")
	got := w.request(http.MethodPost, "/api/v1/namespaces/default/workflowruns",
		`{"metadata":{"name":"manual-1","labels":{"openchoreo.dev/project":"shop","openchoreo.dev/component":"shop-web"}},"spec":{"workflow":{"name":"build"}}}`)
	require.Equal(t, 201, got.status, got.body)
	require.Eventually(t, func() bool { return w.builder.builds()["manual-1"].Params.Repository.URL == repository }, soon, interval)
	got = w.request(http.MethodPost, "/api/v1/namespaces/default/workflowruns",
		`{"metadata":{"labels":{"openchoreo.dev/project":"shop","openchoreo.dev/component":"shop-web"}}}`)
	require.Equal(t, 201, got.status, got.body)
	assert.Regexp(t, `"name":"shop-web-run-[0-9a-f]{8}"`, got.body)
	assert.Equal(t, 409, w.request(http.MethodPost, "/api/v1/namespaces/default/workflowruns",
		`{"metadata":{"name":"manual-1","labels":{"openchoreo.dev/project":"shop","openchoreo.dev/component":"shop-web"}}}`).status)
}

func TestAWorkloadWithConnectionsSaysThatTheyAreNotResolved(t *testing.T) {
	w := newWorld(t)
	w.shop("")
	w.create(flowclient.KindWorkload, "shop-web", `{"owner":{"projectName":"shop","componentName":"shop-web"},"container":{"image":"i"},
		"dependencies":{"endpoints":[{"component":"api","name":"http","visibility":"project","envBindings":{}}]}}`)
	o := w.eventually(flowclient.KindReleaseBinding, "shop-web-staging", func(o flowclient.Object) bool { return condition(o, "Ready").Reason != "" })
	assert.Equal(t, "False", condition(o, "Ready").Status)
	assert.Equal(t, "ConnectionsNotResolved", condition(o, "ConnectionsResolved").Reason)
	_, serving := w.runtime.serving("shop-web-staging")
	assert.False(t, serving)
}

func TestOverridesOfABinding(t *testing.T) {
	w := newWorld(t)
	w.shop("")
	st := built(sha, registry+digest)
	st.Workload.Container.Env = []flowclient.EnvVar{{Key: "A", Value: "1"}, {Key: "B", Value: "2"}}
	w.builder.stand(w.pushed(sha), st)
	w.boundTo("shop-web-staging", sha)
	o := w.get(flowclient.KindReleaseBinding, "shop-web-staging")
	o.Spec = json.RawMessage(strings.TrimSuffix(string(o.Spec), "}") + `,"workloadOverrides":{"container":{"env":[{"key":"B","value":"3"},{"key":"C","value":"4"}]}}}`)
	_, err := w.client.Update(t.Context(), o)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		d, _ := w.runtime.serving("shop-web-staging")
		return assert.ObjectsAreEqual([]flowclient.EnvVar{{Key: "A", Value: "1"}, {Key: "B", Value: "3"}, {Key: "C", Value: "4"}}, d.Workload.Container.Env)
	}, soon, interval)
}

func TestTheRootEnvironmentIsTheSourceThatIsNoTarget(t *testing.T) {
	w := newWorld(t)
	paths := func(pairs ...string) string {
		var out []string
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, `{"sourceEnvironmentRef":{"name":"`+pairs[i]+`"},"targetEnvironmentRefs":[{"name":"`+pairs[i+1]+`"}]}`)
		}
		return `{"promotionPaths":[` + strings.Join(out, ",") + `]}`
	}
	w.create(flowclient.KindDeploymentPipeline, "backwards", paths("production", "standby", "staging", "production"))
	w.create(flowclient.KindDeploymentPipeline, "circle", paths("staging", "production", "production", "staging"))
	w.create(flowclient.KindProject, "one", `{"deploymentPipelineRef":{"name":"backwards"}}`)
	w.eventually(flowclient.KindProject, "one", ready)
	w.get(flowclient.KindProjectReleaseBinding, "one-staging")
	w.create(flowclient.KindProject, "two", `{"deploymentPipelineRef":{"name":"circle"}}`)
	o := w.eventually(flowclient.KindProject, "two", func(o flowclient.Object) bool { return condition(o, "Ready").Reason != "" })
	assert.Equal(t, "NoRootEnvironment", condition(o, "Ready").Reason)
	w.create(flowclient.KindProject, "three", `{"deploymentPipelineRef":{"name":"later"}}`)
	o = w.eventually(flowclient.KindProject, "three", func(o flowclient.Object) bool { return condition(o, "Ready").Reason != "" })
	assert.Equal(t, "DeploymentPipelineNotFound", condition(o, "Ready").Reason)
	w.create(flowclient.KindDeploymentPipeline, "later", paths("staging", "production"))
	w.eventually(flowclient.KindProject, "three", ready)
}

func TestAForkAnswersWhereTheComponentThatItIsACopyOfDoes(t *testing.T) {
	w := newWorld(t)
	w.shop("")
	sha := strings.Repeat("a", 40)
	run := w.pushed(sha)
	w.builder.stand(run, built(sha, registry+digest))
	w.boundTo("shop-web-staging", sha)

	c := w.get(flowclient.KindComponent, "shop-web")
	c.Metadata.Labels = map[string]string{flowclient.LabelForkOf: "shop-front"}
	_, err := w.client.Update(t.Context(), c)
	require.NoError(t, err)
	b := w.get(flowclient.KindReleaseBinding, "shop-web-staging")
	b.Spec = json.RawMessage(strings.Replace(string(b.Spec), `"state":"Active"`, `"state":"Undeploy"`, 1))
	_, err = w.client.Update(t.Context(), b)
	require.NoError(t, err)
	b = w.eventually(flowclient.KindReleaseBinding, "shop-web-staging", func(o flowclient.Object) bool { return condition(o, "Ready").Status == "False" })
	b.Spec = json.RawMessage(strings.Replace(string(b.Spec), `"state":"Undeploy"`, `"state":"Active"`, 1))
	_, err = w.client.Update(t.Context(), b)
	require.NoError(t, err)
	w.eventually(flowclient.KindReleaseBinding, "shop-web-staging", ready)
	d, ok := w.runtime.serving("shop-web-staging")
	require.True(t, ok)
	assert.Equal(t, "shop-front", d.Route)
}
