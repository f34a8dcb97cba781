package flowclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// owns is what a repository may own of each kind: where the project stands
// that the object belongs to, and why others are refused. A kind that is not
// here belongs to the platform.
var owns = map[Kind]struct {
	project func(m syncObject) string // nil: refused
	why     string
}{
	KindProject:                {project: func(m syncObject) string { return m.Name }},
	KindComponent:              {project: ownerProject},
	KindResource:               {project: ownerProject},
	KindWorkload:               {why: "is made by the build from the component's workloadPath; change that file instead."},
	KindComponentRelease:       {why: "is cut by the control plane and never changes."},
	KindReleaseBinding:         {why: "is moved by promotion and rollback; promote instead."},
	KindProjectReleaseBinding:  {why: "is made by promotion; promote instead."},
	KindResourceReleaseBinding: {why: "is made by promotion; promote instead."},
	KindWorkflowRun:            {why: "is started by a push; push instead."},
}

// reserved are the labels and annotations that a repository may not set: they
// say what the platform did, or what may be removed.
var reserved = []string{LabelWalkthrough, LabelForkOf, LabelCommit, AnnotationOwned, AnnotationPull, AnnotationIntent,
	AnnotationDisplaced, AnnotationPromotedBy, AnnotationTemplate}

func ownerProject(m syncObject) string {
	var spec struct {
		Owner Owner `json:"owner"`
	}
	if json.Unmarshal(m.Manifest.Spec, &spec) != nil {
		return ""
	}
	return spec.Owner.ProjectName
}

// ownership is what a repository may write.
type ownership struct {
	repo     string
	projects []string // its own first
	branches []string // that its components are built from
}

// ownership reads it from the components: a repository is of the projects that
// are built from it, and of the one that has its name.
func (c *Controller) ownership(ctx context.Context, repo string) (ownership, error) {
	own := ownership{repo: repo}
	if name, ok := strings.CutPrefix(repo, c.deps.Settings.Owner+"/"); ok {
		own.projects = []string{name}
	}
	components, err := c.deps.ControlPlane.List(ctx, KindComponent, Filter{})
	if err != nil {
		return own, fmt.Errorf("list components: %w", err)
	}
	branches := map[string]bool{}
	for _, o := range components {
		from, err := repositoryOf(o)
		if err != nil || from != repo || o.Metadata.Annotations[AnnotationOwned] == "true" {
			continue
		}
		var spec ComponentSpec
		if err := o.Decode(&spec, nil); err != nil {
			return own, err
		}
		own.projects = append(own.projects, spec.Owner.ProjectName)
		if branch := spec.Workflow.Parameters.Repository.Revision.Branch; branch != "" {
			branches[branch] = true
		}
	}
	if own.branches = slices.Sorted(maps.Keys(branches)); len(own.branches) == 0 {
		own.branches = []string{mainBranch}
	}
	own.projects = unique(own.projects)
	return own, nil
}

// refuses says why a manifest may not be applied, "" when it may.
func (own ownership) refuses(m syncObject, namespace string, before []syncObject) string {
	row, known := owns[Kind(m.Kind)]
	switch {
	case !known:
		return m.Kind + " belongs to the platform, not to a repository."
	case row.project == nil:
		return "A " + m.Kind + " " + row.why
	}
	if m.namespace != "" && m.namespace != namespace {
		return fmt.Sprintf("namespace %q is not %s; leave it out.", clip(m.namespace), namespace)
	}
	if err := checkLabel("metadata.name", m.Name, maxLabel); err != nil {
		return err.Error() + "."
	}
	for _, key := range reserved {
		_, label := m.Manifest.Labels[key]
		if _, annotation := m.Manifest.Annotations[key]; label || annotation {
			return key + " is set by the platform alone; leave it out."
		}
	}
	for _, other := range before {
		if other.key() == m.key() {
			return fmt.Sprintf("it stands in %s too; keep one of the two.", other.File)
		}
	}
	if project := row.project(m); !slices.Contains(own.projects, project) {
		return fmt.Sprintf("project %q is not built from %s; its manifests belong into its own repository.", clip(project), own.repo)
	}
	return ""
}

// refusesThere says why the object that has the name may not be written, "" when it may.
func (own ownership) refusesThere(m syncObject, there Object) string {
	project := owns[Kind(m.Kind)].project
	of := project(syncObject{SyncObject: m.SyncObject, Manifest: manifestOf(there)})
	switch {
	case !slices.Contains(own.projects, of) || of != project(m):
		return fmt.Sprintf("%s %s belongs to project %s; choose another name.", m.Kind, m.Name, of)
	case there.Metadata.Annotations[AnnotationOwned] == "true":
		return fmt.Sprintf("%s %s is part of a review environment; choose another name.", m.Kind, m.Name)
	case there.Metadata.Deleted != nil:
		return fmt.Sprintf("%s %s is being deleted; push again when it is gone.", m.Kind, m.Name)
	}
	return ""
}

// maxManifests bounds the manifests of a repository.
const maxManifests = 500

// readManifests reads YAML files, several documents a file, in the order in
// which they are applied. A file that cannot be read is one entry with a reason.
func readManifests(files map[string]string) ([]syncObject, error) {
	var all []syncObject
	total := 0
	for _, file := range sortedKeys(files) {
		if ext := strings.ToLower(path.Ext(file)); ext != ".yaml" && ext != ".yml" {
			continue
		}
		if total += len(files[file]); total > maxContent {
			return nil, Refuse("the manifests are larger than %d bytes together; nothing was applied. Make them smaller.", maxContent)
		}
		all = append(all, readDocuments(file, files[file])...)
	}
	if len(all) > maxManifests {
		return nil, Refuse("there are %d manifests; a repository may have %d, and nothing was applied. Remove some.", len(all), maxManifests)
	}
	slices.SortStableFunc(all, func(a, b syncObject) int { return applyRank(Kind(a.Kind)) - applyRank(Kind(b.Kind)) })
	return all, nil
}

// readDocuments reads the documents of a file, up to the first that is no YAML.
func readDocuments(file, content string) (all []syncObject) {
	documents := yaml.NewDecoder(strings.NewReader(content))
	for {
		var document any
		err := documents.Decode(&document)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			return append(all, syncObject{SyncObject: SyncObject{File: file, Why: "is no YAML: " + clip(err.Error()) + "."}})
		}
		if document == nil {
			continue
		}
		all = append(all, readManifest(file, document))
	}
}

// readManifest reads one document.
func readManifest(file string, document any) syncObject {
	m := syncObject{SyncObject: SyncObject{File: file}}
	raw, err := json.Marshal(document)
	if err != nil {
		m.Why = "has a field whose name is no text."
		return m
	}
	var o Object
	if err := json.Unmarshal(raw, &o); err != nil {
		m.Why = "is no object: " + clip(err.Error()) + "."
		return m
	}
	m.Kind, m.Name, m.namespace = string(o.Kind), o.Metadata.Name, o.Metadata.Namespace
	m.Manifest = Manifest{Labels: o.Metadata.Labels, Annotations: o.Metadata.Annotations, Spec: o.Spec}
	switch {
	case o.Kind == "":
		m.Why = "has no kind."
	case o.APIVersion != "" && o.APIVersion != apiVersion:
		m.Why = fmt.Sprintf("apiVersion %q is not %s.", clip(o.APIVersion), apiVersion)
	case o.Metadata.Name == "":
		m.Why = "has no name."
	}
	return m
}
