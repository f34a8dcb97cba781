package flowclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
)

// mergeManifest lays a manifest over an object: what the manifest names gets
// its value, what the one applied before named and this one does not goes, and
// everything else stays. changed is false when nothing is to be written. An
// object that is as the last write left it is not compared field by field: a
// control plane may keep a manifest in a spelling of its own.
func mergeManifest(last AppliedManifest, want Manifest, there Object) (next Object, changed bool, err error) {
	live := manifestOf(there)
	same, err := sameManifests([2]Manifest{last.Manifest, want}, [2]Manifest{last.Live, live})
	if err != nil || same {
		return there, false, err
	}
	next = there
	next.Metadata.Labels = mergeMarks(last.Manifest.Labels, want.Labels, live.Labels)
	next.Metadata.Annotations = mergeMarks(last.Manifest.Annotations, want.Annotations, live.Annotations)
	var specs [3]any
	for i, raw := range []json.RawMessage{last.Manifest.Spec, want.Spec, live.Spec} {
		if specs[i], err = readValue(raw); err != nil {
			return there, false, err
		}
		if there.Kind == KindComponent {
			nest(specs[i])
		}
	}
	spec := mergeValue(specs[0], specs[1], specs[2])
	if next.Spec, err = json.Marshal(spec); err != nil {
		return there, false, err
	}
	changed = !reflect.DeepEqual(spec, specs[2]) || !maps.Equal(next.Metadata.Labels, live.Labels) || !maps.Equal(next.Metadata.Annotations, live.Annotations)
	return next, changed, nil
}

// mergeMarks merges labels or annotations.
func mergeMarks(last, want, live map[string]string) map[string]string {
	out := maps.Clone(live)
	if out == nil {
		out = map[string]string{}
	}
	for key := range last {
		if _, still := want[key]; !still {
			delete(out, key)
		}
	}
	maps.Copy(out, want)
	return out
}

// mergeValue merges objects field by field; anything else is the manifest's whole.
func mergeValue(last, want, live any) any {
	fields, ok := want.(map[string]any)
	there, isObject := live.(map[string]any)
	if !ok || !isObject {
		return want
	}
	before, _ := last.(map[string]any)
	out := maps.Clone(there)
	for name, was := range before {
		if _, still := fields[name]; still {
			continue
		}
		if left, others := without(was, there[name]); others {
			out[name] = left
		} else {
			delete(out, name)
		}
	}
	for name, value := range fields {
		if was, has := there[name]; has {
			out[name] = mergeValue(before[name], value, was)
		} else {
			out[name] = value
		}
	}
	return out
}

// without takes away what a manifest named. others tells that fields are left
// which it never named: the object that holds them stays for their sake.
func without(named, live any) (left map[string]any, others bool) {
	fields, ok := named.(map[string]any)
	there, isObject := live.(map[string]any)
	if !ok || !isObject {
		return nil, false
	}
	left = maps.Clone(there)
	for name, was := range fields {
		if rest, others := without(was, there[name]); others {
			left[name] = rest
		} else {
			delete(left, name)
		}
	}
	return left, len(left) > 0
}

// sameManifests tells whether the two of each pair say the same.
func sameManifests(pairs ...[2]Manifest) (bool, error) {
	for _, pair := range pairs {
		a, err := readValue(pair[0].Spec)
		if err != nil {
			return false, err
		}
		b, err := readValue(pair[1].Spec)
		if err != nil {
			return false, err
		}
		if !reflect.DeepEqual(a, b) || !maps.Equal(pair[0].Labels, pair[1].Labels) || !maps.Equal(pair[0].Annotations, pair[1].Annotations) {
			return false, nil
		}
	}
	return true, nil
}

// readValue reads JSON with its numbers as they are written; nothing is an empty object.
func readValue(raw json.RawMessage) (value any, err error) {
	if len(raw) == 0 {
		return map[string]any{}, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	return value, nil
}

// flatFields are the interface document's fields of a component and where a
// control plane keeps them: a manifest may use either spelling, and merging
// compares one.
var flatFields = []struct {
	flat   string
	nested []string // below spec.workflow.parameters
}{
	{"repository", []string{"repository"}},
	{"appPath", []string{"repository", "appPath"}},
	{"buildPath", []string{"buildPath"}},
	{"workloadPath", []string{"workloadPath"}},
	{"imageName", []string{"imageName"}},
	{"siblingWorkloads", []string{"siblingWorkloads"}},
}

// nest moves a component's flat fields to where they are kept. One that is
// given twice is left for the control plane to refuse.
func nest(spec any) {
	fields, ok := spec.(map[string]any)
	if !ok {
		return
	}
	for _, f := range flatFields {
		if value, given := fields[f.flat]; given && place(fields, append([]string{"workflow", "parameters"}, f.nested...), value) {
			delete(fields, f.flat)
		}
	}
}

// place sets a field, making what holds it; an object is laid over the one
// there is. It tells whether nothing else stood there.
func place(into map[string]any, path []string, value any) bool {
	name := path[0]
	if len(path) > 1 {
		holder, ok := into[name].(map[string]any)
		if into[name] == nil {
			holder, ok = map[string]any{}, true
		}
		if !ok || !place(holder, path[1:], value) {
			return false
		}
		into[name] = holder
		return true
	}
	there, given := into[name]
	parts, isObject := value.(map[string]any)
	holder, holds := there.(map[string]any)
	switch {
	case !given || reflect.DeepEqual(there, value):
		into[name] = value
		return true
	case !isObject || !holds:
		return false
	}
	for part, v := range parts {
		if was, both := holder[part]; both && !reflect.DeepEqual(was, v) {
			return false
		}
	}
	maps.Copy(holder, parts)
	return true
}
