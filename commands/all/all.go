// Package all is the list of the commands that this binary has. A command of
// one's own is added here, by one line.
//
// It knows nothing of what the commands do.
package all

import (
	"context"
	"time"

	"platform.dev/platform/commands"
	"platform.dev/platform/commands/platform"
	"platform.dev/platform/commands/walkthrough"
	"platform.dev/platform/flowclient"
)

// Deps is what the commands act on. Flow, Fetch and Now are needed.
type Deps struct {
	Flow flowclient.Flow
	// Fetch GETs a page as a visitor would, through the gateway.
	Fetch  func(ctx context.Context, url string) (status int, body []byte, err error)
	Now    func() time.Time
	Stream string        // where walkthroughs are told; default "walkthroughs"
	Limit  time.Duration // the longest a walkthrough's step waits for one thing; default 2 min
}

// New makes every command and registers it.
func New(d Deps) (*commands.Registry, error) {
	cmds, err := Commands(d)
	if err != nil {
		return nil, err
	}
	return commands.NewRegistry(cmds...)
}

// Commands makes every command, those of each bot together.
func Commands(d Deps) ([]commands.Command, error) {
	delivery, err := platform.New(platform.Deps{Reader: d.Flow, Promoter: d.Flow, Locker: d.Flow, Freezer: d.Flow, Witness: d.Flow, Reviewer: d.Flow, Differ: d.Flow, Measurer: d.Flow, Auditor: d.Flow, Now: d.Now})
	if err != nil {
		return nil, err
	}
	tour, err := walkthrough.New(walkthrough.Deps{
		Reader: d.Flow, Author: d.Flow, Promoter: d.Flow, Locker: d.Flow, Puller: d.Flow, Walker: d.Flow,
		Fetch: d.Fetch, Now: d.Now, Stream: d.Stream, Limit: d.Limit,
	})
	if err != nil {
		return nil, err
	}
	return append(delivery, tour...), nil
}
