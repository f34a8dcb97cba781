package controlplane

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"platform.dev/platform/flowclient"
)

// outcome is what became of a binding, before it is told in conditions.
type outcome struct {
	unsynced  *unmet // the release cannot be rendered: nothing was changed
	unwired   *unmet // it needs connections or resources that do not resolve
	undeploy  bool
	applied   bool
	status    DeploymentStatus
	failure   error // of the runtime: tried again
	endpoints []flowclient.EndpointURL
}

// reconcileBinding makes the runtime serve what the binding says, or nothing.
func (s *Server) reconcileBinding(ctx context.Context, name string) error {
	o, err := get(ctx, s.db.Reader(), flowclient.KindReleaseBinding, name)
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if o.deleted != nil {
		return s.unbind(ctx, o)
	}
	out, err := s.serve(ctx, o)
	if err != nil {
		return err
	}
	err = s.commit(ctx, "reconcile ReleaseBinding", func(t *tx) error { return t.reportBinding(o, out) })
	return errors.Join(out.failure, err)
}

// unbind takes a binding that is being deleted out of service, then out of the file.
func (s *Server) unbind(ctx context.Context, o object) error {
	if err := s.runtime.Remove(ctx, o.name); err != nil {
		return fmt.Errorf("take %s out of service: %w", o.name, err)
	}
	return s.commit(ctx, "remove ReleaseBinding", func(t *tx) error {
		still, err := t.get(o.kind, o.name)
		if isMissing(err) || err == nil && still.uid != o.uid {
			return nil
		}
		if err != nil {
			return err
		}
		return t.remove(still)
	})
}

// serve has the runtime do what the binding asks.
func (s *Server) serve(ctx context.Context, o object) (outcome, error) {
	spec, err := decode[flowclient.ReleaseBindingSpec](o.spec)
	if err != nil {
		return outcome{}, err
	}
	cell, err := hasCell(ctx, s.db.Reader(), spec.Owner.ProjectName, spec.Environment)
	if err != nil {
		return outcome{}, err
	}
	_, err = get(ctx, s.db.Reader(), flowclient.KindEnvironment, spec.Environment)
	switch {
	case isMissing(err):
		return outcome{unsynced: &unmet{"EnvironmentNotFound", fmt.Sprintf("environment '%s' does not exist", spec.Environment)}}, nil
	case err != nil:
		return outcome{}, err
	case spec.State == stateUndeploy:
		return outcome{undeploy: true, failure: s.runtime.Remove(ctx, o.name)}, nil
	case !cell:
		// Nothing applies without the project's cell, and what was applied goes with it.
		return outcome{
			unsynced: &unmet{"ProjectReleaseBindingNotFound", fmt.Sprintf("project '%s' has no cell in environment '%s'; create its ProjectReleaseBinding there", spec.Owner.ProjectName, spec.Environment)},
			failure:  s.runtime.Remove(ctx, o.name),
		}, nil
	case spec.ReleaseName == "":
		return outcome{unsynced: &unmet{"ReleaseNameNotSet", "spec.releaseName is empty: name a ComponentRelease"}}, nil
	}
	d, err := s.deployment(ctx, o, spec)
	var not *unmet
	if errors.As(err, &not) {
		return outcome{unsynced: not}, nil
	}
	if err != nil {
		return outcome{}, err
	}
	if needs, found := unwired(d.release); found {
		return outcome{unwired: &needs}, nil
	}
	st, err := s.runtime.Apply(ctx, d.Deployment)
	if ctx.Err() != nil {
		return outcome{}, ctx.Err()
	}
	return outcome{applied: err == nil, status: st, failure: err, endpoints: st.Endpoints}, nil
}

type boundRelease struct {
	Deployment
	release object
}

