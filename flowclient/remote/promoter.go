package remote

import (
	"context"
	"net/http"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

// Promote moves a project, or one component of it, to production; *flowclient.Refusal.
func (c *Client) Promote(ctx context.Context, r flowclient.Promotion) (flowclient.Outcome, error) {
	return send[flowclient.Outcome](ctx, c, http.MethodPost, wire.PromotePath, "", r.Origin, wire.FromPromotion(r, false))
}

// Rollback moves it back to what a promotion displaced; *flowclient.Refusal.
func (c *Client) Rollback(ctx context.Context, r flowclient.Promotion) (flowclient.Outcome, error) {
	return send[flowclient.Outcome](ctx, c, http.MethodPost, wire.PromotePath, "", r.Origin, wire.FromPromotion(r, true))
}

// Undo takes back the newest promotion of a project, or tells what that would be; *flowclient.Refusal.
func (c *Client) Undo(ctx context.Context, r flowclient.UndoRequest) (flowclient.Outcome, error) {
	return send[flowclient.Outcome](ctx, c, http.MethodPost, wire.UndoPath, "", r.Origin, wire.FromUndo(r))
}
