package announcer

import (
	"fmt"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

func reviewQueued(e flowclient.Event, b flowclient.ReviewEvent) markup.Message {
	m := markup.Message{
		Status: markup.Working,
		Title:  append(reviewOf(e, b), markup.T(fmt.Sprintf(" waits for a place: it is number %d in the queue", b.Review.Place))),
		Blocks: []markup.Block{shownFor(b.Pull, foreign)},
	}
	if b.Why != "" {
		m.Blocks = append(m.Blocks, markup.Text(markup.T("Why: "), markup.F(b.Why), markup.T(".")))
	}
	return m
}

func reviewCreated(e flowclient.Event, b flowclient.ReviewEvent) markup.Message {
	return reviewShows(b, append(reviewOf(e, b), markup.T(" answers, with ")))
}

func reviewUpdated(e flowclient.Event, b flowclient.ReviewEvent) markup.Message {
	return reviewShows(b, append(reviewOf(e, b), markup.T(" was brought up to ")))
}

// reviewShows is an environment that a person can look at.
func reviewShows(b flowclient.ReviewEvent, title []markup.Span) markup.Message {
	m := markup.Message{
		Status: markup.Done,
		Title:  append(title, markup.C(flowclient.ShortSHA(b.Review.Head))),
		Blocks: []markup.Block{shownFor(b.Pull, foreign)},
	}
	if b.Review.URL != "" {
		m.Blocks = append(m.Blocks, markup.Text(markup.L("open it", b.Review.URL)))
	}
	return m
}

func reviewFailed(e flowclient.Event, b flowclient.ReviewEvent, who people) markup.Message {
	m := markup.Message{
		Status: markup.Failed,
		Title:  append(reviewOf(e, b), markup.T(" failed with "), markup.C(flowclient.ShortSHA(b.Review.Head))),
		Blocks: []markup.Block{shownFor(b.Pull, who)},
	}
	if b.Stage != "" {
		m.Title = append(m.Title, markup.T(": stage "), markup.C(b.Stage))
		if link := stagePage(b.Page, b.Stage); link != "" {
			m.Blocks = append(m.Blocks, markup.Text(markup.L("stage "+b.Stage+" of the build", link)))
		}
	}
	if b.Why != "" {
		m.Blocks = append(m.Blocks, markup.Text(markup.F(b.Why)))
	}
	m.Blocks = append(m.Blocks, excerpt(b.Lines, b.Stage)...)
	return m
}

func reviewDestroyed(e flowclient.Event, b flowclient.ReviewEvent) markup.Message {
	what := " is gone"
	if b.Review.State == flowclient.ReviewQueued {
		what = " was not made"
	}
	m := markup.Message{
		Status: markup.Notice,
		Title:  append(reviewOf(e, b), markup.T(what)),
		Blocks: []markup.Block{shownFor(b.Pull, foreign)},
	}
	if b.Why != "" {
		m.Title = append(m.Title, markup.T(": "), markup.F(b.Why))
	}
	return m
}

// reviewOf names a review environment: "pr-7 of shop".
func reviewOf(e flowclient.Event, b flowclient.ReviewEvent) []markup.Span {
	return markup.Spans(markup.B(b.Review.Environment), markup.T(" of "), markup.B(e.Project))
}

// shownFor is the pull request that an environment is for.
func shownFor(p flowclient.Pull, who people) markup.Block {
	spans := markup.Spans(markup.T("For "), pullLink(p))
	if p.Title != "" {
		spans = append(spans, markup.T(": "), markup.F(p.Title))
	}
	if p.Author != "" {
		spans = append(spans, markup.T(" by "), who(p.Author))
	}
	return markup.Text(spans...)
}