// deployment is the bound release with the binding's overrides; an *unmet says why there is none.
func (s *Server) deployment(ctx context.Context, o object, spec flowclient.ReleaseBindingSpec) (boundRelease, error) {
	release, err := get(ctx, s.db.Reader(), flowclient.KindComponentRelease, spec.ReleaseName)
	if isMissing(err) {
		return boundRelease{}, &unmet{"ComponentReleaseNotFound", fmt.Sprintf("ComponentRelease '%s' does not exist", spec.ReleaseName)}
	}
	if err != nil {
		return boundRelease{}, err
	}
	content, err := decode[flowclient.ComponentReleaseSpec](release.spec)
	if err != nil {
		return boundRelease{}, err
	}
	if content.Owner != spec.Owner {
		return boundRelease{}, &unmet{"ComponentReleaseNotOwned", fmt.Sprintf("ComponentRelease '%s' belongs to component '%s' of project '%s'", release.name, content.Owner.ComponentName, content.Owner.ProjectName)}
	}
	overrides, err := decode[struct {
		WorkloadOverrides struct {
			Container struct {
				Env []flowclient.EnvVar `json:"env"`
			} `json:"container"`
		} `json:"workloadOverrides"`
	}](o.spec)
	if err != nil {
		return boundRelease{}, err
	}
	content.Workload.Container.Env = override(content.Workload.Container.Env, overrides.WorkloadOverrides.Container.Env)
	memory, err := memoryLimit(release, o)
	if err != nil {
		return boundRelease{}, err
	}
	declared, err := flowclient.Declared(release.wire(s.namespace, false), o.wire(s.namespace, false))
	if err != nil {
		declared = nil // a size that only a cluster can tell keeps nothing from running here; the flow controller refuses it where there is a quota
	}
	route, err := s.route(ctx, spec.Owner.ComponentName)
	if err != nil {
		return boundRelease{}, err
	}
	return boundRelease{release: release, Deployment: Deployment{
		Name: o.name, Project: spec.Owner.ProjectName, Component: spec.Owner.ComponentName, Route: route,
		Environment: spec.Environment, Release: release.name, Type: content.ComponentType.Name, Workload: content.Workload,
		Memory: memory, Declared: declared, Cell: cellNamespace(s.namespace, spec.Owner.ProjectName, spec.Environment),
	}}, nil
}

// route is what a component's address is made of. A fork in a review environment
// answers where the component that it is a copy of does, under a host of its own.
func (s *Server) route(ctx context.Context, component string) (string, error) {
	o, err := get(ctx, s.db.Reader(), flowclient.KindComponent, component)
	if isMissing(err) {
		return component, nil
	}
	if err != nil {
		return "", err
	}
	return cmp.Or(o.labels[flowclient.LabelForkOf], component), nil
}

// override lays variables over others by key.
func override(env, over []flowclient.EnvVar) []flowclient.EnvVar {
	merged := append([]flowclient.EnvVar(nil), env...)
next:
	for _, v := range over {
		for i := range merged {
			if merged[i].Key == v.Key {
				merged[i] = v
				continue next
			}
		}
		merged = append(merged, v)
	}
	return merged
}

// unwired tells of dependencies: nothing here resolves them, and running
// without them would only fail later and less clearly.
func unwired(release object) (needs unmet, found bool) {
	for _, kind := range []struct{ field, reason, what string }{
		{"workload.dependencies.endpoints", "ConnectionsNotResolved", "connections to other components"},
		{"workload.dependencies.resources", "ResourceDependenciesNotResolved", "resources"},
	} {
		raw, ok := release.field(kind.field)
		var named []json.RawMessage
		if ok && json.Unmarshal(raw, &named) == nil && len(named) > 0 {
			return unmet{kind.reason, fmt.Sprintf("the workload names %d %s, which this control plane does not resolve; remove them from the workload", len(named), kind.what)}, true
		}
	}
	return unmet{}, false
}

