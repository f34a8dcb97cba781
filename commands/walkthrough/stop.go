package walkthrough

import (
	"context"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

// stop ends the run under way. A run of this process tells its end itself; one
// that was left by an earlier process is recorded and told here.
func (b *bot) stop() commands.Command {
	return commands.Command{
		Bot: Bot, Verb: "stop", Effect: commands.Write, Action: ActionStop,
		Summary:  "stop the walkthrough under way; what it made stays until teardown",
		Examples: []string{"stop"},
		Run: func(ctx context.Context, req commands.Request, reply commands.Reply) error {
			w, running, err := b.underWay(ctx)
			if err != nil {
				return err
			}
			if !running {
				return reply.Answer(ctx, noneToStop())
			}
			if !b.interrupt(w.ID, req.Who.Persona) {
				now := b.Now()
				w.Ended, w.Result, w.Message = &now, stopped, (&stop{Who: req.Who.Persona}).Error()
				if err := b.Walker.UpdateWalkthrough(ctx, w); err != nil {
					return err
				}
				to := commands.Place{Stream: b.Stream, Topic: topic(w)}
				if err := reply.Post(ctx, w.Project+"/closing", to, b.closingMessage(w, nil, nil)); err != nil {
					return err
				}
			}
			return reply.Answer(ctx, stopMessage(w, b.Stream))
		},
	}
}

func noneToStop() markup.Message {
	return markup.Message{Kind: "walkthrough.stop.none", Status: markup.Notice, Title: markup.Spans(markup.T("No walkthrough is under way"))}
}

func stopMessage(w flowclient.Walkthrough, stream string) markup.Message {
	return markup.Message{
		Kind: "walkthrough.stop.done", Status: markup.Done,
		Title: markup.Spans(markup.T("Stopping "), markup.B(w.Project), markup.T(": "), markup.P(stream, topic(w))),
		Blocks: []markup.Block{markup.Text(
			markup.T("What it made stays: "), markup.C("@"+Bot+" teardown "+w.Template), markup.T(" removes it."))},
	}
}
