package platform

import (
	"context"
	"strings"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

// lockLister is the part of flowclient.Locker that locks calls.
type lockLister interface {
	Locks(ctx context.Context) ([]flowclient.Lock, error)
}

type locksArgs struct {
	OlderThan string `help:"Only those that are at least so old: 14d, 36h." placeholder:"age"`
}

// locks lists the locks that hold; in a project's stream, those of the project.
func locks(l lockLister, reader deliveries, now func() time.Time) commands.Command {
	return commands.Typed(commands.Command{
		Bot: Bot, Verb: "locks", Effect: commands.Read,
		Summary:  "list the commit locks that hold, in a project's stream only its own",
		Examples: []string{"locks", "locks --older-than 14d"},
	}, func(ctx context.Context, req commands.Request, args *locksArgs, reply commands.Reply) error {
		var age time.Duration
		if args.OlderThan != "" {
			var err error
			if age, err = commands.ParseSpan(args.OlderThan); err != nil {
				return &flowclient.Invalid{Field: "--older-than", Value: args.OlderThan, Why: err.Error()}
			}
		}
		all, err := l.Locks(ctx)
		if err != nil {
			return err
		}
		d, err := reader.Delivery(ctx)
		if err != nil {
			return err
		}
		if age > 0 {
			all = flowclient.OldLocks(all, now(), age)
		}
		return reply.Answer(ctx, locksMessage(all, d, req.Project, age, now()))
	})
}

// locksMessage is one line per lock, oldest first; of an age where only those were asked for.
func locksMessage(all []flowclient.Lock, d flowclient.Delivery, project string, age time.Duration, now time.Time) markup.Message {
	known := map[string]flowclient.ComponentDelivery{}
	for _, c := range d.Components {
		known[c.Component] = c
	}
	var items [][]markup.Span
	for _, l := range all {
		c := known[l.Component]
		if project != "" && c.Project != project {
			continue
		}
		items = append(items, markup.Spans(markup.C(l.Component), markup.T(" "), commit(c.Repository, l.Commit), markup.T(" in "), markup.B(scope(l.Environment)),
			markup.T(": "), markup.F(l.Reason), markup.T(" (set by "), markup.F(l.Who), markup.T(", "+markup.Ago(now.Sub(l.At))+")")))
	}
	var of, in []markup.Span // whose locks these are, where not everybody's
	if project != "" {
		of, in = markup.Spans(markup.T(" of "), markup.B(project)), markup.Spans(markup.T(" in "), markup.B(project))
	}
	since := ""
	if age > 0 {
		since = " for longer than " + strings.TrimPrefix(markup.In(age), "in ")
	}
	if len(items) == 0 {
		return markup.Message{Kind: "locks.none", Status: markup.Done, Title: append(append(markup.Spans(markup.T("No commit")), of...), markup.T(" is locked"+since))}
	}
	m := markup.Message{
		Kind: "locks.list", Status: markup.Notice,
		Title:  append(append(markup.Spans(markup.T(counted(len(items), "commit lock holds", "commit locks hold"))), in...), markup.T(since)),
		Blocks: []markup.Block{markup.List(items...)},
	}
	if age > 0 {
		m.Kind = "locks.old"
		m.Blocks = append(m.Blocks, markup.Text(markup.T("Ask who set them whether they are still needed; "), say("unlock <component> <commit> --dry-run"), markup.T(" tells what would move without one.")))
	}
	return m
}
