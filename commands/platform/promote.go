package platform

import (
	"context"
	"strings"

	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

// promoter is the part of flowclient.Promoter that promote calls.
type promoter interface {
	Promote(ctx context.Context, r flowclient.Promotion) (flowclient.Outcome, error)
}

type promoteArgs struct {
	Project   string `arg:"" optional:"" help:"The project; in its own stream it may be left out."`
	Component string `help:"Only this component; else every component of the project." placeholder:"component"`
	DryRun    bool   `help:"Only tell what would happen; nothing is changed."`
	Force     bool   `help:"Go on where capacity refuses; is asked about before, is recorded, and needs the permission component:force."`
	SkipSoak  string `help:"Do not wait for soak and URL check, and why; where the operator allows it. Recorded; needs the permission component:skip-soak." placeholder:"reason"`
}

// Forced tells that a gate is to be lifted.
func (a *promoteArgs) Forced() bool { return a.Force }

// Dry tells that nothing is to be moved.
func (a *promoteArgs) Dry() bool { return a.DryRun }

// Aim is production of the project.
func (a *promoteArgs) Aim() (project, environment string) { return a.Project, flowclient.Production }

// promote moves what staging runs to production, at once or once it is confirmed, and shows what moved.
func promote(p promoter, reader deliveries) commands.Command {
	c := commands.Typed(commands.Command{
		Bot: Bot, Verb: "promote", Effect: commands.Write, Action: ActionPromote, Needs: promoteNeeds,
		Summary:  "move what staging runs to production",
		Examples: []string{"promote shop", "promote shop --component shop-web", "promote shop --dry-run"},
	}, func(ctx context.Context, req commands.Request, args *promoteArgs, reply commands.Reply) error {
		r, cs, err := promotion(ctx, reader, req, args)
		if err != nil {
			return err
		}
		dir := forward
		switch {
		case r.DryRun:
			dir = planned
		case r.Force && req.Confirmed == "":
			return flowclient.Refuse("What is forced is to be confirmed, and nobody was asked. Ask where the bot asks before it goes on.")
		}
		outcome, err := p.Promote(ctx, r)
		return answerMove(ctx, reply, dir, r.Project, cs, outcome, err)
	})
	return commands.Planned(c, func(ctx context.Context, req commands.Request, args *promoteArgs) (commands.Plan, error) {
		r, cs, err := promotion(ctx, reader, req, args)
		if err != nil {
			return commands.Plan{}, err
		}
		r.DryRun = true
		outcome, err := p.Promote(ctx, r)
		return planOf(planned, r.Project, cs, outcome, err)
	})
}

// promotion is what is asked for, by names that exist, and the components of its project.
func promotion(ctx context.Context, reader deliveries, req commands.Request, args *promoteArgs) (flowclient.Promotion, []flowclient.ComponentDelivery, error) {
	name, d, err := asked(ctx, reader, args.Project, req)
	if err != nil {
		return flowclient.Promotion{}, nil, err
	}
	if args.Component != "" {
		if _, err := component(d, name, args.Component); err != nil {
			return flowclient.Promotion{}, nil, err
		}
	}
	return flowclient.Promotion{
		Origin: origin(req), Project: name, Component: args.Component, DryRun: args.DryRun, Force: args.Force, SkipSoak: strings.TrimSpace(args.SkipSoak),
	}, components(d, name), nil
}

// promoteNeeds are the permissions for what lifts a gate. To be told what would
// happen takes none of them.
func promoteNeeds(args any) (needs []string) {
	a, ok := args.(*promoteArgs)
	if !ok || a.DryRun {
		return nil
	}
	if a.Force {
		needs = append(needs, ActionForce)
	}
	if strings.TrimSpace(a.SkipSoak) != "" {
		needs = append(needs, ActionSkipSoak)
	}
	return needs
}

// forced are the gates that force lifts in an outcome, each once.
func forced(o flowclient.Outcome) (lifted []flowclient.Verdict) {
	seen := map[string]bool{}
	for _, c := range o.Components {
		for _, v := range c.Gates {
			if v.Lifted == "force" && !seen[v.Gate+v.Component] {
				seen[v.Gate+v.Component] = true
				lifted = append(lifted, v)
			}
		}
	}
	return lifted
}
