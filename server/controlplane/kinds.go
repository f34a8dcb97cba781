package controlplane

import (
	"context"

	"platform.dev/platform/flowclient"
)

// kind is one row of the table that drives the API: paths, methods, checks,
// filters and the published document all come from it. A further kind is a
// further row.
type kind struct {
	name      flowclient.Kind
	path      string                                                                     // segment of the URL
	cluster   bool                                                                       // outside any namespace
	frozen    bool                                                                       // no PUT: written once
	spec      *schema                                                                    // what spec may hold
	longest   int                                                                        // of a name; 0: 253, as a DNS name
	refs      []ref                                                                      // what an object of this kind names
	owners    []flowclient.Kind                                                          // kinds of objects that must exist, by the refs of the same name
	immutable []string                                                                   // fields of spec that keep their first value: 422 otherwise
	once      []string                                                                   // fields of spec that may be added later and then keep their value
	reads     func(ctx context.Context, q querier, o *object, spec map[string]any) error // completes and respells spec before the schema sees it
	admit     func(t *tx, o, old *object) error                                          // rules beyond the schema; old is nil on creation; it may complete o.Spec
	spared    func(t *tx, o object) error                                                // refuses a deletion: 409
	holds     bool                                                                       // a deletion first removes what it holds: done by its controller
}

// ref is a name that an object carries, under which it is found. Public ones are list filters.
type ref struct {
	field  string              // "project"
	at     string              // path in spec, or label:<key>, annotation:<key>
	public bool                // usable as ?field=
	fold   func(string) string // brings spellings of the same thing together
}

// The fields of refs that lists and controllers look up.
const (
	refProject     = "project"
	refComponent   = "component"
	refResource    = "resource"
	refWorkflow    = "workflow"
	refEnvironment = "environment"
	refPipeline    = "pipeline"
	refRelease     = "release"
	refDisplaced   = "displaced"
	refType        = "type"
	refRepository  = "repository"
)

// A DNS label: what host names and label values are made of.
const labelLength = 63

// kinds is the table. Order is that of /openapi.json.
func kinds() []kind {
	inProject := ref{field: refProject, at: "owner.projectName"}
	byProject := ref{field: refProject, at: "owner.projectName", public: true}
	byComponent := ref{field: refComponent, at: "owner.componentName", public: true}
	byResource := ref{field: refResource, at: "owner.resourceName", public: true}
	inEnvironment := ref{field: refEnvironment, at: "environment"}
	ofComponent := []flowclient.Kind{flowclient.KindProject, flowclient.KindComponent}
	return []kind{
		{name: flowclient.KindProject, path: "projects", spec: projectSpec(), longest: labelLength,
			refs: []ref{{field: refPipeline, at: "deploymentPipelineRef.name"}}, once: []string{"type"}, reads: completeProject, admit: admitProject, holds: true},
		{name: flowclient.KindComponent, path: "components", spec: componentSpec(), longest: labelLength,
			refs:   []ref{byProject, {field: refType, at: "componentType.name", fold: typeObject}, {field: refRepository, at: "workflow.parameters.repository.url", fold: foldURL}},
			owners: []flowclient.Kind{flowclient.KindProject}, immutable: []string{"owner"}, reads: nestComponent, admit: admitComponent, holds: true},
		{name: flowclient.KindWorkload, path: "workloads", spec: workloadSpec(true),
			refs: []ref{inProject, byComponent}, owners: ofComponent, immutable: []string{"owner"}},
		{name: flowclient.KindComponentRelease, path: "componentreleases", spec: releaseSpec(), frozen: true,
			refs: []ref{inProject, byComponent}, owners: ofComponent, spared: spareNamedRelease},
		{name: flowclient.KindReleaseBinding, path: "releasebindings", spec: bindingSpec(),
			refs:   []ref{inProject, byComponent, inEnvironment, {field: refRelease, at: "releaseName"}, {field: refDisplaced, at: "annotation:" + flowclient.AnnotationDisplaced}},
			owners: ofComponent, immutable: []string{"owner", "environment"}, admit: admitBinding, holds: true},
		{name: flowclient.KindProjectReleaseBinding, path: "projectreleasebindings", spec: projectBindingSpec(),
			refs: []ref{byProject, inEnvironment}, owners: []flowclient.Kind{flowclient.KindProject}, immutable: []string{"owner", "environment"}, admit: admitCell},
		{name: flowclient.KindResource, path: "resources", spec: resourceSpec(),
			refs: []ref{byProject}, owners: []flowclient.Kind{flowclient.KindProject}, immutable: []string{"owner"}},
		{name: flowclient.KindResourceReleaseBinding, path: "resourcereleasebindings", spec: resourceBindingSpec(),
			refs: []ref{inProject, byResource, inEnvironment}, owners: []flowclient.Kind{flowclient.KindProject, flowclient.KindResource}, immutable: []string{"owner", "environment"}},
		{name: flowclient.KindWorkflowRun, path: "workflowruns", spec: runSpec(),
			refs:   []ref{{field: refWorkflow, at: "workflow.name", public: true}, {field: refProject, at: "label:" + flowclient.LabelProject}, {field: refComponent, at: "label:" + flowclient.LabelComponent}},
			owners: ofComponent, immutable: []string{"workflow"}, reads: completeRun, admit: admitRun},
		{name: flowclient.KindEnvironment, path: "environments", spec: environmentSpec(), longest: labelLength,
			once: []string{"dataPlaneRef"}, admit: admitEnvironment},
		{name: flowclient.KindDeploymentPipeline, path: "deploymentpipelines", spec: pipelineSpec(), longest: labelLength},
		{name: flowclient.KindClusterProjectType, path: "clusterprojecttypes", cluster: true, spec: projectTypeSpec(), longest: labelLength},
		{name: flowclient.KindClusterComponentType, path: "clustercomponenttypes", cluster: true, spec: componentTypeSpec(), longest: labelLength},
		{name: flowclient.KindClusterWorkflow, path: "clusterworkflows", cluster: true, spec: workflowSpec(), longest: labelLength},
	}
}

