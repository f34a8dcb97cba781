package platform

import (
	"context"
	"slices"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

// differ is the part of flowclient.Witness that diff calls.
type differ interface {
	Diff(ctx context.Context, project string) (flowclient.Diff, error)
}

type diffArgs struct {
	Project string `arg:"" optional:"" help:"The project; in its own stream it may be left out."`
}

// maxCommits is how many commits of a component are shown.
const maxCommits = 20

// diff shows the commits and authors that a promote would ship.
func diff(w differ, reader deliveries, now func() time.Time) commands.Command {
	return commands.Typed(commands.Command{
		Bot: Bot, Verb: "diff", Effect: commands.Read,
		Summary:  "show the commits and authors that a promote would ship",
		Examples: []string{"diff shop"},
	}, func(ctx context.Context, req commands.Request, args *diffArgs, reply commands.Reply) error {
		name, d, err := asked(ctx, reader, args.Project, req)
		if err != nil {
			return err
		}
		found, err := w.Diff(ctx, name)
		if err != nil {
			return err
		}
		return reply.Answer(ctx, diffMessage(found, components(d, name), now()))
	})
}

// diffMessage is each component with its commits, newest first.
func diffMessage(d flowclient.Diff, cs []flowclient.ComponentDelivery, now time.Time) markup.Message {
	repositories := map[string]string{}
	for _, c := range cs {
		repositories[c.Component] = c.Repository
	}
	m := markup.Message{}
	commits, more, returns := map[string]bool{}, false, false
	var moving, staying []markup.Block
	for _, c := range d.Components {
		if !moves(c) {
			staying = append(staying, markup.Text(stays(c, repositories[c.Component])...))
			continue
		}
		moving = append(moving, shipped(c, repositories[c.Component], now)...)
		for _, one := range c.Commits {
			commits[one.SHA] = true
		}
		more, returns = more || c.More, returns || c.Behind
	}
	switch {
	case len(moving) == 0:
		m.Kind, m.Status = "diff.nothing", markup.Done
		m.Title = markup.Spans(markup.T("A promote of "), markup.B(d.Project), markup.T(" would ship nothing"))
	case returns:
		m.Kind, m.Status = "diff.behind", markup.Notice
		m.Title = markup.Spans(markup.T("Staging of "), markup.B(d.Project), markup.T(" is behind production"))
	default:
		count := counted(len(commits), "commit", "commits")
		if more {
			count = "more than " + count
		}
		m.Kind, m.Status = "diff.ships", markup.Notice
		m.Title = markup.Spans(markup.T("A promote of "), markup.B(d.Project), markup.T(" would ship "+count))
	}
	m.Blocks = append(moving, staying...)
	if len(moving) > 0 && !returns {
		m.Blocks = append(m.Blocks, markup.Text(markup.C("@"+Bot+" promote "+d.Project), markup.T(" ships it.")))
	}
	return m
}

// moves tells whether a promote would change what production runs of a component.
func moves(c flowclient.ComponentDiff) bool { return c.To != "" && c.From != c.To }

// stays says why a promote would change nothing about a component.
func stays(c flowclient.ComponentDiff, repository string) []markup.Span {
	if c.To == "" {
		return markup.Spans(markup.C(c.Component), markup.T(" runs nothing in staging yet."))
	}
	return markup.Spans(markup.C(c.Component), markup.T(": production runs "), commit(repository, c.To), markup.T(" already."))
}

// shipped is a component that a promote would change: from where to where, whose commits, and which.
func shipped(c flowclient.ComponentDiff, repository string, now time.Time) []markup.Block {
	head := markup.Spans(markup.C(c.Component), markup.T(": "))
	if c.From == "" {
		head = append(head, markup.T("production runs nothing yet, and would run "), commit(repository, c.To))
	} else {
		head = append(head, commit(repository, c.From), markup.T(" → "), commit(repository, c.To))
	}
	if authors := authorsOf(c.Commits); len(authors) > 0 {
		head = append(head, markup.T(", by "))
		head = append(head, people(authors)...)
	}
	blocks := []markup.Block{markup.Text(head...)}
	var items [][]markup.Span
	for _, one := range c.Commits[:min(len(c.Commits), maxCommits)] {
		items = append(items, commitItem(one, repository, now))
	}
	if len(items) > 0 {
		blocks = append(blocks, markup.List(items...))
	}
	if left := len(c.Commits) - len(items); left > 0 || c.More {
		count := counted(left, "older one", "older ones")
		if c.More {
			count = "more than " + count
		}
		blocks = append(blocks, markup.Text(markup.T("And "+count+".")))
	}
	if c.Behind {
		blocks = append(blocks, markup.Text(behind(c)...))
	}
	return blocks
}

// behind says what is lost when staging has not all that production has.
func behind(c flowclient.ComponentDiff) []markup.Span {
	text := "Staging runs an older commit than production: a promote would take production back to it."
	if len(c.Commits) > 0 {
		text = "Staging is on another line than production: a promote would ship these, and take out of production what staging does not have."
	}
	return markup.Spans(markup.B("Careful: "), markup.T(text))
}

// commitItem is one commit in a line.
func commitItem(c flowclient.Commit, repository string, now time.Time) []markup.Span {
	name := commit(repository, c.SHA)
	if c.WebURL != "" {
		name = markup.L(flowclient.ShortSHA(c.SHA), c.WebURL)
	}
	return markup.Spans(name, markup.T(" "), markup.F(c.Subject), markup.T(" by "), markup.F(c.Author), markup.T(", "+markup.Ago(now.Sub(c.At))))
}

// authorsOf lists who wrote commits, each once, in the order in which they first appear.
func authorsOf(commits []flowclient.Commit) []string {
	var authors []string
	for _, c := range commits {
		if !slices.Contains(authors, c.Author) {
			authors = append(authors, c.Author)
		}
	}
	return authors
}

// people lists names of persons, at most maxListed of them.
func people(all []string) []markup.Span {
	var out []markup.Span
	for i, name := range all {
		switch {
		case i == maxListed:
			return append(out, markup.T(" and "+counted(len(all)-i, "more", "more")))
		case i > 0 && i == len(all)-1:
			out = append(out, markup.T(" and "))
		case i > 0:
			out = append(out, markup.T(", "))
		}
		out = append(out, markup.F(name))
	}
	return out
}
