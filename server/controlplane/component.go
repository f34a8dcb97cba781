package controlplane

import (
	"context"
	"errors"

	"platform.dev/platform/flowclient"
)

// reconcileComponent cuts the release of what the component is now, and where
// autoDeploy is on keeps the pipeline's root environment bound to it.
func (s *Server) reconcileComponent(ctx context.Context, name string) error {
	return s.commit(ctx, "reconcile Component", func(t *tx) error {
		o, err := t.get(flowclient.KindComponent, name)
		if isMissing(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if o.deleted != nil {
			return t.clearComponent(o)
		}
		st := status{}
		release, hash, err := t.cut(o, "")
		if err == nil {
			st.LatestRelease = &latestRelease{Name: release.name, Hash: hash}
			err = t.autoDeploy(o, release.name)
		}
		var not *unmet
		if err != nil && !errors.As(err, &not) {
			return err
		}
		return t.reportReady(o, st, not)
	})
}

// autoDeploy binds the release in the root environment, or repoints the binding
// there. An undeployed binding stays undeployed.
func (t *tx) autoDeploy(component object, release string) error {
	spec, err := decode[flowclient.ComponentSpec](component.spec)
	if err != nil || !spec.AutoDeploy {
		return err
	}
	root, err := t.rootEnvironment(spec.Owner.ProjectName)
	if err != nil {
		return err
	}
	bound, err := t.find(selection{kind: flowclient.KindReleaseBinding, refs: map[string]string{refComponent: component.name, refEnvironment: root}})
	if err != nil {
		return err
	}
	if len(bound) == 0 {
		return t.bind(component, spec.Owner.ProjectName, root, release)
	}
	binding := bound[0]
	if binding.deleted != nil || binding.at("releaseName") == release {
		return nil
	}
	repointed := binding
	if repointed.spec, err = withField(binding.spec, "releaseName", release); err != nil {
		return err
	}
	if err := t.replace(binding, &repointed); err != nil {
		return err
	}
	return t.reportRepointed(repointed)
}

// bind makes the root environment's binding.
func (t *tx) bind(component object, project, environment, release string) error {
	spec, err := canonical(flowclient.ReleaseBindingSpec{
		Owner:       flowclient.Owner{ProjectName: project, ComponentName: component.name},
		Environment: environment, ReleaseName: release, State: stateActive,
	})
	if err != nil {
		return err
	}
	binding := object{
		kind: flowclient.KindReleaseBinding, name: component.name + "-" + environment, spec: spec,
		labels: inherit(component, map[string]string{flowclient.LabelProject: project, flowclient.LabelComponent: component.name}),
	}
	if there, err := t.get(binding.kind, binding.name); err == nil {
		return &unmet{"BindingNameTaken", "ReleaseBinding '" + binding.name + "' belongs to component '" + t.s.ref(there, refComponent) + "'; delete it to let this component be bound"}
	} else if !isMissing(err) {
		return err
	}
	return t.insert(&binding)
}

// rootEnvironment is where the project's pipeline begins: a source that is no target.
func (t *tx) rootEnvironment(project string) (string, error) {
	p, err := t.get(flowclient.KindProject, project)
	if isMissing(err) {
		return "", &unmet{"ProjectNotFound", "project '" + project + "' does not exist"}
	}
	if err != nil {
		return "", err
	}
	name := t.s.ref(p, refPipeline)
	pipeline, err := t.get(flowclient.KindDeploymentPipeline, name)
	if isMissing(err) {
		return "", &unmet{"DeploymentPipelineNotFound", "deployment pipeline '" + name + "' does not exist"}
	}
	if err != nil {
		return "", err
	}
	spec, err := decode[flowclient.PipelineSpec](pipeline.spec)
	if err != nil {
		return "", err
	}
	targets := map[string]bool{}
	for _, path := range spec.PromotionPaths {
		for _, to := range path.Targets {
			targets[to.Name] = true
		}
	}
	for _, path := range spec.PromotionPaths {
		if !targets[path.Source.Name] {
			return path.Source.Name, nil
		}
	}
	return "", &unmet{"NoRootEnvironment", "deployment pipeline '" + name + "' has no environment that nothing is promoted to; give it a promotion path"}
}

// withField is spec with one field set.
func withField(spec []byte, name string, value any) ([]byte, error) {
	fields, err := membersOf(spec)
	if err != nil {
		return nil, err
	}
	fields[name] = value
	return canonical(fields)
}

// clearComponent removes what belongs to a component that is being deleted: its
// bindings first, each taken out of service by its own controller, then everything else at once.
func (t *tx) clearComponent(o object) error {
	of := map[string]string{refComponent: o.name}
	bindings, err := t.find(selection{kind: flowclient.KindReleaseBinding, refs: of})
	if err != nil {
		return err
	}
	for _, b := range bindings {
		if err := t.condemn(b); err != nil {
			return err
		}
	}
	if len(bindings) > 0 {
		c, err := observe(o, t.now)
		if err != nil {
			return err
		}
		c.set(condReady, false, reasonDeleting, "its bindings are being taken out of service")
		return t.reportStatus(o, status{ObservedGeneration: o.generation, Conditions: c.after}, false)
	}
	if err := t.removeAll(of, flowclient.KindWorkflowRun, flowclient.KindWorkload, flowclient.KindComponentRelease); err != nil {
		return err
	}
	return t.remove(o)
}

// removeAll removes the objects of the kinds that name what refs says.
func (t *tx) removeAll(refs map[string]string, kinds ...flowclient.Kind) error {
	for _, kind := range kinds {
		found, err := t.find(selection{kind: kind, refs: refs})
		if err != nil {
			return err
		}
		for _, o := range found {
			if err := t.remove(o); err != nil {
				return err
			}
		}
	}
	return nil
}
