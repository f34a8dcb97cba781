package announcer

import (
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

func lockSet(e flowclient.Event, b flowclient.LockEvent) markup.Message {
	m := markup.Message{
		Status: markup.Notice,
		Title:  markup.Spans(markup.B(e.Component), markup.T(" was locked by "), markup.F(b.Who)),
		Blocks: []markup.Block{
			locks(b.Locks),
			markup.Text(markup.T("Promotion and rollback to a locked commit are refused until the lock is cleared.")),
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
		where := markup.T(" in every environment: ")
		if l.Environment != "" {
			where = markup.T(" in ")
		}
		items[i] = markup.Spans(markup.C(flowclient.ShortSHA(l.Commit)), where)
		if l.Environment != "" {
			items[i] = append(items[i], markup.C(l.Environment), markup.T(": "))
		}
		items[i] = append(items[i], markup.F(l.Reason))
	}
	return markup.List(items...)
}
