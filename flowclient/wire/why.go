package wire

import "net/url"

// WhyPath takes GET with ?project= and, for one component, &component=, and
// answers 200 with a flowclient.Why.
const WhyPath = "/why"

// WhyRequest reads what is asked about from a query; *flowclient.Invalid when the project is missing.
func WhyRequest(query string) (project, component string, err error) {
	q, err := Query(query, "project", "component")
	if err != nil {
		return "", "", err
	}
	return q["project"], q["component"], required("project", q["project"])
}

// WhyQuery is the query that asks about a project, or one component of it.
func WhyQuery(project, component string) string {
	q := url.Values{"project": {project}}
	if component != "" {
		q.Set("component", component)
	}
	return q.Encode()
}
