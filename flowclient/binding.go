package flowclient

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// bindingName is the name of a component's binding in an environment.
func bindingName(component, environment string) string { return component + "-" + environment }

// binding is a ReleaseBinding as read.
type binding struct {
	Object
	spec   ReleaseBindingSpec
	status ReleaseBindingStatus
	exists bool
}

// readBinding reads a binding; one that does not exist is no error.
func (c *Controller) readBinding(ctx context.Context, name string) (binding, error) {
	o, err := c.deps.ControlPlane.Get(ctx, KindReleaseBinding, name)
	if IsNotFound(err) {
		return binding{}, nil
	}
	if err != nil {
		return binding{}, fmt.Errorf("read binding %s: %w", name, err)
	}
	return bindingOf(o)
}

// MarshalJSON is the object, null for one that does not exist: a binding is
// recorded with the decision that looked at it.
func (b binding) MarshalJSON() ([]byte, error) {
	if !b.exists {
		return []byte("null"), nil
	}
	return json.Marshal(b.Object)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (b *binding) UnmarshalJSON(text []byte) error {
	if *b = (binding{}); string(text) == "null" {
		return nil
	}
	var o Object
	err := json.Unmarshal(text, &o)
	if err == nil {
		*b, err = bindingOf(o)
	}
	return err
}

func bindingOf(o Object) (binding, error) {
	b := binding{Object: o, exists: true}
	return b, o.Decode(&b.spec, &b.status)
}

// ready is the Ready condition for the release that the binding names now. A
// binding without conditions counts as not Ready.
func (b binding) ready() (ok bool, reason, message string) {
	for _, cond := range b.status.Conditions {
		if cond.Type == "Ready" {
			ok = cond.Status == "True" && cond.ObservedGeneration >= b.status.ObservedGeneration
			if cond.Status == "True" && !ok {
				return false, "Progressing", "the newest change is not observed yet"
			}
			return ok, cond.Reason, cond.Message
		}
	}
	return false, "NoConditions", "nothing is known of it yet"
}

// url is where the binding's first HTTP endpoint answers, "" when nowhere.
func (b binding) url() string {
	endpoints := slices.SortedFunc(slices.Values(b.status.Endpoints), func(x, y EndpointURL) int { return strings.Compare(x.Name, y.Name) })
	for _, e := range endpoints {
		for _, scheme := range []string{"https", "http"} {
			if u, ok := e.ExternalURLs[scheme]; ok {
				return u.String()
			}
		}
	}
	return ""
}

func (b binding) annotation(name string) string { return b.Metadata.Annotations[name] }

// change is one conditional write to a binding; an empty annotation is removed.
type change struct {
	annotations map[string]string
	release     string // "": stays
	state       string // "": stays
}

// write applies a change to the binding as read: every other annotation, label
// and field of spec stays, since an update replaces them all. ErrConflict when
// it is not the newest.
func (c *Controller) write(ctx context.Context, b binding, ch change) (binding, error) {
	o := b.Object
	o.Metadata.Annotations = maps.Clone(o.Metadata.Annotations)
	if o.Metadata.Annotations == nil {
		o.Metadata.Annotations = map[string]string{}
	}
	for name, value := range ch.annotations {
		if value == "" {
			delete(o.Metadata.Annotations, name)
		} else {
			o.Metadata.Annotations[name] = value
		}
	}
	spec := map[string]json.RawMessage{}
	if err := o.Decode(&spec, nil); err != nil {
		return binding{}, err
	}
	for field, value := range map[string]string{"releaseName": ch.release, "state": ch.state} {
		if value == "" {
			continue
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return binding{}, err
		}
		spec[field] = raw
	}
	raw, err := json.Marshal(spec)
	if err != nil {
		return binding{}, err
	}
	o.Spec = raw
	written, err := c.deps.ControlPlane.Update(ctx, o)
	if err != nil {
		return binding{}, fmt.Errorf("write binding %s: %w", o.Metadata.Name, err)
	}
	return bindingOf(written)
}

// release is a ComponentRelease as the rules see it.
type release struct {
	Name    string
	Project string
	Of      string // component
	Commit  string // "" when the release does not tell
	Image   string
}

// digest is the content of the release's image, "" when it is not named by digest.
func (r release) digest() string {
	_, digest, _ := strings.Cut(r.Image, "@")
	return digest
}

// label is the release as people know it.
func (r release) label() string {
	if r.Commit != "" {
		return ShortSHA(r.Commit)
	}
	return r.Name
}

func releaseOf(o Object) (release, error) {
	var spec ComponentReleaseSpec
	if err := o.Decode(&spec, nil); err != nil {
		return release{}, err
	}
	return release{
		Name: o.Metadata.Name, Project: spec.Owner.ProjectName, Of: spec.Owner.ComponentName,
		Commit: o.Metadata.Labels[LabelCommit], Image: spec.Workload.Container.Image,
	}, nil
}

// readReleases lists a component's releases by name, as the rules see them and as they are.
func (c *Controller) readReleases(ctx context.Context, component string) (releases map[string]release, listed map[string]Object, err error) {
	objects, err := c.deps.ControlPlane.List(ctx, KindComponentRelease, Filter{Component: component})
	if err != nil {
		return nil, nil, fmt.Errorf("releases of %s: %w", component, err)
	}
	releases, listed = make(map[string]release, len(objects)), make(map[string]Object, len(objects))
	for _, o := range objects {
		r, err := releaseOf(o)
		if err != nil {
			return nil, nil, err
		}
		if r.Of == component {
			releases[r.Name], listed[r.Name] = r, o
		}
	}
	return releases, listed, nil
}
