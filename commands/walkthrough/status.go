package walkthrough

import (
	"context"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

// maxShown is how many past runs status shows.
const maxShown = 5

// status shows the run under way and the last ones.
func (b *bot) status() commands.Command {
	return commands.Command{
		Bot: Bot, Verb: "status", Effect: commands.Read,
		Summary:  "show the walkthrough under way and the last ones",
		Examples: []string{"status"},
		Run: func(ctx context.Context, _ commands.Request, reply commands.Reply) error {
			runs, err := b.Walker.Walkthroughs(ctx)
			if err != nil {
				return err
			}
			return reply.Answer(ctx, statusMessage(runs, b.Stream, b.Now()))
		},
	}
}

func statusMessage(runs []flowclient.Walkthrough, stream string, now time.Time) markup.Message {
	m := markup.Message{Kind: "walkthrough.status.none", Status: markup.Notice, Title: markup.Spans(markup.T("No walkthrough is under way"))}
	var past [][]markup.Span
	for _, w := range runs {
		if w.Ended == nil {
			m.Kind, m.Status = "walkthrough.status.running", markup.Working
			m.Title = markup.Spans(markup.B(w.Project), markup.T(" is under way"))
			step := w.Step
			if step == "" {
				step = "not begun"
			}
			m.Blocks = []markup.Block{markup.Fields(
				markup.Named("step", markup.T(step)),
				markup.Named("started by", markup.F(w.Who), markup.T(", "+markup.Ago(now.Sub(w.Started)))),
				markup.Named("read along", markup.P(stream, topic(w))),
			)}
			continue
		}
		if len(past) == maxShown {
			continue
		}
		item := markup.Spans(markup.P(stream, topic(w)), markup.T(" "), markup.B(w.Result), markup.T(" after "+markup.Took(w.Ended.Sub(w.Started))))
		if w.Message != "" {
			item = append(item, markup.T(": "), markup.F(w.Message))
		}
		past = append(past, item)
	}
	if len(past) > 0 {
		m.Blocks = append(m.Blocks, markup.Text(markup.T("Before, newest first:")), markup.List(past...))
	} else if len(m.Blocks) == 0 {
		m.Blocks = []markup.Block{markup.Text(markup.T("None was run yet. "), markup.C("@"+Bot+" "+templateStatic), markup.T(" starts one."))}
	}
	return m
}
