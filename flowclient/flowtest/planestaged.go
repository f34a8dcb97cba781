package flowtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"platform.dev/platform/flowclient"
)

// Stage lets staging run a release of a component for a commit, as a build and
// autoDeploy do; each replica of it asks for so many bytes of memory. The
// project, the component and the release are made where they are absent.
func (p *Plane) Stage(project, component, commit string, memory int64) error {
	return stage(p, project, component, commit, memory)
}

func stage(p flowclient.ControlPlane, project, component, commit string, memory int64) error {
	owner := flowclient.Owner{ProjectName: project, ComponentName: component}
	release := component + "-" + flowclient.ShortSHA(commit)
	for _, o := range []flowclient.Object{
		staged(flowclient.KindProject, project, map[string]any{}),
		staged(flowclient.KindComponent, component, map[string]any{"owner": flowclient.Owner{ProjectName: project}}),
		sized(release, commit, owner, memory),
		staged(flowclient.KindReleaseBinding, component+"-"+flowclient.Staging, flowclient.ReleaseBindingSpec{Owner: owner, Environment: flowclient.Staging}),
	} {
		if _, err := p.Get(context.Background(), o.Kind, o.Metadata.Name); err == nil {
			continue
		}
		if _, err := p.Create(context.Background(), o); err != nil {
			return err
		}
	}
	return bind(p, component+"-"+flowclient.Staging, release)
}

// Bind lets a binding name a release, as an edit by hand does.
func (p *Plane) Bind(binding, release string) error { return bind(p, binding, release) }

func bind(p flowclient.ControlPlane, binding, release string) error {
	o, err := p.Get(context.Background(), flowclient.KindReleaseBinding, binding)
	if err != nil {
		return err
	}
	var spec flowclient.ReleaseBindingSpec
	if err := o.Decode(&spec, nil); err != nil {
		return err
	}
	if spec.ReleaseName == release {
		return nil
	}
	spec.ReleaseName = release
	if o.Spec, err = json.Marshal(spec); err != nil {
		return err
	}
	_, err = p.Update(context.Background(), o)
	return err
}

// SetReady changes the Ready condition of a binding, until it is written again.
func (p *Plane) SetReady(binding string, ready bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k, there := p.objects[flowclient.KindReleaseBinding][binding]
	if !there {
		return
	}
	var status flowclient.ReleaseBindingStatus
	if err := json.Unmarshal(k.object.Status, &status); err != nil {
		return
	}
	for i := range status.Conditions {
		if c := &status.Conditions[i]; c.Type == "Ready" {
			c.Status, c.Reason = "True", "Ready"
			if !ready {
				c.Status, c.Reason = "False", "ResourcesProgressing"
			}
		}
	}
	if raw, err := json.Marshal(status); err == nil {
		k.object.Status = raw
	}
	k.version++
	if p.watch != nil {
		p.watch(flowclient.KindReleaseBinding, binding)
	}
}

// Limit gives the cell of a project in production a quota, which Quota answers
// from now on; the project's binding there names the cell.
func (p *Plane) Limit(project string, q flowclient.Quota) error {
	name := project + "-" + flowclient.Production
	o := staged(flowclient.KindProjectReleaseBinding, name, map[string]any{"owner": flowclient.Owner{ProjectName: project}, "environment": flowclient.Production})
	if _, err := p.Create(context.Background(), o); err != nil && !errors.Is(err, flowclient.ErrExists) {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.quotas[q.Namespace] = q
	p.objects[o.Kind][name].object.Status = json.RawMessage(fmt.Sprintf(`{"namespace":%q}`, q.Namespace))
	if p.watch != nil {
		p.watch(o.Kind, name)
	}
	return nil
}

// Quota is what Limit gave a cell; Plane is a flowclient.Cells.
func (p *Plane) Quota(_ context.Context, namespace string) (q flowclient.Quota, found bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	q, found = p.quotas[namespace]
	return q, found, nil
}

// Asked is how often Quota was asked.
func (p *Plane) Asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

func staged(kind flowclient.Kind, name string, spec any) flowclient.Object {
	raw, err := json.Marshal(spec)
	if err != nil {
		panic(err) // of values that are written here
	}
	return flowclient.Object{Kind: kind, Metadata: flowclient.Metadata{Name: name, Annotations: map[string]string{}}, Spec: raw}
}

// sized is a release of a component type that asks for memory.
func sized(name, commit string, owner flowclient.Owner, memory int64) flowclient.Object {
	template := fmt.Sprintf(`{"resources":[{"id":"main","template":{"kind":"Deployment","spec":{"replicas":1,"template":{"spec":{"containers":[{"resources":{"requests":{"memory":"%d"}}}]}}}}}]}`, memory)
	o := staged(flowclient.KindComponentRelease, name, map[string]any{
		"owner":         owner,
		"componentType": map[string]any{"kind": "ClusterComponentType", "name": "deployment/service", "spec": json.RawMessage(template)},
		"workload":      map[string]any{"container": map[string]any{"image": "registry/" + owner.ComponentName + "@sha256:" + commit}},
	})
	o.Metadata.Labels = map[string]string{flowclient.LabelCommit: commit}
	return o
}
