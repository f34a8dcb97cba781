package walkthrough

import (
	"context"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// rails says that its template is not there yet.
func (b *bot) rails() commands.Command {
	return commands.Command{
		Bot: Bot, Verb: "rails", Effect: commands.Read,
		Summary:  "the walkthrough of a Rails service, whose template is not there yet",
		Examples: []string{"rails"},
		Run: func(ctx context.Context, _ commands.Request, reply commands.Reply) error {
			return reply.Answer(ctx, railsMessage())
		},
	}
}

func railsMessage() markup.Message {
	return markup.Message{
		Kind: "walkthrough.rails", Status: markup.Refused,
		Title: markup.Spans(markup.T("The template "), markup.C("rails"), markup.T(" is not there yet")),
		Blocks: []markup.Block{markup.Text(
			markup.T("Nothing was started. The walkthrough there is: "), markup.C("@"+Bot+" "+templateStatic), markup.T("."))},
	}
}
