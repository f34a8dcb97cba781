package announcer

import (
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

func scaffolded(e flowclient.Event, b flowclient.ProjectEvent) markup.Message {
	m := markup.Message{
		Status: markup.Notice,
		Title:  markup.Spans(markup.B(e.Project), markup.T(" was made by "), markup.F(b.Who)),
	}
	if b.Template != "" {
		m.Title = append(m.Title, markup.T(" from the template "), markup.C(b.Template))
	}
	if b.Commit.SHA != "" {
		m.Blocks = append(m.Blocks, markup.Text(
			markup.T("First commit "), markup.C(flowclient.ShortSHA(b.Commit.SHA)), markup.T(": "), markup.F(b.Commit.Subject)))
	}
	if b.Repository.WebURL != "" {
		m.Blocks = append(m.Blocks, markup.Text(markup.L("repository "+b.Repository.Name, b.Repository.WebURL)))
	}
	return m
}

func removed(e flowclient.Event, b flowclient.ProjectEvent) markup.Message {
	return markup.Message{
		Status: markup.Notice,
		Title:  markup.Spans(markup.B(e.Project), markup.T(" was removed by "), markup.F(b.Who)),
	}
}
