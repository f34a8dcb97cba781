package controlplane

import (
	"strings"

	"platform.dev/platform/flowclient"
)

// Two names joined by '-' can be read in two ways: component a-b in environment
// c and component a in environment b-c would share the binding a-b-c. Whoever
// comes second is refused, so that a joined name means one thing.

// clashAfter finds another pair (head, tail) with head+"-"+tail equal to
// name+"-"+end for one of ends, where tail is one of ends and head is taken.
func clashAfter(name string, ends []string, taken func(head string) (bool, error)) (head, tail, joined string, err error) {
	for _, end := range ends {
		joined := name + "-" + end
		for _, other := range ends {
			head, ok := strings.CutSuffix(joined, "-"+other)
			if !ok || other == end || head == "" {
				continue
			}
			there, err := taken(head)
			if err != nil {
				return "", "", "", err
			}
			if there {
				return head, other, joined, nil
			}
		}
	}
	return "", "", "", nil
}

// admitProject refuses a project whose host name <environment>-<project> is
// another's, or is longer than a DNS label, and parameters that limit its cells
// to what is no quantity.
func admitProject(t *tx, o, old *object) error {
	if err := t.admitQuotas(*o, object{}, "spec.parameters"); err != nil || old != nil {
		return err
	}
	environments, projects, err := t.hostParts()
	if err != nil {
		return err
	}
	for _, e := range environments {
		if err := checkHost(o.name, e, o.name, environments, projects); err != nil {
			return err
		}
	}
	return nil
}

// admitComponent refuses a component whose binding <component>-<environment> is another's.
func admitComponent(t *tx, o, old *object) error {
	if old != nil {
		return nil
	}
	environments, err := t.names(flowclient.KindEnvironment)
	if err != nil {
		return err
	}
	taken := func(head string) (bool, error) { return t.exists(flowclient.KindComponent, head) }
	head, tail, joined, err := clashAfter(o.name, environments, taken)
	if err == nil && head != "" {
		err = unprocessable("metadata.name", o.name, "its binding %s would be that of component '%s' in environment '%s'; choose another name", joined, head, tail)
	}
	return err
}

// admitEnvironment asks both questions of a new environment.
func admitEnvironment(t *tx, o, old *object) error {
	if old != nil {
		return nil
	}
	environments, projects, err := t.hostParts()
	if err != nil {
		return err
	}
	for p := range projects {
		if err := checkHost(o.name, o.name, p, append(environments, o.name), projects); err != nil {
			return err
		}
	}
	components, err := t.nameSet(flowclient.KindComponent)
	if err != nil {
		return err
	}
	for c := range components {
		joined := c + "-" + o.name
		for _, other := range environments {
			if head, ok := strings.CutSuffix(joined, "-"+other); ok && components[head] {
				return unprocessable("metadata.name", o.name, "binding %s of component '%s' would be that of component '%s' in environment '%s'; choose another name", joined, c, head, other)
			}
		}
	}
	return nil
}

// checkHost refuses the host name <environment>-<project> when it is too long
// or another pair's; name is the object that is being created.
func checkHost(name, environment, project string, environments []string, projects map[string]bool) error {
	host := environment + "-" + project
	if len(host) > labelLength {
		return unprocessable("metadata.name", name, "the host name %s would be longer than %d characters; choose a shorter name", host, labelLength)
	}
	for _, e := range environments {
		if p, ok := strings.CutPrefix(host, e+"-"); ok && e != environment && projects[p] {
			return unprocessable("metadata.name", name, "the host name %s would be that of project '%s' in environment '%s'; choose another name", host, p, e)
		}
	}
	return nil
}

// hostParts are the names that host names are joined from.
func (t *tx) hostParts() (environments []string, projects map[string]bool, err error) {
	if environments, err = t.names(flowclient.KindEnvironment); err != nil {
		return nil, nil, err
	}
	projects, err = t.nameSet(flowclient.KindProject)
	return environments, projects, err
}

// names lists the names of a kind.
func (t *tx) names(kind flowclient.Kind) (names []string, err error) {
	rows, err := t.QueryContext(t.ctx, `SELECT name FROM objects WHERE kind = ? ORDER BY name`, kind)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closing := rows.Close(); err == nil {
			err = closing
		}
	}()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

func (t *tx) nameSet(kind flowclient.Kind) (map[string]bool, error) {
	names, err := t.names(kind)
	set := make(map[string]bool, len(names))
	for _, n := range names {
		set[n] = true
	}
	return set, err
}
