package flowclient

import (
	"encoding/json"
	"fmt"
	"time"
)

// Kind names a kind of control-plane object, as in its "kind" field.
type Kind string

// The kinds that the controller reads or writes.
const (
	KindProject                Kind = "Project"
	KindComponent              Kind = "Component"
	KindWorkload               Kind = "Workload"
	KindComponentRelease       Kind = "ComponentRelease"
	KindReleaseBinding         Kind = "ReleaseBinding"
	KindProjectReleaseBinding  Kind = "ProjectReleaseBinding"
	KindResource               Kind = "Resource"
	KindResourceReleaseBinding Kind = "ResourceReleaseBinding"
	KindWorkflowRun            Kind = "WorkflowRun"
	KindEnvironment            Kind = "Environment"
	KindDeploymentPipeline     Kind = "DeploymentPipeline"
	KindClusterProjectType     Kind = "ClusterProjectType"
	KindClusterComponentType   Kind = "ClusterComponentType"
	KindClusterWorkflow        Kind = "ClusterWorkflow"
)

// Annotations and labels of the interface document, and ours beside them.
const (
	AnnotationPromotion        = "project-flow.platform.dev/promotion"         // Project: auto (default), manual
	AnnotationSoak             = "project-flow.platform.dev/soak"              // Project: duration
	AnnotationPromotionCheck   = "project-flow.platform.dev/promotion-check"   // Project: http
	AnnotationProductionWindow = "project-flow.platform.dev/production-window" // Project: window text
	AnnotationSkip             = "project-flow.platform.dev/skip"              // Component
	AnnotationOwned            = "project-flow.platform.dev/owned"             // bindings of review environments
	AnnotationDisplaced        = "project-flow.platform.dev/displaced-release" // binding: release left behind
	AnnotationIntent           = "project-flow.platform.dev/intent"            // binding: the intent of its last write
	AnnotationPromotedBy       = "promoted-by"                                 // binding: person, or auto
	AnnotationTemplate         = "project-flow.platform.dev/template"          // Project: the template it was scaffolded from
	LabelWalkthrough           = "project-flow.platform.dev/walkthrough"       // every object scaffolded in a walkthrough: "true"
	LabelProject               = "openchoreo.dev/project"
	LabelComponent             = "openchoreo.dev/component"
	LabelCommit                = "project-flow.platform.dev/commit"  // ComponentRelease, WorkflowRun: the commit that was built
	LabelForkOf                = "project-flow.platform.dev/fork-of" // what a review environment is made of: the component that it is a copy of
	AnnotationPull             = "project-flow.platform.dev/pull"    // what a review environment is made of: owner/name#number
)

// The environments of the application pipeline.
const (
	Staging    = "staging"
	Production = "production"
)

// Object is one control-plane object: OpenChoreo's envelope, with spec and
// status kept as they came so that a write returns every field it did not mean
// to change.
type Object struct {
	APIVersion string          `json:"apiVersion,omitempty"`
	Kind       Kind            `json:"kind,omitempty"`
	Metadata   Metadata        `json:"metadata"`
	Spec       json.RawMessage `json:"spec,omitempty"`
	Status     json.RawMessage `json:"status,omitempty"`

	// ETag is the version read, for a conditional write; empty where the server offers none. Not part of the body.
	ETag string `json:"-"`
}

