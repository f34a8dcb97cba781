package wire

import "platform.dev/platform/flowclient"

// UndoPath takes POST with an UndoBody and answers as PromotePath does; undoes
// of the outcome tells which promotion is taken back.
const UndoPath = "/undo"

// UndoBody asks to take back the newest promotion of a project, or what that would be.
type UndoBody struct {
	Project string `json:"project"`
	DryRun  bool   `json:"dryRun,omitempty"` // decide and tell, write nothing
	Intent  string `json:"intent,omitempty"` // the promotion to take back, as undoes of a dry run names it; default: the newest
}

// Request is the body as the controller takes it; *flowclient.Invalid names what is missing.
func (b UndoBody) Request(o flowclient.Origin) (flowclient.UndoRequest, error) {
	return flowclient.UndoRequest{Origin: o, Project: b.Project, DryRun: b.DryRun, Intent: b.Intent}, required("project", b.Project)
}

// FromUndo is the body of a request.
func FromUndo(r flowclient.UndoRequest) UndoBody {
	return UndoBody{Project: r.Project, DryRun: r.DryRun, Intent: r.Intent}
}
