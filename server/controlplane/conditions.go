package controlplane

import (
	"time"

	"platform.dev/platform/flowclient"
)

// The condition types and reasons that more than one controller sets.
const (
	condReady          = "Ready"
	condSynced         = "Synced"
	condResourcesReady = "ResourcesReady"
	reasonReconciled   = "Reconciled"
	reasonDeleting     = "Deleting"
)

// conditions collects what a controller observed about one generation. A
// condition keeps its transition time while its status stays.
type conditions struct {
	generation int64
	now        time.Time
	before     []flowclient.Condition
	after      []flowclient.Condition
}

// observe starts from what the object's status says already.
func observe(o object, now time.Time) (*conditions, error) {
	old, err := decode[struct {
		Conditions []flowclient.Condition `json:"conditions"`
	}](o.status)
	return &conditions{generation: o.generation, now: now, before: old.Conditions, after: []flowclient.Condition{}}, err
}

// set adds a condition; a true one needs no message.
func (c *conditions) set(kind string, holds bool, reason, message string) {
	status := "False"
	if holds {
		status = "True"
	}
	next := flowclient.Condition{
		Type: kind, Status: status, Reason: reason, Message: message,
		ObservedGeneration: c.generation, LastTransitionTime: c.now,
	}
	for _, old := range c.before {
		if old.Type == kind && old.Status == status {
			next.LastTransitionTime = old.LastTransitionTime
		}
	}
	c.after = append(c.after, next)
}

// status is the part that every kind's status has.
type status struct {
	ObservedGeneration int64                  `json:"observedGeneration"`
	Conditions         []flowclient.Condition `json:"conditions"`
	LatestRelease      *latestRelease         `json:"latestRelease,omitempty"` // Component
	Namespace          string                 `json:"namespace,omitempty"`     // ProjectReleaseBinding
}

type latestRelease struct {
	Name string `json:"name"`
	Hash string `json:"releaseHash"`
}

// unmet is why an object cannot be what its spec asks: a condition, not a fault.
type unmet struct{ reason, message string }

func (u *unmet) Error() string { return u.message }

// reportReady stores a status whose only condition is Ready; not nil says why it is not.
func (t *tx) reportReady(o object, st status, not *unmet) error {
	c, err := observe(o, t.now)
	if err != nil {
		return err
	}
	if not == nil {
		c.set(condReady, true, reasonReconciled, "")
	} else {
		c.set(condReady, false, not.reason, not.message)
	}
	st.ObservedGeneration, st.Conditions = o.generation, c.after
	return t.reportStatus(o, st, false)
}

func (t *tx) reportStatus(o object, st any, settled bool) error {
	raw, err := encode(st)
	if err != nil {
		return err
	}
	return t.report(o, raw, settled)
}
