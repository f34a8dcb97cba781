package openchoreo

import (
	"encoding/json"

	"platform.dev/platform/flowclient"
)

// place is where the API keeps a kind and what its list can be narrowed by.
type place struct {
	segment string // of the path: "projects"
	cluster bool   // outside any namespace
	project, component,
	labelled bool // query parameters project and component; labelled: both are labels of the object instead
}

// places holds one row per kind that the client can reach.
var places = map[flowclient.Kind]place{
	flowclient.KindProject:                {segment: "projects"},
	flowclient.KindComponent:              {segment: "components", project: true},
	flowclient.KindWorkload:               {segment: "workloads", component: true},
	flowclient.KindComponentRelease:       {segment: "componentreleases", component: true},
	flowclient.KindReleaseBinding:         {segment: "releasebindings", component: true},
	flowclient.KindProjectReleaseBinding:  {segment: "projectreleasebindings", project: true},
	flowclient.KindResource:               {segment: "resources", project: true},
	flowclient.KindResourceReleaseBinding: {segment: "resourcereleasebindings"},
	flowclient.KindWorkflowRun:            {segment: "workflowruns", labelled: true},
	flowclient.KindEnvironment:            {segment: "environments"},
	flowclient.KindDeploymentPipeline:     {segment: "deploymentpipelines"},
	flowclient.KindClusterProjectType:     {segment: "clusterprojecttypes", cluster: true},
	flowclient.KindClusterComponentType:   {segment: "clustercomponenttypes", cluster: true},
	flowclient.KindClusterWorkflow:        {segment: "clusterworkflows", cluster: true},
}

// owned tells whether an object belongs to the filter's project and component.
// Servers narrow lists by some of the two and ignore the rest, so every listed
// object is asked. One that names no owner at all is kept.
func owned(o flowclient.Object, f flowclient.Filter) bool {
	if f.Project == "" && f.Component == "" {
		return true
	}
	var spec struct {
		Owner *flowclient.Owner `json:"owner"`
	}
	_ = json.Unmarshal(o.Spec, &spec) // a spec of another shape names no owner
	owner := flowclient.Owner{
		ProjectName:   o.Metadata.Labels[flowclient.LabelProject],
		ComponentName: o.Metadata.Labels[flowclient.LabelComponent],
	}
	if spec.Owner != nil {
		owner = *spec.Owner
	}
	if owner.ProjectName == "" && owner.ComponentName == "" {
		return true
	}
	if o.Kind == flowclient.KindComponent {
		owner.ComponentName = o.Metadata.Name
	}
	return (f.Project == "" || owner.ProjectName == f.Project) && (f.Component == "" || owner.ComponentName == f.Component)
}
