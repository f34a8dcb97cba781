package announcer

import (
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

// lockedMeans is what a lock does.
const lockedMeans = "Promotion and rollback to a locked commit are refused until the lock is cleared."

func lockSet(e flowclient.Event, b flowclient.LockEvent) markup.Message {
	m := markup.Message{
		Status: markup.Notice,
		Title:  markup.Spans(markup.B(e.Component), markup.T(" was locked by "), markup.F(b.Who)),
		Blocks: []markup.Block{
			locks(b.Locks),
			markup.Text(markup.T(lockedMeans)),
		},
	}
	for _, l := range b.Locks {
		if l.Note != "" {
			m.Blocks = append(m.Blocks, markup.Text(markup.B("But "), markup.F(l.Note)))
		}
	}
	return withLink(m, b.Link)
}

func lockCleared(e flowclient.Event, b flowclient.LockEvent) markup.Message {
	return withLink(markup.Message{
		Status: markup.Notice,
		Title:  markup.Spans(markup.B(e.Component), markup.T(" was unlocked by "), markup.F(b.Who)),
		Blocks: []markup.Block{locks(b.Locks)},
	}, b.Link)
}

// locks lists locks, a line each.
func locks(list []flowclient.Lock) markup.Block {
	items := make([][]markup.Span, len(list))
	for i, l := range list {
		items[i] = lockLine(l)
	}
	return markup.List(items...)
}

// lockLine is a lock without its component.
func lockLine(l flowclient.Lock) []markup.Span {
	line := markup.Spans(markup.C(flowclient.ShortSHA(l.Commit)))
	if l.Environment == "" {
		line = append(line, markup.T(" in every environment: "))
	} else {
		line = append(line, markup.T(" in "), markup.C(l.Environment), markup.T(": "))
	}
	return append(line, markup.F(l.Reason))
}
