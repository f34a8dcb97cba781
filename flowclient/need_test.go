package flowclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/fixtures"
)

// shipped is a release of a component type as the platform ships it.
func shipped(t *testing.T, name string) Object {
	t.Helper()
	text, err := fs.ReadFile(fixtures.Templates(), "world/clustercomponenttype-"+name+".yaml")
	require.NoError(t, err)
	objects, err := readObjects(string(text))
	require.NoError(t, err)
	return releaseWith(string(objects[0].Spec), `{}`)
}

// releaseWith is a release with that component type and those parameters.
func releaseWith(componentType, parameters string) Object {
	return Object{Kind: KindComponentRelease, Metadata: Metadata{Name: "shop-api-1"}, Spec: json.RawMessage(
		fmt.Sprintf(`{"owner":{"projectName":"shop","componentName":"shop-api"},"componentType":{"kind":"ClusterComponentType","name":"deployment/service","spec":%s},
			"componentProfile":{"parameters":%s},"workload":{"container":{"image":"i"}}}`, componentType, parameters))}
}

// bound is production's binding, running something, with that spec besides.
func bound(t *testing.T, more string) binding {
	t.Helper()
	b, err := bindingOf(Object{Kind: KindReleaseBinding, Metadata: Metadata{Name: "shop-api-production"},
		Spec: json.RawMessage(`{"owner":{"projectName":"shop","componentName":"shop-api"},"environment":"production","releaseName":"shop-api-0"` + more + `}`)})
	require.NoError(t, err)
	return b
}

func TestWhatTheShippedTypesDeclare(t *testing.T) {
	n, err := needOf(shipped(t, "service"), binding{})
	require.NoError(t, err)
	assert.Equal(t, need{Replicas: 1, First: true, Each: Quantities{Memory: 256 * mi, CPU: 50, Pods: 1, "limits.memory": 256 * mi}}, n)

	n, err = needOf(shipped(t, "static-site"), bound(t, `,"componentTypeEnvironmentConfigs":{"replicas":3,"memory":"96Mi"}`))
	require.NoError(t, err)
	assert.Equal(t, need{Replicas: 3, Each: Quantities{Memory: 96 * mi, CPU: 50, Pods: 1, "limits.memory": 96 * mi}}, n)

	n, err = needOf(shipped(t, "service"), bound(t, `,"state":"Undeploy"`))
	require.NoError(t, err)
	assert.True(t, n.First, "what is out of service uses nothing")
}

// pod is a component type with one workload of that kind, pod specification and more of its spec.
func pod(kind, podSpec, more string) string {
	return fmt.Sprintf(`{"resources":[{"id":"service","template":{"kind":"Service","spec":{"replicas":"${what.ever}"}}},
		{"id":"main","template":{"kind":%q,"spec":{%s"template":{"spec":%s}}}}],
		"parameters":{"openAPIV3Schema":{"type":"object","properties":{"size":{"type":"object","default":{"memory":"10Mi"},"properties":{"memory":{"default":"20Mi"},"cpu":{"default":"30m"}}}}}},
		"environmentConfigs":{"openAPIV3Schema":{"type":"object","properties":{"memory":{"default":"64Mi"},"replicas":{"default":2},"bytes":{"default":1048576},"none":{},"list":{"default":[1]}}}}}`, kind, more, podSpec)
}

// container is one container's resources.
func container(requests, limits string) string {
	return fmt.Sprintf(`{"containers":[{"name":"main","resources":{"requests":%s,"limits":%s}}]}`, requests, limits)
}

