package platform

import (
	"context"

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
}

// promote moves what staging runs to production, at once, and shows what moved.
func promote(p promoter, reader deliveries) commands.Command {
	return commands.Typed(commands.Command{
		Bot: Bot, Verb: "promote", Effect: commands.Write, Action: ActionPromote,
		Summary:  "move what staging runs to production",
		Examples: []string{"promote shop", "promote shop --component shop-web"},
	}, func(ctx context.Context, req commands.Request, args *promoteArgs, reply commands.Reply) error {
		name, d, err := asked(ctx, reader, args.Project, req)
		if err != nil {
			return err
		}
		if args.Component != "" {
			if _, err := component(d, name, args.Component); err != nil {
				return err
			}
		}
		outcome, err := p.Promote(ctx, flowclient.Promotion{Origin: origin(req), Project: name, Component: args.Component})
		return answerMove(ctx, reply, forward, name, components(d, name), outcome, err)
	})
}
