package wire

import "platform.dev/platform/flowclient"

// UndoPath takes POST with an UndoBody and answers as PromotePath does.
const UndoPath = "/undo"

// UndoBody asks to take back the newest promotion of a project.
type UndoBody struct {
	Project string `json:"project"`
}

// Request is the body as the controller takes it; *flowclient.Invalid names what is missing.
func (b UndoBody) Request(o flowclient.Origin) (flowclient.UndoRequest, error) {
	return flowclient.UndoRequest{Origin: o, Project: b.Project}, required("project", b.Project)
}

// FromUndo is the body of a request.
func FromUndo(r flowclient.UndoRequest) UndoBody { return UndoBody{Project: r.Project} }