func owner(names ...string) field {
	fields := make([]field, len(names))
	for i, n := range names {
		fields[i] = must(n, filled)
	}
	return must("owner", fieldsOf(fields...))
}

func reference(kinds ...string) *schema {
	return fieldsOf(may("kind", oneOf(kinds...)), must("name", filled))
}

func projectSpec() *schema {
	return fieldsOf(
		may("deploymentPipelineRef", reference("DeploymentPipeline")),
		may("type", reference("ProjectType", "ClusterProjectType")),
		may("parameters", freeForm),
	)
}

func traits() field {
	return may("traits", list(fieldsOf(
		may("kind", oneOf("Trait", "ClusterTrait")), must("name", filled), must("instanceName", filled), may("parameters", freeForm))))
}

// buildParameters are the fields of the interface document in OpenChoreo's nesting; a workflow may have more of its own.
func buildParameters() *schema {
	return openObject(
		may("repository", openObject(
			may("url", text), may("secretRef", text), may("allowInsecureAuth", flag), may("appPath", text),
			may("revision", openObject(may("branch", text), may("commit", like(`^([0-9a-fA-F]{7,40})?$`)))),
		)),
		may("buildPath", text), may("workloadPath", text), may("imageName", text), may("module-ref", text),
		may("siblingWorkloads", list(fieldsOf(must("component", filled), must("workloadPath", filled)))),
	)
}

