package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

func at(second int) *time.Time {
	t := time.Date(2026, 11, 20, 6, 0, second, 0, time.UTC)
	return &t
}

func TestAFailedBuildIsRecordedAsItHappenedAndTwiceIsOnce(t *testing.T) {
	p := start(t, config(t, t.TempDir()))
	b := flowclient.Build{
		Run: "shop-web-run-1", Project: "shop", Component: "shop-web", Commit: "abc", Phase: flowclient.BuildFailed, Message: "stage test failed: exit status 3",
		CreatedAt: *at(0), StartedAt: at(1), CompletedAt: at(5), FailedStage: "test",
		Stages: []flowclient.Task{
			{Name: "checkout", Phase: "Succeeded", StartedAt: at(1), CompletedAt: at(2)},
			{Name: "test", Phase: "Failed", Message: "exit status 3", StartedAt: at(2), CompletedAt: at(5)},
			{Name: "publish", Phase: "Skipped"},
		},
	}
	for range 2 { // as after a kill between recording and noticing it
		require.NoError(t, p.rooms.telemetry.record(t.Context(), buildTrace(b, "00-"+commitTrace+"-00f067aa0ba902b7-01", "")))
	}
	got := p.recorded(flowclient.TraceBuild, b.Run)
	require.Len(t, got.Spans, 3, "a stage that was skipped has no span")
	head, test := got.Spans[0], got.Spans[2]
	assert.Equal(t, flowclient.TraceparentOf(flowclient.TraceBuild, b.Run), "00-"+got.ID+"-"+head.ID+"-01")
	assert.Equal(t, []any{*at(1), *at(5), true, b.Message}, []any{head.Start, head.End, head.Failed, head.Message})
	assert.Equal(t, []any{"test", *at(2), *at(5), true, "exit status 3"}, []any{test.Name, test.Start, test.End, test.Failed, test.Message})
	assert.False(t, got.Spans[1].Failed)
	assert.Equal(t, []flowclient.SpanLink{{Trace: commitTrace, Span: "00f067aa0ba902b7", Attributes: map[string]string{"kind": "commit"}}}, head.Links)
}

func TestWhatIsNoTraceparentIsNotRecorded(t *testing.T) {
	p := start(t, config(t, t.TempDir()))
	require.ErrorContains(t, p.rooms.telemetry.record(t.Context(), told{name: "x", parent: "y"}), `"y" is no traceparent`)
}
