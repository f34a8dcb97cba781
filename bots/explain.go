package bots

import (
	"context"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// Explain tells whether who asks may run a call, who may, and what is asked before it is run.
func (y *reply) Explain(_ context.Context, call commands.Call) (markup.Message, error) {
	r, who := y.runtime, y.request.Who
	return explained(who, call, r.cfg.Confirm.Need(call, y.request.Project), r.cfg.Rate, r.cfg.Stale, r.holders,
		func(action string) bool { return r.cfg.Policy.Allowed(who.Groups, action) }), nil
}
