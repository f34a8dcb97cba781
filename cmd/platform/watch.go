package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/remote"
)

// watchCmd follows a component in an environment.
type watchCmd struct {
	remoteFlags
	Component   string        `arg:"" help:"The component."`
	Environment string        `arg:"" help:"The environment."`
	For         time.Duration `env:"-" help:"How long at most." default:"10m" placeholder:"DURATION"`
}

// Help is shown by platform watch --help.
func (watchCmd) Help() string {
	return `A line is printed whenever something changes; with --json the end alone. Exit
code 0: it is ready; 3: time is over, so ask again; 1: it has failed, is out of
service, or an error.`
}

// Validate refuses to watch for no time.
func (c watchCmd) Validate() error {
	if c.For <= 0 {
		return errors.New("--for must be longer than nothing")
	}
	return c.remoteFlags.Validate()
}

// Run looks until the end, and tells.
func (c *watchCmd) Run(ctx context.Context, t terminal) error {
	return asking[flowclient.Watched]{
		ask: func(ctx context.Context, client *remote.Client) (flowclient.Watched, error) {
			r := flowclient.WatchRequest{Component: c.Component, Environment: c.Environment, Limit: c.For}
			return flowclient.Watch(ctx, client, r, time.Now, func(w flowclient.Watched) error {
				if !c.JSON {
					printWatched(t.Out, w, time.Now())
				}
				return ctx.Err()
			})
		},
		print: printWatched, code: watchedCode,
	}.run(ctx, c.remoteFlags, t)
}

// printWatched is how it stands, in a line.
func printWatched(w io.Writer, at flowclient.Watched, _ time.Time) {
	line := fmt.Sprintf("%s in %s: %s", at.Component, at.Environment, at.Sentence)
	switch {
	case at.Late:
		line += " Time is over; ask again."
	case at.Phase == flowclient.WatchReady && at.Deployment.URL != "":
		line += " " + at.Deployment.URL
	}
	fmt.Fprintln(w, oneLine(line))
}

// watchedCode is 0 when it became ready.
func watchedCode(w flowclient.Watched) int {
	switch {
	case w.Phase == flowclient.WatchReady:
		return 0
	case w.Late:
		return exitRetry
	}
	return 1
}
