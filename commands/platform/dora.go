package platform

import (
	"context"
	"fmt"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

// measurer is the part of flowclient.Witness that dora calls.
type measurer interface {
	Dora(ctx context.Context, project string, days int) (flowclient.DoraReport, error)
}

type doraArgs struct {
	Project string `arg:"" optional:"" help:"The project; in its own stream it may be left out."`
	Days    int    `default:"30" help:"How many days before now: 1 to 365." placeholder:"days"`
}

// dora shows how a project delivered, by the four measures of the DORA programme.
func dora(m measurer, reader deliveries) commands.Command {
	return commands.Typed(commands.Command{
		Bot: Bot, Verb: "dora", Effect: commands.Read,
		Summary:  "show how a project delivers: how often, how fast, and how often it had to go back",
		Examples: []string{"dora shop", "dora shop --days 7"},
	}, func(ctx context.Context, req commands.Request, args *doraArgs, reply commands.Reply) error {
		name, _, err := asked(ctx, reader, args.Project, req)
		if err != nil {
			return err
		}
		report, err := m.Dora(ctx, name, args.Days)
		if err != nil {
			return err
		}
		return reply.Answer(ctx, doraMessage(report, args.Days))
	})
}

// doraMessage is each measure with its value; what it means is folded away.
func doraMessage(r flowclient.DoraReport, days int) markup.Message {
	last := "the last day"
	if days != 1 {
		last = fmt.Sprintf("the last %d days", days)
	}
	m := markup.Message{Kind: "dora.report", Status: markup.Notice,
		Title: markup.Spans(markup.T("How "), markup.B(r.Project), markup.T(" delivered in "+last))}
	var values []markup.Field
	var meanings [][]markup.Span
	for _, one := range r.Measures {
		values = append(values, markup.Named(one.Name, markup.F(one.Value)))
		meanings = append(meanings, markup.Spans(markup.B(one.Name), markup.T(": "), markup.F(one.Means)))
	}
	m.Blocks = []markup.Block{markup.Fields(values...)}
	if r.Soak != nil && r.Soak.Note != "" {
		m.Blocks = append(m.Blocks, markup.Text(markup.F(r.Soak.Note)))
	}
	if r.Promotions == 0 && r.Merges == 0 {
		m.Kind, m.Status = "dora.nothing", markup.Done
		m.Title = markup.Spans(markup.T("Nothing was merged or promoted in "), markup.B(r.Project), markup.T(" in "+last))
		m.Blocks = nil
	}
	if len(meanings) > 0 {
		m.Blocks = append(m.Blocks, markup.Spoiler(markup.Spans(markup.T("What is measured")), markup.List(meanings...)))
	}
	return m
}
