package platform

import (
	"context"

	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

// roller is the part of flowclient.Promoter that rollback calls.
type roller interface {
	Rollback(ctx context.Context, r flowclient.Promotion) (flowclient.Outcome, error)
}

type rollbackArgs struct {
	Project   string `arg:"" optional:"" help:"The project; in its own stream it may be left out."`
	Component string `arg:"" optional:"" help:"The component; a project's only one may be left out."`
	DryRun    bool   `help:"Only tell what would go back; nothing is changed."`
}

// Dry tells that nothing is to be moved.
func (a *rollbackArgs) Dry() bool { return a.DryRun }

// Aim is production of the project; one word may name a project or a component of any.
func (a *rollbackArgs) Aim() (project, environment string) {
	if a.Project != "" && a.Component == "" {
		return commands.AnyProject, flowclient.Production
	}
	return a.Project, flowclient.Production
}

// rollback returns a component to the release that the last promotion displaced.
func rollback(p roller, reader deliveries) commands.Command {
	c := commands.Typed(commands.Command{
		Bot: Bot, Verb: "rollback", Effect: commands.Write, Action: ActionRollback,
		Summary:  "return a component in production to the release it ran before",
		Examples: []string{"rollback shop shop-web", "rollback shop shop-web --dry-run"},
	}, func(ctx context.Context, req commands.Request, args *rollbackArgs, reply commands.Reply) error {
		r, cs, err := rollingBack(ctx, reader, req, args)
		if err != nil {
			return err
		}
		dir := back
		if r.DryRun {
			dir = plannedBack
		}
		outcome, err := p.Rollback(ctx, r)
		return answerMove(ctx, reply, dir, r.Project, cs, outcome, err)
	})
	return commands.Planned(c, func(ctx context.Context, req commands.Request, args *rollbackArgs) (commands.Plan, error) {
		r, cs, err := rollingBack(ctx, reader, req, args)
		if err != nil {
			return commands.Plan{}, err
		}
		r.DryRun = true
		outcome, err := p.Rollback(ctx, r)
		return planOf(plannedBack, r.Project, cs, outcome, err)
	})
}

// rollingBack is what is asked for, by names that exist, and the components of its project.
func rollingBack(ctx context.Context, reader deliveries, req commands.Request, args *rollbackArgs) (flowclient.Promotion, []flowclient.ComponentDelivery, error) {
	d, err := reader.Delivery(ctx)
	if err != nil {
		return flowclient.Promotion{}, nil, err
	}
	c, err := target(d, args.Project, args.Component, req)
	if err != nil {
		return flowclient.Promotion{}, nil, err
	}
	return flowclient.Promotion{Origin: origin(req), Project: c.Project, Component: c.Component, DryRun: args.DryRun}, components(d, c.Project), nil
}
