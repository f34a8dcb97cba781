package remote

import (
	"context"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

// EvidenceOfBuild tells what is known about a build.
func (c *Client) EvidenceOfBuild(ctx context.Context, run string) (flowclient.Evidence, error) {
	return get[flowclient.Evidence](ctx, c, wire.Address(wire.BuildEvidencePath, run), "")
}

// EvidenceOfBinding tells what is known about a binding.
func (c *Client) EvidenceOfBinding(ctx context.Context, binding string) (flowclient.Evidence, error) {
	return get[flowclient.Evidence](ctx, c, wire.Address(wire.BindingEvidencePath, binding), "")
}

// EvidenceOfFlow tells what is known about a trace, by its id of 32 hexadecimal digits.
func (c *Client) EvidenceOfFlow(ctx context.Context, traceID string) (flowclient.Evidence, error) {
	return get[flowclient.Evidence](ctx, c, wire.FlowEvidencePath, wire.FlowQuery(traceID))
}

// Diff is what a promote of the project would ship now.
func (c *Client) Diff(ctx context.Context, project string) (flowclient.Diff, error) {
	return get[flowclient.Diff](ctx, c, wire.DiffPath, wire.WindowQuery(project))
}
