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
}

// rollback returns a component to the release that the last promotion displaced.
func rollback(p roller, reader deliveries) commands.Command {
	return commands.Typed(commands.Command{
		Bot: Bot, Verb: "rollback", Effect: commands.Write, Action: ActionRollback,
		Summary:  "return a component in production to the release it ran before",
		Examples: []string{"rollback shop shop-web"},
	}, func(ctx context.Context, req commands.Request, args *rollbackArgs, reply commands.Reply) error {
		d, err := reader.Delivery(ctx)
		if err != nil {
			return err
		}
		c, err := target(d, args.Project, args.Component, req)
		if err != nil {
			return err
		}
		outcome, err := p.Rollback(ctx, flowclient.Promotion{Origin: origin(req), Project: c.Project, Component: c.Component})
		return answerMove(ctx, reply, back, c.Project, components(d, c.Project), outcome, err)
	})
}
