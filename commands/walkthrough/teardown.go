package walkthrough

import (
	"context"
	"strconv"
	"strings"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

type teardownArgs struct {
	Scope string `arg:"" optional:"" enum:"all,static,rails" default:"all" help:"Which walkthroughs' projects: all, or those of one template."`
}

// teardown removes what walkthroughs made, and nothing else.
func (b *bot) teardown() commands.Command {
	return commands.Typed(commands.Command{
		Bot: Bot, Verb: "teardown", Effect: commands.Write, Action: ActionTeardown,
		Summary:  "remove the projects that walkthroughs made",
		Examples: []string{"teardown", "teardown static"},
	}, func(ctx context.Context, req commands.Request, args *teardownArgs, reply commands.Reply) error {
		w, running, err := b.underWay(ctx)
		if err != nil {
			return err
		}
		if running && (args.Scope == "all" || args.Scope == w.Template) {
			return reply.Answer(ctx, busyMessage(w, b.Stream))
		}
		if err := reply.Progress(ctx, removingMessage(args.Scope)); err != nil {
			return err
		}
		removed, err := b.Author.Teardown(ctx, flowclient.TeardownRequest{
			Origin: flowclient.Origin{Key: req.Key, Who: req.Who.Persona, Link: req.Link}, Scope: args.Scope,
		})
		if err != nil {
			return answerRefusal(ctx, reply, "walkthrough.teardown.refused", "Nothing was removed", err)
		}
		return reply.Answer(ctx, teardownMessage(args.Scope, removed))
	})
}

func removingMessage(scope string) markup.Message {
	return markup.Message{
		Kind: "walkthrough.teardown.working", Status: markup.Working,
		Title: markup.Spans(markup.T("Removing what walkthroughs made ("), markup.C(scope), markup.T(")")),
	}
}

// busyMessage refuses a teardown under a walkthrough's feet.
func busyMessage(w flowclient.Walkthrough, stream string) markup.Message {
	return markup.Message{
		Kind: "walkthrough.teardown.busy", Status: markup.Refused,
		Title: markup.Spans(markup.B(w.Project), markup.T(" is under way: "), markup.P(stream, topic(w))),
		Blocks: []markup.Block{markup.Text(
			markup.T("Nothing was removed. Wait for its end, or "), markup.C("@"+Bot+" stop"), markup.T(" it and ask again."))},
	}
}

func teardownMessage(scope string, r flowclient.Removed) markup.Message {
	if len(r.Projects) == 0 && r.Objects == 0 {
		return markup.Message{
			Kind: "walkthrough.teardown.nothing", Status: markup.Done,
			Title:  markup.Spans(markup.T("There was nothing to remove ("), markup.C(scope), markup.T(")")),
			Blocks: leftAlone(r.Refused),
		}
	}
	m := markup.Message{
		Kind: "walkthrough.teardown.done", Status: markup.Done,
		Title: markup.Spans(markup.T("Removed what walkthroughs made ("), markup.C(scope), markup.T(")")),
	}
	fields := []markup.Field{markup.Named("objects", markup.T(strconv.Itoa(r.Objects)))}
	if len(r.Projects) > 0 {
		fields = append(fields, markup.Named("projects", markup.F(strings.Join(r.Projects, ", "))))
	}
	if len(r.Repositories) > 0 {
		fields = append(fields, markup.Named("repositories", markup.F(strings.Join(r.Repositories, ", "))))
	}
	m.Blocks = []markup.Block{markup.Fields(fields...)}
	if len(r.Refused) > 0 {
		m.Kind, m.Status = "walkthrough.teardown.partial", markup.Notice
	}
	m.Blocks = append(m.Blocks, leftAlone(r.Refused)...)
	return m
}

// leftAlone lists what a teardown did not remove, and why.
func leftAlone(refused []string) []markup.Block {
	if len(refused) == 0 {
		return nil
	}
	var items [][]markup.Span
	for _, sentence := range refused {
		items = append(items, markup.Spans(markup.F(sentence)))
	}
	return []markup.Block{markup.Text(markup.T("Left alone:")), markup.List(items...)}
}
