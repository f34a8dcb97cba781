package flowtest

import (
	"encoding/json"
	"regexp"
	"strings"

	"platform.dev/platform/flowclient"
)

var planeName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// admit refuses what a control plane refuses: names, states, changed owners.
func admit(o flowclient.Object, old *flowclient.Object) error {
	if !planeName.MatchString(o.Metadata.Name) {
		return &flowclient.Invalid{Field: "metadata.name", Value: o.Metadata.Name, Why: "must be lower case"}
	}
	if old != nil && ownerOf(o) != ownerOf(*old) {
		return &flowclient.Invalid{Field: "spec.owner", Value: ownerOf(o).ProjectName, Why: "cannot change"}
	}
	if o.Kind != flowclient.KindReleaseBinding {
		return nil
	}
	var spec flowclient.ReleaseBindingSpec
	if err := json.Unmarshal(o.Spec, &spec); err != nil {
		return &flowclient.Invalid{Field: "spec", Why: err.Error()}
	}
	switch spec.State {
	case "", "Active", "Undeploy":
		return nil
	}
	return &flowclient.Invalid{Field: "spec.state", Value: spec.State, Why: "must be Active or Undeploy"}
}

// narrowed tells whether a filter keeps the object.
func narrowed(o flowclient.Object, f flowclient.Filter) bool {
	owner := ownerOf(o)
	if owner.ProjectName == "" {
		owner.ProjectName, owner.ComponentName = o.Metadata.Labels[flowclient.LabelProject], o.Metadata.Labels[flowclient.LabelComponent]
	}
	if f.Project != "" && f.Project != owner.ProjectName || f.Component != "" && f.Component != owner.ComponentName {
		return false
	}
	for term := range strings.SplitSeq(f.LabelSelector, ",") {
		if key, value, ok := strings.Cut(term, "="); ok && o.Metadata.Labels[key] != value {
			return false
		}
	}
	return true
}

// reconcile is what controllers do about a changed object: a binding of a
// release that exists becomes Ready at once, or goes out of service.
func (p *Plane) reconcile(k *kept) {
	k.version++
	if p.watch != nil {
		p.watch(k.object.Kind, k.object.Metadata.Name)
	}
	if k.object.Kind == flowclient.KindWorkflowRun && len(k.object.Status) == 0 {
		p.begin(k)
	}
	if k.object.Kind != flowclient.KindReleaseBinding {
		return
	}
	k.generation++
	var spec flowclient.ReleaseBindingSpec
	if err := json.Unmarshal(k.object.Spec, &spec); err != nil {
		return
	}
	now := p.Now()
	condition := func(kind, status, reason string) flowclient.Condition {
		return flowclient.Condition{Type: kind, Status: status, Reason: reason, ObservedGeneration: k.generation, LastTransitionTime: now}
	}
	synced, ready := condition("ReleaseSynced", "True", "Synced"), condition("Ready", "True", "Ready")
	if _, there := p.objects[flowclient.KindComponentRelease][spec.ReleaseName]; !there {
		synced, ready = condition("ReleaseSynced", "False", "ComponentReleaseNotFound"), condition("Ready", "False", "ComponentReleaseNotFound")
	}
	if spec.State == "Undeploy" {
		ready = condition("Ready", "False", "ResourcesUndeployed")
	}
	status, err := json.Marshal(flowclient.ReleaseBindingStatus{
		ObservedGeneration: k.generation, LastSpecUpdateTime: &now, Conditions: []flowclient.Condition{synced, ready},
		Endpoints: []flowclient.EndpointURL{{Name: "http", Type: "HTTP", ExternalURLs: map[string]flowclient.URL{"http": {
			Scheme: "http", Host: spec.Environment + "-" + spec.Owner.ProjectName + ".apps.platform.localhost", Port: 19080, Path: "/" + spec.Owner.ComponentName + "-http",
		}}}},
	})
	if err == nil {
		k.object.Status = status
	}
}

func ownerOf(o flowclient.Object) flowclient.Owner {
	var spec struct {
		Owner flowclient.Owner `json:"owner"`
	}
	if err := json.Unmarshal(o.Spec, &spec); err != nil {
		return flowclient.Owner{}
	}
	return spec.Owner
}

var planeRef = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`)

// repoNamed refuses what names no repository.
func repoNamed(name string) error {
	if owner, repo, ok := strings.Cut(name, "/"); !ok || !planeRef.MatchString(owner) || !planeRef.MatchString(repo) || strings.Contains(repo, "/") {
		return &flowclient.Invalid{Field: "repository", Value: name, Why: "must be owner/name"}
	}
	return nil
}

// branchNamed refuses what names no branch or commit.
func branchNamed(field, name string) error {
	if !planeRef.MatchString(name) || strings.Contains(name, "..") {
		return &flowclient.Invalid{Field: field, Value: name, Why: "is no name of a branch"}
	}
	return nil
}

// texted refuses blank text and more of it than the limit in bytes.
func texted(field, text string, limit int) error {
	if strings.TrimSpace(text) == "" || len(text) > limit {
		return &flowclient.Invalid{Field: field, Why: "is missing or too long"}
	}
	return nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
