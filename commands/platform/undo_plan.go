package platform

import (
	"context"
	"errors"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

// instant is how the time of a move is told.
const instant = "Mon 2 Jan 15:04 MST"

// plannedUndo is an undo that is only planned.
var plannedUndo = direction{"undo.plan", flowclient.RolledBack, "Would take back the last promotion of ", ": the last promotion would not be taken back", "", ": there is nothing to take back"}

// undoPlan tells what would be taken back, or declines as undo would. The
// promotion that would be taken back is the plan's fingerprint: what becomes of
// it follows from that alone.
func undoPlan(ctx context.Context, u undoer, req commands.Request, project string, cs []flowclient.ComponentDelivery) (commands.Plan, error) {
	out, err := u.Undo(ctx, flowclient.UndoRequest{Origin: origin(req), Project: project, DryRun: true})
	var refusal *flowclient.Refusal
	if errors.As(err, &refusal) {
		return commands.Plan{}, &commands.Declined{Message: refusedMessage(plannedUndo, project, refusal)}
	}
	if err != nil {
		return commands.Plan{}, err
	}
	if out.Undoes == nil {
		return commands.Plan{}, errors.New("the flow controller does not say which promotion an undo would take back")
	}
	return commands.Plan{Message: undoMessage(project, cs, out), Fingerprint: out.Undoes.Intent}, nil
}

// undoMessage shows what would be taken back: who promoted it, when, and how far each component goes back.
func undoMessage(project string, cs []flowclient.ComponentDelivery, out flowclient.Outcome) markup.Message {
	note := out.Note
	out.Note = ""
	message := movedMessage(plannedUndo, project, cs, out)
	message.Kind, message.Status = "undo.plan", markup.Notice
	message.Blocks = append([]markup.Block{markup.Fields(
		markup.Named("promoted by", markup.F(out.Undoes.Who)), markup.Named("since", link(out.Undoes.At.UTC().Format(instant), out.Undoes.Link)))}, message.Blocks...)
	if note != "" {
		message.Blocks = append(message.Blocks, markup.Text(markup.F(note)))
	}
	return message
}
