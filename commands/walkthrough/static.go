package walkthrough

import (
	"context"
	"errors"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

// templateStatic is the template of the walkthrough there is.
const templateStatic = "static"

// static runs the static walkthrough from its first step to its last.
func (b *bot) static() commands.Command {
	return commands.Command{
		Bot: Bot, Verb: "static", Effect: commands.Write, Action: ActionRun,
		Summary:  "take a static site from an empty repository through a rollback and a pull request, step by step",
		Examples: []string{"static"},
		Run: func(ctx context.Context, req commands.Request, reply commands.Reply) error {
			w, err := b.Walker.BeginWalkthrough(ctx, req.Key, templateStatic, req.Who.Persona)
			if err != nil {
				return answerRefusal(ctx, reply, "walkthrough.refused", "The walkthrough does not start", err)
			}
			r, err := b.newRun(w, req, reply)
			if err != nil {
				return err
			}
			if w.Ended != nil { // it ended, and the process before its answer was recorded
				return reply.Answer(ctx, endedMessage(r.w, b.Stream))
			}
			return r.walk(ctx, staticSteps())
		},
	}
}

// answerRefusal answers a refusal word for word under a title; other errors are returned.
func answerRefusal(ctx context.Context, reply commands.Reply, kind, title string, err error) error {
	var refusal *flowclient.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	return reply.Answer(ctx, refusedMessage(kind, title, refusal))
}

func refusedMessage(kind, title string, r *flowclient.Refusal) markup.Message {
	return markup.Message{
		Kind: kind, Status: markup.Refused, Title: markup.Spans(markup.T(title)),
		Blocks: []markup.Block{markup.Text(markup.F(r.Sentence))},
	}
}
