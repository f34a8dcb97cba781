package flowclient

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestANameIsLockedByOneAtATime(t *testing.T) {
	var k keyed
	var all sync.WaitGroup
	inside, most := 0, 0
	for range 32 {
		all.Go(func() {
			unlock, err := k.lock(t.Context(), "project/shop")
			assert.NoError(t, err)
			inside++
			most = max(most, inside)
			inside--
			unlock()
		})
	}
	all.Wait()
	assert.Equal(t, 1, most)
	assert.Empty(t, k.names, "what nobody waits for is not kept")
}

func TestANameThatIsHeldIsNotWaitedFor(t *testing.T) {
	var k keyed
	unlock, free := k.tryLock("a")
	require.True(t, free)
	_, free = k.tryLock("a")
	assert.False(t, free)
	other, free := k.tryLock("b")
	require.True(t, free)
	other()
	unlock()
	unlock, err := k.lock(t.Context(), "a")
	require.NoError(t, err)
	_, free = k.tryLock("a")
	assert.False(t, free)
	unlock()
	assert.Empty(t, k.names)
}

func TestWaitingForANameEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k keyed
		unlock, err := k.lock(t.Context(), "a")
		require.NoError(t, err)
		other, err := k.lock(t.Context(), "b")
		require.NoError(t, err, "another name does not wait")
		other()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = k.lock(ctx, "a")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		unlock()
		unlock, err = k.lock(t.Context(), "a")
		require.NoError(t, err)
		unlock()
		assert.Empty(t, k.names)
	})
}

func TestChangedObjectsAreLookedAtOnce(t *testing.T) {
	c := &Controller{wake: make(chan struct{}, 1)}
	for range 5 {
		c.Changed(KindWorkflowRun, "run-1")
		c.Changed(KindReleaseBinding, "shop-web-staging")
		c.Changed(KindComponent, "shop-web")
		c.Changed(KindWorkload, "shop-web") // nothing follows from it
	}
	refs, all := c.dirty.take()
	assert.Empty(t, all)
	assert.Len(t, refs, 3)
	assert.Len(t, c.wake, 1)
	refs, _ = c.dirty.take()
	assert.Empty(t, refs)

	c.Changed(KindWorkflowRun, "run-1")
	c.Changed(KindWorkflowRun, "")
	refs, all = c.dirty.take()
	assert.Equal(t, map[Kind]bool{KindWorkflowRun: true}, all, "an empty name is any of the kind")
	assert.Len(t, refs, 1)

	for i := range maxDirty + 1 {
		c.Changed(KindWorkflowRun, fmt.Sprint("run-", i))
	}
	refs, all = c.dirty.take()
	assert.Len(t, all, len(ofProjects)+1, "too many to remember one by one: everything")
	assert.Empty(t, refs)
}

func TestBuildOf(t *testing.T) {
	created := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	run := func(status string) Object {
		return Object{Kind: KindWorkflowRun, Metadata: Metadata{Name: "web-run-1", Created: &created, Labels: map[string]string{LabelProject: "shop", LabelComponent: "web"}},
			Spec: json.RawMessage(`{"workflow":{"name":"build","parameters":{"repository":{"url":"u","revision":{"commit":"` + shaA + `"},"appPath":""}}}}`), Status: json.RawMessage(status)}
	}
	c := &Controller{deps: Deps{Settings: Settings{BuildPage: func(run string) string { return "http://workflow/runs/" + run }}}}
	for name, one := range map[string]struct {
		status, phase, stage, message string
	}{
		"no status":         {``, BuildPending, "", ""},
		"waiting":           {`{"conditions":[{"type":"WorkflowRunning","status":"False"}]}`, BuildPending, "", ""},
		"running":           {`{"conditions":[{"type":"WorkflowRunning","status":"True"}]}`, BuildRunning, "", ""},
		"passed":            {`{"conditions":[{"type":"WorkflowSucceeded","status":"True"},{"type":"WorkflowRunning","status":"True"}]}`, BuildSucceeded, "", ""},
		"failed in a stage": {`{"conditions":[{"type":"WorkflowFailed","status":"True","message":"failed"}],"tasks":[{"name":"checkout","phase":"Succeeded"},{"name":"test","phase":"Failed","message":"exit status 1"},{"name":"build","phase":"Skipped"}]}`, BuildFailed, "test", "exit status 1"},
		"failed before any": {`{"conditions":[{"type":"WorkflowFailed","status":"True","message":"no such commit"}]}`, BuildFailed, "", "no such commit"},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := c.buildOf(run(one.status))
			require.NoError(t, err)
			assert.Equal(t, one.phase, b.Phase)
			assert.Equal(t, one.stage, b.FailedStage)
			assert.Equal(t, one.message, b.Message)
			assert.Equal(t, shaA, b.Commit)
			assert.Equal(t, created, b.CreatedAt)
			assert.Equal(t, "http://workflow/runs/web-run-1", b.URL)
			assert.NotNil(t, b.Stages)
		})
	}
}

func TestReadyIsForTheReleaseThatIsBoundNow(t *testing.T) {
	for name, c := range map[string]struct {
		generation int64
		conditions []Condition
		ready      bool
		reason     string
	}{
		"no conditions":       {1, nil, false, "NoConditions"},
		"ready":               {2, []Condition{{Type: "Ready", Status: "True", Reason: "Ready", ObservedGeneration: 2}}, true, "Ready"},
		"ready for the last":  {2, []Condition{{Type: "Ready", Status: "True", Reason: "Ready", ObservedGeneration: 1}}, false, "Progressing"},
		"not ready":           {2, []Condition{{Type: "Ready", Status: "False", Reason: "ResourcesProgressing", ObservedGeneration: 2}}, false, "ResourcesProgressing"},
		"another's condition": {1, []Condition{{Type: "ReleaseSynced", Status: "True"}}, false, "NoConditions"},
	} {
		b := binding{status: ReleaseBindingStatus{ObservedGeneration: c.generation, Conditions: c.conditions}}
		ready, reason, _ := b.ready()
		assert.Equal(t, c.ready, ready, name)
		assert.Equal(t, c.reason, reason, name)
	}
}

func TestDeploymentsStandInPipelineOrder(t *testing.T) {
	in := func(e string) Deployment { return Deployment{Environment: e} }
	assert.Negative(t, inPipelineOrder(in(Staging), in(Production)))
	assert.Negative(t, inPipelineOrder(in(Production), in("pr-1")))
	assert.Negative(t, inPipelineOrder(in("pr-1"), in("pr-2")))
}

func TestMemoryIsNeverRoundedUp(t *testing.T) {
	assert.Equal(t, "1.5 GB", gigabytes(1_500_000_000))
	assert.Equal(t, "1.4 GB", gigabytes(1_499_999_999))
	assert.Equal(t, "0.0 GB", gigabytes(1))
}
