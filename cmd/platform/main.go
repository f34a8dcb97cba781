// Command platform runs software delivery from chat. `platform up` brings the
// whole platform up on one machine; `platform chat` talks to it as a person
// would; the other commands ask its flow controller, or one elsewhere.
//
// This package alone reads flags, the environment and configuration files; it
// knows nothing of how anything is done.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	code := run(ctx, os.Args[1:], terminal{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(code)
}

// cli is the command line.
type cli struct {
	Up      upCmd      `cmd:"" help:"Start the platform on this machine and serve until Ctrl-C."`
	Chat    chatCmd    `cmd:"" help:"Post a message and wait for the bot's answer; without a message, read and type."`
	Version versionCmd `cmd:"" help:"Print the version."`

	Status   statusCmd   `cmd:"" group:"flow" help:"Show what a project runs where."`
	Where    whereCmd    `cmd:"" group:"flow" help:"Show which commit of a component runs in each environment."`
	Delivery deliveryCmd `cmd:"" group:"flow" help:"Show what is deployed where and what built it."`
	Builds   buildsCmd   `cmd:"" group:"flow" help:"List the builds under way."`
	Diff     diffCmd     `cmd:"" group:"flow" help:"Show the commits that a promote would ship."`
	Why      whyCmd      `cmd:"" group:"flow" help:"Tell what keeps a project from production, and until when."`
	Watch    watchCmd    `cmd:"" group:"flow" help:"Follow a component in an environment until it is ready, or has failed."`
	Window   windowCmd   `cmd:"" group:"flow" help:"Tell when production changes of a project are allowed."`
	State    stateCmd    `cmd:"" group:"flow" help:"Show what the controller waits for, and how it does."`
	Evidence evidenceCmd `cmd:"" group:"flow" help:"Show who asked for what, what was decided, and what came of it."`
	Audit    auditCmd    `cmd:"" group:"flow" help:"List who decided what and what came of it, newest first."`
	Dora     doraCmd     `cmd:"" group:"flow" help:"Show how a project delivers: how often, how fast, and how often it had to go back."`
	Promote  promoteCmd  `cmd:"" group:"flow" help:"Move what staging runs to production."`
	Rollback rollbackCmd `cmd:"" group:"flow" help:"Move production back to what a promotion displaced."`
	Undo     undoCmd     `cmd:"" group:"flow" help:"Take back the last promotion of a project that was asked for here, if nothing has changed since."`
	Lock     lockCmd     `cmd:"" group:"flow" help:"Refuse promotion and rollback to a commit."`
	Unlock   unlockCmd   `cmd:"" group:"flow" help:"Clear the locks of a commit."`
	Locks    locksCmd    `cmd:"" group:"flow" help:"List the commit locks that hold."`
	Freeze   freezeCmd   `cmd:"" group:"flow" help:"Refuse every change of production for a time."`
	Thaw     thawCmd     `cmd:"" group:"flow" help:"End a freeze, or call it off."`
	Freezes  freezesCmd  `cmd:"" group:"flow" help:"List the freezes that hold or are to come."`
	Scaffold scaffoldCmd `cmd:"" group:"flow" help:"Make a project from a template."`
	Teardown teardownCmd `cmd:"" group:"flow" help:"Remove what walkthroughs made."`
	Sync     syncCmd     `cmd:"" group:"flow" help:"Apply a repository's manifests."`
}

// terminal is where a command reads and writes.
type terminal struct {
	In       io.Reader
	Out, Err io.Writer
}

// exitCode is an error that has been told to the person; only the code is left.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// exits leaves kong's own early exits (help, usage errors) to run.
type exits int

// run parses the arguments and executes the command; it returns the exit code:
// 0 done, 1 an error or bad usage (told on Err), 2 refused, 3 ask again.
func run(ctx context.Context, args []string, t terminal) (code int) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case exits:
			code = int(r)
		default:
			panic(r)
		}
	}()
	var c cli
	parser, err := kong.New(&c,
		kong.Name("platform"),
		kong.Description("Software delivery from chat: one binary, a whole platform."),
		kong.Writers(t.Out, t.Err),
		kong.Exit(func(code int) { panic(exits(min(code, 1))) }), // bad usage has no code of its own
		kong.DefaultEnvars("PLATFORM"),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.ExplicitGroups([]kong.Group{{Key: "flow", Title: "Commands that ask the flow controller (exit code 0 done, 2 refused, 3 ask again, 1 an error):"}}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(t, slog.New(slog.NewTextHandler(t.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))),
	)
	if err != nil {
		fmt.Fprintln(t.Err, "platform:", err)
		return 1
	}
	parsed, err := parser.Parse(args)
	parser.FatalIfErrorf(err)
	err = parsed.Run()
	var told exitCode
	switch {
	case err == nil:
		return 0
	case errors.As(err, &told):
		return int(told)
	default:
		fmt.Fprintln(t.Err, "platform:", err)
		return 1
	}
}
