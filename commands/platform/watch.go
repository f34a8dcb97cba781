package platform

import (
	"context"
	"slices"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

type watchArgs struct {
	Component   string        `arg:"" help:"The component."`
	Environment string        `arg:"" help:"The environment."`
	For         time.Duration `default:"10m" help:"How long at most; up to 25m." placeholder:"duration"`
}

// The bounds of watching: a watch ends before a command's time does, and those
// at once leave room for other commands.
const (
	maxWatch    = 25 * time.Minute
	maxWatching = 16
)

// watch follows a component in one message, until it is Ready, has failed, or time is over.
func watch(reader deliveries, now func() time.Time) commands.Command {
	places := make(chan struct{}, maxWatching)
	return commands.Typed(commands.Command{
		Bot: Bot, Verb: "watch", Effect: commands.Read,
		Summary:  "follow a component in an environment until it is ready, or has failed",
		Examples: []string{"watch shop-web staging", "watch shop-web production --for 20m"},
	}, func(ctx context.Context, req commands.Request, args *watchArgs, reply commands.Reply) error {
		if args.For <= 0 || args.For > maxWatch {
			return &flowclient.Invalid{Field: "--for", Value: args.For.String(), Why: "must be longer than nothing and at most 25m"}
		}
		d, err := reader.Delivery(ctx)
		if err != nil {
			return err
		}
		c, err := component(d, "", args.Component)
		if err != nil {
			return err
		}
		environments := flowclient.Pipeline()
		for _, one := range d.Components {
			for _, e := range one.Environments {
				if !slices.Contains(environments, e.Environment) {
					environments = append(environments, e.Environment)
				}
			}
		}
		if !slices.Contains(environments, args.Environment) {
			return unknown("environment", args.Environment, environments)
		}
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		default:
			return flowclient.Refuse("%d are being watched already; ask again when one of them has ended.", maxWatching)
		}
		began := now()
		w, err := flowclient.Watch(ctx, reader, flowclient.WatchRequest{Component: c.Component, Environment: args.Environment, Limit: args.For}, now,
			func(w flowclient.Watched) error { return reply.Progress(ctx, watchMessage(w, began, now())) })
		if err != nil {
			return err
		}
		return reply.Answer(ctx, watchMessage(w, began, now()))
	})
}

// watchTitles are the kind, the status and the words of a phase, which stand
// behind the component and its environment.
var watchTitles = map[string]struct {
	kind, words string
	status      markup.Status
}{
	flowclient.WatchNothing:  {"watch.waiting", " runs nothing yet", markup.Working},
	flowclient.WatchBuilding: {"watch.building", " is being built", markup.Working},
	flowclient.WatchBuilt:    {"watch.built", " is about to be deployed", markup.Working},
	flowclient.WatchStarting: {"watch.starting", " is being started", markup.Working},
	flowclient.WatchReady:    {"watch.ready", " is ready", markup.Done},
	flowclient.WatchFailed:   {"watch.failed", " has failed", markup.Failed},
	flowclient.WatchOut:      {"watch.out", " is out of service", markup.Notice},
}

// watchMessage is how a component stands in an environment, or what came of it.
func watchMessage(w flowclient.Watched, began, now time.Time) markup.Message {
	title := watchTitles[w.Phase]
	m := markup.Message{Kind: title.kind, Status: title.status,
		Title:  markup.Spans(markup.C(w.Component), markup.T(" in "), markup.B(w.Environment), markup.T(title.words)),
		Blocks: watchBlocks(w, now)}
	switch {
	case w.Late:
		m.Kind, m.Status = "watch.late", markup.Notice
		m.Title = append(markup.Spans(markup.T("After "+markup.Took(now.Sub(began))+" ")), m.Title...)
		m.Blocks = append(m.Blocks, markup.Text(markup.T("I stopped looking. "), say("watch", w.Component, w.Environment), markup.T(" goes on.")))
	case w.Phase == flowclient.WatchReady && now.Sub(began) >= time.Second:
		m.Blocks = append(m.Blocks, markup.Text(markup.T("It took "+markup.Took(now.Sub(began))+" from when you asked.")))
	}
	return m
}

// watchBlocks are the build that is on its way, or what is deployed.
func watchBlocks(w flowclient.Watched, now time.Time) (blocks []markup.Block) {
	deployed := append(markup.Spans(commit(w.Repository, w.Deployment.Commit), markup.T(": ")), standing(w.Deployment, now)...)
	switch {
	case w.Build != nil:
		blocks = append(blocks, markup.Text(append(markup.Spans(markup.T("Build of "), commit(w.Repository, w.Build.Commit), markup.T(": ")), buildPhrase(*w.Build, now)...)...))
		if w.Phase == flowclient.WatchFailed && w.Deployment.Release != "" {
			blocks = append(blocks, markup.Text(append(markup.Spans(markup.T("There still runs ")), deployed...)...))
		}
	case w.Deployment.Release != "":
		blocks = append(blocks, markup.Text(deployed...))
		if !w.Deployment.Ready && w.Deployment.Message != "" {
			blocks = append(blocks, markup.Text(markup.F(w.Deployment.Message)))
		}
	}
	return blocks
}
