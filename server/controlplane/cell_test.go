package controlplane_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"platform.dev/platform/fixtures"
	"platform.dev/platform/flowclient"
	"platform.dev/platform/server/controlplane"
)

// defaultType is spec of the project type that the platform ships.
func defaultType(t *testing.T) string {
	t.Helper()
	text, err := fs.ReadFile(fixtures.Templates(), "world/clusterprojecttype-default.yaml")
	require.NoError(t, err)
	var o struct{ Spec map[string]any }
	require.NoError(t, yaml.Unmarshal(text, &o))
	spec, err := json.Marshal(o.Spec)
	require.NoError(t, err)
	return string(spec)
}

// namespaceOf is the cell's namespace in the status of its binding.
func namespaceOf(t *testing.T, o flowclient.Object) string {
	t.Helper()
	var st struct{ Namespace string }
	require.NoError(t, o.Decode(nil, &st))
	return st.Namespace
}

// respec replaces an object's spec.
func (w *world) respec(kind flowclient.Kind, name, spec string) error {
	w.t.Helper()
	o := w.get(kind, name)
	o.Kind, o.Spec = kind, json.RawMessage(spec)
	_, err := w.client.Update(w.t.Context(), o)
	return err
}

// quotas waits until the runtime was told of these quotas of a cell.
func (w *world) quotas(name string, want map[string]map[string]string) {
	w.t.Helper()
	var last controlplane.Cell
	require.Eventually(w.t, func() bool {
		c, ok := w.runtime.cell(name)
		last = c
		return ok && assert.ObjectsAreEqual(want, c.Quotas)
	}, soon, interval, "last told: %v", &last)
}

