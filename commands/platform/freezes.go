package platform

import (
	"context"
	"fmt"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

// freezeLister is the part of flowclient.Freezer that freezes calls.
type freezeLister interface {
	Freezes(ctx context.Context) ([]flowclient.Freeze, error)
}

type freezesArgs struct {
	Project string `arg:"" optional:"" help:"Only those that concern the project; in its own stream it may be left out."`
}

// freezes lists the freezes that hold or are to come.
func freezes(f freezeLister, reader statuses, now func() time.Time) commands.Command {
	return commands.Typed(commands.Command{
		Bot: Bot, Verb: "freezes", Effect: commands.Read, Also: []string{"freeze list"},
		Summary:  "list the freezes that hold or are to come, in a project's stream those that concern it",
		Examples: []string{"freezes", "freezes shop", "freeze list"},
	}, func(ctx context.Context, req commands.Request, args *freezesArgs, reply commands.Reply) error {
		name, zone := "", time.UTC
		if args.Project != "" || req.Project != "" {
			var err error
			if name, _, err = asked(ctx, reader, args.Project, req); err != nil {
				return err
			}
			w, err := reader.Window(ctx, name)
			if err != nil {
				return err
			}
			zone = w.Zone()
		}
		all, err := f.Freezes(ctx)
		if err != nil {
			return err
		}
		return reply.Answer(ctx, freezesMessage(all, name, zone, now()))
	})
}

// freezesMessage is one line per freeze that concerns the project ("" for any).
func freezesMessage(all []flowclient.Freeze, project string, zone *time.Location, now time.Time) markup.Message {
	var ours []flowclient.Freeze
	for _, f := range all {
		if project == "" || f.Project == "" || f.Project == project {
			ours = append(ours, f)
		}
	}
	var of []markup.Span // whose freezes these are, where not everybody's
	if project != "" {
		of = markup.Spans(markup.T(" of "), markup.B(project))
	}
	if len(ours) == 0 {
		return markup.Message{Kind: "freezes.none", Status: markup.Done, Title: append(append(markup.Spans(markup.T("No freeze")), of...), markup.T(" holds or is to come"))}
	}
	return markup.Message{
		Kind: "freezes.list", Status: markup.Notice,
		Title: append(markup.Spans(markup.T(counted(len(ours), "freeze", "freezes"))), append(of, markup.T(map[bool]string{true: " holds or is to come", false: " hold or are to come"}[len(ours) == 1]))...),
		Blocks: []markup.Block{
			markup.List(freezeItems(ours, zone, now)...),
			markup.Text(markup.T("Times are of "), markup.C(zone.String()), markup.T(". "), say("thaw <id>"), markup.T(" ends one.")),
		},
	}
}

// freezeItems are freezes in a line each.
func freezeItems(all []flowclient.Freeze, zone *time.Location, now time.Time) (items [][]markup.Span) {
	for _, f := range all {
		state := markup.Spans(markup.B("holds"))
		if f.From.After(now) {
			state = markup.Spans(markup.T("begins " + markup.At(f.From.In(zone), now) + ", " + markup.In(f.From.Sub(now)) + ", and lasts"))
		}
		line := append(markup.Spans(markup.C(fmt.Sprint(f.ID)), markup.T(": "), frozen(f), markup.T(" ")), state...)
		items = append(items, append(line, markup.T(" until "+markup.At(f.Until.In(zone), now)+": "), markup.F(f.Reason), markup.T(" (set by "), markup.F(f.Who), markup.T(", "+markup.Ago(now.Sub(f.At))+")")))
	}
	return items
}
