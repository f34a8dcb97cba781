package commands

import (
	"context"
	"fmt"

	"platform.dev/platform/bots/markup"
)

// Plan is what a command would do, as it was asked, now.
type Plan struct {
	Message markup.Message // what would be done, for people: shown above the question whether to go on
	// Fingerprint is the same for as long as the command would do the same, and
	// confirms nothing else: no times that pass, no sentences that count them. Empty:
	// there is nothing to do, so that nobody is asked and nothing is run; Message is the answer.
	Fingerprint string
}

// Forced is an argument struct that can ask to go on against a gate. Such a
// request is confirmed before it is run, whatever the policy says.
type Forced interface {
	// Forced tells whether these arguments ask for it.
	Forced() bool
}

// Dry is an argument struct that can ask only to be told: a write that then
// changes nothing, and is never to be confirmed.
type Dry interface {
	// Dry tells whether these arguments ask for it.
	Dry() bool
}

// AnyProject stands for a project that arguments alone do not tell.
const AnyProject = "*"

// Aimed is an argument struct that says what it is about, for the policy of
// confirmation. Arguments that do not say it may be about any project.
type Aimed interface {
	// Aim is the project ("" for the one of the stream, AnyProject where the arguments alone
	// do not tell) and the environment that would be changed ("" where they do not name one).
	Aim() (project, environment string)
}

// Forced tells whether what is asked for goes on against a gate.
func (c Call) Forced() bool {
	f, ok := c.Args.(Forced)
	return ok && f.Forced()
}

// Changes tells whether what is asked for changes anything: a write that is not dry.
func (c Call) Changes() bool {
	d, ok := c.Args.(Dry)
	return c.Command.Effect == Write && (!ok || !d.Dry())
}

// Aim is the project that what is asked for is about, AnyProject where it is not
// known, and the environment, "" where it is not; stream is the project in whose stream it is asked.
func (c Call) Aim(stream string) (project, environment string) {
	switch a := c.Args.(type) {
	case Aimed:
		project, environment = a.Aim()
	case nil:
	default:
		project = AnyProject
	}
	if project == "" {
		project = stream
	}
	if project == "" {
		project = AnyProject
	}
	return project, environment
}

// Planned gives c its Plan from a function that takes the command's own argument struct T, as Typed does for Run.
func Planned[T any](c Command, plan func(ctx context.Context, req Request, args *T) (Plan, error)) Command {
	c.Plan = func(ctx context.Context, req Request) (Plan, error) {
		args, ok := req.Args.(*T)
		if !ok {
			return Plan{}, fmt.Errorf("plan %s %s: arguments are %T, want %T", req.Bot, req.Verb, req.Args, new(T))
		}
		return plan(ctx, req, args)
	}
	return c
}

// Declined is a refusal that has a message of its own, which is shown as it is.
type Declined struct {
	Message markup.Message
}

// Error is the message as plain text.
func (d *Declined) Error() string { return markup.Plain(d.Message) }

// Refused marks the error as an answer for people.
func (d *Declined) Refused() string { return d.Error() }
