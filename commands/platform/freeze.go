package platform

import (
	"context"
	"fmt"
	"strings"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

// freezeSetter is the part of flowclient.Freezer that freeze calls.
type freezeSetter interface {
	SetFreeze(ctx context.Context, r flowclient.FreezeRequest) (flowclient.Freeze, error)
}

type freezeArgs struct {
	Project string `arg:"" help:"The project, or all."`
	Until   string `required:"" help:"The first instant that is free again: 2026-12-24, 2026-12-24T17:00, \"fri 17:00\" or 2h." placeholder:"when"`
	From    string `help:"When it begins; else at once." placeholder:"when"`
	Reason  string `required:"" help:"Why; people who are refused read it." placeholder:"text"`
}

// everything is what a freeze of every project is called.
const everything = "all"

// freeze keeps production of a project, or of every one, as it is for a time.
func freeze(f freezeSetter, reader statuses, now func() time.Time) commands.Command {
	return commands.Typed(commands.Command{
		Bot: Bot, Verb: "freeze", Effect: commands.Write, Action: ActionFreeze,
		Summary:  "refuse every change of production for a time",
		Examples: []string{`freeze shop --until "fri 17:00" --reason "the sale"`, `freeze all --from 2026-12-24 --until 2027-01-04 --reason "end of year"`},
	}, func(ctx context.Context, req commands.Request, args *freezeArgs, reply commands.Reply) error {
		if strings.TrimSpace(args.Reason) == "" {
			return flowclient.Refuse("The option --reason is empty: say why, for those who will be refused.")
		}
		r, zone := flowclient.FreezeRequest{Origin: origin(req), Reason: args.Reason}, time.UTC
		if !strings.EqualFold(args.Project, everything) {
			name, _, err := asked(ctx, reader, args.Project, req)
			if err != nil {
				return err
			}
			w, err := reader.Window(ctx, name)
			if err != nil {
				return err
			}
			r.Project, zone = name, w.Zone()
		}
		// Seen from when it was written: a message that is heard again asks for the same instants.
		var err error
		if r.Until, err = Instant("--until", args.Until, req.At, zone); err != nil {
			return err
		}
		if r.From, err = Instant("--from", args.From, req.At, zone); err != nil {
			return err
		}
		set, err := f.SetFreeze(ctx, r)
		if err != nil {
			return err
		}
		return reply.Answer(ctx, freezeMessage(set, zone, now()))
	})
}

// Instant reads a flag that holds an instant, as commands.ParseInstant does; an
// empty one holds none. *flowclient.Invalid names the flag and what it says.
func Instant(flag, text string, now time.Time, zone *time.Location) (time.Time, error) {
	if strings.TrimSpace(text) == "" {
		return time.Time{}, nil
	}
	at, err := commands.ParseInstant(text, now, zone)
	if err != nil {
		return time.Time{}, &flowclient.Invalid{Field: flag, Value: text, Why: err.Error()}
	}
	return at, nil
}

// frozen is what a freeze concerns.
func frozen(f flowclient.Freeze) markup.Span {
	if f.Project == "" {
		return markup.T("every project")
	}
	return markup.B(f.Project)
}

// freezeMessage is a freeze that was set.
func freezeMessage(f flowclient.Freeze, zone *time.Location, now time.Time) markup.Message {
	m := markup.Message{
		Kind: "freeze.set", Status: markup.Done,
		Title: markup.Spans(markup.T("Froze production of "), frozen(f), markup.T(" until "+markup.At(f.Until.In(zone), now))),
	}
	begins := markup.T("now")
	if f.From.After(now) {
		m.Kind = "freeze.ahead"
		m.Title = markup.Spans(markup.T("Production of "), frozen(f), markup.T(" will be frozen "+markup.In(f.From.Sub(now))))
		begins = markup.T(markup.At(f.From.In(zone), now))
	}
	m.Blocks = []markup.Block{
		markup.Fields(
			markup.Named("from", begins),
			markup.Named("until", markup.T(markup.At(f.Until.In(zone), now)+", "+markup.In(f.Until.Sub(now)))),
			markup.Named("times are of", markup.C(zone.String())),
			markup.Named("reason", markup.F(f.Reason)), markup.Named("set by", markup.F(f.Who)),
		),
		markup.Text(markup.T("Promotion and rollback are refused meanwhile, and nothing moves by itself. "), say("thaw", fmt.Sprint(f.ID)), markup.T(" ends it.")),
	}
	return m
}
