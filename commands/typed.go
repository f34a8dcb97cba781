package commands

import (
	"context"
	"fmt"
)

// Typed gives c its Args and Run from a handler that takes its own argument
// struct T (kong tags): a fresh T is made for each message, filled by the
// registry and handed to run.
func Typed[T any](c Command, run func(ctx context.Context, req Request, args *T, reply Reply) error) Command {
	c.Args = func() any { return new(T) }
	c.Run = func(ctx context.Context, req Request, reply Reply) error {
		args, ok := req.Args.(*T)
		if !ok {
			return fmt.Errorf("run %s %s: arguments are %T, want %T", req.Bot, req.Verb, req.Args, new(T))
		}
		return run(ctx, req, args, reply)
	}
	return c
}
