package remote

import (
	"context"
	"net/http"
	"strconv"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

// BeginWalkthrough admits a walkthrough; *flowclient.Refusal while another is under way.
func (c *Client) BeginWalkthrough(ctx context.Context, key, template, who string) (flowclient.Walkthrough, error) {
	return send[flowclient.Walkthrough](ctx, c, http.MethodPost, wire.WalkthroughsPath, "",
		flowclient.Origin{Key: key, Who: who}, wire.WalkthroughBody{Template: template})
}

// UpdateWalkthrough records the step reached, and the end when Ended is set.
func (c *Client) UpdateWalkthrough(ctx context.Context, w flowclient.Walkthrough) error {
	return c.tell(ctx, http.MethodPut, wire.Address(wire.WalkthroughPath, strconv.FormatInt(w.ID, 10)), wire.FromUpdate(w))
}

// Walkthroughs lists runs, newest first.
func (c *Client) Walkthroughs(ctx context.Context) ([]flowclient.Walkthrough, error) {
	return list(ctx, c, wire.WalkthroughsPath, func(a wire.WalkthroughsAnswer) ([]flowclient.Walkthrough, string) { return a.Walkthroughs, a.Next })
}
