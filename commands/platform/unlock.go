package platform

import (
	"context"
	"errors"
	"slices"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

// lockClearer is the part of flowclient.Locker that unlock calls.
type lockClearer interface {
	lockLister
	ClearLock(ctx context.Context, r flowclient.LockRequest) ([]flowclient.Lock, error)
}

type unlockArgs struct {
	Component string `arg:"" help:"The component."`
	Commit    string `arg:"" help:"The commit, whole or its first characters, four or more."`
	To        string `help:"Only the lock for this environment; else every lock of the commit." placeholder:"environment"`
}

// unlock clears the locks of a commit.
func unlock(l lockClearer, reader deliveries) commands.Command {
	return commands.Typed(commands.Command{
		Bot: Bot, Verb: "unlock", Effect: commands.Write, Action: ActionUnlock,
		Summary:  "clear the locks of a commit",
		Examples: []string{"unlock shop-web 1a2b3c4", "unlock shop-web 1a2b3c4 --to production"},
	}, func(ctx context.Context, req commands.Request, args *unlockArgs, reply commands.Reply) error {
		d, err := reader.Delivery(ctx)
		if err != nil {
			return err
		}
		held, err := l.Locks(ctx)
		if err != nil {
			return err
		}
		c, err := component(d, "", args.Component)
		if slices.ContainsFunc(held, func(l flowclient.Lock) bool { return l.Component == args.Component }) {
			c.Component, err = args.Component, nil // a lock may outlive its component
		}
		if err != nil {
			return err
		}
		cleared, err := l.ClearLock(ctx, flowclient.LockRequest{Origin: origin(req), Component: c.Component, Commit: args.Commit, Environment: args.To})
		var missing *flowclient.NotFound
		switch {
		case errors.As(err, &missing) && missing.Kind == "lock":
		case err != nil:
			return answerLock(ctx, reply, "unlock", "Not unlocked: ", args.Commit, c.Component, err)
		}
		return reply.Answer(ctx, unlockMessage(c, args.Commit, args.To, cleared))
	})
}

// unlockMessage lists what was cleared, or says that there was nothing.
func unlockMessage(c flowclient.ComponentDelivery, asked, environment string, cleared []flowclient.Lock) markup.Message {
	if len(cleared) == 0 {
		return markup.Message{
			Kind: "unlock.nothing", Status: markup.Notice,
			Title: markup.Spans(markup.T("No lock on "), markup.C(flowclient.ShortSHA(asked)), markup.T(" of "), markup.C(c.Component), markup.T(" in "+scope(environment)+" was there to clear")),
		}
	}
	var items [][]markup.Span
	for _, l := range cleared {
		items = append(items, markup.Spans(markup.T("in "), markup.B(scope(l.Environment)), markup.T(", set by "), markup.F(l.Who), markup.T(": "), markup.F(l.Reason)))
	}
	return markup.Message{
		Kind: "unlock.done", Status: markup.Done,
		Title:  markup.Spans(markup.T("Unlocked "), commit(c.Repository, cleared[0].Commit), markup.T(" of "), markup.C(c.Component)),
		Blocks: []markup.Block{markup.List(items...)},
	}
}
