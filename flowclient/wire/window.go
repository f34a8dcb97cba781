package wire

import "net/url"

// WindowPath takes GET with ?project= and answers 200 with a flowclient.Window.
const WindowPath = "/window"

// WindowProject reads the project from a query; *flowclient.Invalid when it is missing or not alone.
func WindowProject(query string) (string, error) {
	q, err := Query(query, "project")
	if err != nil {
		return "", err
	}
	return q["project"], required("project", q["project"])
}

// WindowQuery is the query that asks for a project's window.
func WindowQuery(project string) string { return url.Values{"project": {project}}.Encode() }