// Metadata is the envelope's metadata.
type Metadata struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace,omitempty"`
	UID         string            `json:"uid,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Created     *time.Time        `json:"creationTimestamp,omitempty"`
	Deleted     *time.Time        `json:"deletionTimestamp,omitempty"`
}

// Decode reads the object's spec and status into the given values; nil skips one.
func (o Object) Decode(spec, status any) error {
	if spec != nil && len(o.Spec) > 0 {
		if err := json.Unmarshal(o.Spec, spec); err != nil {
			return fmt.Errorf("%s %s: spec: %w", o.Kind, o.Metadata.Name, err)
		}
	}
	if status != nil && len(o.Status) > 0 {
		if err := json.Unmarshal(o.Status, status); err != nil {
			return fmt.Errorf("%s %s: status: %w", o.Kind, o.Metadata.Name, err)
		}
	}
	return nil
}

// Ref names another object.
type Ref struct {
	Kind string `json:"kind,omitempty"`
	Name string `json:"name"`
}

// Owner names the project, and where there is one the component or resource, that an object belongs to.
type Owner struct {
	ProjectName   string `json:"projectName"`
	ComponentName string `json:"componentName,omitempty"`
	ResourceName  string `json:"resourceName,omitempty"`
}

// Condition is one entry of status.conditions.
type Condition struct {
	Type               string    `json:"type"`
	Status             string    `json:"status"` // True, False, Unknown
	Reason             string    `json:"reason"`
	Message            string    `json:"message,omitempty"`
	ObservedGeneration int64     `json:"observedGeneration,omitempty"`
	LastTransitionTime time.Time `json:"lastTransitionTime"`
}

// ReleaseBindingSpec is spec of a ReleaseBinding.
type ReleaseBindingSpec struct {
	Owner       Owner  `json:"owner"`
	Environment string `json:"environment"`
	ReleaseName string `json:"releaseName,omitempty"`
	State       string `json:"state,omitempty"` // Active, Undeploy
}

// ReleaseBindingStatus is status of a ReleaseBinding.
type ReleaseBindingStatus struct {
	ObservedGeneration int64         `json:"observedGeneration"`
	LastSpecUpdateTime *time.Time    `json:"lastSpecUpdateTime,omitempty"`
	Conditions         []Condition   `json:"conditions"`
	Endpoints          []EndpointURL `json:"endpoints,omitempty"`
}

// EndpointURL is where one endpoint of a binding answers.
type EndpointURL struct {
	Name         string         `json:"name"`
	Type         string         `json:"type,omitempty"`
	ExternalURLs map[string]URL `json:"externalURLs,omitempty"` // keyed "http"
}

// URL is an address in parts.
type URL struct {
	Scheme string `json:"scheme"`
	Host   string `json:"host"`
	Port   int    `json:"port,omitempty"`
	Path   string `json:"path,omitempty"`
}

// String is the address as typed into a browser.
func (u URL) String() string {
	if u.Port == 0 {
		return u.Scheme + "://" + u.Host + u.Path
	}
	return fmt.Sprintf("%s://%s:%d%s", u.Scheme, u.Host, u.Port, u.Path)
}

// ComponentSpec is the part of a Component's spec that the controller reads.
type ComponentSpec struct {
	Owner         Owner `json:"owner"`
	ComponentType Ref   `json:"componentType"`
	AutoDeploy    bool  `json:"autoDeploy"`
	AutoBuild     bool  `json:"autoBuild"`
	Workflow      *struct {
		Kind       string             `json:"kind,omitempty"`
		Name       string             `json:"name"`
		Parameters WorkflowParameters `json:"parameters"`
	} `json:"workflow,omitempty"`
}

// WorkflowParameters are the build parameters of a Component and of a WorkflowRun.
type WorkflowParameters struct {
	Repository struct {
		URL               string `json:"url"`
		SecretRef         string `json:"secretRef,omitempty"`
		AllowInsecureAuth bool   `json:"allowInsecureAuth,omitempty"`
		Revision          struct {
			Branch string `json:"branch,omitempty"`
			Commit string `json:"commit,omitempty"`
		} `json:"revision"`
		AppPath string `json:"appPath"`
	} `json:"repository"`
	BuildPath        string            `json:"buildPath,omitempty"`
	WorkloadPath     string            `json:"workloadPath,omitempty"`
	ImageName        string            `json:"imageName,omitempty"`
	SiblingWorkloads []SiblingWorkload `json:"siblingWorkloads,omitempty"`
	ModuleRef        string            `json:"module-ref,omitempty"`
}

// SiblingWorkload names another component whose workload the same build makes.
type SiblingWorkload struct {
	Component    string `json:"component"`
	WorkloadPath string `json:"workloadPath"`
}

// WorkloadSpec is spec of a Workload, and of ComponentRelease.spec.workload.
type WorkloadSpec struct {
	Owner     *Owner              `json:"owner,omitempty"`
	Container Container           `json:"container"`
	Endpoints map[string]Endpoint `json:"endpoints,omitempty"`
}

// Container is what runs.
type Container struct {
	Image   string   `json:"image"` // reference by digest
	Command []string `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	Env     []EnvVar `json:"env,omitempty"`
}

// EnvVar is one variable of a container's environment.
type EnvVar struct {
	Key   string `json:"key"`
	Value string `json:"value,omitempty"`
}

// Endpoint is one port a workload answers on.
type Endpoint struct {
	Type       string   `json:"type"` // HTTP
	Port       int      `json:"port"`
	BasePath   string   `json:"basePath,omitempty"`
	Visibility []string `json:"visibility,omitempty"`
}

// ComponentReleaseSpec is spec of a ComponentRelease.
type ComponentReleaseSpec struct {
	Owner         Owner         `json:"owner"`
	ComponentType ComponentType `json:"componentType"`
	Workload      WorkloadSpec  `json:"workload"`
}

// ComponentType is the frozen component type of a release.
type ComponentType struct {
	Kind string          `json:"kind"`
	Name string          `json:"name"`
	Spec json.RawMessage `json:"spec"`
}

// WorkflowRunSpec is spec of a WorkflowRun.
type WorkflowRunSpec struct {
	Workflow struct {
		Kind       string             `json:"kind,omitempty"`
		Name       string             `json:"name"`
		Parameters WorkflowParameters `json:"parameters"`
	} `json:"workflow"`
}

// WorkflowRunStatus is status of a WorkflowRun.
type WorkflowRunStatus struct {
	Conditions  []Condition `json:"conditions"`
	Tasks       []Task      `json:"tasks,omitempty"`
	StartedAt   *time.Time  `json:"startedAt,omitempty"`
	CompletedAt *time.Time  `json:"completedAt,omitempty"`
}

// Task is one stage of a run.
type Task struct {
	Name        string     `json:"name"`
	Phase       string     `json:"phase"` // Pending, Running, Succeeded, Failed, Skipped
	StartedAt   *time.Time `json:"startedAt,omitempty"`
	CompletedAt *time.Time `json:"completedAt,omitempty"`
	Message     string     `json:"message,omitempty"`
}

// LogLine is one line of a stage's output.
type LogLine struct {
	At   time.Time `json:"timestamp"`
	Text string    `json:"log"`
}

// PipelineSpec is spec of a DeploymentPipeline.
type PipelineSpec struct {
	PromotionPaths []struct {
		Source  Ref   `json:"sourceEnvironmentRef"`
		Targets []Ref `json:"targetEnvironmentRefs"`
	} `json:"promotionPaths"`
}

// ConditionIs tells whether a condition of the type has status True for at least the generation.
func ConditionIs(conditions []Condition, kind string, generation int64) bool {
	for _, c := range conditions {
		if c.Type == kind {
			return c.Status == "True" && c.ObservedGeneration >= generation
		}
	}
	return false
}