func TestWhatAComponentDeclares(t *testing.T) {
	for name, c := range map[string]struct {
		componentType, parameters, binding string
		replicas                           int64
		each                               Quantities
		unread                             string
	}{
		"fixed values":                       {pod("Deployment", container(`{"memory":"1Gi","cpu":2}`, `{}`), ``), `{}`, ``, 1, Quantities{Memory: 1 << 30, CPU: 2000, Pods: 1}, ""},
		"a stateful set":                     {pod("StatefulSet", container(`{"memory":"1Gi"}`, `{}`), `"replicas":3,`), `{}`, ``, 3, Quantities{Memory: 1 << 30, Pods: 1}, ""},
		"a value of the environment":         {pod("Deployment", container(`{"memory":"${environmentConfigs.memory}"}`, `{}`), `"replicas":"${environmentConfigs.replicas}",`), `{}`, `,"componentTypeEnvironmentConfigs":{"memory":"1.5Gi","replicas":"4"}`, 4, Quantities{Memory: 3 << 29, Pods: 1}, ""},
		"its default":                        {pod("Deployment", container(`{"memory":"${ environmentConfigs.memory }"}`, `{}`), `"replicas":"${environmentConfigs.replicas}",`), `{}`, ``, 2, Quantities{Memory: 64 * mi, Pods: 1}, ""},
		"a number of bytes":                  {pod("Deployment", container(`{"memory":"${environmentConfigs.bytes}"}`, `{}`), ``), `{}`, ``, 1, Quantities{Memory: mi, Pods: 1}, ""},
		"a parameter, nested":                {pod("Deployment", container(`{"memory":"${parameters.size.memory}","cpu":"${parameters.size.cpu}"}`, `{}`), ``), `{"size":{"memory":"5Mi"}}`, ``, 1, Quantities{Memory: 5 * mi, CPU: 30, Pods: 1}, ""},
		"the default of what it is a part":   {pod("Deployment", container(`{"memory":"${parameters.size.memory}","cpu":"${parameters.size.cpu}"}`, `{}`), ``), `{}`, ``, 1, Quantities{Memory: 10 * mi, CPU: 30, Pods: 1}, ""},
		"limits are requests by default":     {pod("Deployment", container(`{"cpu":"100m"}`, `{"memory":"128Mi","cpu":"1"}`), ``), `{}`, ``, 1, Quantities{Memory: 128 * mi, CPU: 100, Pods: 1, "limits.memory": 128 * mi, "limits.cpu": 1000}, ""},
		"another resource":                   {pod("Deployment", container(`{"ephemeral-storage":"1Gi"}`, `{"nvidia.com/gpu":1}`), ``), `{}`, ``, 1, Quantities{"ephemeral-storage": 1 << 30, "nvidia.com/gpu": 1, "limits.nvidia.com/gpu": 1, Pods: 1}, ""},
		"an empty request is none":           {pod("Deployment", container(`{"memory":"","cpu":null}`, `{}`), ``), `{}`, ``, 1, Quantities{Pods: 1}, ""},
		"nothing declared":                   {pod("Deployment", `{"containers":[{"name":"main"}]}`, ``), `{}`, ``, 1, Quantities{Pods: 1}, ""},
		"containers together":                {pod("Deployment", `{"containers":[{"resources":{"requests":{"memory":"1Mi"}}},{"resources":{"requests":{"memory":"2Mi"}}}]}`, ``), `{}`, ``, 1, Quantities{Memory: 3 * mi, Pods: 1}, ""},
		"a larger init container":            {pod("Deployment", `{"containers":[{"resources":{"requests":{"memory":"1Mi"}}}],"initContainers":[{"resources":{"requests":{"memory":"9Mi"}}},{"resources":{"requests":{"cpu":"1"}}}]}`, ``), `{}`, ``, 1, Quantities{Memory: 9 * mi, CPU: 1000, Pods: 1}, ""},
		"no workload":                        {`{"resources":[{"id":"site","template":{"kind":"Site"}}]}`, `{}`, ``, 0, Quantities{}, ""},
		"two workloads count together":       {`{"resources":[{"id":"a","template":{"kind":"Deployment","spec":{"replicas":2,"template":{"spec":{"containers":[{"resources":{"requests":{"memory":"1Mi"}}}]}}}}},{"id":"b","template":{"kind":"StatefulSet","spec":{"template":{"spec":{"containers":[{"resources":{"requests":{"memory":"5Mi"}}}]}}}}}]}`, `{}`, ``, 1, Quantities{Memory: 7 * mi, Pods: 3}, ""},
		"no spec of the type at all":         {`{}`, `{}`, ``, 0, Quantities{}, ""},
		"no replicas":                        {pod("Deployment", container(`{"memory":"1Mi"}`, `{}`), `"replicas":0,`), `{}`, ``, 0, Quantities{Memory: mi, Pods: 1}, ""},
		"an expression":                      {pod("Deployment", container(`{"memory":"${parameters.a + parameters.b}"}`, `{}`), ``), `{}`, ``, 0, nil, "the memory of container main is the expression ${parameters.a + parameters.b}, which only the control plane can evaluate"},
		"an expression in a text":            {pod("Deployment", container(`{"cpu":"${parameters.cores}m"}`, `{}`), ``), `{}`, ``, 0, nil, "the cpu of container main is the expression ${parameters.cores}m, which only the control plane can evaluate"},
		"a number of workloads":              {`{"resources":[{"id":"shard","forEach":"${parameters.shards}","template":{"kind":"Deployment"}}]}`, `{}`, ``, 0, nil, "how many of shard there are is the expression ${parameters.shards}, which only the control plane can evaluate"},
		"no value and no default":            {pod("Deployment", container(`{"memory":"${environmentConfigs.none}"}`, `{}`), ``), `{}`, ``, 0, nil, "the memory of container main is ${environmentConfigs.none}, which has no value and no default"},
		"a value that is no quantity":        {pod("Deployment", container(`{"memory":"${environmentConfigs.memory}"}`, `{}`), ``), `{}`, `,"componentTypeEnvironmentConfigs":{"memory":"much"}`, 0, nil, `environmentConfigs.memory "much" is no quantity that can be counted; write one such as 256Mi, 1.5Gi or 500M`},
		"a limit that is no quantity":        {pod("Deployment", container(`{}`, `{"cpu":"-1"}`), ``), `{}`, ``, 0, nil, `the cpu of container main "-1" is no quantity that can be counted; write one such as 250m or 2`},
		"a list":                             {pod("Deployment", container(`{"memory":"${environmentConfigs.list}"}`, `{}`), ``), `{}`, ``, 0, nil, "environmentConfigs.list is no text and no number"},
		"replicas that are none":             {pod("Deployment", container(`{}`, `{}`), `"replicas":"few",`), `{}`, ``, 0, nil, `replicas "few" is no number of replicas; write one such as 2`},
		"replicas below none":                {pod("Deployment", container(`{}`, `{}`), `"replicas":-1,`), `{}`, ``, 0, nil, `replicas "-1" is no number of replicas; write one such as 2`},
		"half a replica":                     {pod("Deployment", container(`{}`, `{}`), `"replicas":1.5,`), `{}`, ``, 0, nil, `replicas "1.5" is no number of replicas; write one such as 2`},
		"a template that is no deployment":   {`{"resources":[{"id":"main","template":{"kind":"Deployment","spec":[]}}]}`, `{}`, ``, 0, nil, "the template main of its component type is no Deployment"},
		"a value that other names stand for": {pod("Deployment", container(`{"memory":"${workload.memory}"}`, `{}`), ``), `{}`, ``, 0, nil, "the memory of container main is the expression ${workload.memory}, which only the control plane can evaluate"},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := needOf(releaseWith(c.componentType, c.parameters), bound(t, c.binding))
			require.NoError(t, err)
			assert.Equal(t, need{Replicas: c.replicas, Each: c.each, Unread: c.unread}, n)
		})
	}
	_, err := needOf(Object{Kind: KindComponentRelease, Spec: json.RawMessage(`[]`)}, binding{})
	require.Error(t, err, "a release that is none")
}

