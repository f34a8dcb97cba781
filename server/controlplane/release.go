package controlplane

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"platform.dev/platform/flowclient"
)

// releaseContent is what makes a release what it is: the component type, the
// component's own settings and the workload, not the owner. Equal content has
// the equal name.
type releaseContent struct {
	ComponentType    frozenType      `json:"componentType"`
	ComponentProfile *profile        `json:"componentProfile,omitempty"`
	Workload         json.RawMessage `json:"workload"`
}

type frozenType struct {
	Kind string          `json:"kind"`
	Name string          `json:"name"`
	Spec json.RawMessage `json:"spec"`
}

type profile struct {
	Parameters json.RawMessage `json:"parameters,omitempty"`
	Traits     json.RawMessage `json:"traits,omitempty"`
}

// typeObject is the name of the object that "deployment/static-site" means.
func typeObject(ref string) string {
	_, name, _ := strings.Cut(ref, "/")
	return name
}

// content collects what a release of the component would hold now; an *unmet
// says what is missing.
func (t *tx) content(component object) (releaseContent, object, error) {
	workload, err := t.get(flowclient.KindWorkload, component.name)
	if isMissing(err) {
		return releaseContent{}, object{}, &unmet{"WorkloadNotFound", "there is no workload yet: the first successful build makes it"}
	}
	if err != nil {
		return releaseContent{}, object{}, err
	}
	frozen, err := t.freezeType(component)
	if err != nil {
		return releaseContent{}, object{}, err
	}
	c := releaseContent{ComponentType: frozen}
	parameters, hasParameters := component.field("parameters")
	traits, hasTraits := component.field("traits")
	if hasParameters || hasTraits {
		c.ComponentProfile = &profile{Parameters: parameters, Traits: traits}
	}
	fields, err := decode[map[string]json.RawMessage](workload.spec)
	if err != nil {
		return releaseContent{}, object{}, err
	}
	delete(fields, "owner")
	c.Workload, err = encode(fields)
	return c, workload, err
}

// freezeType copies the whole spec of the component's type.
func (t *tx) freezeType(component object) (frozenType, error) {
	ref := component.at("componentType.name")
	kind := component.at("componentType.kind")
	if kind == "" {
		kind = "ComponentType" // OpenChoreo's default
	}
	none := &unmet{"ComponentTypeNotFound", kind + " '" + ref + "' does not exist"}
	if kind != string(flowclient.KindClusterComponentType) {
		return frozenType{}, none
	}
	found, err := t.get(flowclient.KindClusterComponentType, typeObject(ref))
	if isMissing(err) || err == nil && found.at("workloadType")+"/"+found.name != ref {
		return frozenType{}, none
	}
	return frozenType{Kind: kind, Name: ref, Spec: found.spec}, err
}

// hash names content. A registry's host and port are left out, so that a
// registry that moved changes no release.
func (c releaseContent) hash() (string, error) {
	workload, err := parse(c.Workload)
	if err != nil {
		return "", err
	}
	if w, ok := workload.(map[string]any); ok {
		if holder, ok := w["container"].(map[string]any); ok {
			if image, ok := holder["image"].(string); ok {
				holder["image"] = withoutRegistry(image)
			}
		}
	}
	if c.Workload, err = encode(workload); err != nil {
		return "", err
	}
	raw, err := canonical(c)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:5]), nil
}

// withoutRegistry drops the host of an image reference: a first part with a dot, a colon, or localhost.
func withoutRegistry(image string) string {
	host, rest, ok := strings.Cut(image, "/")
	if ok && (strings.ContainsAny(host, ".:") || host == "localhost") {
		return rest
	}
	return image
}

// cut makes the release of what the component is now, or finds the one there
// is. name "" names it by its content. An *unmet says what is missing.
func (t *tx) cut(component object, name string) (object, string, error) {
	content, workload, err := t.content(component)
	if err != nil {
		return object{}, "", err
	}
	hash, err := content.hash()
	if err != nil {
		return object{}, "", err
	}
	if name == "" {
		name = component.name + "-" + hash
	}
	spec, err := canonical(struct {
		Owner flowclient.Owner `json:"owner"`
		releaseContent
	}{flowclient.Owner{ProjectName: t.s.ref(component, refProject), ComponentName: component.name}, content})
	if err != nil {
		return object{}, "", err
	}
	there, err := t.get(flowclient.KindComponentRelease, name)
	if err == nil {
		return there, hash, t.sameContent(there, name, hash)
	}
	if !isMissing(err) {
		return object{}, "", err
	}
	release := object{
		kind: flowclient.KindComponentRelease, name: name, spec: spec,
		labels: inherit(component, map[string]string{
			flowclient.LabelProject: t.s.ref(component, refProject), flowclient.LabelComponent: component.name,
			flowclient.LabelCommit: workload.labels[flowclient.LabelCommit],
		}),
	}
	return release, hash, t.insert(&release)
}

// sameContent refuses a name that stands for something else.
func (t *tx) sameContent(there object, name, hash string) error {
	c, err := decode[releaseContent](there.spec)
	if err != nil {
		return err
	}
	if other, err := c.hash(); err != nil || other != hash {
		return &unmet{"ReleaseNameTaken", "ComponentRelease '" + name + "' exists with other content; delete it or choose another name"}
	}
	return nil
}

// inherit gives labels to an object that is made for the component: those
// given that have a value, and the component's walkthrough label, by which it is torn down.
func inherit(component object, given map[string]string) map[string]string {
	labels := map[string]string{}
	for k, v := range given {
		if v != "" {
			labels[k] = v
		}
	}
	if v := component.labels[flowclient.LabelWalkthrough]; v != "" {
		labels[flowclient.LabelWalkthrough] = v
	}
	return labels
}
