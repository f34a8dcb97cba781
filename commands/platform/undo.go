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
}

// Aim is production of the project.
func (a *undoArgs) Aim() (project, environment string) { return a.Project, flowclient.Production }

// undo takes back the last promotion that was asked for in this chat.
func undo(u undoer, reader deliveries) commands.Command {
	return commands.Typed(commands.Command{
		Bot: Bot, Verb: "undo", Effect: commands.Write, Action: ActionUndo,
		Summary:  "take back the last promotion of a project that was asked for in chat, if nothing has changed since",
		Examples: []string{"undo shop"},
	}, func(ctx context.Context, req commands.Request, args *undoArgs, reply commands.Reply) error {
		name, d, err := asked(ctx, reader, args.Project, req)
		if err != nil {
			return err
		}
		outcome, err := u.Undo(ctx, flowclient.UndoRequest{Origin: origin(req), Project: name})
		return answerMove(ctx, reply, undone, name, components(d, name), outcome, err)
	})
}
