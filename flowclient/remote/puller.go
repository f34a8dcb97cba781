package remote

import (
	"context"
	"net/http"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

// OpenPull makes a branch with a commit and opens a pull request of it.
func (c *Client) OpenPull(ctx context.Context, r flowclient.PullRequest) (flowclient.Pull, error) {
	return send[flowclient.Pull](ctx, c, http.MethodPost, wire.PullPath, "", r.Origin, wire.FromPull(r))
}

// Merge merges an open pull request; *flowclient.Refusal for a conflict or a moved head.
func (c *Client) Merge(ctx context.Context, r flowclient.MergeRequest) (flowclient.Pull, error) {
	return send[flowclient.Pull](ctx, c, http.MethodPost, wire.MergePath, "", r.Origin, wire.FromMerge(r))
}

// Reviews lists the review environments, queued ones included, oldest first.
func (c *Client) Reviews(ctx context.Context) ([]flowclient.Review, error) {
	return list(ctx, c, wire.ReviewsPath, func(a wire.ReviewsAnswer) ([]flowclient.Review, string) { return a.Reviews, a.Next })
}

// Delivered passes a git server's delivery on; the controller heard it when it arrived.
func (c *Client) Delivered(ctx context.Context, d flowclient.PullDelivery) error {
	return c.tell(ctx, http.MethodPost, wire.HookPath, wire.FromDelivered(d))
}
