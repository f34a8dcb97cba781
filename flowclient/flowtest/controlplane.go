// Package flowtest holds contract suites: what every implementation of a port
// must do, run against the embedded part and, where its address is given,
// against the real one.
//
// It knows nothing of any implementation.
package flowtest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// ControlPlane is what every flowclient.ControlPlane must do, whatever server is
// behind it. open gives one for the test; what the suite creates has names of
// its own and is deleted again.
func ControlPlane(t *testing.T, open func(t *testing.T) flowclient.ControlPlane) {
	t.Helper()
	cases := []struct {
		name string
		run  func(t *testing.T, p plane)
	}{
		{"an object comes back as it was created", createdComesBack},
		{"a name that is taken is ErrExists", takenNameExists},
		{"a name that nothing has is NotFound", nothingIsNotFound},
		{"a name with capitals is Invalid and names the field", badNameIsInvalid},
		{"an update replaces labels, annotations and spec", updateReplaces},
		{"a changed owner is Invalid", changedOwnerIsInvalid},
		{"a state that is none is Invalid", badStateIsInvalid},
		{"a stale conditional update is ErrConflict", staleUpdateConflicts},
		{"of concurrent conditional updates one wins", oneUpdateWins},
		{"a list crosses pages", listCrossesPages},
		{"a list is narrowed by project and component", listIsNarrowed},
		{"a list is narrowed by labels", listIsNarrowedByLabels},
		{"a binding to a release that does not exist says so", missingReleaseIsSaid},
		{"a deleted object is gone", deletedIsGone},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.run(t, newPlane(t, open(t))) })
	}
}

// plane is a control plane and a mark that makes the test's names its own.
type plane struct {
	flowclient.ControlPlane
	ctx  context.Context
	mark string
}

func newPlane(t *testing.T, cp flowclient.ControlPlane) plane {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return plane{ControlPlane: cp, ctx: ctx, mark: "t" + strings.ToLower(rand.Text()[:8])}
}

// create makes an object and removes it after the test.
func (p plane) create(t *testing.T, kind flowclient.Kind, name, spec string, labels map[string]string) flowclient.Object {
	t.Helper()
	o, err := p.Create(p.ctx, flowclient.Object{
		Kind: kind, Metadata: flowclient.Metadata{Name: name, Labels: labels}, Spec: json.RawMessage(spec),
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), 10*time.Second)
		defer cancel()
		if err := p.Delete(ctx, kind, name); !flowclient.IsNotFound(err) {
			assert.NoError(t, err)
		}
	})
	return o
}

func (p plane) project(t *testing.T) string {
	t.Helper()
	p.create(t, flowclient.KindProject, p.mark, `{"deploymentPipelineRef":{"kind":"DeploymentPipeline","name":"default"}}`, nil)
	return p.mark
}

func (p plane) component(t *testing.T, project, name string) {
	t.Helper()
	p.create(t, flowclient.KindComponent, name, fmt.Sprintf(
		`{"owner":{"projectName":%q},"componentType":{"kind":"ClusterComponentType","name":"deployment/service"}}`, project), nil)
}

func createdComesBack(t *testing.T, p plane) {
	name := p.project(t)
	got, err := p.Get(p.ctx, flowclient.KindProject, name)
	require.NoError(t, err)
	assert.Equal(t, name, got.Metadata.Name)
	assert.Equal(t, flowclient.KindProject, got.Kind)
	assert.NotEmpty(t, got.Metadata.UID)
	require.NotNil(t, got.Metadata.Created)
	var spec struct {
		Ref flowclient.Ref `json:"deploymentPipelineRef"`
	}
	require.NoError(t, got.Decode(&spec, nil))
	assert.Equal(t, "default", spec.Ref.Name)
}

func takenNameExists(t *testing.T, p plane) {
	name := p.project(t)
	_, err := p.Create(p.ctx, flowclient.Object{Kind: flowclient.KindProject, Metadata: flowclient.Metadata{Name: name}})
	require.ErrorIs(t, err, flowclient.ErrExists)
}

