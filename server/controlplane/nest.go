package controlplane

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"platform.dev/platform/flowclient"
)

// flatFields are the interface document's component fields and where
// OpenChoreo keeps them, under spec.workflow.parameters.
var flatFields = []struct{ flat, nested string }{
	{"repository", "repository"}, // its fields one by one, so that appPath and revision beside them stay
	{"appPath", "repository.appPath"},
	{"buildPath", "buildPath"},
	{"workloadPath", "workloadPath"},
	{"imageName", "imageName"},
	{"siblingWorkloads", "siblingWorkloads"},
}

// nestComponent moves the flat spelling of a component's fields into the nested
// one. A field given in both with two values is refused.
func nestComponent(ctx context.Context, q querier, _ *object, spec map[string]any) error {
	flat := false
	for _, f := range flatFields {
		value, given := spec[f.flat]
		if !given {
			continue
		}
		flat = true
		parameters, err := within(spec, "workflow", "parameters")
		if err != nil {
			return err
		}
		if err := place(parameters, "spec."+f.flat, f.nested, value); err != nil {
			return err
		}
		delete(spec, f.flat)
	}
	if !flat {
		return nil
	}
	return nameWorkflow(ctx, q, spec)
}

// place sets a dotted path; an object is laid over what is there.
func place(into map[string]any, from, path string, value any) error {
	if parts, ok := value.(map[string]any); ok {
		for name, v := range parts {
			if err := place(into, from+"."+name, path+"."+name, v); err != nil {
				return err
			}
		}
		return nil
	}
	names := strings.Split(path, ".")
	holder, err := within(into, names[:len(names)-1]...)
	if err != nil {
		return err
	}
	last := names[len(names)-1]
	if there, given := holder[last]; given && !reflect.DeepEqual(there, value) {
		return bad(http.StatusBadRequest, from, "", "is given twice with two values, the other at spec.workflow.parameters."+path)
	}
	holder[last] = value
	return nil
}

// within gives the object at a path, making what is absent.
func within(m map[string]any, path ...string) (map[string]any, error) {
	for _, name := range path {
		v := m[name]
		if v == nil {
			v = map[string]any{}
			m[name] = v
		}
		next, ok := v.(map[string]any)
		if !ok {
			return nil, mistyped("spec.workflow.parameters."+name, v, "an object")
		}
		m = next
	}
	return m, nil
}

// nameWorkflow names the workflow of a component that was given in the flat
// spelling, which has no place for it: the one there is.
func nameWorkflow(ctx context.Context, q querier, spec map[string]any) error {
	workflow, ok := spec["workflow"].(map[string]any)
	if !ok || workflow["name"] != nil {
		return nil
	}
	there, err := find(ctx, q, selection{kind: flowclient.KindClusterWorkflow, limit: 2})
	if err != nil {
		return err
	}
	if len(there) != 1 {
		return missing("spec.workflow.name")
	}
	workflow["kind"], workflow["name"] = string(flowclient.KindClusterWorkflow), there[0].name
	return nil
}
