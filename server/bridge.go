package server

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/server/controlplane"
	"platform.dev/platform/server/gateway"
	"platform.dev/platform/server/runtime"
	"platform.dev/platform/server/web"
	"platform.dev/platform/server/workflow"
)

// builder lets the control plane start builds on the embedded workflow engine.
type builder struct{ engine *workflow.Server }

// Ensure hands the build over and returns how it stands.
func (b builder) Ensure(ctx context.Context, build controlplane.Build) (controlplane.BuildStatus, error) {
	s, err := b.engine.Ensure(ctx, workflow.Build(build))
	return controlplane.BuildStatus(s), err
}

// Log is a stage's output.
func (b builder) Log(ctx context.Context, run, stage string) ([]flowclient.LogLine, error) {
	lines, err := b.engine.Log(ctx, run, stage)
	if err != nil {
		return nil, err
	}
	out := make([]flowclient.LogLine, len(lines))
	for i, l := range lines {
		out[i] = flowclient.LogLine{At: l.At, Text: l.Text}
	}
	return out, nil
}

// deployer lets the control plane run releases on the embedded runtime.
type deployer struct {
	runtime *runtime.Server
	placed  func(controlplane.Deployment) // told of each before it is applied
}

// Apply hands the deployment over and returns how it stands.
func (d deployer) Apply(ctx context.Context, dep controlplane.Deployment) (controlplane.DeploymentStatus, error) {
	d.placed(dep)
	s, err := d.runtime.Apply(ctx, runtime.Deployment(dep))
	return controlplane.DeploymentStatus(s), err
}

// Remove takes the deployment out of service.
func (d deployer) Remove(ctx context.Context, name string) error { return d.runtime.Remove(ctx, name) }

// ApplyCell hands the cell over.
func (d deployer) ApplyCell(_ context.Context, c controlplane.Cell) error {
	d.runtime.ApplyCell(runtime.Cell(c))
	return nil
}

// RemoveCell has the cell forgotten.
func (d deployer) RemoveCell(_ context.Context, name string) error {
	d.runtime.RemoveCell(name)
	return nil
}

// prober makes the URL check of a promotion.
type prober struct{ client *http.Client }

func newProber() prober { return prober{visitor(5 * time.Second)} }

// visitor is a client that reaches applications as a browser on this machine does.
func visitor(timeout time.Duration) *http.Client {
	client := web.Loopback(timeout)
	client.Transport = web.Propagate(client.Transport)
	return client
}

// visit GETs a page. The caller closes the answer's body.
func visit(ctx context.Context, client *http.Client, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return client.Do(req)
}

// Probe GETs the URL; unbound tells that the gateway answered because no application is bound there.
func (p prober) Probe(ctx context.Context, url string) (status int, unbound bool, err error) {
	resp, err := visit(ctx, p.client, url)
	if err != nil {
		return 0, false, fmt.Errorf("probe %s: %w", url, err)
	}
	defer resp.Body.Close()
	return resp.StatusCode, resp.Header.Get(gateway.Header) == gateway.Unbound, nil
}