func componentSpec() *schema {
	return fieldsOf(
		owner("projectName"),
		must("componentType", fieldsOf(may("kind", oneOf("ComponentType", "ClusterComponentType")),
			must("name", like(`^(deployment|statefulset|cronjob|job|proxy)/[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)))),
		may("autoDeploy", flag), may("autoBuild", flag), may("parameters", freeForm), traits(),
		may("workflow", fieldsOf(may("kind", oneOf("Workflow", "ClusterWorkflow")), must("name", filled), may("parameters", buildParameters()))),
	)
}

func container() *schema {
	return fieldsOf(must("image", filled), may("command", list(text)), may("args", list(text)), may("env", list(envVar())),
		may("files", list(fieldsOf(must("key", filled), must("mountPath", filled), may("value", text), may("valueFrom", secretValue())))))
}

func secretValue() *schema {
	return fieldsOf(may("secretKeyRef", fieldsOf(may("name", text), may("key", text))))
}

func envVar() *schema {
	return fieldsOf(must("key", filled), may("value", text), may("valueFrom", secretValue()))
}

func endpoint() *schema {
	return fieldsOf(must("type", oneOf("HTTP", "gRPC", "GraphQL", "Websocket", "TCP", "UDP")), must("port", port), may("targetPort", port),
		may("displayName", text), may("basePath", text), may("visibility", list(oneOf("project", "namespace", "internal", "external"))),
		may("schema", fieldsOf(may("type", text), may("content", text))))
}

// workloadSpec is spec of a Workload; without owner it is the frozen one in a release.
func workloadSpec(owned bool) *schema {
	fields := []field{must("container", container()), may("endpoints", mapOf(endpoint())),
		may("dependencies", fieldsOf(may("endpoints", list(freeForm)), may("resources", list(freeForm))))}
	if owned {
		fields = append([]field{owner("projectName", "componentName")}, fields...)
	}
	return fieldsOf(fields...)
}

func releaseSpec() *schema {
	return fieldsOf(
		owner("projectName", "componentName"),
		must("componentType", fieldsOf(must("kind", filled), must("name", filled), must("spec", freeForm))),
		may("traits", list(freeForm)),
		may("componentProfile", fieldsOf(may("parameters", freeForm), traits())),
		must("workload", workloadSpec(false)),
	)
}

func bindingSpec() *schema {
	return fieldsOf(
		owner("projectName", "componentName"), must("environment", filled), may("releaseName", text), may("state", oneOf(stateActive, stateUndeploy)),
		may("componentTypeEnvironmentConfigs", freeForm), may("traitEnvironmentConfigs", freeForm),
		may("workloadOverrides", fieldsOf(may("container", fieldsOf(may("env", list(envVar())))))),
	)
}

func projectBindingSpec() *schema {
	return fieldsOf(owner("projectName"), must("environment", filled), may("projectRelease", text), may("environmentConfigs", freeForm))
}

func resourceSpec() *schema {
	return fieldsOf(owner("projectName"), must("type", reference("ResourceType", "ClusterResourceType")), may("parameters", freeForm))
}

func resourceBindingSpec() *schema {
	return fieldsOf(owner("projectName", "resourceName"), must("environment", filled), may("resourceRelease", text),
		may("retainPolicy", oneOf("Delete", "Retain")), may("resourceTypeEnvironmentConfigs", freeForm))
}

func runSpec() *schema {
	return fieldsOf(
		must("workflow", fieldsOf(may("kind", oneOf("Workflow", "ClusterWorkflow")), must("name", filled), may("parameters", buildParameters()))),
		may("ttlAfterCompletion", text),
	)
}

func environmentSpec() *schema {
	return fieldsOf(
		may("dataPlaneRef", fieldsOf(must("kind", oneOf("DataPlane", "ClusterDataPlane")), must("name", filled))),
		may("isProduction", flag), may("gateway", freeForm),
	)
}

func pipelineSpec() *schema {
	return fieldsOf(may("promotionPaths", list(fieldsOf(
		must("sourceEnvironmentRef", reference("Environment")), must("targetEnvironmentRefs", list(reference("Environment")))))))
}

func projectTypeSpec() *schema {
	section := openObject(may("openAPIV3Schema", freeForm))
	resources := list(openObject(must("id", filled), may("targetPlane", oneOf("dataplane", "observabilityplane")),
		may("includeWhen", text), may("forEach", text), may("var", text), must("template", freeForm)))
	resources.min = 1
	return fieldsOf(may("parameters", section), may("environmentConfigs", section), must("resources", resources),
		may("validations", list(fieldsOf(must("rule", filled), must("message", filled)))))
}

func componentTypeSpec() *schema {
	resources := list(openObject(must("id", filled), must("template", freeForm)))
	resources.min = 1
	return openObject(must("workloadType", oneOf("deployment", "statefulset", "cronjob", "job", "proxy")), must("resources", resources))
}

func workflowSpec() *schema {
	return openObject(must("runTemplate", freeForm), may("parameters", openObject(may("openAPIV3Schema", freeForm))))
}
