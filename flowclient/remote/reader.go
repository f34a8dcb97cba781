package remote

import (
	"context"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

// Builds lists the builds that the controller is waiting on, oldest first.
func (c *Client) Builds(ctx context.Context) ([]flowclient.Build, error) {
	return list(ctx, c, wire.BuildsPath, func(a wire.BuildsAnswer) ([]flowclient.Build, string) { return a.Builds, a.Next })
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

// Why tells what is against a promotion of a project, or of one component; *flowclient.NotFound.
func (c *Client) Why(ctx context.Context, project, component string) (flowclient.Why, error) {
	return get[flowclient.Why](ctx, c, wire.WhyPath, wire.WhyQuery(project, component))
}

// Host is the memory of the machine that workloads run on.
func (c *Client) Host(ctx context.Context) (flowclient.Host, error) {
	return get[flowclient.Host](ctx, c, wire.HostPath, "")
}
