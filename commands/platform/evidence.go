package platform

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

// witness is the part of flowclient.Witness that evidence asks.
type witness interface {
	EvidenceOfBuild(ctx context.Context, run string) (flowclient.Evidence, error)
	EvidenceOfBinding(ctx context.Context, binding string) (flowclient.Evidence, error)
	EvidenceOfFlow(ctx context.Context, traceID string) (flowclient.Evidence, error)
	Replay(ctx context.Context, id string) (flowclient.Replayed, error)
}

type evidenceArgs struct {
	Kind string `arg:"" enum:"build,binding,trace,decision" help:"Of what: a build by its run, a binding, a trace by its id, or a decision by its id, which is decided again."`
	Name string `arg:"" help:"The run (shop-web-run-1a2b3c4d), the binding (shop-web-production), the trace id, or the id that evidence of another kind shows."`
}

// evidence shows who asked for something, what was decided and what was written.
func evidence(w witness, now func() time.Time) commands.Command {
	return commands.Typed(commands.Command{
		Bot: Bot, Verb: "evidence", Effect: commands.Read,
		Summary:  "show who asked for what, what was decided on which inputs, and what came of it",
		Examples: []string{"evidence binding shop-web-production", "evidence build shop-web-run-1a2b3c4d", "evidence trace 0af7651916cd43dd8448eb211c80319c"},
	}, func(ctx context.Context, _ commands.Request, args *evidenceArgs, reply commands.Reply) error {
		if args.Kind == "decision" {
			again, err := w.Replay(ctx, args.Name)
			if err != nil {
				return err
			}
			return reply.Answer(ctx, replayMessage(again, now()))
		}
		of := map[string]func(context.Context, string) (flowclient.Evidence, error){
			"build": w.EvidenceOfBuild, "binding": w.EvidenceOfBinding, "trace": w.EvidenceOfFlow,
		}
		found, err := of[args.Kind](ctx, args.Name)
		if err != nil {
			return err
		}
		return reply.Answer(ctx, evidenceMessage(found, args.Kind, args.Name, now()))
	})
}

// The most of each that one message shows, the newest.
const (
	maxDecisions = 5
	maxHappened  = 15
	maxLines     = 20 // of a stage's log
)

// evidenceMessage is what is known: who asked and what was decided and written,
// what was refused, what was built, what happened, and where to look.
func evidenceMessage(e flowclient.Evidence, kind, name string, now time.Time) markup.Message {
	m := markup.Message{Kind: "evidence." + kind, Status: markup.Notice, Title: markup.Spans(markup.T("What is known of the "+kind+" "), markup.C(name))}
	m.Blocks = slices.Concat(
		decisions("Decided", e.Intents, now), decisions("Refused", e.Refused, now),
		section("Commits:", e.Commits, func(c flowclient.Commit) []markup.Span { return commitItem(c, "", now) }),
		section("Builds:", e.Builds, func(b flowclient.Build) []markup.Span {
			return append(markup.Spans(markup.C(b.Run), markup.T(" of "), commit("", b.Commit), markup.T(": ")), buildPhrase(b, now)...)
		}),
		logs(e.Logs),
		section("What happened:", newest(e.Events, maxHappened), func(one flowclient.Event) []markup.Span {
			return markup.Spans(markup.T(markup.Ago(now.Sub(one.At))+": "), markup.C(one.Kind), markup.T(" "), markup.F(one.Component))
		}),
		section("Services in the trace:", e.Services, func(name string) []markup.Span { return markup.Spans(markup.C(name)) }),
		section("See also:", e.Links, func(url string) []markup.Span {
			return markup.Spans(markup.L(strings.TrimPrefix(strings.TrimPrefix(url, "https://"), "http://"), url))
		}),
	)
	if len(e.Objects) > 0 {
		objects := section("", e.Objects, func(o flowclient.Object) []markup.Span {
			return markup.Spans(markup.T(string(o.Kind)+" "), markup.C(o.Metadata.Name))
		})
		m.Blocks = append(m.Blocks, markup.Spoiler(markup.Spans(markup.T(counted(len(e.Objects), "object as it stands now", "objects as they stand now"))), objects[1:]...))
	}
	for _, note := range e.Notes {
		m.Blocks = append(m.Blocks, markup.Text(markup.F(note)))
	}
	if len(m.Blocks) == 0 {
		m.Blocks = []markup.Block{markup.Text(markup.T("It exists, and nothing is recorded about it."))}
	}
	return m
}

// section is a list under a title, nothing where the list is empty.
func section[T any](title string, all []T, item func(T) []markup.Span) []markup.Block {
	var items [][]markup.Span
	for _, one := range all {
		items = append(items, item(one))
	}
	if len(items) == 0 {
		return nil
	}
	return []markup.Block{markup.Text(markup.T(title)), markup.List(items...)}
}

// newest are the last of what is ordered oldest first, newest first.
func newest[T any](all []T, most int) []T {
	out := slices.Clone(all[max(len(all)-most, 0):])
	slices.Reverse(out)
	return out
}

// decisions are the newest decisions of a kind, each with its gates and writes folded away.
func decisions(title string, all []flowclient.EvidentIntent, now time.Time) (blocks []markup.Block) {
	shown := newest(all, maxDecisions)
	for _, in := range shown {
		blocks = append(blocks, decided(title, in, now)...)
	}
	if left := len(all) - len(shown); left > 0 {
		blocks = append(blocks, markup.Text(markup.T("And "+counted(left, "older one", "older ones")+"; "), say("audit"), markup.T(" lists them.")))
	}
	return blocks
}

