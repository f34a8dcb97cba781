package flowclient

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// reviewEnvironment names a pull request's environment; pull requests of two
// repositories with one number share it, each with a cell of its own project.
func reviewEnvironment(number int) string { return fmt.Sprintf("pr-%d", number) }

// forkOf names a component's copy.
func forkOf(o Object, project string, number int) Fork {
	return Fork{Name: o.Metadata.Name + "-" + reviewEnvironment(number), Of: o.Metadata.Name, Project: project}
}

// forkRun names the run that builds a head for a fork.
func forkRun(fork, head string) string { return fork + "-run-" + head[:min(len(head), 8)] }

// labelOwned is AnnotationOwned once more as a label: servers select by labels alone.
const labelOwned = AnnotationOwned

// source is a component that a review environment has a copy of.
type source struct {
	Object
	Project string
}

// reviewObjects is everything there is of one review environment.
type reviewObjects struct {
	Environment *Object
	Shared      bool              // something else is bound in the environment
	Cells       map[string]Object // ProjectReleaseBindings, by project
	Lent        map[string]bool   // projects that have something else bound there
	Forks       map[string]forkObjects
}

// forkObjects is everything there is of one fork.
type forkObjects struct {
	Component *Object
	Workload  *Object
	Bindings  []Object
	Runs      []Object
	Releases  []Object
	Lines     []string // the end of the log of the stage in which the build of the head failed
}

// empty tells whether nothing is there.
func (o reviewObjects) empty() bool {
	for _, f := range o.Forks {
		if len(f.holding())+len(f.held()) > 0 {
			return false
		}
	}
	return len(o.ownCells()) == 0 && !o.ownEnvironment()
}

// ownCells are the places of projects in the environment that nothing else needs.
func (o reviewObjects) ownCells() (own []Object) {
	for _, project := range sortedKeys(o.Cells) {
		if !o.Lent[project] {
			own = append(own, o.Cells[project])
		}
	}
	return own
}

// ownEnvironment tells whether the environment was made for reviews and holds nothing else.
func (o reviewObjects) ownEnvironment() bool {
	return o.Environment != nil && !o.Shared && o.Environment.Metadata.Annotations[AnnotationOwned] == "true"
}

// holding is what runs or makes more: it goes first.
func (f forkObjects) holding() []Object {
	var all []Object
	if f.Component != nil {
		all = append(all, *f.Component)
	}
	return append(all, f.Bindings...)
}

// held is what is left when nothing of the fork runs any more.
func (f forkObjects) held() []Object {
	var all []Object
	if f.Workload != nil {
		all = append(all, *f.Workload)
	}
	return append(append(all, f.Runs...), f.Releases...)
}

// meta is the metadata of what a review environment is made of. The project's
// walkthrough label is kept, so that a teardown takes the fork along.
func (f reviewFacts) meta(fork Fork, labels map[string]string) Metadata {
	m := Metadata{Labels: map[string]string{labelOwned: "true"}, Annotations: map[string]string{AnnotationOwned: "true"}}
	if fork.Project != "" {
		m.Labels[LabelProject] = fork.Project
		m.Annotations[AnnotationPull] = pullName(f.Record.Repo, f.Record.Number)
		if f.Projects[fork.Project].Metadata.Labels[LabelWalkthrough] == "true" {
			m.Labels[LabelWalkthrough] = "true"
		}
	}
	maps.Copy(m.Labels, labels)
	return m
}

// newObject makes an object; spec is a value that is always JSON.
func newObject(kind Kind, name string, meta Metadata, spec any) (Object, error) {
	raw, err := json.Marshal(spec)
	if err != nil {
		return Object{}, fmt.Errorf("%s %s: %w", kind, name, err)
	}
	meta.Name = name
	return Object{APIVersion: apiVersion, Kind: kind, Metadata: meta, Spec: raw}, nil
}

// newEnvironment is the environment, on the data plane that staging is on.
func (f reviewFacts) newEnvironment() (Object, error) {
	spec := map[string]json.RawMessage{}
	staging := map[string]json.RawMessage{}
	if err := f.Staging.Decode(&staging, nil); err != nil {
		return Object{}, err
	}
	for _, field := range []string{"dataPlaneRef", "gateway"} {
		if raw, ok := staging[field]; ok {
			spec[field] = raw
		}
	}
	return newObject(KindEnvironment, reviewEnvironment(f.Record.Number), f.meta(Fork{}, nil), spec)
}

// newCell is the place of a project in the environment.
func (f reviewFacts) newCell(project string) (Object, error) {
	latest, err := latestRelease(f.Projects[project])
	if err != nil {
		return Object{}, err
	}
	environment := reviewEnvironment(f.Record.Number)
	return newObject(KindProjectReleaseBinding, bindingName(project, environment), f.meta(Fork{Project: project}, nil),
		cellSpec{Owner: Owner{ProjectName: project}, Environment: environment, ProjectRelease: latest})
}

