package platform

import (
	"context"
	"errors"
	"strings"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

// direction is the words in which a promotion, a rollback and an undo differ, and
// what each would be.
type direction struct {
	kind  string // of messages: "promote", "rollback"
	done  string // result of a component that moved
	moved string // "Promoted "
	not   string // after the project, when it did not move: " was not promoted"
	to    string // " to production"
	idle  string // title when nothing had to move, after the project
}

var (
	forward     = direction{"promote", flowclient.Promoted, "Promoted ", " is not promoted", " to production", ": production runs what staging runs already"}
	planned     = direction{"plan", flowclient.Promoted, "Would promote ", " would not be promoted", " to production", ": production runs what staging runs already"}
	plannedBack = direction{"rollback.plan", flowclient.RolledBack, "Would roll back ", " would not be rolled back", " in production", ": there is nothing to roll back"}

	back   = direction{"rollback", flowclient.RolledBack, "Rolled back ", " is not rolled back", " in production", ": there was nothing to roll back"}
	undone = direction{"undo", flowclient.RolledBack, "Took back the last promotion of ", ": the last promotion is not taken back", "", ": there was nothing to take back"}
)

// answerMove answers with the outcome, or with the refusal word for word.
func answerMove(ctx context.Context, reply commands.Reply, dir direction, project string, cs []flowclient.ComponentDelivery, o flowclient.Outcome, err error) error {
	var refusal *flowclient.Refusal
	if errors.As(err, &refusal) {
		return reply.Answer(ctx, refusedMessage(dir, project, refusal))
	}
	if err != nil {
		return err
	}
	return reply.Answer(ctx, movedMessage(dir, project, cs, o))
}

// refusedMessage is a refusal with every gate that is against, the one that
// refuses first, and what can be asked next.
func refusedMessage(dir direction, project string, r *flowclient.Refusal) markup.Message {
	m := markup.Message{
		Kind: dir.kind + ".refused", Status: markup.Refused,
		Title:  markup.Spans(markup.B(project), markup.T(dir.not+dir.to)),
		Blocks: []markup.Block{markup.Text(markup.F(r.Sentence))},
	}
	if others := against(r.Gates, r.Sentence); len(others) > 0 {
		m.Blocks = append(m.Blocks, markup.Text(markup.T("Also against it:")), markup.List(others...))
	}
	if next := remediesOf(project, r.Gates); len(next) > 0 {
		m.Blocks = append(m.Blocks, markup.Text(markup.T("What you can do:")), markup.List(next...))
	}
	return m
}

// movedMessage is the plan that was carried out: every component once.
func movedMessage(dir direction, project string, cs []flowclient.ComponentDelivery, o flowclient.Outcome) markup.Message {
	repositories := map[string]string{}
	for _, c := range cs {
		repositories[c.Component] = c.Repository
	}
	var items [][]markup.Span
	var keeping []flowclient.Verdict // of those that do not move
	var moved int
	for _, c := range o.Components {
		if c.Result == dir.done {
			moved++
		}
		if c.Result == flowclient.Retry {
			keeping = append(keeping, c.Gates...)
		}
		items = append(items, movedItem(dir, c, repositories[c.Component]))
	}
	m := markup.Message{Blocks: []markup.Block{markup.List(items...)}}
	switch {
	case !o.Complete() && moved == 0:
		m.Kind, m.Status = dir.kind+".waiting", markup.Notice
		m.Title = markup.Spans(markup.B(project), markup.T(dir.not+" yet"))
	case !o.Complete():
		m.Kind, m.Status = dir.kind+".partial", markup.Notice
		m.Title = markup.Spans(markup.T(dir.moved+"a part of "), markup.B(project), markup.T(dir.to))
	case moved == 0:
		m.Kind, m.Status = dir.kind+".unchanged", markup.Notice
		m.Title = markup.Spans(markup.B(project), markup.T(dir.idle))
	default:
		m.Kind, m.Status = dir.kind+".done", markup.Done
		m.Title = markup.Spans(markup.T(dir.moved), markup.B(project), markup.T(dir.to))
	}
	if o.Note != "" {
		m.Blocks = append(m.Blocks, markup.Text(markup.F(o.Note)))
	}
	if next := remediesOf(project, keeping); len(next) > 0 {
		m.Blocks = append(m.Blocks, markup.Text(markup.T("What you can do:")), markup.List(next...))
	}
	return m
}

// movedItem is one component: from and to where it moved, the sentence where it did not.
func movedItem(dir direction, c flowclient.ComponentOutcome, repository string) []markup.Span {
	spans := markup.Spans(markup.C(c.Component), markup.T(": "))
	if c.Result != dir.done {
		spans = append(spans, markup.B(c.Result))
		if c.Sentence != "" {
			spans = append(spans, markup.T(", "), markup.F(strings.TrimPrefix(c.Sentence, c.Component+": ")))
		}
		return spans
	}
	if c.From != "" {
		spans = append(spans, commit(repository, c.FromCommit), markup.T(" → "))
	}
	spans = append(spans, commit(repository, c.ToCommit), markup.T(", release "), markup.C(c.To))
	if c.URL != "" {
		spans = append(spans, markup.T(", "), markup.L("open it", c.URL))
	}
	return spans
}
