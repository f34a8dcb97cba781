package controlplane_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// limitedType is a component type that limits memory as the shipped ones do:
// by a value of the environment, in the first of two containers.
func limitedType(byDefault, second string) string {
	return `{"workloadType":"deployment",
		"environmentConfigs":{"openAPIV3Schema":{"type":"object","properties":{"memory":{"type":"string","default":` + byDefault + `}}}},
		"resources":[{"id":"deployment","template":{"kind":"Deployment","spec":{"template":{"spec":{"containers":[
			{"name":"main","resources":{"limits":{"memory":"${environmentConfigs.memory}"}}},
			{"name":"side","resources":{"limits":{"memory":"` + second + `"}}}]}}}}},
			{"id":"service","template":{"kind":"Service","spec":{"ports":[{"port":80}]}}}]}`
}

func TestAProcessMayUseWhatItsComponentTypeLimitsItTo(t *testing.T) {
	for name, c := range map[string]struct {
		byDefault, second string
		want              int64
	}{
		"the default and a fixed limit": {`"256Mi"`, "64Mi", 320 << 20},
		"a fraction of a decimal unit":  {`"1.5G"`, "", 1_500_000_000},
		"bytes as a number":             {`1048576`, "", 1 << 20},
		"no limit at all":               {`""`, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create(flowclient.KindClusterComponentType, "limited", limitedType(c.byDefault, c.second))
			w.limited()
			d, ok := w.runtime.serving("shop-web-staging")
			require.True(t, ok)
			assert.Equal(t, c.want, d.Memory)
		})
	}
}

func TestAnEnvironmentMaySetItsOwnMemoryLimit(t *testing.T) {
	w := newWorld(t)
	w.create(flowclient.KindClusterComponentType, "limited", limitedType(`"256Mi"`, ""))
	w.limited()
	w.configure("shop-web-staging", "1Gi")
	require.Eventually(t, func() bool {
		d, _ := w.runtime.serving("shop-web-staging")
		return d.Memory == 1<<30
	}, soon, interval)

	w.configure("shop-web-staging", "much")
	b := w.eventually(flowclient.KindReleaseBinding, "shop-web-staging", func(o flowclient.Object) bool {
		return condition(o, "Ready").Reason == "InvalidEnvironmentConfig"
	})
	assert.Equal(t, `spec.componentTypeEnvironmentConfigs.memory "much" is no amount of memory; write one such as 256Mi, 1.5Gi or 500M`, condition(b, "Ready").Message)
}

// limited makes shop-web of the type limited, built and bound to staging.
func (w *world) limited() {
	w.t.Helper()
	w.create(flowclient.KindProject, "shop", `{}`)
	w.create(flowclient.KindComponent, "shop-web", `{"owner":{"projectName":"shop"},
		"componentType":{"kind":"ClusterComponentType","name":"deployment/limited"},"autoBuild":true,"autoDeploy":true,
		"repository":{"url":"`+repository+`","revision":{"branch":"main"}},"workloadPath":"workload.yaml","imageName":"web"}`)
	w.builder.stand(w.pushed(sha), built(sha, registry+digest))
	w.boundTo("shop-web-staging", sha)
}

// configure gives a binding's environment its own memory.
func (w *world) configure(binding, memory string) {
	w.t.Helper()
	o := w.get(flowclient.KindReleaseBinding, binding)
	spec := map[string]any{}
	require.NoError(w.t, json.Unmarshal(o.Spec, &spec))
	spec["componentTypeEnvironmentConfigs"] = map[string]any{"memory": memory}
	raw, err := json.Marshal(spec)
	require.NoError(w.t, err)
	o.Kind, o.Spec = flowclient.KindReleaseBinding, raw
	_, err = w.client.Update(w.t.Context(), o)
	require.NoError(w.t, err)
}
