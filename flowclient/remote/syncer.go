package remote

import (
	"context"
	"net/http"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

// Sync applies a repository's manifests and reports each.
func (c *Client) Sync(ctx context.Context, r flowclient.SyncRequest) (flowclient.Synced, error) {
	answer, err := send[wire.SyncAnswer](ctx, c, http.MethodPost, wire.SyncPath, "", r.Origin, wire.FromSync(r))
	return answer.Synced, err
}