func nothingIsNotFound(t *testing.T, p plane) {
	_, err := p.Get(p.ctx, flowclient.KindReleaseBinding, p.mark)
	assert.True(t, flowclient.IsNotFound(err), "get: %v", err)
	_, err = p.Update(p.ctx, flowclient.Object{Kind: flowclient.KindProject, Metadata: flowclient.Metadata{Name: p.mark}})
	assert.True(t, flowclient.IsNotFound(err), "update: %v", err)
	assert.True(t, flowclient.IsNotFound(p.Delete(p.ctx, flowclient.KindProject, p.mark)))
	_, err = p.RunLog(p.ctx, p.mark, "")
	assert.True(t, flowclient.IsNotFound(err), "log: %v", err)
}

func badNameIsInvalid(t *testing.T, p plane) {
	_, err := p.Create(p.ctx, flowclient.Object{Kind: flowclient.KindProject, Metadata: flowclient.Metadata{Name: "Not_A_Name"}})
	var invalid *flowclient.Invalid
	require.ErrorAs(t, err, &invalid)
	assert.Contains(t, invalid.Error(), "Not_A_Name")
}

func updateReplaces(t *testing.T, p plane) {
	name := p.project(t)
	o, err := p.Get(p.ctx, flowclient.KindProject, name)
	require.NoError(t, err)
	o.Metadata.Annotations = map[string]string{"a": "1", "b": "2"}
	_, err = p.Update(p.ctx, o)
	require.NoError(t, err)
	o, err = p.Get(p.ctx, flowclient.KindProject, name)
	require.NoError(t, err)
	assert.Equal(t, "1", o.Metadata.Annotations["a"])

	delete(o.Metadata.Annotations, "a")
	_, err = p.Update(p.ctx, o)
	require.NoError(t, err)
	o, err = p.Get(p.ctx, flowclient.KindProject, name)
	require.NoError(t, err)
	assert.NotContains(t, o.Metadata.Annotations, "a", "what a PUT leaves out is gone")
	assert.Equal(t, "2", o.Metadata.Annotations["b"])
}

func changedOwnerIsInvalid(t *testing.T, p plane) {
	project := p.project(t)
	p.component(t, project, p.mark+"-web")
	o, err := p.Get(p.ctx, flowclient.KindComponent, p.mark+"-web")
	require.NoError(t, err)
	o.Spec = json.RawMessage(strings.Replace(string(o.Spec), `"`+project+`"`, `"another"`, 1))
	_, err = p.Update(p.ctx, o)
	var invalid *flowclient.Invalid
	require.ErrorAs(t, err, &invalid)
}

func badStateIsInvalid(t *testing.T, p plane) {
	project := p.project(t)
	p.component(t, project, p.mark+"-web")
	_, err := p.Create(p.ctx, flowclient.Object{
		Kind: flowclient.KindReleaseBinding, Metadata: flowclient.Metadata{Name: p.mark + "-web-staging"},
		Spec: json.RawMessage(fmt.Sprintf(`{"owner":{"projectName":%q,"componentName":%q},"environment":"staging","state":"Paused"}`, project, p.mark+"-web")),
	})
	var invalid *flowclient.Invalid
	require.ErrorAs(t, err, &invalid)
	assert.Contains(t, invalid.Error(), "Paused")
}

func staleUpdateConflicts(t *testing.T, p plane) {
	name := p.project(t)
	first, err := p.Get(p.ctx, flowclient.KindProject, name)
	require.NoError(t, err)
	if first.ETag == "" {
		t.Skip("this server offers no ETag (PLATFORM_TEST_OPENCHOREO_URL is a real OpenChoreo)")
	}
	second := first
	second.Metadata.Annotations = map[string]string{"who": "second"}
	_, err = p.Update(p.ctx, second)
	require.NoError(t, err)
	first.Metadata.Annotations = map[string]string{"who": "first"}
	_, err = p.Update(p.ctx, first)
	require.ErrorIs(t, err, flowclient.ErrConflict)
	got, err := p.Get(p.ctx, flowclient.KindProject, name)
	require.NoError(t, err)
	assert.Equal(t, "second", got.Metadata.Annotations["who"])
}

func oneUpdateWins(t *testing.T, p plane) {
	name := p.project(t)
	read, err := p.Get(p.ctx, flowclient.KindProject, name)
	require.NoError(t, err)
	if read.ETag == "" {
		t.Skip("this server offers no ETag (PLATFORM_TEST_OPENCHOREO_URL is a real OpenChoreo)")
	}
	const writers = 8
	errs := make([]error, writers)
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			mine := read
			mine.Metadata.Annotations = map[string]string{"who": fmt.Sprint(i)}
			_, errs[i] = p.Update(p.ctx, mine)
		})
	}
	group.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		assert.ErrorIs(t, err, flowclient.ErrConflict)
	}
	assert.Equal(t, 1, won)
}

