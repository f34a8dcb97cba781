package controlplane

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"platform.dev/platform/flowclient"
)

const (
	apiVersion     = "openchoreo.dev/v1alpha1"
	stateActive    = "Active"
	stateUndeploy  = "Undeploy"
	annotationRun  = "project-flow.platform.dev/run"        // Workload: the run that made it
	annotationTurn = "project-flow.platform.dev/run-number" // Workload: that run's place in the order of creation
)

// object is one stored object. Spec and status are canonical JSON: keys sorted, no unknown fields.
type object struct {
	id                  int64
	kind                flowclient.Kind
	name, uid           string
	labels, annotations map[string]string
	spec, status        json.RawMessage
	generation          int64 // counts changes of spec
	revision            int64 // counts changes of labels, annotations and spec
	created             time.Time
	specUpdated         time.Time
	deleted             *time.Time
	settled             bool
}

// etag is the version that conditional writes compare: of what a PUT replaces.
// Status is not part of it, so that a controller's progress makes nobody's write fail.
func (o object) etag() string { return fmt.Sprintf(`"%s.%d"`, o.uid, o.revision) }

// wire is the object as the API shows it.
func (o object) wire(namespace string, cluster bool) flowclient.Object {
	if cluster {
		namespace = ""
	}
	return flowclient.Object{
		APIVersion: apiVersion,
		Kind:       o.kind,
		Metadata: flowclient.Metadata{
			Name: o.name, Namespace: namespace, UID: o.uid, Labels: o.labels, Annotations: o.annotations,
			Created: &o.created, Deleted: o.deleted,
		},
		Spec:   o.spec,
		Status: o.status,
	}
}

// at reads a string of the object: a path in spec, or label:<key>, annotation:<key>. Empty when there is none.
func (o object) at(path string) string {
	if key, ok := strings.CutPrefix(path, "label:"); ok {
		return o.labels[key]
	}
	if key, ok := strings.CutPrefix(path, "annotation:"); ok {
		return o.annotations[key]
	}
	raw, ok := o.field(path)
	if !ok {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// field reads a part of spec by its dotted path.
func (o object) field(path string) (json.RawMessage, bool) {
	raw := o.spec
	for name := range strings.SplitSeq(path, ".") {
		var m map[string]json.RawMessage
		if json.Unmarshal(raw, &m) != nil {
			return nil, false
		}
		next, ok := m[name]
		if !ok {
			return nil, false
		}
		raw = next
	}
	return raw, true
}

// ref is what the object names under a field of the kind's refs.
func (s *Server) ref(o object, field string) string {
	for _, r := range s.kinds[o.kind].refs {
		if r.field != field {
			continue
		}
		v := o.at(r.at)
		if r.fold != nil && v != "" {
			v = r.fold(v)
		}
		return v
	}
	return ""
}

// decode reads spec into T. What is stored has passed the schema, so an error is a fault.
func decode[T any](raw json.RawMessage) (T, error) {
	var v T
	if len(raw) == 0 {
		return v, nil
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("decode stored %T: %w", v, err)
	}
	return v, nil
}

// encode writes v as canonical JSON. v is made of plain data: it cannot fail but by a fault in this package.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// canonical gives v, a value or JSON, the one spelling under which equal content has equal bytes.
func canonical(v any) (json.RawMessage, error) {
	raw, err := encode(v)
	if err != nil {
		return nil, err
	}
	plain, err := parse(raw)
	if err != nil {
		return nil, err
	}
	return encode(plain)
}

// parse reads JSON into maps and lists, with numbers as written.
func parse(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if dec.More() {
		return nil, fmt.Errorf("more than one JSON value")
	}
	return v, nil
}

// membersOf reads a JSON object with numbers as written; empty JSON is an empty object.
func membersOf(raw json.RawMessage) (map[string]any, error) {
	if len(raw) == 0 {
		return map[string]any{}, nil
	}
	v, err := parse(raw)
	if err != nil {
		return nil, fmt.Errorf("decode stored object: %w", err)
	}
	members, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("decode stored object: it is a %T", v)
	}
	return members, nil
}
