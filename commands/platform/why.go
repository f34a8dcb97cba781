package platform

import (
	"context"
	"slices"
	"strings"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

// explainer is the part of flowclient.Reader that why reads.
type explainer interface {
	Why(ctx context.Context, project, component string) (flowclient.Why, error)
}

type whyArgs struct {
	Project   string `arg:"" optional:"" help:"The project; in its own stream it may be left out."`
	Component string `help:"Only this component; else every component of the project." placeholder:"component"`
}

// why tells what keeps a project from production, and from when on nothing does.
func why(e explainer, reader deliveries, now func() time.Time) commands.Command {
	return commands.Typed(commands.Command{
		Bot: Bot, Verb: "why", Effect: commands.Read,
		Summary:  "tell what keeps a project from production, gate by gate, and until when",
		Examples: []string{"why shop", "why shop --component shop-web"},
	}, func(ctx context.Context, req commands.Request, args *whyArgs, reply commands.Reply) error {
		name, d, err := asked(ctx, reader, args.Project, req)
		if err != nil {
			return err
		}
		if args.Component != "" {
			if _, err := component(d, name, args.Component); err != nil {
				return err
			}
		}
		found, err := e.Why(ctx, name, args.Component)
		if err != nil {
			return err
		}
		return reply.Answer(ctx, whyMessage(found, components(d, name), now()))
	})
}

// whyMessage is what is against each component, what can be asked next, and,
// folded away, what every gate says.
func whyMessage(w flowclient.Why, cs []flowclient.ComponentDelivery, now time.Time) markup.Message {
	repositories := map[string]string{}
	for _, c := range cs {
		repositories[c.Component] = c.Repository
	}
	zone := w.Window.Zone()
	var moving, current [][]markup.Span
	var all []flowclient.Verdict
	free := true
	for _, c := range w.Components {
		if c.Result == flowclient.Unchanged {
			current = append(current, markup.Spans(markup.C(c.Component), markup.T(": production runs "), commit(repositories[c.Component], c.ToCommit), markup.T(" already.")))
			continue
		}
		free = free && c.Result == flowclient.Promoted
		moving = append(moving, whyItem(w.Project, c, repositories[c.Component], zone, now))
		all = append(all, c.Gates...)
	}
	m := markup.Message{Kind: "why.against", Status: markup.Notice, Title: markup.Spans(markup.T("What keeps "), markup.B(w.Project), markup.T(" from production"))}
	switch {
	case len(w.Components) == 0:
		m.Kind, m.Title = "why.nothing", markup.Spans(markup.B(w.Project), markup.T(" has no component yet"))
	case len(moving) == 0:
		m.Kind, m.Status, m.Title = "why.current", markup.Done, markup.Spans(markup.B(w.Project), markup.T(" runs in production what staging runs"))
	case free:
		m.Kind, m.Status, m.Title = "why.clear", markup.Done, markup.Spans(markup.T("Nothing keeps "), markup.B(w.Project), markup.T(" from production"))
	}
	if w.Sentence != "" {
		m.Blocks = append(m.Blocks, markup.Text(markup.F(w.Sentence)))
	}
	if list := append(moving, current...); len(list) > 0 {
		m.Blocks = append(m.Blocks, markup.List(list...))
	}
	if others := against(promoting(all), w.Sentence); len(others) > 0 {
		m.Blocks = append(m.Blocks, markup.Text(markup.T("Also against it:")), markup.List(others...))
	}
	next := remediesOf(w.Project, promoting(all))
	if free && len(moving) > 0 {
		next = [][]markup.Span{markup.Spans(say("promote", w.Project), markup.T(" moves it."))}
	}
	if len(next) > 0 {
		m.Blocks = append(m.Blocks, markup.Text(markup.T("What you can do:")), markup.List(next...))
	}
	if len(all) > 0 {
		m.Blocks = append(m.Blocks, markup.Spoiler(markup.Spans(markup.T("Every gate")), gatesTable(all)...))
	}
	return m
}

// automaticGates are those that only the automatic pass asks: they keep nobody
// who promotes by hand, and are told with what the pass does.
var automaticGates = []string{"hold", "service", "backoff"}

// promoting are the verdicts that a person's promotion is about.
func promoting(all []flowclient.Verdict) []flowclient.Verdict {
	return slices.DeleteFunc(slices.Clone(all), func(v flowclient.Verdict) bool { return slices.Contains(automaticGates, v.Gate) })
}

// whyItem is a component: from where to where, which gates are against it, and from when on none is.
func whyItem(project string, c flowclient.WhyComponent, repository string, zone *time.Location, now time.Time) []markup.Span {
	spans := markup.Spans(markup.C(c.Component), markup.T(": "))
	switch {
	case c.To == "":
	case c.From == "":
		spans = append(spans, commit(repository, c.ToCommit), markup.T(" for the first time, "))
	default:
		spans = append(spans, commit(repository, c.FromCommit), markup.T(" → "), commit(repository, c.ToCommit), markup.T(", "))
	}
	by := gatesAgainst(promoting(c.Gates))
	switch {
	case c.Result == flowclient.Promoted:
		spans = append(spans, markup.T("could be promoted now"))
	case len(by) == 0 && c.Result == flowclient.Refused && len(c.Gates) > 0:
		spans = append(spans, markup.B("refused"), markup.T(" because of the others; "), say("promote", project, "--component", c.Component), markup.T(" leaves them out"))
	case len(by) == 0:
		spans = append(spans, markup.F(strings.TrimSuffix(strings.TrimPrefix(c.Sentence, c.Component+": "), ".")))
	case c.Result == flowclient.Retry:
		spans = append(spans, markup.B("waits"), markup.T(" for "+joined(by, " and ")))
	default:
		spans = append(spans, markup.B(c.Result), markup.T(" by "+joined(by, " and ")))
	}
	switch {
	case c.Result == flowclient.Promoted:
	case c.Earliest != nil:
		spans = append(spans, markup.T("; possible from "), markup.B(markup.At(c.Earliest.In(zone), now)), markup.T(" on, "+markup.In(c.Earliest.Sub(now))))
	case len(by) > 0:
		spans = append(spans, markup.T("; waiting alone does not help"))
	}
	spans = append(spans, markup.T("."))
	if c.Automatic != "" {
		spans = append(spans, markup.T(" "), markup.F(c.Automatic))
	}
	return spans
}

// gatesAgainst names the gates that fail, each once.
func gatesAgainst(all []flowclient.Verdict) (names []string) {
	for _, v := range all {
		if !passes(v) && !slices.Contains(names, v.Gate) {
			names = append(names, v.Gate)
		}
	}
	return names
}

// maxGates is how many verdicts one table shows.
const maxGates = 60

// gatesTable is what every gate says, those about the whole project once.
func gatesTable(all []flowclient.Verdict) []markup.Block {
	var rows [][][]markup.Span
	seen := map[string]bool{}
	for _, v := range all {
		key := v.Gate + "\n" + v.Component + "\n" + v.Sentence
		if seen[key] {
			continue
		}
		if seen[key] = true; len(seen) > maxGates {
			continue
		}
		says := markup.T("passes")
		switch {
		case v.Lifted != "":
			says = markup.T("is lifted")
		case !v.Pass:
			says = markup.B("is against")
		}
		about := markup.Spans(markup.T("all of it"))
		if v.Component != "" {
			about = markup.Spans(markup.C(v.Component))
		}
		rows = append(rows, [][]markup.Span{markup.Spans(markup.T(v.Gate)), about, markup.Spans(says), markup.Spans(markup.F(v.Sentence))})
	}
	blocks := []markup.Block{markup.Table([]string{"gate", "about", "says", "because"}, rows...)}
	if left := len(seen) - len(rows); left > 0 {
		blocks = append(blocks, markup.Text(markup.T("And "+counted(left, "more", "more")+"; ask about one component to see its own.")))
	}
	return blocks
}
