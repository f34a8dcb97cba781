package controlplane

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"net/http"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/server/web"
)

// admit asks every rule of a write that the schema cannot: names, owners,
// fields that keep their value, and the kind's own. old is nil on creation.
func (t *tx) admit(k kind, o, old *object) error {
	if err := k.checkName(o.name); err != nil {
		return err
	}
	if old == nil {
		if err := t.checkOwners(k, *o); err != nil {
			return err
		}
	} else if err := k.checkKept(*o, *old); err != nil {
		return err
	}
	if k.admit == nil {
		return nil
	}
	return k.admit(t, o, old)
}

// ownerFields are where an owner's name stands, for refusals.
var ownerFields = map[flowclient.Kind]struct{ ref, field, label string }{
	flowclient.KindProject:   {refProject, "spec.owner.projectName", "metadata.labels." + flowclient.LabelProject},
	flowclient.KindComponent: {refComponent, "spec.owner.componentName", "metadata.labels." + flowclient.LabelComponent},
	flowclient.KindResource:  {refResource, "spec.owner.resourceName", ""},
}

// checkOwners asks that what an object belongs to exists, and that all of it is of one project.
func (t *tx) checkOwners(k kind, o object) error {
	project := t.s.ref(o, refProject)
	for _, kind := range k.owners {
		at := ownerFields[kind]
		field := at.field
		if k.name == flowclient.KindWorkflowRun {
			field = at.label
		}
		name := t.s.ref(o, at.ref)
		if name == "" {
			return missing(field)
		}
		owner, err := t.get(kind, name)
		switch {
		case isMissing(err):
			return unprocessable(field, name, "no such %s", kind)
		case err != nil:
			return err
		case owner.deleted != nil:
			return unprocessable(field, name, "the %s is being deleted", kind)
		case kind != flowclient.KindProject && t.s.ref(owner, refProject) != project:
			return unprocessable(field, name, "the %s belongs to project '%s', not '%s'", kind, t.s.ref(owner, refProject), project)
		}
	}
	return nil
}

// checkKept refuses a change of a field that keeps its value.
func (k kind) checkKept(o, old object) error {
	for _, path := range k.immutable {
		now, _ := o.field(path)
		then, _ := old.field(path)
		if !bytes.Equal(now, then) {
			return unprocessable("spec."+path, web.Echo(string(now)), "cannot change; it is %s", then)
		}
	}
	for _, path := range k.once {
		now, _ := o.field(path)
		then, set := old.field(path)
		if set && !bytes.Equal(now, then) {
			return unprocessable("spec."+path, web.Echo(string(now)), "cannot change once set; it is %s", then)
		}
	}
	return nil
}

// completeProject names the pipeline and the type of a project that names none: "default", as OpenChoreo does.
func completeProject(_ context.Context, _ querier, _ *object, spec map[string]any) error {
	if spec["deploymentPipelineRef"] == nil {
		spec["deploymentPipelineRef"] = map[string]any{"kind": string(flowclient.KindDeploymentPipeline), "name": "default"}
	}
	if spec["type"] == nil {
		spec["type"] = map[string]any{"kind": string(flowclient.KindClusterProjectType), "name": "default"}
	}
	return nil
}

// completeRun fills in what a run takes from its component when it names none of its own: workflow, parameters, name.
func completeRun(ctx context.Context, q querier, o *object, spec map[string]any) error {
	name := o.labels[flowclient.LabelComponent]
	if name == "" {
		return missing("metadata.labels." + flowclient.LabelComponent)
	}
	if o.name == "" {
		o.name = name + "-run-" + randomHex()
	}
	component, err := get(ctx, q, flowclient.KindComponent, name)
	if isMissing(err) {
		return nil // admit says so
	}
	if err != nil {
		return err
	}
	raw, ok := component.field("workflow")
	if !ok {
		return nil
	}
	var own map[string]any
	if err := json.Unmarshal(raw, &own); err != nil {
		return err
	}
	if spec["workflow"] == nil {
		spec["workflow"] = map[string]any{}
	}
	workflow, ok := spec["workflow"].(map[string]any)
	if !ok {
		return nil // the schema says so
	}
	for _, part := range []string{"kind", "name", "parameters"} {
		if workflow[part] == nil && own[part] != nil {
			workflow[part] = own[part]
		}
	}
	return nil
}

// admitRun labels a run with the commit that it was asked to build.
func admitRun(_ *tx, o, old *object) error {
	if commit := o.at("workflow.parameters.repository.revision.commit"); old == nil && commit != "" && o.labels[flowclient.LabelCommit] == "" {
		o.labels[flowclient.LabelCommit] = commit
	}
	if _, ok := o.field("workflow.parameters.repository.url"); !ok {
		return bad(http.StatusBadRequest, "spec.workflow.parameters.repository.url", "", "is required: neither the run nor its component names a repository")
	}
	return nil
}

// admitBinding refuses a second binding of a component in an environment.
func admitBinding(t *tx, o, old *object) error {
	if old != nil {
		return nil
	}
	component, environment := t.s.ref(*o, refComponent), t.s.ref(*o, refEnvironment)
	there, err := t.find(selection{kind: o.kind, refs: map[string]string{refComponent: component, refEnvironment: environment}, limit: 1})
	if err != nil {
		return err
	}
	if len(there) > 0 {
		return unprocessable("spec.environment", environment, "component '%s' is bound there by '%s' already; change that binding", component, there[0].name)
	}
	return nil
}

// spareNamedRelease refuses to delete a release while a binding runs it or could roll back to it.
func spareNamedRelease(t *tx, o object) error {
	for _, by := range []struct{ field, how string }{{refRelease, "is bound to it"}, {refDisplaced, "can roll back to it"}} {
		bindings, err := t.find(selection{kind: flowclient.KindReleaseBinding, refs: map[string]string{by.field: o.name}, limit: 1})
		if err != nil {
			return err
		}
		if len(bindings) > 0 {
			return say(http.StatusConflict, "ComponentRelease '%s' is in use: ReleaseBinding '%s' %s; repoint or delete the binding first", o.name, bindings[0].name, by.how)
		}
	}
	return nil
}

// randomHex is 8 hex digits, the tail of a run's name.
func randomHex() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand
	return hex.EncodeToString(b[:])
}