// releasesThere is a control plane with these objects, or one that fails.
type releasesThere struct {
	ControlPlane
	objects map[string]Object
	fails   error
}

func (r releasesThere) Get(_ context.Context, kind Kind, name string) (Object, error) {
	if o, ok := r.objects[name]; ok {
		return o, nil
	}
	return Object{}, cmp.Or[error](r.fails, &NotFound{Kind: string(kind), Name: name})
}

func TestARunningReleaseIsTakenOffWhatReplacesIt(t *testing.T) {
	of := func(memory string) Object {
		return releaseWith(pod("Deployment", container(`{"memory":"`+memory+`"}`, `{}`), `"replicas":2,`), `{}`)
	}
	next := of("256Mi")
	for name, c := range map[string]struct {
		there   map[string]Object
		binding binding
		want    int64
	}{
		"as large as it is":            {map[string]Object{"shop-api-0": of("256Mi")}, bound(t, ""), 256 * mi},
		"larger than what runs":        {map[string]Object{"shop-api-0": of("64Mi")}, bound(t, ""), 448 * mi},
		"what runs is gone":            {nil, bound(t, ""), 512 * mi},
		"what runs cannot be told":     {map[string]Object{"shop-api-0": of("${a + b}")}, bound(t, ""), 512 * mi},
		"nothing runs yet":             {nil, binding{}, 512 * mi},
		"what ran is out of service":   {map[string]Object{"shop-api-0": of("256Mi")}, bound(t, `,"state":"Undeploy"`), 512 * mi},
		"the binding names no release": {nil, binding{exists: true}, 512 * mi},
	} {
		t.Run(name, func(t *testing.T) {
			controller := &Controller{deps: Deps{ControlPlane: releasesThere{objects: c.there}}}
			n, err := controller.need(t.Context(), next, &componentFacts{Production: c.binding})
			require.NoError(t, err)
			assert.Equal(t, c.want, n.asks(Memory))
		})
	}
	outage := errors.New("no answer")
	controller := &Controller{deps: Deps{ControlPlane: releasesThere{fails: outage}}}
	_, err := controller.need(t.Context(), next, &componentFacts{Production: bound(t, "")})
	require.ErrorIs(t, err, outage)
}

