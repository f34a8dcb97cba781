package announcer

import (
	"fmt"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

func pullOpened(e flowclient.Event, b flowclient.PullEvent) markup.Message {
	p := b.Pull
	return markup.Message{
		Status: markup.Notice,
		Title:  append(pullOf(e, p), markup.T(" is open: "), markup.F(p.Title)),
		Blocks: []markup.Block{markup.Text(markup.F(p.Author), markup.T(" would merge "), markup.C(p.Branch), markup.T(" at "), markup.C(flowclient.ShortSHA(p.Head)),
			markup.T(" into "), markup.C(p.Base), markup.T("."))},
	}
}

func pullMerged(e flowclient.Event, b flowclient.PullEvent) markup.Message {
	p := b.Pull
	return markup.Message{
		Status: markup.Done,
		Title:  append(pullOf(e, p), markup.T(" was merged: "), markup.F(p.Title)),
		Blocks: []markup.Block{markup.Text(markup.C(p.Branch), markup.T(" by "), markup.F(p.Author), markup.T(" is in "), markup.C(p.Base),
			markup.T(" as "), markup.C(flowclient.ShortSHA(p.MergeCommit)), markup.T("."))},
	}
}

func pullClosed(e flowclient.Event, b flowclient.PullEvent) markup.Message {
	p := b.Pull
	return markup.Message{
		Status: markup.Notice,
		Title:  append(pullOf(e, p), markup.T(" was closed without being merged: "), markup.F(p.Title)),
		Blocks: []markup.Block{markup.Text(markup.C(p.Branch), markup.T(" by "), markup.F(p.Author), markup.T(" stays at "), markup.C(flowclient.ShortSHA(p.Head)), markup.T("."))},
	}
}

// pullOf names a pull request: "#7 of shop".
func pullOf(e flowclient.Event, p flowclient.Pull) []markup.Span {
	return markup.Spans(pullLink(p), markup.T(" of "), markup.B(e.Project))
}

func pullLink(p flowclient.Pull) markup.Span {
	name := fmt.Sprintf("#%d", p.Number)
	if p.URL == "" {
		return markup.C(name)
	}
	return markup.L(name, p.URL)
}
