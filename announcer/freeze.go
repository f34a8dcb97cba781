package announcer

import (
	"strconv"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

func freezeSet(_ flowclient.Event, b flowclient.FreezeEvent) markup.Message {
	return withLink(markup.Message{
		Status: markup.Notice,
		Title:  markup.Spans(markup.T("A freeze of "), markup.B(frozen(b.Freeze)), markup.T(" was set by "), markup.F(b.Who)),
		Blocks: []markup.Block{
			markup.Text(append(stretch("From ", b.Freeze), markup.T(": "), markup.F(b.Freeze.Reason))...),
			markup.Text(markup.T("While it lasts nothing is promoted to production and nothing is rolled back. It is freeze "),
				markup.C(strconv.FormatInt(b.Freeze.ID, 10)), markup.T(".")),
		},
	}, b.Link)
}

func freezeCleared(_ flowclient.Event, b flowclient.FreezeEvent) markup.Message {
	return withLink(markup.Message{
		Status: markup.Notice,
		Title:  markup.Spans(markup.T("A freeze of "), markup.B(frozen(b.Freeze)), markup.T(" was cleared by "), markup.F(b.Who)),
		Blocks: []markup.Block{
			markup.Text(append(stretch("It was to last from ", b.Freeze), markup.T(", set by "), markup.F(b.Freeze.Who), markup.T(": "), markup.F(b.Freeze.Reason))...),
		},
	}, b.Link)
}

// frozen is what a freeze keeps as it is.
func frozen(f flowclient.Freeze) string {
	if f.Project == "" {
		return everyProject
	}
	return f.Project
}

// stretch says from when until when a freeze lasts.
func stretch(begin string, f flowclient.Freeze) []markup.Span {
	const layout = "Mon 2 Jan 2006 15:04 MST"
	at := func(t time.Time) markup.Span { return markup.T(t.UTC().Format(layout)) }
	return markup.Spans(markup.T(begin), at(f.From), markup.T(" until "), at(f.Until))
}