func TestACellHasANamespaceThatStaysItsOwn(t *testing.T) {
	w := newWorld(t)
	w.create(flowclient.KindClusterProjectType, "default", defaultType(t))
	w.create(flowclient.KindProject, "shop", `{}`)
	cell := w.eventually(flowclient.KindProjectReleaseBinding, "shop-staging", ready)
	namespace := namespaceOf(t, cell)
	assert.Regexp(t, regexp.MustCompile(`^dp-default-shop-staging-[0-9a-f]{8}$`), namespace)
	w.quotas("shop-staging", map[string]map[string]string{})
	told, _ := w.runtime.cell("shop-staging")
	assert.Equal(t, controlplane.Cell{Name: "shop-staging", Namespace: namespace, Quotas: map[string]map[string]string{},
		Labels: map[string]string{"openchoreo.dev/project": "shop", "openchoreo.dev/environment": "staging"}}, told)

	require.NoError(t, w.client.Delete(t.Context(), flowclient.KindProjectReleaseBinding, "shop-staging"))
	require.Eventually(t, func() bool { // the project makes it anew
		c, ok := w.runtime.cell("shop-staging")
		return ok && c.Namespace == namespace
	}, soon, interval)

	long := strings.Repeat("a", 52)
	w.create(flowclient.KindProject, long, `{}`)
	w.create(flowclient.KindProjectReleaseBinding, long+"-production", `{"owner":{"projectName":"`+long+`"},"environment":"production"}`)
	seen := map[string]bool{}
	for _, environment := range []string{"staging", "production"} {
		ns := namespaceOf(t, w.eventually(flowclient.KindProjectReleaseBinding, long+"-"+environment, ready))
		assert.Regexp(t, regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`), ns)
		seen[ns] = true
	}
	assert.Len(t, seen, 2, "names that are cut stay different")
}

func TestAQuotaIsGivenByTheProjectAndByTheCell(t *testing.T) {
	w := newWorld(t)
	w.create(flowclient.KindClusterProjectType, "default", defaultType(t))
	w.create(flowclient.KindProject, "shop", `{"parameters":{"quota":{"memory":"4Gi"}}}`)
	w.quotas("shop-staging", map[string]map[string]string{"project-memory": {"requests.memory": "4Gi"}})

	require.NoError(t, w.respec(flowclient.KindProjectReleaseBinding, "shop-staging",
		`{"owner":{"projectName":"shop"},"environment":"staging","environmentConfigs":{"quota":{"memory":"2Gi","cpu":"1500m"}}}`))
	w.quotas("shop-staging", map[string]map[string]string{"project-memory": {"requests.memory": "4Gi"}, "cell-memory": {"requests.memory": "2Gi"}, "cell-cpu": {"requests.cpu": "1500m"}})

	require.NoError(t, w.respec(flowclient.KindProject, "shop", `{"type":{"kind":"ClusterProjectType","name":"default"},"parameters":{"quota":{"cpu":"3"}}}`))
	w.quotas("shop-staging", map[string]map[string]string{"project-cpu": {"requests.cpu": "3"}, "cell-memory": {"requests.memory": "2Gi"}, "cell-cpu": {"requests.cpu": "1500m"}})

	w.stop()
	w.runtime.forget()
	w.start()
	w.quotas("shop-staging", map[string]map[string]string{"project-cpu": {"requests.cpu": "3"}, "cell-memory": {"requests.memory": "2Gi"}, "cell-cpu": {"requests.cpu": "1500m"}})
}

func TestALimitThatIsNoQuantityIsRefusedAndChangesNothing(t *testing.T) {
	w := newWorld(t)
	w.create(flowclient.KindClusterProjectType, "default", defaultType(t))
	got := w.request(http.MethodPost, projects, `{"metadata":{"name":"shop"},"spec":{"parameters":{"quota":{"memory":"much"}}}}`)
	assert.Equal(t, 422, got.status)
	assert.Contains(t, got.body, `parameters.quota.memory \"much\" is no quantity that can be counted; write one such as 256Mi, 1.5Gi or 500M`)
	assert.Empty(t, w.list(flowclient.KindProject))

	w.create(flowclient.KindProject, "shop", `{"parameters":{"quota":{"memory":"1Gi"}}}`)
	w.eventually(flowclient.KindProjectReleaseBinding, "shop-staging", ready)
	var invalid *flowclient.Invalid
	require.ErrorAs(t, w.respec(flowclient.KindProject, "shop", `{"parameters":{"quota":{"cpu":"-1"}}}`), &invalid)
	assert.Equal(t, "spec.parameters", invalid.Field)
	require.ErrorAs(t, w.respec(flowclient.KindProjectReleaseBinding, "shop-staging",
		`{"owner":{"projectName":"shop"},"environment":"staging","environmentConfigs":{"quota":{"cpu":"two"}}}`), &invalid)
	assert.Equal(t, "spec.environmentConfigs", invalid.Field)
	assert.Equal(t, `environmentConfigs.quota.cpu "two" is no quantity that can be counted; write one such as 250m or 2`, invalid.Why)
	w.quotas("shop-staging", map[string]map[string]string{"project-memory": {"requests.memory": "1Gi"}})
}

// ofResources is a project type with the mandated namespace and these resources.
func ofResources(resources string) string {
	return `{"parameters":{"openAPIV3Schema":{"type":"object","properties":{"large":{"default":false},"pods":{"default":7}}}},
		"resources":[{"id":"ns","template":{"kind":"Namespace","metadata":{"name":"${metadata.namespace}"}}}` + resources + `]}`
}

// quotaOf is one ResourceQuota's template with more of its resource before it.
func quotaOf(more, name, hard string) string {
	return fmt.Sprintf(`,{"id":"q",%s"template":{"kind":"ResourceQuota","metadata":{"name":%q},"spec":{"hard":%s}}}`, more, name, hard)
}

func TestWhatAProjectTypeMakes(t *testing.T) {
	for name, c := range map[string]struct {
		projectType, project string
		want                 map[string]map[string]string
		reason, message      string
	}{
		"a fixed limit":                   {ofResources(quotaOf("", "q", `{"pods":"5","limits.memory":"2Gi"}`)), `{}`, map[string]map[string]string{"q": {"pods": "5", "limits.memory": "2Gi"}}, "", ""},
		"a number":                        {ofResources(quotaOf("", "q", `{"pods":5}`)), `{}`, map[string]map[string]string{"q": {"pods": "5"}}, "", ""},
		"a default":                       {ofResources(quotaOf("", "q", `{"pods":"${parameters.pods}"}`)), `{}`, map[string]map[string]string{"q": {"pods": "7"}}, "", ""},
		"a value":                         {ofResources(quotaOf("", "q-${metadata.namespace}", `{"pods":"1"}`) + quotaOf("", "q", `{"pods":"${ parameters.pods }"}`)), `{}`, nil, "RenderingFailed", "the name of resource 'q' must be text that no other quota has"},
		"a condition that holds":          {ofResources(quotaOf(`"includeWhen":"${parameters.large}",`, "q", `{"pods":"5"}`)), `{"parameters":{"large":true}}`, map[string]map[string]string{"q": {"pods": "5"}}, "", ""},
		"a condition that does not":       {ofResources(quotaOf(`"includeWhen":"${parameters.large}",`, "q", `{"pods":"5"}`)), `{}`, map[string]map[string]string{}, "", ""},
		"a comparison":                    {ofResources(quotaOf(`"includeWhen":"${metadata.environmentName == \"staging\"}",`, "q", `{"pods":"5"}`)), `{}`, map[string]map[string]string{"q": {"pods": "5"}}, "", ""},
		"another plane":                   {ofResources(quotaOf(`"targetPlane":"observabilityplane",`, "q", `{"pods":"5"}`)), `{}`, map[string]map[string]string{}, "", ""},
		"another kind":                    {ofResources(`,{"id":"n","forEach":"${x}","template":{"kind":"NetworkPolicy","spec":"${y}"}}`), `{}`, map[string]map[string]string{}, "", ""},
		"no namespace":                    {`{"resources":[{"id":"ns","template":{"kind":"Namespace","metadata":{"name":"shop"}}}]}`, `{}`, nil, "NamespaceMissing", "the project type makes no Namespace with the name ${metadata.namespace}"},
		"a namespace under condition":     {`{"resources":[{"id":"ns","includeWhen":"${metadata.namespace == \"x\"}","template":{"kind":"Namespace","metadata":{"name":"${metadata.namespace}"}}}]}`, `{}`, nil, "NamespaceMissing", "the project type makes no Namespace with the name ${metadata.namespace}"},
		"an expression":                   {ofResources(quotaOf("", "q", `{"pods":"${parameters.pods + 1}"}`)), `{}`, nil, "RenderingFailed", "pods of resource 'q' is ${parameters.pods + 1}: here a template is text, or a reference to one value"},
		"a condition beyond this part":    {ofResources(quotaOf(`"includeWhen":"${has(parameters.x)}",`, "q", `{"pods":"1"}`)), `{}`, nil, "RenderingFailed", "includeWhen of resource 'q' is ${has(parameters.x)}: here a condition is a value that is true or false, or a comparison of one with a text, such as ${parameters.tier == \"large\"}"},
		"a value that is not there":       {ofResources(quotaOf("", "q", `{"pods":"${parameters.none.at.all}"}`)), `{}`, nil, "RenderingFailed", "pods of resource 'q' refers to parameters.none.at.all, which has no value"},
		"a list":                          {ofResources(quotaOf("", "q", `{"pods":"${parameters.list}"}`)), `{"parameters":{"list":[1]}}`, nil, "RenderingFailed", "pods of resource 'q' is ${parameters.list}, which is no text and no number"},
		"a repetition":                    {ofResources(quotaOf(`"forEach":"${parameters.list}",`, "q", `{"pods":"1"}`)), `{}`, nil, "RenderingFailed", "resource 'q' has forEach, which is not evaluated here"},
		"a spec that is none":             {ofResources(`,{"id":"q","template":{"kind":"ResourceQuota","metadata":{"name":"q"},"spec":[]}}`), `{}`, nil, "RenderingFailed", "spec of resource 'q' is not that of a ResourceQuota"},
		"a limit of its own that is none": {ofResources(quotaOf("", "q", `{"pods":"some"}`)), `{}`, nil, "RenderingFailed", `pods of resource 'q' "some" is no quantity that can be counted; write one such as 10`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create(flowclient.KindProject, "shop", strings.Replace(c.project, `{`, `{"type":{"kind":"ClusterProjectType","name":"own"}`+map[bool]string{true: ",", false: ""}[c.project != `{}`], 1))
			o := w.eventually(flowclient.KindProjectReleaseBinding, "shop-staging", func(o flowclient.Object) bool { return condition(o, "Ready").Reason == "ProjectTypeNotFound" })
			assert.Equal(t, "ClusterProjectType 'own' does not exist", condition(o, "Synced").Message)
			w.create(flowclient.KindClusterProjectType, "own", c.projectType)
			if c.reason == "" {
				w.quotas("shop-staging", c.want)
				w.eventually(flowclient.KindProjectReleaseBinding, "shop-staging", ready)
				return
			}
			o = w.eventually(flowclient.KindProjectReleaseBinding, "shop-staging", func(o flowclient.Object) bool { return condition(o, "Synced").Reason == c.reason })
			assert.Equal(t, c.message, condition(o, "Synced").Message)
			assert.Equal(t, "False", condition(o, "Ready").Status)
			_, told := w.runtime.cell("shop-staging")
			assert.False(t, told)
		})
	}
}

func TestATypeThatBreaksLeavesTheQuotasAsTheyWere(t *testing.T) {
	w := newWorld(t)
	w.create(flowclient.KindClusterProjectType, "default", ofResources(quotaOf("", "q", `{"pods":"5"}`)))
	w.create(flowclient.KindProject, "shop", `{}`)
	w.quotas("shop-staging", map[string]map[string]string{"q": {"pods": "5"}})
	require.NoError(t, w.respec(flowclient.KindClusterProjectType, "default", ofResources(quotaOf("", "q", `{"pods":"${a.b(c)}"}`))))
	w.eventually(flowclient.KindProjectReleaseBinding, "shop-staging", func(o flowclient.Object) bool { return condition(o, "Synced").Reason == "RenderingFailed" })
	w.quotas("shop-staging", map[string]map[string]string{"q": {"pods": "5"}})
}

func TestATypeIsKeptOnceItIsSet(t *testing.T) {
	w := newWorld(t)
	w.create(flowclient.KindProject, "shop", `{}`)
	var spec struct{ Type flowclient.Ref }
	require.NoError(t, w.get(flowclient.KindProject, "shop").Decode(&spec, nil))
	assert.Equal(t, flowclient.Ref{Kind: "ClusterProjectType", Name: "default"}, spec.Type)
	require.NoError(t, w.respec(flowclient.KindProject, "shop", `{"parameters":{"a":1}}`))
	var invalid *flowclient.Invalid
	require.ErrorAs(t, w.respec(flowclient.KindProject, "shop", `{"type":{"kind":"ClusterProjectType","name":"other"}}`), &invalid)
	assert.Equal(t, "spec.type", invalid.Field)
}

func TestADeploymentSaysWhatItDeclaresAndWhere(t *testing.T) {
	w := newWorld(t)
	w.create(flowclient.KindClusterComponentType, "limited", limitedType(`"256Mi"`, "64Mi"))
	w.limited()
	d, ok := w.runtime.serving("shop-web-staging")
	require.True(t, ok)
	assert.Equal(t, flowclient.Quantities{flowclient.Memory: 320 << 20, "limits.memory": 320 << 20, flowclient.Pods: 1}, d.Declared)
	assert.Equal(t, namespaceOf(t, w.eventually(flowclient.KindProjectReleaseBinding, "shop-staging", ready)), d.Cell)
}

func TestADeploymentWhoseSizeCannotBeToldRunsAllTheSame(t *testing.T) {
	w := newWorld(t)
	w.create(flowclient.KindClusterComponentType, "limited", strings.Replace(limitedType(`"256Mi"`, ""), `"kind":"Deployment","spec":{`, `"kind":"Deployment","spec":{"replicas":"${parameters.a + 1}",`, 1))
	w.limited()
	d, ok := w.runtime.serving("shop-web-staging")
	require.True(t, ok)
	assert.Nil(t, d.Declared)
	assert.Equal(t, int64(256<<20), d.Memory)
}