func listCrossesPages(t *testing.T, p plane) {
	const many = 105 // more than the largest page
	for i := range many {
		p.create(t, flowclient.KindDeploymentPipeline, fmt.Sprintf("%s-%03d", p.mark, i), `{"promotionPaths":[]}`, nil)
	}
	all, err := p.List(p.ctx, flowclient.KindDeploymentPipeline, flowclient.Filter{})
	require.NoError(t, err)
	seen := map[string]int{}
	for _, o := range all {
		if strings.HasPrefix(o.Metadata.Name, p.mark) {
			seen[o.Metadata.Name]++
		}
	}
	assert.Len(t, seen, many)
	for name, n := range seen {
		assert.Equal(t, 1, n, name)
	}
}

func listIsNarrowed(t *testing.T, p plane) {
	project := p.project(t)
	for _, c := range []string{"-a", "-b"} {
		p.component(t, project, p.mark+c)
	}
	components, err := p.List(p.ctx, flowclient.KindComponent, flowclient.Filter{Project: project})
	require.NoError(t, err)
	assert.Len(t, components, 2)
	none, err := p.List(p.ctx, flowclient.KindComponent, flowclient.Filter{Project: project + "x"})
	require.NoError(t, err)
	assert.Empty(t, none)

	p.create(t, flowclient.KindReleaseBinding, p.mark+"-a-staging", fmt.Sprintf(
		`{"owner":{"projectName":%q,"componentName":%q},"environment":"staging","state":"Undeploy"}`, project, p.mark+"-a"), nil)
	bindings, err := p.List(p.ctx, flowclient.KindReleaseBinding, flowclient.Filter{Project: project, Component: p.mark + "-a"})
	require.NoError(t, err)
	require.Len(t, bindings, 1)
	bindings, err = p.List(p.ctx, flowclient.KindReleaseBinding, flowclient.Filter{Component: p.mark + "-b"})
	require.NoError(t, err)
	assert.Empty(t, bindings)
}

func listIsNarrowedByLabels(t *testing.T, p plane) {
	for _, l := range []string{"one", "two"} {
		p.create(t, flowclient.KindDeploymentPipeline, p.mark+"-"+l, `{"promotionPaths":[]}`, map[string]string{"example.com/mark": p.mark, "which": l})
	}
	for selector, want := range map[string]int{"example.com/mark=" + p.mark: 2, "example.com/mark=" + p.mark + ",which=two": 1, "which=" + p.mark: 0} {
		found, err := p.List(p.ctx, flowclient.KindDeploymentPipeline, flowclient.Filter{LabelSelector: selector})
		require.NoError(t, err)
		assert.Len(t, found, want, selector)
	}
}

func missingReleaseIsSaid(t *testing.T, p plane) {
	project := p.project(t)
	p.component(t, project, p.mark+"-web")
	p.create(t, flowclient.KindReleaseBinding, p.mark+"-web-staging", fmt.Sprintf(
		`{"owner":{"projectName":%q,"componentName":%q},"environment":"staging","releaseName":"nothing-1","state":"Active"}`, project, p.mark+"-web"), nil)
	require.Eventually(t, func() bool {
		o, err := p.Get(p.ctx, flowclient.KindReleaseBinding, p.mark+"-web-staging")
		if err != nil {
			return false
		}
		var st flowclient.ReleaseBindingStatus
		if o.Decode(nil, &st) != nil {
			return false
		}
		for _, c := range st.Conditions {
			if c.Type == "ReleaseSynced" && c.Status == "False" && c.Reason == "ComponentReleaseNotFound" {
				return !flowclient.ConditionIs(st.Conditions, "Ready", 0)
			}
		}
		return false
	}, 30*time.Second, 20*time.Millisecond)
}

func deletedIsGone(t *testing.T, p plane) {
	name := p.project(t)
	require.NoError(t, p.Delete(p.ctx, flowclient.KindProject, name))
	require.Eventually(t, func() bool {
		_, err := p.Get(p.ctx, flowclient.KindProject, name)
		return flowclient.IsNotFound(err)
	}, 30*time.Second, 20*time.Millisecond)
}