// newFork is a component's copy: nothing builds or deploys it by itself, and it is of the head.
func (f reviewFacts) newFork(fork Fork) (Object, error) {
	spec, err := f.forkSpec(fork)
	if err != nil {
		return Object{}, err
	}
	return newObject(KindComponent, fork.Name, f.meta(fork, map[string]string{LabelForkOf: fork.Of}), spec)
}

// forkSpec is the source's spec with what makes it a copy. A build of a copy
// writes workloads of copies alone: sibling workloads that are not forked are left out.
func (f reviewFacts) forkSpec(fork Fork) (map[string]any, error) {
	at := slices.IndexFunc(f.Sources, func(s source) bool { return s.Metadata.Name == fork.Of })
	spec := map[string]any{}
	if err := f.Sources[at].Decode(&spec, nil); err != nil {
		return nil, err
	}
	spec["autoBuild"], spec["autoDeploy"] = false, false
	workflow, _ := spec["workflow"].(map[string]any)
	parameters, _ := workflow["parameters"].(map[string]any)
	repository, _ := parameters["repository"].(map[string]any)
	revision, _ := repository["revision"].(map[string]any)
	if repository == nil {
		return nil, &Invalid{Field: "spec.workflow.parameters.repository", Value: fork.Of, Why: "is missing: the component cannot be built"}
	}
	if revision == nil {
		revision = map[string]any{}
	}
	revision["commit"] = f.Pull.Head
	revision["branch"] = f.Pull.Branch
	repository["revision"] = revision
	if siblings, ok := parameters["siblingWorkloads"].([]any); ok {
		parameters["siblingWorkloads"] = f.forkedSiblings(siblings)
	}
	return spec, nil
}

func (f reviewFacts) forkedSiblings(siblings []any) []any {
	kept := []any{}
	for _, one := range siblings {
		sibling, _ := one.(map[string]any)
		for _, s := range f.Sources {
			if sibling["component"] == s.Metadata.Name {
				sibling["component"] = forkOf(s.Object, s.Project, f.Record.Number).Name
				kept = append(kept, sibling)
				break
			}
		}
	}
	return kept
}

// newRun builds the head for a fork.
func (f reviewFacts) newRun(fork Fork) (Object, error) {
	spec, err := f.forkSpec(fork)
	if err != nil {
		return Object{}, err
	}
	return newObject(KindWorkflowRun, forkRun(fork.Name, f.Pull.Head),
		f.meta(fork, map[string]string{LabelComponent: fork.Name, LabelForkOf: fork.Of, LabelCommit: f.Pull.Head}),
		map[string]any{"workflow": spec["workflow"]})
}

// newBinding binds a fork's release in the environment.
func (f reviewFacts) newBinding(fork Fork, release string) (Object, error) {
	environment := reviewEnvironment(f.Record.Number)
	return newObject(KindReleaseBinding, bindingName(fork.Name, environment),
		f.meta(fork, map[string]string{LabelComponent: fork.Name, LabelForkOf: fork.Of}),
		ReleaseBindingSpec{Owner: Owner{ProjectName: fork.Project, ComponentName: fork.Name}, Environment: environment, ReleaseName: release, State: stateActive})
}

// releaseOfHead is the fork's newest release of the commit. One whose content
// an older commit had already carries that commit: it is known by being what
// the workload of the head runs.
func (f forkObjects) releaseOfHead(head string) (string, error) {
	var of, same []Object
	image, err := f.imageOf(head)
	if err != nil {
		return "", err
	}
	for _, o := range f.Releases {
		r, err := releaseOf(o)
		if err != nil {
			return "", err
		}
		switch {
		case r.Commit == head:
			of = append(of, o)
		case image != "" && r.Image == image:
			same = append(same, o)
		}
	}
	newest := func(all []Object) string {
		return slices.MaxFunc(all, func(a, b Object) int {
			return cmp.Or(made(a).Compare(made(b)), strings.Compare(a.Metadata.Name, b.Metadata.Name))
		}).Metadata.Name
	}
	switch {
	case len(of) > 0:
		return newest(of), nil
	case len(same) > 0:
		return newest(same), nil
	}
	return "", nil
}

// imageOf is the image of the fork's workload when the commit made it.
func (f forkObjects) imageOf(head string) (string, error) {
	if f.Workload == nil || f.Workload.Metadata.Labels[LabelCommit] != head {
		return "", nil
	}
	var spec WorkloadSpec
	err := f.Workload.Decode(&spec, nil)
	return spec.Container.Image, err
}
