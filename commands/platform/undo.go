package platform

import (
	"context"

	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

// undoer is the part of flowclient.Promoter that undo calls.
type undoer interface {
	Undo(ctx context.Context, r flowclient.UndoRequest) (flowclient.Outcome, error)
}

type undoArgs struct {
	Project string `arg:"" optional:"" help:"The project; in its own stream it may be left out."`
	DryRun  bool   `help:"Only tell what would be taken back; nothing is changed."`
}

// Dry tells that nothing is to be moved.
func (a *undoArgs) Dry() bool { return a.DryRun }

// Aim is production of the project.
func (a *undoArgs) Aim() (project, environment string) { return a.Project, flowclient.Production }

// undo takes back the last promotion that was asked for in this chat. What was
// confirmed is one promotion: the controller takes back that one, and no other.
func undo(u undoer, reader deliveries) commands.Command {
	c := commands.Typed(commands.Command{
		Bot: Bot, Verb: "undo", Effect: commands.Write, Action: ActionUndo,
		Summary:  "take back the last promotion of a project that was asked for in chat, if nothing has changed since",
		Examples: []string{"undo shop", "undo shop --dry-run"},
	}, func(ctx context.Context, req commands.Request, args *undoArgs, reply commands.Reply) error {
		name, d, err := asked(ctx, reader, args.Project, req)
		if err != nil {
			return err
		}
		cs := components(d, name)
		if args.DryRun {
			plan, err := undoPlan(ctx, u, req, name, cs)
			if err != nil {
				return err
			}
			return reply.Answer(ctx, plan.Message)
		}
		outcome, err := u.Undo(ctx, flowclient.UndoRequest{Origin: origin(req), Project: name, Intent: req.Confirmed})
		return answerMove(ctx, reply, undone, name, cs, outcome, err)
	})
	return commands.Planned(c, func(ctx context.Context, req commands.Request, args *undoArgs) (commands.Plan, error) {
		name, d, err := asked(ctx, reader, args.Project, req)
		if err != nil {
			return commands.Plan{}, err
		}
		return undoPlan(ctx, u, req, name, components(d, name))
	})
}
