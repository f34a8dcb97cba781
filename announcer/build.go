package announcer

import (
	"fmt"
	"net/url"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

// maxLines is how much of a failed stage's output an announcement shows.
const maxLines = 40

func buildStarted(_ flowclient.Event, b flowclient.BuildEvent) markup.Message {
	return markup.Message{
		Status: markup.Working,
		Title:  markup.Spans(markup.B(b.Build.Component), markup.T(" is building "), markup.C(flowclient.ShortSHA(b.Build.Commit))),
		Blocks: append(commit(b, foreign), page(b.Build)...),
	}
}

func buildPassed(_ flowclient.Event, b flowclient.BuildEvent) markup.Message {
	title := markup.Spans(markup.B(b.Build.Component), markup.T(" built "), markup.C(flowclient.ShortSHA(b.Build.Commit)))
	if took := span(b.Build.StartedAt, b.Build.CompletedAt); took != "" {
		title = append(title, markup.T(" in "+took))
	}
	return markup.Message{Status: markup.Done, Title: title, Blocks: append(append(commit(b, foreign), stages(b.Build)...), page(b.Build)...)}
}

func buildFailed(_ flowclient.Event, b flowclient.BuildEvent, who people) markup.Message {
	m := markup.Message{
		Status: markup.Failed,
		Title:  markup.Spans(markup.B(b.Build.Component), markup.T(" failed to build "), markup.C(flowclient.ShortSHA(b.Build.Commit))),
		Blocks: commit(b, who),
	}
	stage := b.Build.FailedStage
	if stage == "" {
		m.Blocks = append(m.Blocks, page(b.Build)...)
	} else {
		m.Title = append(m.Title, markup.T(": stage "), markup.C(stage))
		if link := stagePage(b.Build.URL, stage); link != "" {
			m.Blocks = append(m.Blocks, markup.Text(markup.L("stage "+stage+" of the build", link)))
		}
	}
	if b.Build.Message != "" {
		m.Blocks = append(m.Blocks, markup.Text(markup.F(b.Build.Message)))
	}
	m.Blocks = append(m.Blocks, excerpt(b.Lines, stage)...)
	return m
}

// excerpt is the end of a failed stage's output; whose ends its caption.
func excerpt(lines []string, stage string, whose ...markup.Span) []markup.Block {
	lines = lines[max(0, len(lines)-maxLines):]
	if len(lines) == 0 {
		return nil
	}
	return []markup.Block{markup.Log(append(caption(len(lines), stage), whose...), lines)}
}

// caption heads the excerpt of a log.
func caption(lines int, stage string) []markup.Span {
	text := fmt.Sprintf("The last %d lines", lines)
	if lines == 1 {
		text = "The last line"
	}
	if stage == "" {
		return markup.Spans(markup.T(text))
	}
	return markup.Spans(markup.T(text+" of "), markup.C(stage))
}

// foreign shows authors without calling them.
func foreign(author string) markup.Span { return markup.F(author) }

// commit tells what is built, in its author's words.
func commit(b flowclient.BuildEvent, who people) []markup.Block {
	if b.Subject == "" {
		return nil
	}
	spans := markup.Spans(markup.F(b.Subject))
	if b.Author != "" {
		spans = append(spans, markup.T(" by "), who(b.Author))
	}
	return []markup.Block{markup.Text(spans...)}
}

// page links the build's page.
func page(b flowclient.Build) []markup.Block {
	if b.URL == "" {
		return nil
	}
	return []markup.Block{markup.Text(markup.L("build "+b.Run, b.URL))}
}

// stagePage is the build's page narrowed to a stage.
func stagePage(page, stage string) string {
	u, err := url.Parse(page)
	if err != nil || page == "" {
		return ""
	}
	q := u.Query()
	q.Set("ci_stage", stage)
	u.RawQuery = q.Encode()
	return u.String()
}

// stages lists what ran and how long it took.
func stages(b flowclient.Build) []markup.Block {
	var spans []markup.Span
	for _, s := range b.Stages {
		took := span(s.StartedAt, s.CompletedAt)
		if took == "" {
			continue
		}
		if len(spans) > 0 {
			spans = append(spans, markup.T(", "))
		}
		spans = append(spans, markup.C(s.Name), markup.T(" "+took))
	}
	if spans == nil {
		return nil
	}
	return []markup.Block{markup.Text(spans...)}
}

// span is the time between two instants, for people; empty when one is unknown.
func span(from, to *time.Time) string {
	if from == nil || to == nil || to.Before(*from) {
		return ""
	}
	return markup.Took(to.Sub(*from))
}
