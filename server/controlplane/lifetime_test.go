package controlplane_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/server/controlplane"
)

func TestAReleaseThatIsNamedCannotBeDeleted(t *testing.T) {
	w := newWorld(t)
	first := w.delivered()
	err := w.client.Delete(t.Context(), flowclient.KindComponentRelease, first)
	var refusal *flowclient.Refusal
	require.ErrorAs(t, err, &refusal)
	assert.Contains(t, refusal.Sentence, "shop-web-staging")
	assert.Equal(t, 409, w.request(http.MethodDelete, "/api/v1/namespaces/default/componentreleases/"+first, "").status)

	w.builder.stand(w.pushed(sha2), built(sha2, registry+digest2))
	w.boundTo("shop-web-staging", sha2)
	o := w.get(flowclient.KindReleaseBinding, "shop-web-staging")
	o.Metadata.Annotations = map[string]string{flowclient.AnnotationDisplaced: first}
	_, err = w.client.Update(t.Context(), o)
	require.NoError(t, err)
	require.ErrorAs(t, w.client.Delete(t.Context(), flowclient.KindComponentRelease, first), &refusal)
	assert.Contains(t, refusal.Sentence, "roll back")

	o = w.get(flowclient.KindReleaseBinding, "shop-web-staging")
	o.Metadata.Annotations = nil
	_, err = w.client.Update(t.Context(), o)
	require.NoError(t, err)
	require.NoError(t, w.client.Delete(t.Context(), flowclient.KindComponentRelease, first))
}

func TestDeletingAProjectRemovesAllOfItAndTakesItOutOfService(t *testing.T) {
	w := newWorld(t)
	w.delivered()
	w.create(flowclient.KindResource, "shop-db", `{"owner":{"projectName":"shop"},"type":{"kind":"ClusterResourceType","name":"postgres"}}`)
	w.create(flowclient.KindResourceReleaseBinding, "shop-db-staging", `{"owner":{"projectName":"shop","resourceName":"shop-db"},"environment":"staging"}`)
	w.create(flowclient.KindProject, "other", `{}`)
	w.eventually(flowclient.KindProject, "other", ready)
	require.NoError(t, w.client.Delete(t.Context(), flowclient.KindProject, "shop"))
	w.gone(flowclient.KindProject, "shop")
	for _, kind := range []flowclient.Kind{
		flowclient.KindComponent, flowclient.KindWorkload, flowclient.KindWorkflowRun, flowclient.KindComponentRelease,
		flowclient.KindReleaseBinding, flowclient.KindResource, flowclient.KindResourceReleaseBinding,
	} {
		assert.Empty(t, w.list(kind), kind)
	}
	assert.Len(t, w.list(flowclient.KindProjectReleaseBinding), 1, "the other project's")
	_, serving := w.runtime.serving("shop-web-staging")
	assert.False(t, serving)
	w.shop("")
	w.eventually(flowclient.KindProject, "shop", ready)
}

func TestADeletionWaitsForTheRuntime(t *testing.T) {
	w := newWorld(t)
	w.delivered()
	w.runtime.set(controlplane.DeploymentStatus{}, errors.New("busy"))
	require.NoError(t, w.client.Delete(t.Context(), flowclient.KindComponent, "shop-web"))
	o := w.eventually(flowclient.KindComponent, "shop-web", func(o flowclient.Object) bool { return condition(o, "Ready").Reason == "Deleting" })
	assert.NotNil(t, o.Metadata.Deleted)
	require.NoError(t, w.client.Delete(t.Context(), flowclient.KindComponent, "shop-web"), "twice is once")
	got := w.request(http.MethodPost, "/api/v1/namespaces/default/components", `{"metadata":{"name":"shop-web"},"spec":{"owner":{"projectName":"shop"},"componentType":{"kind":"ClusterComponentType","name":"deployment/static-site"}}}`)
	assert.Equal(t, 409, got.status)
	assert.Contains(t, got.body, "being deleted")
	assert.Zero(t, w.accepted(pushBody("refs/heads/main", sha2, "x")).TriggeredBuilds)
	got = w.request(http.MethodPost, "/api/v1/namespaces/default/workflowruns", `{"metadata":{"labels":{"openchoreo.dev/project":"shop","openchoreo.dev/component":"shop-web"}}}`)
	assert.Equal(t, 422, got.status)
	assert.Contains(t, got.body, "being deleted")

	w.stop()
	w.runtime.set(controlplane.DeploymentStatus{Ready: true}, nil)
	w.start()
	w.gone(flowclient.KindComponent, "shop-web")
}

