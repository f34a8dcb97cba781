package wire

import (
	"cmp"

	"platform.dev/platform/flowclient"
)

// ScaffoldPath takes POST with a ScaffoldBody and answers 201 with a flowclient.Scaffolded.
const ScaffoldPath = "/projects/scaffold"

// ScaffoldBody asks for a project made from a template.
type ScaffoldBody struct {
	Template    string `json:"template"`
	Project     string `json:"project"`
	Walkthrough bool   `json:"walkthrough,omitempty"`
}

// Request is the body as the controller takes it; *flowclient.Invalid names what is missing.
func (b ScaffoldBody) Request(o flowclient.Origin) (flowclient.ScaffoldRequest, error) {
	return flowclient.ScaffoldRequest{Origin: o, Template: b.Template, Project: b.Project, Walkthrough: b.Walkthrough},
		cmp.Or(required("template", b.Template), required("project", b.Project))
}

// FromScaffold is the body of a request.
func FromScaffold(r flowclient.ScaffoldRequest) ScaffoldBody {
	return ScaffoldBody{Template: r.Template, Project: r.Project, Walkthrough: r.Walkthrough}
}
