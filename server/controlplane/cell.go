package controlplane

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/server/web"
)

// reconcileCell gives a project its place in an environment: what its project
// type makes of it, as far as the runtime has it. On one host that is a name and
// quotas: no namespace keeps processes apart. The type is read as it is now,
// since no ProjectRelease is cut here that could pin it.
func (s *Server) reconcileCell(ctx context.Context, name string) error {
	var rendered *Cell
	gone := false
	err := s.commit(ctx, "reconcile ProjectReleaseBinding", func(t *tx) error {
		o, err := t.get(flowclient.KindProjectReleaseBinding, name)
		if isMissing(err) {
			gone = true
			return nil
		}
		if err != nil {
			return err
		}
		rendered, err = t.cellOf(o)
		var not *unmet
		if err != nil && !errors.As(err, &not) {
			return err
		}
		return t.reportCell(o, not)
	})
	switch {
	case err != nil:
		return err
	case gone:
		return s.runtime.RemoveCell(ctx, name)
	case rendered == nil:
		return nil // what was applied stays
	}
	return s.runtime.ApplyCell(ctx, *rendered)
}

// reportCell tells whether the cell is as its type makes it.
func (t *tx) reportCell(o object, not *unmet) error {
	c, err := observe(o, t.now)
	if err != nil {
		return err
	}
	st := status{ObservedGeneration: o.generation}
	reason, message := reasonReconciled, ""
	if not != nil {
		reason, message = not.reason, not.message
	}
	there := not == nil || not.reason != reasonNoEnvironment
	if there {
		st.Namespace = cellNamespace(t.s.namespace, t.s.ref(o, refProject), t.s.ref(o, refEnvironment))
	}
	for _, kind := range []string{condSynced, condNamespaceReady, condResourcesReady, condReady} {
		if kind == condNamespaceReady && there {
			c.set(kind, true, reasonReconciled, "")
			continue
		}
		c.set(kind, not == nil, reason, message)
	}
	st.Conditions = c.after
	return t.reportStatus(o, st, false)
}

// The conditions and reasons of a cell beside the shared ones.
const (
	condNamespaceReady  = "NamespaceReady"
	reasonNoEnvironment = "EnvironmentNotFound"
	reasonNoType        = "ProjectTypeNotFound"
	reasonNoNamespace   = "NamespaceMissing"
	reasonNotRendered   = "RenderingFailed"
	reasonNoQuantity    = "InvalidQuota"
)

// cellNamespace is the data plane's namespace for a project's cell, as
// OpenChoreo names it: stable, a DNS label, and no other cell's.
func cellNamespace(namespace, project, environment string) string {
	sum := sha256.Sum256([]byte(namespace + "/" + project + "/" + environment))
	hash := "-" + hex.EncodeToString(sum[:4])
	name := "dp-" + namespace + "-" + project + "-" + environment
	return strings.TrimRight(name[:min(len(name), labelLength-len(hash))], "-") + hash
}

// cellOf is the cell that a ProjectReleaseBinding asks for; an *unmet says why there is none.
func (t *tx) cellOf(o object) (*Cell, error) {
	environment := t.s.ref(o, refEnvironment)
	there, err := t.exists(flowclient.KindEnvironment, environment)
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, &unmet{reasonNoEnvironment, "environment '" + environment + "' does not exist"}
	}
	project, err := t.get(flowclient.KindProject, t.s.ref(o, refProject))
	if isMissing(err) {
		return nil, &unmet{"ProjectNotFound", "project '" + t.s.ref(o, refProject) + "' does not exist"}
	}
	if err != nil {
		return nil, err
	}
	spec, err := t.typeOf(project)
	if err != nil {
		return nil, err
	}
	c := &Cell{
		Name: o.name, Namespace: cellNamespace(t.s.namespace, project.name, environment),
		Labels: map[string]string{flowclient.LabelProject: project.name, "openchoreo.dev/environment": environment},
	}
	if c.Quotas, err = spec.quotas(valuesOf(spec, project, o, c.Namespace, environment)); err != nil {
		return nil, err
	}
	return c, nil
}

// typeOf is the project's type. A control plane that was never given the type
// default has cells that are namespaces and nothing more.
func (t *tx) typeOf(project object) (projectType, error) {
	kind, name := project.at("type.kind"), project.at("type.name")
	switch {
	case name == "": // of an earlier version's file
		kind, name = string(flowclient.KindClusterProjectType), "default"
	case kind == "":
		kind = "ProjectType" // OpenChoreo's default
	}
	none := &unmet{reasonNoType, kind + " '" + name + "' does not exist"}
	if kind != string(flowclient.KindClusterProjectType) {
		return projectType{}, none
	}
	found, err := t.get(flowclient.KindClusterProjectType, name)
	switch {
	case isMissing(err) && name == "default":
		return namespaceAlone(), nil
	case isMissing(err):
		return projectType{}, none
	case err != nil:
		return projectType{}, err
	}
	return decode[projectType](found.spec)
}

// admitCell refuses limits of a cell that are no quantities.
func admitCell(t *tx, o, _ *object) error {
	project, err := t.get(flowclient.KindProject, t.s.ref(*o, refProject))
	if err != nil {
		return err
	}
	project.spec, err = withField(project.spec, "parameters", map[string]any{}) // its own limits are no fault of the cell's
	if err != nil {
		return err
	}
	return t.admitQuotas(project, *o, "spec.environmentConfigs")
}

// admitQuotas refuses values in field that the project's type makes a quota of
// and that are no quantities. What a type cannot be asked is told in the
// conditions of its cells.
func (t *tx) admitQuotas(project, cell object, field string) error {
	spec, err := t.typeOf(project)
	if err == nil {
		_, err = spec.quotas(valuesOf(spec, project, cell, "dp", "environment"))
	}
	var not *unmet
	switch {
	case errors.As(err, &not) && not.reason == reasonNoQuantity:
		return unprocessable(field, "", "%s", web.Echo(not.message))
	case errors.As(err, &not):
		return nil
	}
	return err
}
