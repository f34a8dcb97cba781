package flowclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// compare adds what a rollback leaves as it is, although it changed between
// the release that production would return to and the one that it runs: the
// component type, the resources that the component uses, and the project's.
func (c *Controller) compare(ctx context.Context, s *snapshot) error {
	var resources []Object
	for i := range s.Components {
		f := &s.Components[i]
		back := f.Production.annotation(AnnotationDisplaced)
		if back == "" {
			continue
		}
		older, err := c.deps.ControlPlane.Get(ctx, KindComponentRelease, back)
		if IsNotFound(err) {
			continue // the decision says so
		}
		if err != nil {
			return err
		}
		newer, err := c.deps.ControlPlane.Get(ctx, KindComponentRelease, f.Production.spec.ReleaseName)
		if err != nil && !IsNotFound(err) {
			return err
		}
		if resources == nil {
			if resources, err = c.resourcesOf(ctx, s.Project.Metadata.Name); err != nil {
				return err
			}
		}
		if f.Differs, err = differs(older, newer, resources); err != nil {
			return err
		}
	}
	return nil
}

// resourcesOf lists the resources that a project owns.
func (c *Controller) resourcesOf(ctx context.Context, project string) ([]Object, error) {
	objects, err := c.deps.ControlPlane.List(ctx, KindResource, Filter{Project: project})
	if err != nil {
		return nil, fmt.Errorf("resources of %s: %w", project, err)
	}
	owned := []Object{}
	for _, o := range objects {
		var spec struct {
			Owner Owner `json:"owner"`
		}
		if err := o.Decode(&spec, nil); err != nil {
			return nil, err
		}
		if spec.Owner.ProjectName == project {
			owned = append(owned, o)
		}
	}
	return owned, nil
}

// frozenSpec is what a ComponentRelease froze beside its image.
type frozenSpec struct {
	ComponentType map[string]any `json:"componentType"`
	Workload      struct {
		Dependencies struct {
			Resources []map[string]any `json:"resources"`
		} `json:"dependencies"`
	} `json:"workload"`
}

// differs names what changed from an older release to a newer one and does not
// go back with the code; a newer one that is gone tells nothing of itself.
func differs(older, newer Object, resources []Object) (what []string, err error) {
	var was, is frozenSpec
	if err := older.Decode(&was, nil); err != nil {
		return nil, err
	}
	if newer.Metadata.Name != "" {
		if err := newer.Decode(&is, nil); err != nil {
			return nil, err
		}
		if !sameJSON(was.ComponentType, is.ComponentType) {
			what = append(what, fmt.Sprintf("the component type %v", is.ComponentType["name"]))
		}
		what = append(what, usedOtherwise(was, is)...)
	}
	for _, o := range resources {
		if made, since := o.Metadata.Created, older.Metadata.Created; made != nil && since != nil && made.After(*since) {
			what = append(what, fmt.Sprintf("the resource %s, made since", o.Metadata.Name))
		}
	}
	return what, nil
}

// usedOtherwise names the resources that two releases use differently.
func usedOtherwise(was, is frozenSpec) (what []string) {
	uses := func(f frozenSpec) map[string]map[string]any {
		by := map[string]map[string]any{}
		for _, r := range f.Workload.Dependencies.Resources {
			if name, ok := r["ref"].(string); ok {
				by[name] = r
			}
		}
		return by
	}
	before, now := uses(was), uses(is)
	names := slices.Concat(sortedKeys(before), sortedKeys(now))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if !sameJSON(before[name], now[name]) {
			what = append(what, fmt.Sprintf("how it uses the resource %s", name))
		}
	}
	return what
}

// sameJSON tells whether two values are encoded alike.
func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// codeOnly says what a rollback does not take back; "" when nothing of it changed.
func codeOnly(s snapshot) string {
	var parts []string
	for _, f := range s.Components {
		if len(f.Differs) == 0 {
			continue
		}
		back, runs := f.Production.annotation(AnnotationDisplaced), f.Production.spec.ReleaseName
		from, known := f.Releases[runs]
		if !known {
			from = release{Name: runs}
		}
		parts = append(parts, fmt.Sprintf("of %s between %s and %s: %s", f.Name, f.Releases[back].label(), from.label(), listOf(f.Differs)))
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("A rollback moves code only. What else changed stays as it is: %s. Check that the older code can work with it.", strings.Join(parts, "; "))
}
