package server

import (
	"context"

	"platform.dev/platform/bots"
	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/store"
)

// decisions keeps what bots decide, in the audit trail.
type decisions struct{ *store.Store }

// Decisions keeps what bots decide in a store, where the audit trail has it.
func Decisions(s *store.Store) bots.Auditor { return decisions{s} }

// Decided records a decision with everything that it says.
func (s decisions) Decided(ctx context.Context, d bots.Decision) error {
	return s.Store.Decided(ctx, flowclient.Decision(d))
}
