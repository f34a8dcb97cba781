package controlplane_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/flowclient"
)

// In whatever order runs end, and whichever of them fail, a component ends with
// what the newest successful run made, and no release is made twice.
func TestTheNewestSuccessfulRunWinsInEveryOrder(t *testing.T) {
	w := newWorld(t)
	w.create(flowclient.KindProject, "shop", `{}`)
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		name := fmt.Sprintf("c%d", n)
		w.component(name, "")
		runs := rapid.IntRange(1, 4).Draw(r, "runs")
		order := rapid.Permutation(indices(runs)).Draw(r, "order of ends")
		passes := rapid.SliceOfN(rapid.Bool(), runs, runs).Draw(r, "passes")
		newest := -1
		for i := range runs {
			_, err := w.client.Create(t.Context(), flowclient.Object{Kind: flowclient.KindWorkflowRun, Spec: json.RawMessage(`{}`), Metadata: flowclient.Metadata{
				Name: fmt.Sprintf("%s-run-%d", name, i), Labels: map[string]string{flowclient.LabelProject: "shop", flowclient.LabelComponent: name}}})
			require.NoError(t, err)
			if passes[i] {
				newest = i
			}
		}
		made := map[int]bool{}
		for _, i := range order {
			st := built(strings.Repeat(fmt.Sprint(i+1), 40), fmt.Sprintf("%s@sha256:%064d", registry, i))
			if !passes[i] {
				st.Phase = flowclient.BuildFailed
			}
			w.builder.stand(fmt.Sprintf("%s-run-%d", name, i), st)
			w.eventually(flowclient.KindWorkflowRun, fmt.Sprintf("%s-run-%d", name, i), func(o flowclient.Object) bool {
				return condition(o, "WorkflowCompleted").Status == "True"
			})
			made[i] = passes[i]
		}
		if newest < 0 {
			_, err := w.client.Get(t.Context(), flowclient.KindWorkload, name)
			require.True(t, flowclient.IsNotFound(err))
			return
		}
		var spec flowclient.WorkloadSpec
		require.NoError(t, w.get(flowclient.KindWorkload, name).Decode(&spec, nil))
		require.Equal(t, fmt.Sprintf("%s@sha256:%064d", registry, newest), spec.Container.Image)
		release := w.boundTo(name+"-staging", strings.Repeat(fmt.Sprint(newest+1), 40))
		d, _ := w.runtime.serving(name + "-staging")
		require.Equal(t, release, d.Release)
		releases, err := w.client.List(t.Context(), flowclient.KindComponentRelease, flowclient.Filter{Component: name})
		require.NoError(t, err)
		require.LessOrEqual(t, len(releases), len(made))
	})
}

func indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
