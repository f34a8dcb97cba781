package wire

import (
	"net/http"

	"platform.dev/platform/flowclient"
)

// PromotePath takes POST with a PromoteBody and answers with a
// flowclient.Outcome: 200, or 207 when a component was neither moved nor
// needed to be; a refusal is 409 with an Error.
const PromotePath = "/promote"

// PromoteBody asks to move a project, or one component of it, to production or
// (Rollback) back to what it displaced.
type PromoteBody struct {
	Project   string `json:"project"`
	Component string `json:"component,omitempty"`
	Rollback  bool   `json:"rollback,omitempty"`
	DryRun    bool   `json:"dryRun,omitempty"` // decide and tell, write nothing

	Environment string `json:"environment,omitempty"` // default: production
	Force       bool   `json:"force,omitempty"`       // of a promotion: lifts capacity; recorded
	SkipSoak    string `json:"skipSoak,omitempty"`    // of a promotion: the reason for which soak and URL check are lifted; recorded
}

// Request is the body as the controller takes it; *flowclient.Invalid names what is missing.
func (b PromoteBody) Request(o flowclient.Origin) (flowclient.Promotion, error) {
	return flowclient.Promotion{Origin: o, Project: b.Project, Component: b.Component, DryRun: b.DryRun,
		Environment: b.Environment, Force: b.Force, SkipSoak: b.SkipSoak}, required("project", b.Project)
}

// FromPromotion is the body of a request, rollback or not.
func FromPromotion(p flowclient.Promotion, rollback bool) PromoteBody {
	return PromoteBody{Project: p.Project, Component: p.Component, Rollback: rollback, DryRun: p.DryRun,
		Environment: p.Environment, Force: p.Force, SkipSoak: p.SkipSoak}
}

// OutcomeStatus is the status of an answer that carries o.
func OutcomeStatus(o flowclient.Outcome) int {
	if o.Complete() {
		return http.StatusOK
	}
	return http.StatusMultiStatus
}
