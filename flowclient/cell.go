package flowclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
)

// ensureCell is the first two steps: the project's binding in production,
// without which nothing else applies there, and one per resource. Each is
// created when it is absent and otherwise left as it is: a resource is never
// moved to another release by the way. made are those that the intent created,
// now or before a crash.
func (c *Controller) ensureCell(ctx context.Context, in Intent, plan movePlan) (made []Written, err error) {
	if !moves(plan.Moves) {
		return nil, nil
	}
	project, err := c.deps.ControlPlane.Get(ctx, KindProject, plan.Project)
	if err != nil {
		return nil, err
	}
	latest, err := latestRelease(project)
	if err != nil {
		return nil, err
	}
	meta := c.stamp(in, plan.Project, plan.Walkthrough)
	made, err = c.ensure(ctx, KindProjectReleaseBinding, bindingName(plan.Project, Production), meta,
		cellSpec{Owner: Owner{ProjectName: plan.Project}, Environment: Production, ProjectRelease: latest})
	if err != nil {
		return nil, err
	}
	resources, err := c.deps.ControlPlane.List(ctx, KindResource, Filter{Project: plan.Project})
	if err != nil {
		return nil, fmt.Errorf("resources of %s: %w", plan.Project, err)
	}
	for _, o := range resources {
		var spec struct {
			Owner Owner `json:"owner"`
		}
		if err := o.Decode(&spec, nil); err != nil {
			return nil, err
		}
		if spec.Owner.ProjectName != plan.Project {
			continue
		}
		if latest, err = latestRelease(o); err != nil {
			return nil, err
		}
		one, err := c.ensure(ctx, KindResourceReleaseBinding, bindingName(o.Metadata.Name, Production), meta, cellSpec{
			Owner: Owner{ProjectName: plan.Project, ResourceName: o.Metadata.Name}, Environment: Production, ResourceRelease: latest})
		if err != nil {
			return nil, err
		}
		made = append(made, one...)
	}
	return made, nil
}

// cellSpec is spec of a ProjectReleaseBinding and of a ResourceReleaseBinding.
type cellSpec struct {
	Owner           Owner  `json:"owner"`
	Environment     string `json:"environment"`
	ProjectRelease  string `json:"projectRelease,omitempty"`
	ResourceRelease string `json:"resourceRelease,omitempty"`
}

// latestRelease is an object's status.latestRelease.name.
func latestRelease(o Object) (string, error) {
	var status struct {
		LatestRelease struct {
			Name string `json:"name"`
		} `json:"latestRelease"`
	}
	err := o.Decode(nil, &status)
	return status.LatestRelease.Name, err
}

// stamp is the metadata of what an intent creates for a project.
func (c *Controller) stamp(in Intent, project string, walkthrough bool) Metadata {
	m := Metadata{Labels: map[string]string{LabelProject: project}, Annotations: map[string]string{AnnotationIntent: in.ID}}
	if walkthrough {
		m.Labels[LabelWalkthrough] = "true"
	}
	return m
}

// apiVersion is the one version of every object.
const apiVersion = "openchoreo.dev/v1alpha1"

// ensure creates an object unless there is one of the name. made is the object
// where it carries the intent of meta, and nothing where somebody else made it.
func (c *Controller) ensure(ctx context.Context, kind Kind, name string, meta Metadata, spec any) (made []Written, err error) {
	o, err := c.deps.ControlPlane.Get(ctx, kind, name)
	if IsNotFound(err) {
		if o, err = c.create(ctx, kind, name, meta, spec); errors.Is(err, ErrExists) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", kind, name, err)
	}
	if o.Metadata.Annotations[AnnotationIntent] != meta.Annotations[AnnotationIntent] {
		return nil, nil
	}
	o.Kind = kind
	return []Written{{After: o}}, nil
}

func (c *Controller) create(ctx context.Context, kind Kind, name string, meta Metadata, spec any) (Object, error) {
	raw, err := json.Marshal(spec)
	if err != nil {
		return Object{}, err
	}
	meta.Name, meta.Labels, meta.Annotations = name, maps.Clone(meta.Labels), maps.Clone(meta.Annotations)
	o, err := c.deps.ControlPlane.Create(ctx, Object{APIVersion: apiVersion, Kind: kind, Metadata: meta, Spec: raw})
	if err != nil {
		return Object{}, fmt.Errorf("create %s %s: %w", kind, name, err)
	}
	return o, nil
}
