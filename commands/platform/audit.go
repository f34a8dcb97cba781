package platform

import (
	"context"
	"strings"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

// auditor is the part of flowclient.Witness that audit calls.
type auditor interface {
	Audit(ctx context.Context, q flowclient.AuditQuery) (flowclient.AuditPage, error)
}

type auditArgs struct {
	Project   string `arg:"" optional:"" help:"The project; in its own stream it may be left out, elsewhere it is all of them."`
	Component string `help:"Only what was about this component." placeholder:"component"`
	Who       string `help:"Only what this person asked for, or the chat's account of somebody unknown; auto is the automatic pass." placeholder:"name"`
	Kind      string `help:"Only one kind: allowed, asked, automatic, cancelled, changed, commit, confirmed, denied, external, freeze, limited, lock, merge, promotion, pull, refusal, refused, removal, review, rollback, scaffold, stale, sync, teardown, unfreeze, unknown or unlock." placeholder:"kind"`
	Last      int    `default:"10" help:"How many: 1 to 50." placeholder:"number"`
}

const (
	maxEntries = 50  // that one message shows
	maxTold    = 300 // characters of what came of an entry
)

// audit lists the newest decisions: who asked for what, and what came of it. A
// project that is gone still has its entries.
func audit(a auditor, now func() time.Time) commands.Command {
	return commands.Typed(commands.Command{
		Bot: Bot, Verb: "audit", Effect: commands.Read,
		Summary:  "list who decided what and what came of it, newest first",
		Examples: []string{"audit shop", "audit shop --who sre", "audit --kind refusal --last 20", "audit shop --kind denied"},
	}, func(ctx context.Context, req commands.Request, args *auditArgs, reply commands.Reply) error {
		if args.Last < 1 || args.Last > maxEntries {
			return flowclient.Refuse("The option --last must be 1 to %d.", maxEntries)
		}
		if args.Project == "" {
			args.Project = req.Project
		}
		page, err := a.Audit(ctx, flowclient.AuditQuery{Project: args.Project, Component: args.Component, Who: args.Who, Kind: args.Kind, Limit: args.Last})
		if err != nil {
			return err
		}
		return reply.Answer(ctx, auditMessage(page, args.Project, now()))
	})
}

// auditMessage is one line per entry.
func auditMessage(page flowclient.AuditPage, project string, now time.Time) markup.Message {
	var of []markup.Span
	if project != "" {
		of = markup.Spans(markup.T(" in "), markup.B(project))
	}
	if len(page.Entries) == 0 {
		return markup.Message{Kind: "audit.none", Status: markup.Done, Title: append(markup.Spans(markup.T("Nothing of the kind is recorded")), of...)}
	}
	var items [][]markup.Span
	for _, e := range page.Entries {
		items = append(items, auditItem(e, project, now))
	}
	m := markup.Message{Kind: "audit.list", Status: markup.Notice, Blocks: []markup.Block{markup.List(items...)},
		Title: append(append(markup.Spans(markup.T("What was decided")), of...), markup.T(", newest first"))}
	if page.Next != "" {
		m.Blocks = append(m.Blocks, markup.Text(markup.T("There are older ones; ask for more with "), markup.C("--last"), markup.T(".")))
	}
	return m
}

// auditItem is one entry: when, which kind, who, and what came of it.
func auditItem(e flowclient.AuditEntry, project string, now time.Time) []markup.Span {
	line := markup.Spans(link(markup.Ago(now.Sub(e.At)), e.Link), markup.T(": "), markup.B(e.Kind))
	if e.Project != "" && project == "" {
		line = append(line, markup.T(" in "), markup.B(e.Project))
	}
	if e.Who != "" {
		line = append(line, markup.T(" by "), markup.F(e.Who))
	}
	if e.Result != flowclient.AuditDone {
		line = append(line, markup.T(" ("), markup.F(e.Result), markup.T(")"))
	}
	return append(line, markup.T(". "), markup.F(shortened(e.Outcome)))
}

// shortened is the beginning of a text that is too long for a line.
func shortened(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > maxTold {
		return string(r[:maxTold]) + "…"
	}
	return text
}
