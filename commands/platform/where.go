package platform

import (
	"context"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

type whereArgs struct {
	Component string `arg:"" help:"The component."`
}

// where shows one component over its environments, and whether they differ.
func where(reader deliveries, now func() time.Time) commands.Command {
	return commands.Typed(commands.Command{
		Bot: Bot, Verb: "where", Effect: commands.Read,
		Summary:  "show which commit of a component runs in each environment",
		Examples: []string{"where shop-web"},
	}, func(ctx context.Context, req commands.Request, args *whereArgs, reply commands.Reply) error {
		d, err := reader.Delivery(ctx)
		if err != nil {
			return err
		}
		c, err := component(d, "", args.Component)
		if err != nil {
			return err
		}
		return reply.Answer(ctx, whereMessage(c, now()))
	})
}

// whereMessage is a component's environments, one row each.
func whereMessage(c flowclient.ComponentDelivery, now time.Time) markup.Message {
	var rows [][][]markup.Span
	commits := map[string]bool{}
	for _, d := range c.Environments {
		if d.Release == "" {
			rows = append(rows, [][]markup.Span{markup.Spans(markup.T(d.Environment)), standing(d, now), nil, nil})
			continue
		}
		commits[d.Commit] = true
		by := []markup.Span(nil)
		if d.PromotedBy != "" {
			by = markup.Spans(markup.F(d.PromotedBy))
		}
		rows = append(rows, [][]markup.Span{
			markup.Spans(markup.T(d.Environment)),
			append(markup.Spans(commit(c.Repository, d.Commit), markup.T(" ")), standing(d, now)...),
			markup.Spans(markup.C(d.Release)),
			by,
		})
	}
	m := markup.Message{Kind: "where.same", Status: markup.Done}
	title := markup.Spans(markup.C(c.Component), markup.T(" of "), markup.B(c.Project))
	switch len(commits) {
	case 0:
		m.Kind, m.Status = "where.nowhere", markup.Notice
		m.Title = append(title, markup.T(" is not deployed anywhere yet"))
	case 1:
		m.Title = append(title, markup.T(" runs the same commit everywhere it runs"))
	default:
		m.Kind, m.Status = "where.different", markup.Notice
		m.Title = append(title, markup.T(" is on different commits"))
	}
	if len(rows) > 0 {
		m.Blocks = append(m.Blocks, markup.Table([]string{"environment", "commit", "release", "promoted by"}, rows...))
	}
	if list := troubles([]flowclient.ComponentDelivery{c}); len(list) > 0 {
		m.Blocks = append(m.Blocks, markup.List(list...))
	}
	if m.Kind == "where.different" {
		m.Blocks = append(m.Blocks, markup.Text(markup.C("@"+Bot+" promote "+c.Project+" --component "+c.Component), markup.T(" brings production to what staging runs.")))
	}
	if c.LastBuild != nil {
		m.Blocks = append(m.Blocks, markup.Text(append(markup.Spans(markup.T("Last build: "), commit(c.Repository, c.LastBuild.Commit), markup.T(" ")), buildPhrase(*c.LastBuild, now)...)...))
	}
	return m
}
