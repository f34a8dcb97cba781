package platform

import (
	"context"
	"slices"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

// statuses is the part of flowclient.Reader that status reads.
type statuses interface {
	deliveries
	Window(ctx context.Context, project string) (flowclient.Window, error)
}

type statusArgs struct {
	Project string `arg:"" optional:"" help:"The project; in its own stream it may be left out."`
}

// status shows a project's components over their environments.
func status(reader statuses, reviews reviewer, now func() time.Time) commands.Command {
	return commands.Typed(commands.Command{
		Bot: Bot, Verb: "status", Effect: commands.Read,
		Summary:  "show what a project runs where, and its review environments",
		Examples: []string{"status shop"},
	}, func(ctx context.Context, req commands.Request, args *statusArgs, reply commands.Reply) error {
		name, d, err := asked(ctx, reader, args.Project, req)
		if err != nil {
			return err
		}
		window, err := reader.Window(ctx, name)
		if err != nil {
			return err
		}
		cs := components(d, name)
		return reply.Answer(ctx, statusMessage(name, cs, reviewsOf(ctx, reviews, name, cs, now()), window, now()))
	})
}

// statusMessage is a table of a project: a row per component, a column per
// environment. Below it are its review environments, where there are any.
func statusMessage(project string, cs []flowclient.ComponentDelivery, reviews []markup.Block, window flowclient.Window, now time.Time) markup.Message {
	m := markup.Message{Kind: "status.project", Status: markup.Notice, Title: markup.Spans(markup.B(project), markup.T(" has "+counted(len(cs), "component", "components")))}
	var environments []string
	for _, c := range cs {
		for _, e := range c.Environments {
			if !slices.Contains(environments, e.Environment) {
				environments = append(environments, e.Environment)
			}
		}
	}
	var rows [][][]markup.Span
	for _, c := range cs {
		row := [][]markup.Span{markup.Spans(markup.C(c.Component))}
		for _, name := range environments {
			row = append(row, cell(c, name, now))
		}
		build := markup.Spans(markup.T("none yet"))
		if c.LastBuild != nil {
			build = append(markup.Spans(commit(c.Repository, c.LastBuild.Commit), markup.T(" ")), buildPhrase(*c.LastBuild, now)...)
		}
		rows = append(rows, append(row, build))
	}
	header := append(append([]string{"component"}, environments...), "last build")
	m.Blocks = append(m.Blocks, markup.Table(header, rows...))
	if list := troubles(cs); len(list) > 0 {
		m.Blocks = append(m.Blocks, markup.List(list...))
	}
	m.Blocks = append(m.Blocks, reviews...)
	if window.Sentence != "" {
		m.Blocks = append(m.Blocks, markup.Text(markup.F(window.Sentence)))
	}
	return m
}

// cell is a component in one environment.
func cell(c flowclient.ComponentDelivery, environment string, now time.Time) []markup.Span {
	for _, d := range c.Environments {
		if d.Environment != environment {
			continue
		}
		if d.Release == "" {
			return standing(d, now)
		}
		return append(markup.Spans(commit(c.Repository, d.Commit), markup.T(" ")), standing(d, now)...)
	}
	return markup.Spans(markup.T("not there"))
}
