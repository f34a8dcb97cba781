package platform

import (
	"context"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

type windowArgs struct {
	Project string `arg:"" optional:"" help:"The project; in its own stream it may be left out."`
}

// window tells when production changes of a project are allowed.
func window(reader statuses, now func() time.Time) commands.Command {
	return commands.Typed(commands.Command{
		Bot: Bot, Verb: "window", Effect: commands.Read,
		Summary:  "tell when production changes of a project are allowed",
		Examples: []string{"window shop"},
	}, func(ctx context.Context, req commands.Request, args *windowArgs, reply commands.Reply) error {
		name, _, err := asked(ctx, reader, args.Project, req)
		if err != nil {
			return err
		}
		w, err := reader.Window(ctx, name)
		if err != nil {
			return err
		}
		return reply.Answer(ctx, windowMessage(w, now()))
	})
}

// windowMessage is the window in a sentence, and the freezes by number.
func windowMessage(w flowclient.Window, now time.Time) markup.Message {
	m := markup.Message{Kind: "window.open", Status: markup.Done, Title: markup.Spans(markup.T("Production of "), markup.B(w.Project), markup.T(" may be changed now"))}
	if !w.Open {
		m.Kind, m.Status = "window.closed", markup.Notice
		m.Title = markup.Spans(markup.T("Production of "), markup.B(w.Project), markup.T(" may not be changed now"))
	}
	m.Blocks = []markup.Block{markup.Text(markup.F(w.Sentence))}
	if w.Flips != nil {
		m.Title = append(m.Title, markup.T(map[bool]string{true: "; it closes ", false: "; it opens "}[w.Open]+markup.In(w.Flips.Sub(now))))
	}
	if len(w.Freezes) > 0 {
		m.Blocks = append(m.Blocks, markup.List(freezeItems(w.Freezes, w.Zone(), now)...))
	}
	return m
}
