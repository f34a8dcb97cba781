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

// Replay decides again what was decided before; *flowclient.NotFound.
func (c *Client) Replay(ctx context.Context, id string) (flowclient.Replayed, error) {
	return get[flowclient.Replayed](ctx, c, wire.Address(wire.DecisionPath, id), "")
}

// Diff is what a promote of the project would ship now.
func (c *Client) Diff(ctx context.Context, project string) (flowclient.Diff, error) {
	return get[flowclient.Diff](ctx, c, wire.DiffPath, wire.WindowQuery(project))
}

// Audit is a page of the audit trail, newest first. A cursor is good for the controller that gave it.
func (c *Client) Audit(ctx context.Context, q flowclient.AuditQuery) (flowclient.AuditPage, error) {
	return get[flowclient.AuditPage](ctx, c, wire.AuditPath, wire.AuditQuery(q))
}

// Dora is how a project delivered in the last days.
func (c *Client) Dora(ctx context.Context, project string, days int) (flowclient.DoraReport, error) {
	return get[flowclient.DoraReport](ctx, c, wire.DoraPath, wire.DoraQuery(project, days))
}
