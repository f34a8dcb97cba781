package flowclient

import (
	"context"
	"fmt"
)

// taken is the names that exist and that a new project could run into.
type taken struct {
	projects     []string
	environments []string
	components   map[string]string // name -> project
	bindings     map[string]string // name -> component
}

// readTaken reads the names that exist.
func (c *Controller) readTaken(ctx context.Context) (taken, error) {
	t := taken{components: map[string]string{}, bindings: map[string]string{}}
	for _, kind := range []Kind{KindProject, KindEnvironment, KindComponent, KindReleaseBinding} {
		objects, err := c.deps.ControlPlane.List(ctx, kind, Filter{})
		if err != nil {
			return taken{}, fmt.Errorf("list %s: %w", kind, err)
		}
		for _, o := range objects {
			var spec struct {
				Owner Owner `json:"owner"`
			}
			if err := o.Decode(&spec, nil); err != nil {
				return taken{}, err
			}
			switch name := o.Metadata.Name; kind {
			case KindProject:
				t.projects = append(t.projects, name)
			case KindEnvironment:
				t.environments = append(t.environments, name)
			case KindComponent:
				t.components[name] = spec.Owner.ProjectName
			case KindReleaseBinding:
				t.bindings[name] = spec.Owner.ComponentName
			}
		}
	}
	return t, nil
}

// collision refuses a project and its components where a name of theirs, or
// one made of it (<component>-<environment> for bindings,
// <environment>-<project> for hostnames), is another's already: pure.
func (t taken) collision(project string, components []string) error {
	for _, other := range t.projects {
		if other == project {
			return Refuse("project %s exists already; choose another name.", project)
		}
		for _, here := range t.environments {
			for _, there := range t.environments {
				if host := here + "-" + project; host == there+"-"+other {
					return Refuse("project %s in %s would answer at the host of project %s in %s (%s); choose another name.", project, here, other, there, host)
				}
			}
		}
	}
	for _, component := range components {
		if owner, exists := t.components[component]; exists {
			return Refuse("component %s exists already, in project %s; choose another name.", component, owner)
		}
		for _, environment := range t.environments {
			name := bindingName(component, environment)
			if other, exists := t.bindings[name]; exists {
				return Refuse("the binding of %s in %s would be called %s, as one of component %s is; choose another name.", component, environment, name, other)
			}
			for other, owner := range t.components {
				for _, there := range t.environments {
					if bindingName(other, there) == name {
						return Refuse("the binding of %s in %s would be called %s, as that of component %s of project %s in %s; choose another name.",
							component, environment, name, other, owner, there)
					}
				}
			}
		}
	}
	return nil
}
