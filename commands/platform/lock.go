package platform

import (
	"context"
	"errors"
	"strings"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

// lockSetter is the part of flowclient.Locker that lock calls.
type lockSetter interface {
	SetLock(ctx context.Context, r flowclient.LockRequest) (flowclient.Lock, error)
}

type lockArgs struct {
	Component string `arg:"" help:"The component."`
	Commit    string `arg:"" help:"The commit, whole or its first characters, four or more."`
	To        string `help:"Only this environment; else every environment." placeholder:"environment"`
	Reason    string `required:"" help:"Why; people who are refused read it." placeholder:"text"`
}

// lock refuses promotion and rollback to the releases of a commit.
func lock(l lockSetter, reader deliveries, now func() time.Time) commands.Command {
	return commands.Typed(commands.Command{
		Bot: Bot, Verb: "lock", Effect: commands.Write, Action: ActionLock,
		Summary:  "refuse promotion and rollback to a commit",
		Examples: []string{`lock shop-web 1a2b3c4 --reason "breaks the checkout"`, `lock shop-web 1a2b3c4 --to production --reason "not before Monday"`},
	}, func(ctx context.Context, req commands.Request, args *lockArgs, reply commands.Reply) error {
		if strings.TrimSpace(args.Reason) == "" {
			return flowclient.Refuse("The option --reason is empty: say why, for those who will be refused.")
		}
		d, err := reader.Delivery(ctx)
		if err != nil {
			return err
		}
		c, err := component(d, "", args.Component)
		if err != nil {
			return err
		}
		held, err := l.SetLock(ctx, flowclient.LockRequest{
			Origin: origin(req), Component: c.Component, Commit: args.Commit, Environment: args.To, Reason: args.Reason,
		})
		if err != nil {
			return answerLock(ctx, reply, "lock", "Not locked: ", args.Commit, c.Component, err)
		}
		fresh := held.Who == req.Who.Persona && held.Reason == strings.TrimSpace(args.Reason)
		return reply.Answer(ctx, lockMessage(held, fresh, c.Repository, now()))
	})
}

// answerLock answers a refusal word for word; other errors are returned.
func answerLock(ctx context.Context, reply commands.Reply, kind, title, commit, component string, err error) error {
	var refusal *flowclient.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	return reply.Answer(ctx, refusedLock(kind, title, commit, component, refusal))
}

// refusedLock is a lock that was not set or not cleared.
func refusedLock(kind, title, commit, component string, r *flowclient.Refusal) markup.Message {
	return markup.Message{
		Kind: kind + ".refused", Status: markup.Refused,
		Title:  markup.Spans(markup.T(title), markup.C(commit), markup.T(" of "), markup.C(component)),
		Blocks: []markup.Block{markup.Text(markup.F(r.Sentence))},
	}
}

// scope is where a lock holds.
func scope(environment string) string {
	if environment == "" {
		return "every environment"
	}
	return environment
}

// lockMessage is a lock that holds; fresh tells that it is as was asked.
func lockMessage(l flowclient.Lock, fresh bool, repository string, now time.Time) markup.Message {
	m := markup.Message{
		Kind: "lock.set", Status: markup.Done,
		Title: markup.Spans(markup.T("Locked "), commit(repository, l.Commit), markup.T(" of "), markup.C(l.Component), markup.T(" in "), markup.B(scope(l.Environment))),
	}
	if !fresh {
		m.Kind, m.Status = "lock.already", markup.Notice
		m.Title = markup.Spans(commit(repository, l.Commit), markup.T(" of "), markup.C(l.Component), markup.T(" was locked already in "), markup.B(scope(l.Environment)))
	}
	fields := []markup.Field{markup.Named("reason", markup.F(l.Reason)), markup.Named("set by", markup.F(l.Who), markup.T(", "+markup.Ago(now.Sub(l.At))))}
	if len(l.Releases) > 0 {
		fields = append(fields, markup.Named("releases", codes(l.Releases)...))
	}
	unlock := "@" + Bot + " unlock " + l.Component + " " + flowclient.ShortSHA(l.Commit)
	if l.Environment != "" {
		unlock += " --to " + l.Environment
	}
	m.Blocks = []markup.Block{
		markup.Fields(fields...),
		markup.Text(markup.T("Promotion and rollback to it are refused until "), markup.C(unlock), markup.T(".")),
	}
	if l.Note != "" {
		m.Blocks = append(m.Blocks, markup.Text(markup.B("But "), markup.F(l.Note)))
	}
	return m
}

// codes lists identifiers.
func codes(all []string) []markup.Span {
	var out []markup.Span
	for i, a := range all {
		if i > 0 {
			out = append(out, markup.T(", "))
		}
		out = append(out, markup.C(a))
	}
	return out
}
