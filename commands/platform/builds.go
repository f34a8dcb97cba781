package platform

import (
	"context"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

// buildReader is the part of flowclient.Reader that builds reads.
type buildReader interface {
	deliveries
	Builds(ctx context.Context) ([]flowclient.Build, error)
}

// maxLast is how many finished builds are shown when none is under way.
const maxLast = 10

// builds shows the builds that the controller is waiting on.
func builds(reader buildReader, now func() time.Time) commands.Command {
	return commands.Command{
		Bot: Bot, Verb: "builds", Effect: commands.Read,
		Summary:  "show the builds under way",
		Examples: []string{"builds"},
		Run: func(ctx context.Context, req commands.Request, reply commands.Reply) error {
			waiting, err := reader.Builds(ctx)
			if err != nil {
				return err
			}
			d, err := reader.Delivery(ctx)
			if err != nil {
				return err
			}
			return reply.Answer(ctx, buildsMessage(waiting, d, now()))
		},
	}
}

// buildsMessage lists builds under way, or else each component's last one.
func buildsMessage(waiting []flowclient.Build, d flowclient.Delivery, now time.Time) markup.Message {
	repositories := map[string]string{}
	for _, c := range d.Components {
		repositories[c.Component] = c.Repository
	}
	item := func(b flowclient.Build) []markup.Span {
		return append(markup.Spans(markup.C(b.Component), markup.T(" "), commit(repositories[b.Component], b.Commit), markup.T(": ")), buildPhrase(b, now)...)
	}
	var items [][]markup.Span
	if len(waiting) > 0 {
		for _, b := range waiting {
			items = append(items, item(b))
		}
		return markup.Message{
			Kind: "builds.waiting", Status: markup.Working,
			Title:  markup.Spans(markup.T(counted(len(waiting), "build is", "builds are") + " under way")),
			Blocks: []markup.Block{markup.List(items...)},
		}
	}
	m := markup.Message{Kind: "builds.none", Status: markup.Done, Title: markup.Spans(markup.T("No build is under way"))}
	for _, c := range d.Components {
		if c.LastBuild != nil && len(items) < maxLast {
			items = append(items, item(*c.LastBuild))
		}
	}
	if len(items) > 0 {
		m.Blocks = append(m.Blocks, markup.Text(markup.T("The last of each component:")), markup.List(items...))
	}
	return m
}
