package announcer

import (
	"fmt"
	"slices"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

const (
	// kindSeveral names the message of several builds of one commit; no event has that kind.
	kindSeveral = "build.several"
	// maxBuilds is how many of them it lists, those that failed first.
	maxBuilds = 20
	// maxExcerpts is of how many failed ones it shows the output.
	maxExcerpts = 3
)

// several tells of builds of one commit that began together.
func several(p Push, who people) markup.Message {
	var failed, running int
	for _, b := range p.Builds {
		switch b.Build.Phase {
		case flowclient.BuildFailed:
			failed++
		case flowclient.BuildSucceeded:
		default:
			running++
		}
	}
	m := markup.Message{Kind: kindPrefix + kindSeveral, Title: markup.Spans(markup.B(p.Project))}
	sha, count := markup.C(flowclient.ShortSHA(p.Commit)), fmt.Sprintf(": %d components", len(p.Builds))
	switch {
	case failed > 0:
		m.Status = markup.Failed
		m.Title = append(m.Title, markup.T(" failed to build "), sha, markup.T(fmt.Sprintf(": %d of %d components", failed, len(p.Builds))))
	case running > 0:
		m.Status = markup.Working
		m.Title = append(m.Title, markup.T(" is building "), sha, markup.T(count))
	default:
		m.Status = markup.Done
		if took := together(p.Builds); took != "" {
			count += " in " + took
		}
		m.Title = append(m.Title, markup.T(" built "), sha, markup.T(count))
	}
	if failed == 0 {
		who = foreign // mentioned is who has something to do
	}
	m.Blocks = append(commit(flowclient.BuildEvent{Subject: p.Subject, Author: p.Author}, who), severalList(p.Builds)...)
	shown := 0
	for _, b := range p.Builds {
		if b.Build.Phase == flowclient.BuildFailed && len(b.Lines) > 0 && shown < maxExcerpts {
			shown++
			m.Blocks = append(m.Blocks, excerpt(b.Lines, b.Build.FailedStage, markup.T(" of "), markup.B(b.Build.Component))...)
		}
	}
	return m
}

// severalList has a line for each build, those that failed first.
func severalList(builds []flowclient.BuildEvent) []markup.Block {
	sorted := slices.Clone(builds)
	slices.SortStableFunc(sorted, func(a, b flowclient.BuildEvent) int { return rank(a.Build) - rank(b.Build) })
	var items [][]markup.Span
	for _, b := range sorted[:min(len(sorted), maxBuilds)] {
		items = append(items, oneOfSeveral(b.Build))
	}
	return listed(items, len(sorted))
}

// listed is a list of the first of so many, and how many are left out.
func listed(items [][]markup.Span, of int) []markup.Block {
	blocks := []markup.Block{markup.List(items...)}
	if left := of - len(items); left > 0 {
		blocks = append(blocks, markup.Text(markup.T(fmt.Sprintf("And %d more.", left))))
	}
	return blocks
}

// rank sorts what needs somebody first.
func rank(b flowclient.Build) int {
	if b.Phase == flowclient.BuildFailed {
		return 0
	}
	return 1
}

// oneOfSeveral is how one build stands, with its page; of a failed one, the page narrowed to its stage.
func oneOfSeveral(b flowclient.Build) []markup.Span {
	line, name, link := markup.Spans(markup.B(b.Component)), "build "+b.Run, b.URL
	switch b.Phase {
	case flowclient.BuildFailed:
		line = append(line, markup.T(" failed"))
		if b.FailedStage != "" {
			line = append(line, markup.T(" in stage "), markup.C(b.FailedStage))
			name, link = "stage "+b.FailedStage+" of the build", stagePage(b.URL, b.FailedStage)
		}
		if b.Message != "" {
			line = append(line, markup.T(": "), markup.F(b.Message))
		}
	case flowclient.BuildSucceeded:
		line = append(line, markup.T(" is built"))
		if took := span(b.StartedAt, b.CompletedAt); took != "" {
			line = append(line, markup.T(" in "+took))
		}
	default:
		line = append(line, markup.T(" is building"))
	}
	if link != "" {
		line = append(line, markup.T(", "), markup.L(name, link))
	}
	return line
}

// together is the time from the first begin to the last end; "" when one is unknown.
func together(builds []flowclient.BuildEvent) string {
	var from, to *time.Time
	for _, b := range builds {
		if b.Build.StartedAt == nil || b.Build.CompletedAt == nil {
			return ""
		}
		if from == nil || b.Build.StartedAt.Before(*from) {
			from = b.Build.StartedAt
		}
		if to == nil || b.Build.CompletedAt.After(*to) {
			to = b.Build.CompletedAt
		}
	}
	return span(from, to)
}
