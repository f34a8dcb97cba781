package announcer

import (
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

// automatic is who promotes when no person asked.
const automatic = "auto"

func promoted(e flowclient.Event, b flowclient.MoveEvent) markup.Message {
	return moved(e, b, " was promoted to production")
}

func rolledBack(e flowclient.Event, b flowclient.MoveEvent) markup.Message {
	return moved(e, b, " was rolled back in production")
}

// moved tells what runs in production now, who asked for it and where.
func moved(e flowclient.Event, b flowclient.MoveEvent, what string) markup.Message {
	m := markup.Message{Status: markup.Done, Title: markup.Spans(markup.B(e.Project), markup.T(what))}
	if b.Origin.Who == automatic {
		m.Title = append(m.Title, markup.T(" by the automatic pass"))
	} else {
		m.Title = append(m.Title, markup.T(" by "), markup.F(b.Origin.Who))
	}
	var items [][]markup.Span
	for _, c := range b.Outcome.Components {
		items = append(items, component(c))
	}
	if items != nil {
		m.Blocks = append(m.Blocks, markup.List(items...))
	}
	if b.Outcome.Note != "" {
		m.Blocks = append(m.Blocks, markup.Text(markup.B("Warning: "), markup.F(b.Outcome.Note)))
	}
	m.Blocks = append(m.Blocks, letThrough(b.Outcome)...)
	return withLink(m, b.Origin.Link)
}

// reasons are the gates whose verdicts tell why something could move now, in
// the order in which they are told. What the others say is as always.
var reasons = []string{"soak", "check", "window", "capacity"}

// maxReasons bounds the verdicts that are told.
const maxReasons = 8

// letThrough tells why what moved could: how long it soaked of what was asked
// for, the window that is open, the room that there is. A gate that was asked
// for nothing has no numbers, and is not told; one that was lifted is in the note.
func letThrough(o flowclient.Outcome) []markup.Block {
	var items [][]markup.Span
	seen := map[string]bool{}
	for _, gate := range reasons {
		for _, c := range o.Components {
			for _, v := range c.Gates {
				moved := c.Result == flowclient.Promoted || c.Result == flowclient.RolledBack
				if !moved || v.Gate != gate || !v.Pass || len(v.Numbers) == 0 || seen[v.Sentence] {
					continue
				}
				if seen[v.Sentence] = true; len(items) < maxReasons {
					items = append(items, markup.Spans(markup.F(v.Sentence)))
				}
			}
		}
	}
	if items == nil {
		return nil
	}
	return []markup.Block{markup.Text(markup.T("It could move, because:")), markup.List(items...)}
}

// component is one component's line: from which commit to which, and where it answers.
func component(c flowclient.ComponentOutcome) []markup.Span {
	line := markup.Spans(markup.B(c.Component))
	switch c.Result {
	case flowclient.Promoted, flowclient.RolledBack:
		line = append(append(line, markup.T(": ")), fromTo(c)...)
		if c.URL != "" {
			line = append(line, markup.T(", "), markup.L("open it", c.URL))
		}
	default:
		line = append(line, markup.T(" stays: "), markup.F(c.Sentence))
	}
	return line
}

// fromTo tells from which commit to which a component moves, and of two releases
// of one commit, which a change of the component's type makes, from which to which.
func fromTo(c flowclient.ComponentOutcome) []markup.Span {
	if c.FromCommit != "" && c.FromCommit == c.ToCommit && c.From != c.To {
		return markup.Spans(markup.C(flowclient.ShortSHA(c.ToCommit)), markup.T(", from release "), markup.C(c.From), markup.T(" to "), markup.C(c.To))
	}
	if from := named(c.FromCommit, c.From); from != "" {
		return markup.Spans(markup.C(from), markup.T(" to "), markup.C(named(c.ToCommit, c.To)))
	}
	return markup.Spans(markup.C(named(c.ToCommit, c.To)))
}

// named is a release as people know it: by its commit, else by its name.
func named(commit, release string) string {
	if commit != "" {
		return flowclient.ShortSHA(commit)
	}
	return release
}

// refused tells of a promotion or rollback that was decided against.
func refused(e flowclient.Event, b flowclient.MoveEvent) markup.Message {
	m := markup.Message{
		Status: markup.Refused,
		Title:  markup.Spans(markup.B(e.Project), markup.T(" stays as it is: ")),
	}
	if b.Origin.Who == automatic {
		m.Title = append(m.Title, markup.T("the automatic pass was refused"))
	} else {
		m.Title = append(m.Title, markup.F(b.Origin.Who), markup.T(" was refused"))
	}
	if b.Refusal == nil {
		return withLink(m, b.Origin.Link)
	}
	m.Blocks = append(m.Blocks, markup.Text(markup.F(b.Refusal.Sentence)))
	var others [][]markup.Span
	for _, g := range b.Refusal.Gates {
		if !g.Pass && g.Sentence != b.Refusal.Sentence {
			others = append(others, markup.Spans(markup.F(g.Sentence)))
		}
	}
	if others != nil {
		m.Blocks = append(m.Blocks, markup.Text(markup.T("Also in the way:")), markup.List(others...))
	}
	return withLink(m, b.Origin.Link)
}

// withLink adds a link to the message that asked, where one is known.
func withLink(m markup.Message, link string) markup.Message {
	if link != "" {
		m.Blocks = append(m.Blocks, markup.Text(markup.L("asked here", link)))
	}
	return m
}
