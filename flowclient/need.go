package flowclient

import (
	"context"
	"errors"
)

// need is what a component asks of the target cell: replicas of a size each.
type need struct {
	Replicas int64      `json:"replicas"`
	Each     Quantities `json:"each,omitempty"`
	First    bool       `json:"first,omitempty"`  // nothing of it runs there yet: it counts in full, else with what is needed beside those that run (surge)
	Was      *size      `json:"was,omitempty"`    // what runs there now; nil: as many of the same size
	Unread   string     `json:"unread,omitempty"` // why the declared requests cannot be told; "" when they can
}

// size is what a component runs as.
type size struct {
	Replicas int64      `json:"replicas"`
	Each     Quantities `json:"each,omitempty"`
}

// surge is how many replicas run beside those that are being replaced: a
// quarter, rounded up, as a Deployment has it unless told otherwise; one of up to four.
func surge(replicas int64) int64 { return (max(replicas, 0) + 3) / 4 }

// asks is the most that the component will use of a resource beyond what it
// uses now, at any moment of its rollout. With the size that it has already
// that is its surge; a release that is larger, or has more replicas, also needs
// what it grows by.
func (n need) asks(resource string) int64 {
	each := n.Each[resource]
	if n.First {
		return times(n.Replicas, each)
	}
	beside := surge(n.Replicas)
	if n.Was == nil {
		return times(beside, each)
	}
	// The old ones are at most those that there are, the new ones at most those that
	// there will be, and both together at most those and the surge. What they use is
	// greatest where two of these bounds meet.
	before, was := n.Was.Replicas, n.Was.Each[resource]
	most := plus(n.Replicas, beside)
	uses := func(older, newer int64) int64 { return plus(times(older, was), times(newer, each)) }
	old := min(before, most)
	greatest := max(uses(min(beside, before), n.Replicas), uses(old, min(n.Replicas, most-old)))
	return max(greatest-times(before, was), 0)
}

// needOf is what a release asks of the cell of a binding: what its frozen
// component type declares for its workloads, with the values of the binding's
// environment. A type without workloads declares nothing. What cannot be
// resolved is told in Unread; the error is a release that is none.
func needOf(release Object, production binding) (need, error) {
	var spec declaredSpec
	if err := release.Decode(&spec, nil); err != nil {
		return need{}, err
	}
	configs, err := production.environmentConfigs()
	if err != nil {
		return need{}, err
	}
	n := need{First: !production.exists || production.spec.ReleaseName == "" || production.spec.State == stateUndeploy}
	s, err := spec.size(configs)
	if err != nil {
		n.Unread = err.Error()
	}
	n.Replicas, n.Each = s.Replicas, s.Each
	return n, nil
}

// Declared is what the replicas of a release declare together in the
// environment of a binding, by the resource's name in a quota. The error is a
// sentence's part that says what cannot be told, as the rule of capacity does.
func Declared(release, binding Object) (Quantities, error) {
	b, err := bindingOf(binding)
	if err != nil {
		return nil, err
	}
	n, err := needOf(release, b)
	switch {
	case err != nil:
		return nil, err
	case n.Unread != "":
		return nil, errors.New(n.Unread)
	}
	sum := make(Quantities, len(n.Each))
	for name, each := range n.Each {
		sum[name] = times(n.Replicas, each)
	}
	return sum, nil
}

// need is what a release asks of production's cell beside what runs there now.
// A running release whose size cannot be told counts as nothing, so that the
// new one counts in full.
func (c *Controller) need(ctx context.Context, release Object, f *componentFacts) (need, error) {
	n, err := needOf(release, f.Production)
	if err != nil || n.First || n.Unread != "" {
		return n, err
	}
	running, err := c.release(ctx, f, f.Production.spec.ReleaseName)
	if err != nil && !IsNotFound(err) {
		return need{}, err
	}
	before, err := needOf(running, f.Production)
	n.Was = &size{Replicas: before.Replicas, Each: before.Each} // nothing, where Unread
	return n, err
}

// environmentConfigs are the binding's own values of its environment.
func (b binding) environmentConfigs() (map[string]any, error) {
	var spec struct {
		Configs map[string]any `json:"componentTypeEnvironmentConfigs"`
	}
	err := b.Decode(&spec, nil)
	return spec.Configs, err
}
