package remote

import (
	"context"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

// Delivery is what is deployed where and what built it.
func (c *Client) Delivery(ctx context.Context) (flowclient.Delivery, error) {
	return get[flowclient.Delivery](ctx, c, wire.DeliveryPath, "")
}

// Builds lists the builds that the controller is waiting on, oldest first.
func (c *Client) Builds(ctx context.Context) ([]flowclient.Build, error) {
	answer, err := get[wire.BuildsAnswer](ctx, c, wire.BuildsPath, "")
	return answer.Builds, err
}

// Build is one build with its stages; *flowclient.NotFound.
func (c *Client) Build(ctx context.Context, run string) (flowclient.Build, error) {
	return get[flowclient.Build](ctx, c, wire.Address(wire.BuildPath, run), "")
}

// BuildLog is the last lines of a stage ("" for all), oldest first.
func (c *Client) BuildLog(ctx context.Context, run, stage string, last int) ([]string, error) {
	answer, err := get[wire.LogAnswer](ctx, c, wire.Address(wire.BuildLogPath, run), wire.LogQuery(stage, last))
	return answer.Lines, err
}

// State is the controller's own state.
func (c *Client) State(ctx context.Context) (flowclient.State, error) {
	return get[flowclient.State](ctx, c, wire.StatePath, "")
}

// Window is a project's production window; *flowclient.NotFound.
func (c *Client) Window(ctx context.Context, project string) (flowclient.Window, error) {
	return get[flowclient.Window](ctx, c, wire.WindowPath, wire.WindowQuery(project))
}

// Host is the memory of the machine that workloads run on.
func (c *Client) Host(ctx context.Context) (flowclient.Host, error) {
	return get[flowclient.Host](ctx, c, wire.HostPath, "")
}
