package controlplane

import (
	"context"
	"errors"

	"platform.dev/platform/flowclient"
)

// reconcileProject makes the project's cell in the pipeline's root environment.
func (s *Server) reconcileProject(ctx context.Context, name string) error {
	return s.commit(ctx, "reconcile Project", func(t *tx) error {
		o, err := t.get(flowclient.KindProject, name)
		if isMissing(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if o.deleted != nil {
			return t.clearProject(o)
		}
		var not *unmet
		if err := t.rootCell(o); err != nil && !errors.As(err, &not) {
			return err
		}
		return t.reportReady(o, status{}, not)
	})
}

// rootCell creates the ProjectReleaseBinding of the root environment unless there is one.
func (t *tx) rootCell(project object) error {
	root, err := t.rootEnvironment(project.name)
	if err != nil {
		return err
	}
	there, err := t.cell(project.name, root)
	if err != nil || there {
		return err
	}
	spec, err := canonical(map[string]any{"owner": flowclient.Owner{ProjectName: project.name}, "environment": root})
	if err != nil {
		return err
	}
	cell := object{
		kind: flowclient.KindProjectReleaseBinding, name: project.name + "-" + root, spec: spec,
		labels: inherit(project, map[string]string{flowclient.LabelProject: project.name}),
	}
	if taken, err := t.get(cell.kind, cell.name); err == nil {
		return &unmet{"BindingNameTaken", "ProjectReleaseBinding '" + cell.name + "' belongs to project '" + t.s.ref(taken, refProject) + "'"}
	} else if !isMissing(err) {
		return err
	}
	return t.insert(&cell)
}

// cell tells whether the project has a ProjectReleaseBinding in the environment.
func (t *tx) cell(project, environment string) (bool, error) {
	return hasCell(t.ctx, t, project, environment)
}

func hasCell(ctx context.Context, q querier, project, environment string) (bool, error) {
	found, err := find(ctx, q, selection{
		kind: flowclient.KindProjectReleaseBinding, limit: 1,
		refs: map[string]string{refProject: project, refEnvironment: environment},
	})
	return len(found) > 0, err
}

// clearProject removes what belongs to a project that is being deleted: its
// components first, each by its own controller, then everything else at once.
func (t *tx) clearProject(o object) error {
	of := map[string]string{refProject: o.name}
	components, err := t.find(selection{kind: flowclient.KindComponent, refs: of})
	if err != nil {
		return err
	}
	for _, c := range components {
		if err := t.condemn(c); err != nil {
			return err
		}
	}
	if len(components) > 0 {
		c, err := observe(o, t.now)
		if err != nil {
			return err
		}
		c.set(condReady, false, reasonDeleting, "its components are being removed")
		return t.reportStatus(o, status{ObservedGeneration: o.generation, Conditions: c.after}, false)
	}
	if err := t.removeAll(of, flowclient.KindResourceReleaseBinding, flowclient.KindResource, flowclient.KindProjectReleaseBinding); err != nil {
		return err
	}
	return t.remove(o)
}

// reconcilePlain reports an object that nothing has to be done for as Ready.
func (s *Server) reconcilePlain(kind flowclient.Kind) reconcile {
	return func(ctx context.Context, name string) error {
		return s.commit(ctx, "reconcile "+string(kind), func(t *tx) error {
			o, err := t.get(kind, name)
			if isMissing(err) {
				return nil
			}
			if err != nil {
				return err
			}
			return t.reportReady(o, status{}, nil)
		})
	}
}

// reconcile brings one object, by name, to what its spec asks. An error has it tried again.
type reconcile func(ctx context.Context, name string) error

// reconcilers is the table of controllers. A kind without one is only stored.
func (s *Server) reconcilers() map[flowclient.Kind]reconcile {
	return map[flowclient.Kind]reconcile{
		flowclient.KindProject:               s.reconcileProject,
		flowclient.KindComponent:             s.reconcileComponent,
		flowclient.KindReleaseBinding:        s.reconcileBinding,
		flowclient.KindProjectReleaseBinding: s.reconcileCell,
		flowclient.KindWorkflowRun:           s.reconcileRun,
		flowclient.KindEnvironment:           s.reconcilePlain(flowclient.KindEnvironment),
		flowclient.KindDeploymentPipeline:    s.reconcilePlain(flowclient.KindDeploymentPipeline),
	}
}