func TestTheCellOfAProject(t *testing.T) {
	project := Object{Metadata: Metadata{Name: "shop"}}
	cell := func(status string) map[string]Object {
		return map[string]Object{"shop-production": {Kind: KindProjectReleaseBinding, Status: json.RawMessage(status)}}
	}
	given := Quota{Namespace: "dp-shop", Hard: Quantities{Memory: 4}, Used: Quantities{Memory: 1}}
	for name, c := range map[string]struct {
		there map[string]Object
		cells Cells
		want  *Quota
		note  string
	}{
		"a quota":             {cell(`{"namespace":"dp-shop"}`), quotaThere{"dp-shop": given}, &given, ""},
		"no quota":            {cell(`{"namespace":"dp-shop"}`), quotaThere{}, nil, "no quota limits the cell of shop in production."},
		"no namespace yet":    {cell(`{}`), quotaThere{}, nil, "the cell of shop in production has no namespace yet, so that no quota limits it."},
		"no status yet":       {cell(``), quotaThere{}, nil, "the cell of shop in production has no namespace yet, so that no quota limits it."},
		"no cell yet":         {nil, quotaThere{}, nil, "shop in production has no cell yet: the first promotion makes it, so that there is no quota to ask yet."},
		"nobody who tells it": {cell(`{"namespace":"dp-shop"}`), nil, nil, "capacity of shop in production is not checked: no data plane is configured that tells of quotas."},
	} {
		t.Run(name, func(t *testing.T) {
			controller := &Controller{deps: Deps{ControlPlane: releasesThere{objects: c.there}, Cells: c.cells}}
			q, note, err := controller.cell(t.Context(), project)
			require.NoError(t, err)
			assert.Equal(t, c.want, q)
			assert.Equal(t, c.note, note)
		})
	}
	outage := &Upstream{Part: "data plane", Err: errors.New("no answer")}
	for name, deps := range map[string]Deps{
		"the control plane": {ControlPlane: releasesThere{fails: outage}, Cells: quotaThere{}},
		"the data plane":    {ControlPlane: releasesThere{objects: cell(`{"namespace":"dp-shop"}`)}, Cells: quotaFails{outage}},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := (&Controller{deps: deps}).cell(t.Context(), project)
			var upstream *Upstream
			require.ErrorAs(t, err, &upstream, "who asks is told what cannot be read")
		})
	}
}

// quotaThere are quotas by namespace.
type quotaThere map[string]Quota

func (q quotaThere) Quota(_ context.Context, namespace string) (Quota, bool, error) {
	found, ok := q[namespace]
	return found, ok, nil
}

type quotaFails struct{ err error }

func (q quotaFails) Quota(context.Context, string) (Quota, bool, error) { return Quota{}, false, q.err }

func FuzzDeclaredSize(f *testing.F) {
	f.Add(pod("Deployment", container(`{"memory":"${environmentConfigs.memory}"}`, `{"cpu":1}`), `"replicas":"${environmentConfigs.replicas}",`))
	f.Add(pod("StatefulSet", container(`{"memory":1e400}`, `{}`), `"replicas":1e9,`))
	f.Add(`{"resources":[{"template":{"kind":"Deployment"},"forEach":"x"}]}`)
	f.Fuzz(func(t *testing.T, componentType string) {
		if !json.Valid([]byte(componentType)) {
			return
		}
		n, err := needOf(releaseWith(componentType, `{}`), binding{})
		if err != nil {
			return
		}
		require.GreaterOrEqual(t, n.Replicas, int64(0))
		for name := range n.Each {
			require.GreaterOrEqual(t, n.asks(name), int64(0))
		}
	})
}
