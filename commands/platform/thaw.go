package platform

import (
	"context"
	"errors"
	"fmt"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

// freezeClearer is the part of flowclient.Freezer that thaw calls.
type freezeClearer interface {
	freezeLister
	ClearFreeze(ctx context.Context, r flowclient.FreezeRequest) (flowclient.Freeze, error)
}

type thawArgs struct {
	ID int64 `arg:"" name:"id" help:"The freeze's number, as freezes lists it."`
}

// thaw ends a freeze, or calls it off before it begins.
func thaw(f freezeClearer, now func() time.Time) commands.Command {
	return commands.Typed(commands.Command{
		Bot: Bot, Verb: "thaw", Effect: commands.Write, Action: ActionFreeze,
		Summary:  "end a freeze, or call it off",
		Examples: []string{"thaw 3"},
	}, func(ctx context.Context, req commands.Request, args *thawArgs, reply commands.Reply) error {
		cleared, err := f.ClearFreeze(ctx, flowclient.FreezeRequest{Origin: origin(req), ID: args.ID})
		var missing *flowclient.NotFound
		if errors.As(err, &missing) && missing.Kind == "freeze" {
			all, err := f.Freezes(ctx)
			if err != nil {
				return err
			}
			return reply.Answer(ctx, thawNothing(args.ID, all, now()))
		}
		if err != nil {
			return err
		}
		return reply.Answer(ctx, thawMessage(cleared, now()))
	})
}

// thawMessage is a freeze that was ended, as it was.
func thawMessage(f flowclient.Freeze, now time.Time) markup.Message {
	m := markup.Message{
		Kind: "thaw.done", Status: markup.Done,
		Title: markup.Spans(markup.T("Ended the freeze of "), frozen(f), markup.T(" that would have lasted until "+markup.At(f.Until, now))),
	}
	if f.From.After(now) {
		m.Title = markup.Spans(markup.T("Called off the freeze of "), frozen(f), markup.T(" that would have begun "+markup.In(f.From.Sub(now))))
	}
	m.Blocks = []markup.Block{
		markup.Fields(markup.Named("it was for", markup.F(f.Reason)), markup.Named("set by", markup.F(f.Who), markup.T(", "+markup.Ago(now.Sub(f.At))))),
	}
	if f.Project != "" {
		m.Blocks = append(m.Blocks, markup.Text(say("window", f.Project), markup.T(" tells whether anything else keeps production closed.")))
	}
	return m
}

// thawNothing says that there is no such freeze, and which there are.
func thawNothing(id int64, all []flowclient.Freeze, now time.Time) markup.Message {
	m := markup.Message{Kind: "thaw.nothing", Status: markup.Notice, Title: markup.Spans(markup.T("No freeze "), markup.C(fmt.Sprint(id)), markup.T(" was there to end"))}
	if len(all) > 0 {
		m.Blocks = []markup.Block{markup.Text(markup.T("There are:")), markup.List(freezeItems(all, time.UTC, now)...)}
	}
	return m
}
