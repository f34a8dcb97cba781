package remote

import (
	"context"
	"net/http"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

// Freezes lists the freezes that hold or are to come, by when they begin.
func (c *Client) Freezes(ctx context.Context) ([]flowclient.Freeze, error) {
	return list(ctx, c, wire.FreezesPath, func(a wire.FreezesAnswer) ([]flowclient.Freeze, string) { return a.Freezes, a.Next })
}

// SetFreeze freezes production of a project, or of every one.
func (c *Client) SetFreeze(ctx context.Context, r flowclient.FreezeRequest) (flowclient.Freeze, error) {
	return send[flowclient.Freeze](ctx, c, http.MethodPost, wire.FreezesPath, "", r.Origin, wire.FromFreeze(r))
}

// ClearFreeze ends a freeze, or calls it off; *flowclient.NotFound when there is none of the ID.
func (c *Client) ClearFreeze(ctx context.Context, r flowclient.FreezeRequest) (flowclient.Freeze, error) {
	return send[flowclient.Freeze](ctx, c, http.MethodDelete, wire.FreezesPath, wire.ThawQuery(r), r.Origin, nil)
}
