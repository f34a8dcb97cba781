package flowclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// compareBack adds what a rollback leaves as it is, although it changed between
// the release that production would return to and the one that it runs: the
// component type, the resources that the component uses, and the project's.
func (c *Controller) compareBack(ctx context.Context, s *snapshot) error {
	resources := sync.OnceValues(func() ([]Object, error) { return c.resourcesOf(ctx, s.Project.Metadata.Name) })
	for i := range s.Components {
		f := &s.Components[i]
		if err := c.compare(ctx, f, f.Production.annotation(AnnotationDisplaced), f.Production.spec.ReleaseName, resources); err != nil {
			return err
		}
	}
	return nil
}

// compareForward adds what a promotion changes besides the code, and what a
// rollback after it would therefore leave: the component type, the resources
// that the component uses, and those of the project that production has none
// of yet. What production runs nothing of is new as a whole, and is no change.
func (c *Controller) compareForward(ctx context.Context, s *snapshot) error {
	resources := sync.OnceValues(func() ([]Object, error) { return c.resourcesToBind(ctx, s.Project.Metadata.Name) })
	for i := range s.Components {
		f := &s.Components[i]
		from, to := f.Production.spec.ReleaseName, f.Staging.spec.ReleaseName
		if _, known := f.Releases[to]; !known || from == to {
			continue
		}
		if err := c.compare(ctx, f, from, to, resources); err != nil {
			return err
		}
	}
	return nil
}

// compare adds what changed from an older release of a component to a newer
// one. An older one that is gone tells nothing: the decision says so.
func (c *Controller) compare(ctx context.Context, f *componentFacts, from, to string, resources func() ([]Object, error)) error {
	if from == "" {
		return nil
	}
	older, err := c.release(ctx, f, from)
	if IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	newer, err := c.release(ctx, f, to)
	if err != nil && !IsNotFound(err) {
		return err
	}
	there, err := resources()
	if err == nil {
		f.Differs, err = differs(older, newer, there)
	}
	return err
}

// resourcesToBind lists the resources that a promotion would bind in production.
func (c *Controller) resourcesToBind(ctx context.Context, project string) ([]Object, error) {
	all, err := c.resourcesOf(ctx, project)
	if err != nil {
		return nil, err
	}
	unbound := []Object{}
	for _, o := range all {
		_, err := c.deps.ControlPlane.Get(ctx, KindResourceReleaseBinding, bindingName(o.Metadata.Name, Production))
		if IsNotFound(err) {
			unbound = append(unbound, o)
		} else if err != nil {
			return nil, fmt.Errorf("resources of %s: %w", project, err)
		}
	}
	return unbound, nil
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
		parts = append(parts, f.changed(f.Production.annotation(AnnotationDisplaced), f.Production.spec.ReleaseName))
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("A rollback moves code only. What else changed stays as it is: %s. Check that the older code can work with it.", strings.Join(parts, "; "))
}

// moreThanCode warns of what a promotion changes besides the code; "" when it
// changes nothing else.
func moreThanCode(s snapshot, moves []aMove) string {
	var parts []string
	for _, f := range s.Components {
		moving := slices.ContainsFunc(moves, func(m aMove) bool { return m.moves() && m.Outcome.Component == f.Name })
		if moving && len(f.Differs) > 0 {
			parts = append(parts, f.changed(f.Production.spec.ReleaseName, f.Staging.spec.ReleaseName))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("More than code changes: %s. A rollback would not take that back; check that the older code could work with it.", strings.Join(parts, "; "))
}

// changed says what besides the code changed between two releases of a component.
func (f componentFacts) changed(from, to string) string {
	label := func(name string) string {
		r, known := f.Releases[name]
		if !known {
			r = release{Name: name}
		}
		return r.label()
	}
	return fmt.Sprintf("of %s between %s and %s: %s", f.Name, label(from), label(to), listOf(f.Differs))
}