// decided is one decision: who asked, what it came to, whether it can be come
// to again, and its gates and writes.
func decided(title string, in flowclient.EvidentIntent, now time.Time) []markup.Block {
	head := markup.Spans(markup.T(title+" "), link(markup.Ago(now.Sub(in.At)), in.Link), markup.T(": "), markup.B(strings.TrimSuffix(in.Kind, ".refused")), markup.T(" for "), markup.F(in.Who), markup.T(" ("), markup.C(in.Key), markup.T(")"))
	blocks := []markup.Block{markup.Text(head...)}
	var items [][]markup.Span
	if len(in.Outcome) == 0 {
		items = append(items, markup.Spans(markup.T("It is under way.")))
	}
	for _, sentence := range in.CameTo() {
		items = append(items, markup.Spans(markup.F(sentence)))
	}
	switch {
	case in.Replayed != nil && *in.Replayed:
		items = append(items, markup.Spans(markup.T("The recorded inputs come to the same decision again.")))
	case in.Replayed != nil:
		items = append(items, markup.Spans(markup.B("The recorded inputs come to another decision now"), markup.T(": the rules have changed since.")))
	}
	if len(items) > 0 {
		blocks = append(blocks, markup.List(items...))
	}
	if len(in.Gates) > 0 {
		blocks = append(blocks, markup.Spoiler(markup.Spans(markup.T(counted(len(in.Gates), "gate", "gates")+" of "), markup.C(in.ID)), gatesTable(in.Gates)...))
	}
	if len(in.Writes) > 0 {
		writes := section("", in.Writes, wrote)
		blocks = append(blocks, markup.Spoiler(markup.Spans(markup.T(counted(len(in.Writes), "write", "writes")+" of "), markup.C(in.ID)), writes[1:]...))
	}
	return blocks
}

// wrote is one write: the object, and the fields of its spec that it changed.
func wrote(w flowclient.Written) []markup.Span {
	line := markup.Spans(markup.T(string(w.After.Kind)+" "), markup.C(w.After.Metadata.Name))
	before, after := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if w.Before == nil {
		line = append(line, markup.T(" (new)"))
	} else if json.Unmarshal(w.Before.Spec, &before) != nil {
		return line
	}
	if json.Unmarshal(w.After.Spec, &after) != nil {
		return line
	}
	for _, field := range slices.Sorted(maps.Keys(after)) {
		var was, is string // fields that are no text are not shown
		if json.Unmarshal(after[field], &is) != nil || json.Unmarshal(before[field], &was) == nil && was == is {
			continue
		}
		line = append(line, markup.T(", "+field+" "))
		if was != "" {
			line = append(line, markup.C(was), markup.T(" → "))
		}
		line = append(line, markup.C(is))
	}
	return line
}

// logs are the last lines of each stage, folded away.
func logs(all []flowclient.StageLog) (blocks []markup.Block) {
	for _, l := range all {
		caption := markup.Spans(markup.C(l.Run), markup.T(", stage "), markup.C(l.Stage), markup.T(": "+strings.ToLower(l.Phase)))
		if len(l.Lines) > 0 {
			blocks = append(blocks, markup.Spoiler(caption, markup.Log(markup.Spans(markup.T("its last lines")), l.Lines[max(len(l.Lines)-maxLines, 0):])))
		}
	}
	return blocks
}

// replayMessage tells whether a decision's recorded inputs come to it again.
func replayMessage(r flowclient.Replayed, now time.Time) markup.Message {
	m := markup.Message{Kind: "evidence.decision", Status: markup.Done, Title: markup.Spans(markup.C(r.ID), markup.T(" is decided the same again"))}
	switch {
	case len(r.Replayed) == 0:
		m.Status, m.Title = markup.Notice, markup.Spans(markup.C(r.ID), markup.T(" cannot be decided again"))
	case !r.Same:
		m.Kind, m.Status, m.Title = "evidence.otherwise", markup.Notice, markup.Spans(markup.C(r.ID), markup.T(" is decided otherwise now"))
	}
	m.Blocks = []markup.Block{
		markup.Text(markup.F(r.Sentence)),
		markup.Fields(markup.Named("kind", markup.C(r.Kind)), markup.Named("project", markup.B(r.Project)), markup.Named("for", markup.F(r.Who)), markup.Named("decided", markup.T(markup.At(r.At.UTC(), now)+", "+markup.Ago(now.Sub(r.At))))),
		markup.Spoiler(markup.Spans(markup.T("As it was recorded")), indented(r.Recorded)),
	}
	if len(r.Replayed) > 0 && !r.Same {
		m.Blocks = append(m.Blocks, markup.Spoiler(markup.Spans(markup.T("As it would be decided now")), indented(r.Replayed)))
	}
	return m
}

// maxDecision is how many lines of a recorded decision are shown.
const maxDecision = 60

// indented is JSON for people, its first lines.
func indented(text json.RawMessage) markup.Block {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		b.Reset()
		b.Write(text)
	}
	lines := strings.Split(b.String(), "\n")
	if left := len(lines) - maxDecision; left > 0 {
		lines = append(lines[:maxDecision], "... and "+counted(left, "more line", "more lines"))
	}
	return markup.Code("json", lines...)
}