func TestARestartFindsEverythingAndChangesNothing(t *testing.T) {
	w := newWorld(t)
	w.delivered()
	unfinished := w.pushed(sha2)
	w.eventually(flowclient.KindWorkflowRun, unfinished, func(o flowclient.Object) bool { return condition(o, "WorkflowRunning").Status == "True" })
	kinds := []flowclient.Kind{
		flowclient.KindProject, flowclient.KindComponent, flowclient.KindWorkload, flowclient.KindComponentRelease, flowclient.KindReleaseBinding,
		flowclient.KindProjectReleaseBinding, flowclient.KindWorkflowRun, flowclient.KindEnvironment, flowclient.KindDeploymentPipeline,
		flowclient.KindClusterComponentType, flowclient.KindClusterWorkflow,
	}
	snapshot := func() (all []flowclient.Object) {
		for _, k := range kinds {
			all = append(all, w.list(k)...)
		}
		return all
	}
	before := snapshot()
	w.stop()
	w.runtime = newRuntime() // the applications died with the process
	w.start()
	_, serving := w.runtime.serving("shop-web-staging")
	assert.True(t, serving, "served again before Synced returns")
	assert.Equal(t, before, snapshot())

	w.builder.stand(unfinished, built(sha2, registry+digest2))
	w.boundTo("shop-web-staging", sha2)
}

func TestSyncedWaitsForRunAndEndsWithItsContext(t *testing.T) {
	s, err := controlplane.New(t.Context(), controlplane.Config{
		Path: filepath.Join(t.TempDir(), "x.db"), Token: token, WebhookSecret: secret, Builder: newBuilder(), Runtime: newRuntime(),
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Synced(ctx), context.Canceled)
	require.NoError(t, s.Close())
}

func TestRebaseMovesAddressesAndCutsNothing(t *testing.T) {
	w := newWorld(t)
	release := w.delivered()
	generation := func() (st flowclient.ReleaseBindingStatus) {
		require.NoError(t, w.get(flowclient.KindReleaseBinding, "shop-web-staging").Decode(nil, &st))
		return st
	}
	before := generation()
	require.NoError(t, w.server.Rebase(t.Context(), map[string]string{
		"http://127.0.0.1:3001": "http://127.0.0.1:4001", "127.0.0.1:10082": "127.0.0.1:11082",
		"127.0.0.1:1": "wrong", "http://127.0.0.1:300": "wrong",
	}))
	w.eventually(flowclient.KindComponent, "shop-web", ready)
	assert.Contains(t, string(w.get(flowclient.KindComponent, "shop-web").Spec), "http://127.0.0.1:4001/platform/shop.git")
	assert.Contains(t, string(w.get(flowclient.KindWorkload, "shop-web").Spec), "127.0.0.1:11082/shop/web@")
	assert.Contains(t, string(w.get(flowclient.KindComponentRelease, release).Spec), "127.0.0.1:11082/shop/web@")
	require.Eventually(t, func() bool {
		d, _ := w.runtime.serving("shop-web-staging")
		return strings.HasPrefix(d.Workload.Container.Image, "127.0.0.1:11082/")
	}, soon, interval)
	assert.Len(t, w.list(flowclient.KindComponentRelease), 1)
	assert.Equal(t, before.ObservedGeneration, generation().ObservedGeneration)
	assert.Equal(t, 1, w.accepted(strings.ReplaceAll(pushBody("refs/heads/main", sha2, "x"), ":3001", ":4001")).TriggeredBuilds)
	assert.Zero(t, w.accepted(pushBody("refs/heads/main", sha2, "x")).TriggeredBuilds)
}
