package remote

import (
	"context"
	"net/http"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

// Scaffold makes a project from a template.
func (c *Client) Scaffold(ctx context.Context, r flowclient.ScaffoldRequest) (flowclient.Scaffolded, error) {
	return send[flowclient.Scaffolded](ctx, c, http.MethodPost, wire.ScaffoldPath, "", r.Origin, wire.FromScaffold(r))
}

// Teardown removes walkthrough projects.
func (c *Client) Teardown(ctx context.Context, r flowclient.TeardownRequest) (flowclient.Removed, error) {
	return send[flowclient.Removed](ctx, c, http.MethodPost, wire.TeardownPath, "", r.Origin, wire.FromTeardown(r))
}

// Commit pushes a commit to a project's repository.
func (c *Client) Commit(ctx context.Context, r flowclient.CommitRequest) (flowclient.Commit, error) {
	return send[flowclient.Commit](ctx, c, http.MethodPost, wire.CommitPath, "", r.Origin, wire.FromCommit(r))
}
