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
	Unlocking(ctx context.Context, r flowclient.LockRequest) (flowclient.Unlocking, error)
}

type unlockArgs struct {
	Component string `arg:"" help:"The component."`
	Commit    string `arg:"" help:"The commit, whole or its first characters, four or more."`
	To        string `help:"Only the lock for this environment; else every lock of the commit." placeholder:"environment"`
	DryRun    bool   `help:"Only tell what would be cleared, and what would move then; nothing is changed."`
}

// unlock clears the locks of a commit.
func unlock(l lockClearer, reader deliveries) commands.Command {
	return commands.Typed(commands.Command{
		Bot: Bot, Verb: "unlock", Effect: commands.Write, Action: ActionUnlock,
		Summary:  "clear the locks of a commit",
		Examples: []string{"unlock shop-web 1a2b3c4", "unlock shop-web 1a2b3c4 --to production", "unlock shop-web 1a2b3c4 --dry-run"},
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
		r := flowclient.LockRequest{Origin: origin(req), Component: c.Component, Commit: args.Commit, Environment: args.To}
		if args.DryRun {
			would, err := l.Unlocking(ctx, r)
			if err := notNothing(err); err != nil {
				return answerLock(ctx, reply, "unlock", "Would not be unlocked: ", args.Commit, c.Component, err)
			}
			return reply.Answer(ctx, unlockingMessage(c, args.Commit, args.To, would))
		}
		cleared, err := l.ClearLock(ctx, r)
		if err := notNothing(err); err != nil {
			return answerLock(ctx, reply, "unlock", "Not unlocked: ", args.Commit, c.Component, err)
		}
		return reply.Answer(ctx, unlockMessage(c, args.Commit, args.To, cleared))
	})
}

// notNothing is the error, unless it says that there was no such lock: that is an answer.
func notNothing(err error) error {
	var missing *flowclient.NotFound
	if errors.As(err, &missing) && missing.Kind == "lock" {
		return nil
	}
	return err
}

// unlockMessage lists what was cleared, or says that there was nothing.
func unlockMessage(c flowclient.ComponentDelivery, asked, environment string, cleared []flowclient.Lock) markup.Message {
	if len(cleared) == 0 {
		return markup.Message{
			Kind: "unlock.nothing", Status: markup.Notice,
			Title: markup.Spans(markup.T("No lock on "), markup.C(flowclient.ShortSHA(asked)), markup.T(" of "), markup.C(c.Component), markup.T(" in "+scope(environment)+" was there to clear")),
		}
	}
	return markup.Message{
		Kind: "unlock.done", Status: markup.Done,
		Title:  markup.Spans(markup.T("Unlocked "), commit(c.Repository, cleared[0].Commit), markup.T(" of "), markup.C(c.Component)),
		Blocks: []markup.Block{markup.List(clearedItems(cleared)...)},
	}
}

// clearedItems are locks of one commit in a line each.
func clearedItems(locks []flowclient.Lock) (items [][]markup.Span) {
	for _, l := range locks {
		items = append(items, markup.Spans(markup.T("in "), markup.B(scope(l.Environment)), markup.T(", set by "), markup.F(l.Who), markup.T(": "), markup.F(l.Reason)))
	}
	return items
}

// unlockingMessage tells what would be cleared, and what would move then.
func unlockingMessage(c flowclient.ComponentDelivery, asked, environment string, would flowclient.Unlocking) markup.Message {
	if len(would.Locks) == 0 {
		return unlockMessage(c, asked, environment, nil)
	}
	words := []string{"unlock", c.Component, flowclient.ShortSHA(would.Locks[0].Commit)}
	if environment != "" {
		words = append(words, "--to", environment)
	}
	return markup.Message{
		Kind: "unlock.would", Status: markup.Notice,
		Title: markup.Spans(markup.T("Would unlock "), commit(c.Repository, would.Locks[0].Commit), markup.T(" of "), markup.C(c.Component)),
		Blocks: []markup.Block{
			markup.List(clearedItems(would.Locks)...),
			markup.Text(markup.F(would.Sentence)),
			markup.Text(markup.T("Nothing was changed. "), say(words...), markup.T(" does it.")),
		},
	}
}
