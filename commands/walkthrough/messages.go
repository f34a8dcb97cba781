package walkthrough

import (
	"fmt"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

// beganMessage is shown where the walkthrough was asked for, while it runs.
func beganMessage(w flowclient.Walkthrough, stream string, steps int) markup.Message {
	return markup.Message{
		Kind: "walkthrough.began", Status: markup.Working,
		Title: markup.Spans(markup.B(w.Project), markup.T(fmt.Sprintf(" is under way, %d steps: read along in ", steps)), markup.P(stream, w.Topic)),
	}
}

// endedMessage is the answer where the walkthrough was asked for.
func endedMessage(w flowclient.Walkthrough, stream string) markup.Message {
	m := markup.Message{Blocks: []markup.Block{markup.Text(markup.T("The whole run: "), markup.P(stream, topic(w)))}}
	took := ""
	if w.Ended != nil {
		took = " in " + markup.Took(w.Ended.Sub(w.Started))
	}
	switch w.Result {
	case passed:
		m.Kind, m.Status = "walkthrough.ended.passed", markup.Done
		m.Title = markup.Spans(markup.B(w.Project), markup.T(" held at every step"+took))
	case stopped:
		m.Kind, m.Status = "walkthrough.ended.stopped", markup.Notice
		m.Title = markup.Spans(markup.B(w.Project), markup.T(" was "), markup.F(w.Message))
	default:
		m.Kind, m.Status = "walkthrough.ended.failed", markup.Failed
		m.Title = markup.Spans(markup.B(w.Project), markup.T(" failed at step "), markup.B(w.Step))
		m.Blocks = append([]markup.Block{markup.Text(markup.F(w.Message))}, m.Blocks...)
	}
	return m
}

// workingMessage is a step under way.
func (r *run) workingMessage(expected, seen string) markup.Message {
	m := markup.Message{
		Kind: "walkthrough.step.working", Status: markup.Working,
		Title:  markup.Spans(markup.T(r.number() + r.steps[r.at].title)),
		Blocks: []markup.Block{markup.Text(markup.T("Waiting until "), markup.F(expected), markup.T("."))},
	}
	if seen != "" {
		m.Blocks = append(m.Blocks, markup.Text(markup.T("Now: "), markup.F(seen), markup.T(".")))
	}
	return m
}

// doneMessage is a step that held.
func (r *run) doneMessage(o outcome, took time.Duration) markup.Message {
	return markup.Message{
		Kind: "walkthrough." + o.kind, Status: markup.Done,
		Title:  append(append(markup.Spans(markup.T(r.number())), o.title...), markup.T(" ("+markup.Took(took)+")")),
		Blocks: o.blocks,
	}
}

// failedMessage is a step that did not hold.
func (r *run) failedMessage(m *missed) markup.Message {
	out := markup.Message{
		Kind: "walkthrough.step.failed", Status: markup.Failed,
		Title:  markup.Spans(markup.T(r.number()+r.steps[r.at].title+": "), markup.B("did not hold")),
		Blocks: []markup.Block{markup.Fields(markup.Named("expected", markup.F(m.Expected)), markup.Named("seen", markup.F(m.Seen)))},
	}
	if len(m.Lines) > 0 {
		out.Blocks = append(out.Blocks, logSpoiler(m.Stage, m.Lines))
	}
	return out
}

// stoppedMessage is the step at which a person stopped the run.
func (r *run) stoppedMessage(s *stop) markup.Message {
	return markup.Message{
		Kind: "walkthrough.step.stopped", Status: markup.Notice,
		Title: markup.Spans(markup.T(r.number()+r.steps[r.at].title+": "), markup.F(s.Error())),
	}
}

// closingMessage links the whole run, with how long each step took.
func (b *bot) closingMessage(w flowclient.Walkthrough, all []done, m *missed) markup.Message {
	out := markup.Message{}
	took := "0 s"
	if w.Ended != nil {
		took = markup.Took(w.Ended.Sub(w.Started))
	}
	switch w.Result {
	case passed:
		out.Kind, out.Status = "walkthrough.closing.passed", markup.Done
		out.Title = markup.Spans(markup.B(w.Project), markup.T(" held at every step, in "+took))
	case stopped:
		out.Kind, out.Status = "walkthrough.closing.stopped", markup.Notice
		out.Title = markup.Spans(markup.B(w.Project), markup.T(" was "), markup.F(w.Message), markup.T(" after "+took))
	default:
		out.Kind, out.Status = "walkthrough.closing.failed", markup.Failed
		out.Title = markup.Spans(markup.B(w.Project), markup.T(" failed at step "), markup.B(w.Step), markup.T(" after "+took))
	}
	if m != nil {
		out.Blocks = append(out.Blocks, markup.Fields(markup.Named("expected", markup.F(m.Expected)), markup.Named("seen", markup.F(m.Seen))))
	}
	if len(all) > 0 {
		var rows [][][]markup.Span
		for _, d := range all {
			rows = append(rows, [][]markup.Span{markup.Spans(markup.T(d.Name)), markup.Spans(markup.T(markup.Took(d.Took))), separated(d.Links)})
		}
		out.Blocks = append(out.Blocks, markup.Table([]string{"step", "took", "see"}, rows...))
	}
	out.Blocks = append(out.Blocks, markup.Text(
		markup.T("Everything it made stays, to look at. "), markup.C("@"+Bot+" teardown "+w.Template), markup.T(" removes it.")))
	return out
}

// separated puts links beside each other.
func separated(links []markup.Span) []markup.Span {
	var out []markup.Span
	for i, l := range links {
		if i > 0 {
			out = append(out, markup.T(", "))
		}
		out = append(out, l)
	}
	return out
}

// logSpoiler folds the last lines of a stage ("" for a whole build) away.
func logSpoiler(stage string, lines []string) markup.Block {
	name := "the build"
	if stage != "" {
		name = "stage " + stage
	}
	count := fmt.Sprintf("the last %d lines", len(lines))
	if len(lines) == 1 {
		count = "the last line"
	}
	return markup.Spoiler(markup.Spans(markup.T("Log: "+count+" of "), markup.F(name)), markup.Log(nil, lines))
}

// link shows a text, as a link where there is an address.
func link(text, url string) markup.Span {
	if url == "" {
		return markup.C(text)
	}
	return markup.L(text, url)
}
