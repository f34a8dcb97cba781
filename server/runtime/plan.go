package runtime

import (
	"cmp"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"platform.dev/platform/flowclient"
)

// StaticSite is the component type whose images are served in process. The
// image's command is run for every other type that begins with processTypes.
const (
	StaticSite   = "deployment/static-site"
	processTypes = "deployment/"
)

// plan is where a deployment answers.
type plan struct {
	host   string
	routes []planned
}

// planned is one endpoint's route: prefix of the host, base within the site.
type planned struct {
	endpoint, prefix, base string
}

// label is a name that may stand in a host name and in a path.
var label = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// planOf decides where d answers, or why it cannot.
func planOf(d Deployment, domain string) (plan, error) {
	if kind, ok := strings.CutPrefix(d.Type, processTypes); !ok || kind == "" {
		return plan{}, because(ReasonUnsupportedType,
			"component type %q is not run here: this runtime serves static sites (component type %s, an image whose working directory holds index.html) and runs the image's command as a process for other types %s...; run the rest on a cluster",
			d.Type, StaticSite, processTypes)
	}
	for _, n := range []struct{ field, value string }{
		{"name", d.Name}, {"project", d.Project}, {"component", d.Component}, {"route", cmp.Or(d.Route, d.Component)}, {"environment", d.Environment},
		{"environment and project", d.Environment + "-" + d.Project}, // one label of the host name
	} {
		if !label.MatchString(n.value) {
			return plan{}, because(ReasonInvalidName,
				"%s %q cannot stand in an address: use lower-case letters, digits and inner dashes, at most 63", n.field, n.value)
		}
	}
	if len(d.Workload.Endpoints) == 0 {
		return plan{}, because(ReasonUnsupportedEndpoint, "workload of %s has no endpoint: give it one of type HTTP", d.Component)
	}
	port := 0
	p := plan{host: d.Environment + "-" + d.Project + "." + domain}
	for _, name := range slices.Sorted(maps.Keys(d.Workload.Endpoints)) {
		e := d.Workload.Endpoints[name]
		switch {
		case !label.MatchString(name):
			return plan{}, because(ReasonInvalidName,
				"endpoint %q cannot stand in an address: use lower-case letters, digits and inner dashes, at most 63", name)
		case !strings.EqualFold(e.Type, "HTTP"):
			return plan{}, because(ReasonUnsupportedEndpoint, "endpoint %s has type %q: HTTP alone is routed here", name, e.Type)
		case port != 0 && e.Port != port && d.Type != StaticSite:
			return plan{}, because(ReasonUnsupportedEndpoint, "endpoint %s has port %d and another one %d: a process is given one port here, in the variable PORT", name, e.Port, port)
		}
		port = e.Port
		p.routes = append(p.routes, planned{
			endpoint: name,
			prefix:   "/" + cmp.Or(d.Route, d.Component) + "-" + name,
			base:     path.Clean("/" + e.BasePath),
		})
	}
	return p, nil
}

// urls are the plan's addresses through the gateway.
func (p plan) urls(port int) []flowclient.EndpointURL {
	urls := make([]flowclient.EndpointURL, len(p.routes))
	for i, r := range p.routes {
		urls[i] = flowclient.EndpointURL{
			Name: r.endpoint, Type: "HTTP",
			ExternalURLs: map[string]flowclient.URL{"http": {Scheme: "http", Host: p.host, Port: port, Path: r.prefix + "/"}},
		}
	}
	return urls
}

// has tells whether the plan routes the prefix at the host.
func (p plan) has(host, prefix string) bool {
	return p.host == host && slices.ContainsFunc(p.routes, func(r planned) bool { return r.prefix == prefix })
}
