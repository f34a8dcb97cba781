package flowclient

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// declaredSpec is what a ComponentRelease declares of its size.
type declaredSpec struct {
	ComponentType struct {
		Spec struct {
			Resources          []declaredResource `json:"resources"`
			Parameters         declaredSchema     `json:"parameters"`
			EnvironmentConfigs declaredSchema     `json:"environmentConfigs"`
		} `json:"spec"`
	} `json:"componentType"`
	ComponentProfile struct {
		Parameters map[string]any `json:"parameters"`
	} `json:"componentProfile"`
}

type declaredSchema struct {
	Schema map[string]any `json:"openAPIV3Schema"`
}

type declaredResource struct {
	ID       string          `json:"id"`
	ForEach  string          `json:"forEach"`
	Template json.RawMessage `json:"template"`
}

// workloadTemplate is a Deployment or a StatefulSet as a component type writes it.
type workloadTemplate struct {
	Kind string `json:"kind"`
	Spec struct {
		Replicas any `json:"replicas"`
		Template struct {
			Spec struct {
				Containers     []containerTemplate `json:"containers"`
				InitContainers []containerTemplate `json:"initContainers"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}

type containerTemplate struct {
	Name      string `json:"name"`
	Resources struct {
		Requests map[string]any `json:"requests"`
		Limits   map[string]any `json:"limits"`
	} `json:"resources"`
}

// size adds up the workloads of the type, those with a condition included.
// Several count as one replica with the sum of all: they are replaced together.
func (d declaredSpec) size(configs map[string]any) (size, error) {
	values := declaredValues{
		"environmentConfigs": {configs, d.ComponentType.Spec.EnvironmentConfigs.Schema},
		"parameters":         {d.ComponentProfile.Parameters, d.ComponentType.Spec.Parameters.Schema},
	}
	var sizes []size
	for _, r := range d.ComponentType.Spec.Resources {
		var kind struct {
			Kind string `json:"kind"`
		}
		if json.Unmarshal(r.Template, &kind) != nil || kind.Kind != "Deployment" && kind.Kind != "StatefulSet" {
			continue
		}
		if r.ForEach != "" {
			return size{}, fmt.Errorf("how many of %s there are is the expression %s, which only the control plane can evaluate", clip(r.ID), clip(r.ForEach))
		}
		var w workloadTemplate
		if err := json.Unmarshal(r.Template, &w); err != nil {
			return size{}, fmt.Errorf("the template %s of its component type is no %s", clip(r.ID), kind.Kind)
		}
		s, err := values.sizeOf(w)
		if err != nil {
			return size{}, err
		}
		sizes = append(sizes, s)
	}
	if len(sizes) == 1 {
		return sizes[0], nil
	}
	sum := size{Each: Quantities{}}
	for _, s := range sizes {
		sum.Replicas = 1
		for name, n := range s.Each {
			sum.Each[name] = plus(sum.Each[name], times(s.Replicas, n))
		}
	}
	return sum, nil
}

// sizeOf is one workload: a pod uses what its containers request together, or
// more where one of its init containers alone requests more.
func (v declaredValues) sizeOf(w workloadTemplate) (size, error) {
	s := size{Replicas: 1, Each: Quantities{Pods: 1}}
	if w.Spec.Replicas != nil {
		text, from, err := v.resolve(w.Spec.Replicas, "replicas")
		if err != nil {
			return size{}, err
		}
		if s.Replicas, err = strconv.ParseInt(text, 10, 32); err != nil || s.Replicas < 0 {
			return size{}, fmt.Errorf("%s %q is no number of replicas; write one such as 2", from, clip(text))
		}
	}
	for _, c := range w.Spec.Template.Spec.Containers {
		declared, err := v.declares(c)
		if err != nil {
			return size{}, err
		}
		for name, n := range declared {
			s.Each[name] = plus(s.Each[name], n)
		}
	}
	for _, c := range w.Spec.Template.Spec.InitContainers {
		declared, err := v.declares(c)
		if err != nil {
			return size{}, err
		}
		for name, n := range declared {
			s.Each[name] = max(s.Each[name], n)
		}
	}
	return s, nil
}

// declares is what a container counts for: its limits, and its requests, which
// are its limits where it has none of their own (Kubernetes' defaulting).
func (v declaredValues) declares(c containerTemplate) (Quantities, error) {
	declared, requests := Quantities{}, maps.Clone(c.Resources.Limits)
	if requests == nil {
		requests = map[string]any{}
	}
	maps.Copy(requests, c.Resources.Requests)
	for _, part := range []struct {
		of     map[string]any
		prefix string
	}{{requests, ""}, {c.Resources.Limits, "limits."}} {
		for _, name := range slices.Sorted(maps.Keys(part.of)) { // so that the same release has the same complaint
			resource := part.prefix + name
			text, from, err := v.resolve(part.of[name], fmt.Sprintf("the %s of container %s", resource, clip(c.Name)))
			if err != nil {
				return nil, err
			}
			if text == "" {
				continue
			}
			if declared[resource], err = ParseQuantity(resource, text); err != nil {
				return nil, fmt.Errorf("%s %q %w", from, clip(text), err)
			}
		}
	}
	return declared, nil
}

// declaredValues are the values that templates refer to, by where they come from.
type declaredValues map[string]struct{ given, schema map[string]any }

// reference is a template's reference to one value. Other expressions are the control plane's.
var reference = regexp.MustCompile(`^\$\{\s*(environmentConfigs|parameters)\.([A-Za-z0-9_.]{1,253})\s*\}$`)

// resolve is a template's value as text, "" for none; from names it in a sentence.
func (v declaredValues) resolve(value any, what string) (text, from string, err error) {
	text, scalar := scalarText(value)
	if !scalar {
		return "", what, fmt.Errorf("%s is no text and no number", what)
	}
	m := reference.FindStringSubmatch(text)
	switch {
	case m == nil && strings.Contains(text, "${"):
		return "", what, fmt.Errorf("%s is the expression %s, which only the control plane can evaluate", what, clip(text))
	case m == nil:
		return text, what, nil
	}
	found, ok := lookUp(v[m[1]].given, v[m[1]].schema, strings.Split(m[2], "."))
	if !ok {
		return "", what, fmt.Errorf("%s is %s, which has no value and no default", what, clip(text))
	}
	from = m[1] + "." + m[2]
	if text, scalar = scalarText(found); !scalar {
		return "", from, fmt.Errorf("%s is no text and no number", from)
	}
	return text, from, nil
}

// lookUp finds the value at a path: the given one, else the default that the
// schema has for it, or for what it is a part of.
func lookUp(given, schema map[string]any, path []string) (any, bool) {
	if len(path) == 0 {
		return nil, false
	}
	properties, _ := schema["properties"].(map[string]any)
	below, _ := properties[path[0]].(map[string]any)
	value, ok := given[path[0]]
	if !ok {
		value, ok = below["default"]
	}
	if len(path) == 1 {
		return value, ok
	}
	inner, _ := value.(map[string]any)
	return lookUp(inner, below, path[1:])
}

// scalarText is a string, or a number as JSON writes it.
func scalarText(v any) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return "", false
}
