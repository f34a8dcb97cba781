package platform

import (
	"context"
	"slices"
	"strings"

	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

// deliveries is the part of flowclient.Reader that names are looked up in.
type deliveries interface {
	Delivery(ctx context.Context) (flowclient.Delivery, error)
}

// projects lists the projects of a delivery, in its order.
func projects(d flowclient.Delivery) []string {
	var out []string
	for _, c := range d.Components {
		if !slices.Contains(out, c.Project) {
			out = append(out, c.Project)
		}
	}
	return out
}

// components lists the components of a project ("" for all), in the delivery's order.
func components(d flowclient.Delivery, project string) []flowclient.ComponentDelivery {
	var out []flowclient.ComponentDelivery
	for _, c := range d.Components {
		if project == "" || c.Project == project {
			out = append(out, c)
		}
	}
	return out
}

// names lists the names of components.
func names(cs []flowclient.ComponentDelivery) []string {
	var out []string
	for _, c := range cs {
		out = append(out, c.Component)
	}
	return out
}

// asked finds the project that a person means in what is deployed now.
func asked(ctx context.Context, reader deliveries, named string, req commands.Request) (string, flowclient.Delivery, error) {
	d, err := reader.Delivery(ctx)
	if err != nil {
		return "", d, err
	}
	name, err := project(d, named, req)
	return name, d, err
}

// project finds the project that a person means: the one named, else the one
// whose stream the command was asked in.
func project(d flowclient.Delivery, named string, req commands.Request) (string, error) {
	if named == "" {
		named = req.Project
	}
	all := projects(d)
	switch {
	case named == "" && len(all) == 0:
		return "", flowclient.Refuse("There is no project yet.")
	case named == "":
		return "", flowclient.Refuse("Say which project: %s. In a project's own stream it may be left out.", listed(all))
	case !slices.Contains(all, named):
		return "", unknown("project", named, all)
	}
	return named, nil
}

// component finds a component by its name, in a project or ("") anywhere.
func component(d flowclient.Delivery, project, named string) (flowclient.ComponentDelivery, error) {
	in := components(d, project)
	for _, c := range in {
		if c.Component == named {
			return c, nil
		}
	}
	kind := "component"
	if project != "" {
		kind = "component of " + project
	}
	return flowclient.ComponentDelivery{}, unknown(kind, named, names(in))
}

// unknown refuses a name that nothing has, with the names that come near it, or all where they are few.
func unknown(kind, named string, all []string) error {
	sentence := strings.ToUpper(kind[:1]) + kind[1:] + " \"" + named + "\" does not exist."
	if strings.HasPrefix(kind, "component of ") {
		sentence = "Project " + strings.TrimPrefix(kind, "component of ") + " has no component \"" + named + "\"."
	}
	near := commands.Near(named, all)
	switch {
	case len(near) > 0:
		sentence += " Did you mean " + joined(near, " or ") + "?"
	case len(all) == 0:
		sentence += " There is none yet."
	case len(all) == 1:
		sentence += " There is only " + all[0] + "."
	default:
		sentence += " There are " + listed(all) + "."
	}
	return flowclient.Refuse("%s", sentence)
}

// maxListed is how many names a sentence lists.
const maxListed = 12

// listed writes names as "a, b and c", and how many more there are.
func listed(all []string) string {
	if len(all) <= maxListed {
		return joined(all, " and ")
	}
	return strings.Join(all[:maxListed], ", ") + " and " + counted(len(all)-maxListed, "more", "more")
}

// joined writes names with a word before the last.
func joined(all []string, last string) string {
	if len(all) < 2 {
		return strings.Join(all, "")
	}
	return strings.Join(all[:len(all)-1], ", ") + last + all[len(all)-1]
}

// target is what a person names by one or two words: "shop shop-web", "shop-web", "shop", or, in a stream, nothing.
func target(d flowclient.Delivery, first, second string, req commands.Request) (flowclient.ComponentDelivery, error) {
	if second == "" && first != "" && !slices.Contains(projects(d), first) && (req.Project != "" || isComponent(d, first)) {
		return component(d, req.Project, first)
	}
	p, err := project(d, first, req)
	if err != nil {
		return flowclient.ComponentDelivery{}, err
	}
	in := components(d, p)
	switch {
	case second != "":
		return component(d, p, second)
	case len(in) == 1:
		return in[0], nil
	}
	return flowclient.ComponentDelivery{}, flowclient.Refuse("Say which component of %s: %s.", p, listed(names(in)))
}

func isComponent(d flowclient.Delivery, named string) bool {
	return slices.Contains(names(d.Components), named)
}
