package controlplane

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"platform.dev/platform/flowclient"
)

// projectType is spec of a ClusterProjectType, as far as it is rendered here:
// the mandated namespace and quotas. Its validations are CEL, and a cluster's to check.
type projectType struct {
	Parameters         section           `json:"parameters"`
	EnvironmentConfigs section           `json:"environmentConfigs"`
	Resources          []projectResource `json:"resources"`
}

// section describes values that may be given.
type section struct {
	Schema map[string]any `json:"openAPIV3Schema"`
}

// projectResource is one template of a project type.
type projectResource struct {
	ID          string `json:"id"`
	TargetPlane string `json:"targetPlane"`
	IncludeWhen string `json:"includeWhen"`
	ForEach     string `json:"forEach"`
	Template    struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Spec json.RawMessage `json:"spec"`
	} `json:"template"`
}

// namespaceAlone is the smallest project type.
func namespaceAlone() projectType {
	r := projectResource{ID: "cell-namespace"}
	r.Template.Kind, r.Template.Metadata.Name = "Namespace", cellName
	return projectType{Resources: []projectResource{r}}
}

// cellName is the name that the namespace of a cell must have in its template.
const cellName = "${metadata.namespace}"

// quotas renders the quotas of a cell: by name, the limits by resource. An
// *unmet says what cannot be rendered.
func (p projectType) quotas(v values) (map[string]map[string]string, error) {
	quotas, namespace := map[string]map[string]string{}, false
	for _, r := range p.Resources {
		if r.TargetPlane != "" && r.TargetPlane != "dataplane" || r.Template.Kind != "Namespace" && r.Template.Kind != "ResourceQuota" {
			continue
		}
		if r.ForEach != "" {
			return nil, &unmet{reasonNotRendered, fmt.Sprintf("resource '%s' has forEach, which is not evaluated here", r.ID)}
		}
		included, err := v.holds(r.IncludeWhen)
		if err != nil {
			return nil, &unmet{reasonNotRendered, fmt.Sprintf("includeWhen of resource '%s' %v", r.ID, err)}
		}
		switch {
		case !included:
		case r.Template.Kind == "Namespace":
			namespace = namespace || r.Template.Metadata.Name == cellName
		default:
			name, err := v.text(r.Template.Metadata.Name)
			if err != nil || name == "" || quotas[name] != nil {
				return nil, &unmet{reasonNotRendered, fmt.Sprintf("the name of resource '%s' must be text that no other quota has", r.ID)}
			}
			if quotas[name], err = r.hard(v); err != nil {
				return nil, err
			}
		}
	}
	if !namespace {
		return nil, &unmet{reasonNoNamespace, "the project type makes no Namespace with the name " + cellName}
	}
	return quotas, nil
}

// hard renders the limits of a ResourceQuota.
func (r projectResource) hard(v values) (map[string]string, error) {
	var spec struct {
		Hard map[string]any `json:"hard"`
	}
	if json.Unmarshal(r.Template.Spec, &spec) != nil {
		return nil, &unmet{reasonNotRendered, fmt.Sprintf("spec of resource '%s' is not that of a ResourceQuota", r.ID)}
	}
	hard := make(map[string]string, len(spec.Hard))
	for _, resource := range slices.Sorted(maps.Keys(spec.Hard)) {
		template, isText := spec.Hard[resource].(string)
		if !isText {
			template = fmt.Sprint(spec.Hard[resource])
		}
		limit, err := v.text(template)
		if err != nil {
			return nil, &unmet{reasonNotRendered, fmt.Sprintf("%s of resource '%s' %v", resource, r.ID, err)}
		}
		if _, err := flowclient.ParseQuantity(flowclient.QuotaResource(resource), limit); err != nil {
			not := &unmet{reasonNotRendered, fmt.Sprintf("%s of resource '%s' %q %v", resource, r.ID, limit, err)}
			if m := oneValue.FindStringSubmatch(template); m != nil { // a value that was given
				not = &unmet{reasonNoQuantity, fmt.Sprintf("%s %q %v", m[1], limit, err)}
			}
			return nil, not
		}
		hard[resource] = limit
	}
	return hard, nil
}

// values are what templates refer to.
type values map[string]any

// valuesOf puts together what the templates of a cell may refer to.
func valuesOf(p projectType, project, binding object, namespace, environment string) values {
	given := func(o object, field string) any {
		raw, ok := o.field(field)
		var v any
		if !ok || json.Unmarshal(raw, &v) != nil {
			return map[string]any{}
		}
		return v
	}
	return values{
		"parameters":         withDefaults(p.Parameters.Schema, given(project, "parameters")),
		"environmentConfigs": withDefaults(p.EnvironmentConfigs.Schema, given(binding, "environmentConfigs")),
		"metadata":           map[string]any{"namespace": namespace, "projectName": project.name, "environmentName": environment},
	}
}

// withDefaults fills in what a schema has a default for.
func withDefaults(schema map[string]any, given any) any {
	if given == nil {
		given = schema["default"]
	}
	members, isObject := given.(map[string]any)
	properties, described := schema["properties"].(map[string]any)
	if !isObject || !described {
		return given
	}
	filled := maps.Clone(members)
	for name, property := range properties {
		below, ok := property.(map[string]any)
		if !ok {
			continue
		}
		if v := withDefaults(below, members[name]); v != nil {
			filled[name] = v
		}
	}
	return filled
}

// The part of CEL that is evaluated here: one value, or its comparison with a text.
var (
	oneValue   = regexp.MustCompile(`^\$\{\s*([A-Za-z0-9_.]{1,253})\s*\}$`)
	comparison = regexp.MustCompile(`^\$\{\s*([A-Za-z0-9_.]{1,253})\s*(==|!=)\s*"([^"\\]*)"\s*\}\s*$`)
)

// text is a template's text, with the value that it refers to.
func (v values) text(template string) (string, error) {
	m := oneValue.FindStringSubmatch(template)
	if m == nil {
		if strings.Contains(template, "${") {
			return "", fmt.Errorf("is %s: here a template is text, or a reference to one value", template)
		}
		return template, nil
	}
	found, err := v.find(m[1])
	if err != nil {
		return "", err
	}
	switch found.(type) {
	case string, float64, bool:
		return fmt.Sprint(found), nil
	}
	return "", fmt.Errorf("is %s, which is no text and no number", template)
}

// holds evaluates a condition; none holds.
func (v values) holds(condition string) (bool, error) {
	if condition == "" {
		return true, nil
	}
	if m := comparison.FindStringSubmatch(condition); m != nil {
		found, err := v.find(m[1])
		if err != nil {
			return false, err
		}
		return (fmt.Sprint(found) == m[3]) == (m[2] == "=="), nil
	}
	if m := oneValue.FindStringSubmatch(strings.TrimSpace(condition)); m != nil {
		found, err := v.find(m[1])
		if b, isBool := found.(bool); err == nil && isBool {
			return b, nil
		}
	}
	return false, fmt.Errorf(`is %s: here a condition is a value that is true or false, or a comparison of one with a text, such as ${parameters.tier == "large"}`, condition)
}

// find is the value at a dotted path.
func (v values) find(path string) (any, error) {
	var at any = map[string]any(v)
	for name := range strings.SplitSeq(path, ".") {
		members, ok := at.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("refers to %s, which has no value", path)
		}
		if at, ok = members[name]; !ok {
			return nil, fmt.Errorf("refers to %s, which has no value", path)
		}
	}
	return at, nil
}
