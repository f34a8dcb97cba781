package controlplane

import (
	"context"
	"time"

	"platform.dev/platform/flowclient"
)

// Builder runs builds.
type Builder interface {
	// Ensure starts the run b.Run unless it is known, and tells how it stands. It is
	// idempotent and durable: after a restart a known run is not started again.
	Ensure(ctx context.Context, b Build) (BuildStatus, error)
	// Log is the output of a run's stage ("" for all), oldest first.
	Log(ctx context.Context, run, stage string) ([]flowclient.LogLine, error)
}

// Build is a run to make.
type Build struct {
	Run, Project, Component string
	Params                  flowclient.WorkflowParameters // with the commit, where the push named one, and the module ref
}

// BuildStatus is how a run stands.
type BuildStatus struct {
	Phase                  string // flowclient.BuildPending and so on
	Message                string // why it failed
	Tasks                  []flowclient.Task
	StartedAt, CompletedAt *time.Time
	Commit                 string                   // whole SHA, once resolved
	Image                  string                   // reference by digest, once pushed
	Workload               *flowclient.WorkloadSpec // from the workload descriptor; nil: the Workload keeps its own
}

// Runtime runs deployments.
type Runtime interface {
	// Apply makes the deployment run as described and tells how it does. It is idempotent.
	Apply(ctx context.Context, d Deployment) (DeploymentStatus, error)
	// Remove takes a deployment out of service; an unknown name is no error.
	Remove(ctx context.Context, name string) error
	// ApplyCell makes the cell be as described. It is idempotent.
	ApplyCell(ctx context.Context, c Cell) error
	// RemoveCell forgets a cell; an unknown name is no error.
	RemoveCell(ctx context.Context, name string) error
}

// Cell is a project's place in an environment: the namespace that a data plane
// has for it, with its quotas. Name is its ProjectReleaseBinding's.
type Cell struct {
	Name, Namespace string
	Labels          map[string]string
	Quotas          map[string]map[string]string // by the quota's name: its limits, by resource, as Kubernetes writes quantities
}

// Deployment is a release in an environment; Name is its binding's.
type Deployment struct {
	Name, Project, Component, Environment, Release string
	Route                                          string // what its address is made of: the component, or the one that it is a fork of
	Type                                           string // component type: deployment/static-site
	Workload                                       flowclient.WorkloadSpec
	Memory                                         int64                 // bytes that it may use, as its component type limits it; 0: no limit
	Cell                                           string                // namespace of the project's cell in the environment
	Declared                                       flowclient.Quantities // what its replicas declare together, as its component type says
}

// DeploymentStatus is how a deployment does.
type DeploymentStatus struct {
	Ready     bool
	Reason    string // one CamelCase word, while not ready
	Message   string
	Endpoints []flowclient.EndpointURL
}