// reportBinding tells an outcome in OpenChoreo's conditions and the interface
// document's, unless the binding has become another, asks for something else or
// is going meanwhile: what was seen then is no longer about it, and it is looked at again.
func (t *tx) reportBinding(seen object, out outcome) error {
	o, err := t.get(seen.kind, seen.name)
	if isMissing(err) || err == nil && (o.uid != seen.uid || o.generation != seen.generation || o.deleted != nil) {
		return nil
	}
	if err != nil {
		return err
	}
	c, err := observe(o, t.now)
	if err != nil {
		return err
	}
	out.tell(c)
	updated := o.specUpdated
	return t.reportStatus(o, flowclient.ReleaseBindingStatus{
		ObservedGeneration: o.generation, LastSpecUpdateTime: &updated, Conditions: c.after, Endpoints: out.endpoints,
	}, false)
}

// reportRepointed takes Ready back in the transaction that repoints a binding:
// until its controller has seen it, Ready would speak of the release before.
func (t *tx) reportRepointed(o object) error {
	st, err := decode[flowclient.ReleaseBindingStatus](o.status)
	if err != nil || len(o.status) == 0 {
		return err
	}
	c, err := observe(o, t.now)
	if err != nil {
		return err
	}
	c.generation = st.ObservedGeneration
	for _, old := range st.Conditions {
		holds, reason, message := old.Status == "True", old.Reason, old.Message
		if old.Type == condReady || old.Type == condResourcesReady || old.Type == condProgressing {
			holds, reason, message = old.Type == condProgressing, reasonProgressing, messageBeingDelivered
		}
		c.set(old.Type, holds, reason, message)
	}
	st.Conditions = c.after
	return t.reportStatus(o, st, false)
}

// The condition types of a ReleaseBinding beside the shared ones. Synced is the
// interface document's name for ReleaseSynced; ResourcesProgressing is a reason
// in OpenChoreo and a condition in the document.
const (
	condReleaseSynced     = "ReleaseSynced"
	condConnections       = "ConnectionsResolved"
	condDependencies      = "ResourceDependenciesReady"
	condProgressing       = "ResourcesProgressing"
	reasonProgressing     = "ResourcesProgressing"
	reasonUndeployed      = "ResourcesUndeployed"
	reasonApplyFailed     = "ApplyFailed"
	reasonReleaseSynced   = "ReleaseSynced"
	reasonResourcesReady  = "ResourcesReady"
	reasonNoneNeeded      = "NoneRequired"
	messageBeingDelivered = "the release is being brought into service"
)

// tell sets the conditions of an outcome.
func (out outcome) tell(c *conditions) {
	ready, reason, message := out.readiness()
	for _, kind := range []string{condReleaseSynced, condSynced} {
		if out.unsynced != nil {
			c.set(kind, false, out.unsynced.reason, out.unsynced.message)
		} else {
			c.set(kind, true, reasonReleaseSynced, "")
		}
	}
	for _, kind := range []string{condConnections, condDependencies} {
		if out.unwired != nil {
			c.set(kind, false, out.unwired.reason, out.unwired.message)
		} else {
			c.set(kind, true, reasonNoneNeeded, "")
		}
	}
	c.set(condResourcesReady, ready, reason, message)
	c.set(condProgressing, out.applied && !ready, reason, message)
	if ready {
		reason = condReady
	}
	c.set(condReady, ready, reason, message)
}

// readiness is whether the binding serves its release, and why.
func (out outcome) readiness() (ready bool, reason, message string) {
	switch {
	case out.failure != nil:
		return false, reasonApplyFailed, out.failure.Error()
	case out.unsynced != nil:
		return false, out.unsynced.reason, out.unsynced.message
	case out.unwired != nil:
		return false, out.unwired.reason, out.unwired.message
	case out.undeploy:
		return false, reasonUndeployed, "spec.state is Undeploy"
	case out.status.Ready:
		return true, reasonResourcesReady, out.status.Message
	}
	reason, message = out.status.Reason, out.status.Message
	if reason == "" {
		reason = reasonProgressing
	}
	if message == "" {
		message = messageBeingDelivered
	}
	return false, reason, message
}
