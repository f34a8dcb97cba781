package controlplane

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// podTemplate is what this control plane reads of a resource that a component
// type is made of: the limits of a workload's containers.
type podTemplate struct {
	Template struct {
		Spec struct {
			Template struct {
				Spec struct {
					Containers []struct {
						Resources struct {
							Limits struct {
								Memory string `json:"memory"`
							} `json:"limits"`
						} `json:"resources"`
					} `json:"containers"`
				} `json:"spec"`
			} `json:"template"`
		} `json:"spec"`
	} `json:"template"`
}

// environmentConfig is a template's reference to a value that each environment
// may set for itself.
var environmentConfig = regexp.MustCompile(`^\$\{environmentConfigs\.([A-Za-z0-9_]+)\}$`)

// memoryLimit is how many bytes the containers of a release may use together,
// by the limits in its frozen component type, with the values of the binding's
// environment; 0 when the type limits nothing. An *unmet names a value that is
// no quantity.
func memoryLimit(release, binding object) (int64, error) {
	raw, ok := release.field("componentType.spec.resources")
	var resources []podTemplate
	if !ok || json.Unmarshal(raw, &resources) != nil {
		return 0, nil //nolint:nilerr // made of something else than this runtime knows
	}
	var sum int64
	for _, r := range resources {
		for _, c := range r.Template.Spec.Template.Spec.Containers {
			value, from := c.Resources.Limits.Memory, "the component type's memory limit"
			if m := environmentConfig.FindStringSubmatch(value); m != nil {
				value, from = configured(release, binding, m[1])
			}
			if value == "" {
				continue
			}
			n, err := quantity(value)
			if err != nil {
				return 0, &unmet{"InvalidEnvironmentConfig", fmt.Sprintf("%s %q %v", from, value, err)}
			}
			sum += min(n, math.MaxInt64-sum)
		}
	}
	return sum, nil
}

// configured is an environment's value: the binding's own, else the default
// that the component type declares. from names where it was found.
func configured(release, binding object, name string) (value, from string) {
	for _, place := range []struct {
		of   object
		path string
	}{
		{binding, "componentTypeEnvironmentConfigs." + name},
		{release, "componentType.spec.environmentConfigs.openAPIV3Schema.properties." + name + ".default"},
	} {
		raw, ok := place.of.field(place.path)
		if !ok {
			continue
		}
		if json.Unmarshal(raw, &value) != nil {
			value = string(raw) // a number of bytes
		}
		return value, "spec." + place.path
	}
	return "", ""
}

// quantityForm is Kubernetes' quantity as far as memory needs it.
var quantityForm = regexp.MustCompile(`^([0-9]{1,15}(?:\.[0-9]{1,9})?)(k|M|G|T|Ki|Mi|Gi|Ti|)$`)

// quantityUnits are the suffixes in bytes.
var quantityUnits = map[string]float64{
	"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40,
}

// quantity reads an amount of memory in bytes.
func quantity(text string) (int64, error) {
	m := quantityForm.FindStringSubmatch(text)
	if m == nil {
		return 0, errors.New("is no amount of memory; write one such as 256Mi, 1.5Gi or 500M")
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if bytes := math.Ceil(n * quantityUnits[m[2]]); err == nil && bytes >= 1 && bytes < math.MaxInt64 {
		return int64(bytes), nil
	}
	return 0, errors.New("is no amount of memory that a process could have; write one such as 256Mi")
}
