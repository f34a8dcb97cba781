package wire

import "platform.dev/platform/flowclient"

// TeardownPath takes POST with a TeardownBody and answers 200 with a flowclient.Removed.
const TeardownPath = "/projects/teardown"

// TeardownBody asks to remove walkthrough projects: all, those of a template, or project:<name>.
type TeardownBody struct {
	Scope string `json:"scope"`
}

// Request is the body as the controller takes it; *flowclient.Invalid names what is missing.
func (b TeardownBody) Request(o flowclient.Origin) (flowclient.TeardownRequest, error) {
	return flowclient.TeardownRequest{Origin: o, Scope: b.Scope}, required("scope", b.Scope)
}

// FromTeardown is the body of a request.
func FromTeardown(r flowclient.TeardownRequest) TeardownBody { return TeardownBody{Scope: r.Scope} }
