package platform

import (
	"context"
	"fmt"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

// stateReader is the part of flowclient.Reader that state reads.
type stateReader interface {
	deliveries
	State(ctx context.Context) (flowclient.State, error)
}

type stateArgs struct {
	Project string `arg:"" optional:"" help:"Only this project; in its own stream it may be left out."`
}

// state shows how the controller itself stands, and what it waits for.
func state(reader stateReader, now func() time.Time) commands.Command {
	return commands.Typed(commands.Command{
		Bot: Bot, Verb: "state", Effect: commands.Read,
		Summary:  "show what the controller waits for, and how it does",
		Examples: []string{"state", "state shop"},
	}, func(ctx context.Context, req commands.Request, args *stateArgs, reply commands.Reply) error {
		var name string
		var d flowclient.Delivery
		var err error
		if args.Project != "" || req.Project != "" {
			name, d, err = asked(ctx, reader, args.Project, req)
		} else {
			d, err = reader.Delivery(ctx)
		}
		if err != nil {
			return err
		}
		s, err := reader.State(ctx)
		if err != nil {
			return err
		}
		return reply.Answer(ctx, stateMessage(s, name, d, now()))
	})
}

// The most of each that one message shows.
const (
	maxProjects = 50
	maxStanding = 50
)

// stateMessage is a row per project ("" for every one), what each waits for,
// and how the controller does.
func stateMessage(s flowclient.State, project string, d flowclient.Delivery, now time.Time) markup.Message {
	m := stateTitle(s, now)
	repositories := map[string]string{}
	for _, c := range d.Components {
		repositories[c.Component] = c.Repository
	}
	var rows [][][]markup.Span
	var waiting [][]markup.Span
	var said []markup.Block
	for _, p := range s.Projects {
		if project != "" && p.Project != project {
			continue
		}
		rows = append(rows, [][]markup.Span{markup.Spans(markup.B(p.Project)), markup.Spans(markup.F(p.Promotion)), markup.Spans(markup.F(p.Soak)), openness(p.Window, now), nextLook(p, now)})
		for _, c := range p.Components {
			waiting = append(waiting, standingItem(c, repositories[c.Component], p.Window.Zone(), now))
		}
		if p.Error != "" {
			said = append(said, markup.Text(markup.B(p.Project), markup.T(" could not be looked at, which is tried again: "), markup.F(p.Error)))
		}
		if p.Starvation != "" {
			said = append(said, markup.Text(markup.F(p.Starvation)))
		}
	}
	if len(rows) == 0 {
		m.Blocks = append(m.Blocks, markup.Text(markup.T("There is no project yet.")))
	} else {
		m.Blocks = append(m.Blocks, markup.Table([]string{"project", "promotion", "soak", "production", "next look"}, rows[:min(len(rows), maxProjects)]...))
	}
	switch {
	case len(waiting) > 0:
		m.Blocks = append(m.Blocks, markup.Text(markup.T("What staging has and production has not:")), markup.List(waiting[:min(len(waiting), maxStanding)]...))
	case len(rows) > 0:
		m.Blocks = append(m.Blocks, markup.Text(markup.T("Production runs everywhere what staging runs.")))
	}
	if len(rows) > maxProjects || len(waiting) > maxStanding {
		m.Blocks = append(m.Blocks, markup.Text(markup.T(fmt.Sprintf("There are %s with %s in all; ", counted(len(rows), "project", "projects"), counted(len(waiting), "such component", "such components"))), say("state <project>"), markup.T(" shows one.")))
	}
	m.Blocks = append(m.Blocks, said...)
	if s.OpenIntents > 0 {
		m.Blocks = append(m.Blocks, markup.Text(markup.T(counted(s.OpenIntents, "effect is", "effects are")+" under way.")))
	}
	for _, note := range s.Notes {
		m.Blocks = append(m.Blocks, markup.Text(markup.F(note)))
	}
	return m
}

// stateTitle is how the controller itself does.
func stateTitle(s flowclient.State, now time.Time) markup.Message {
	m := markup.Message{Kind: "state.well", Status: markup.Done, Title: markup.Spans(markup.T("The controller is at work"))}
	if s.LastPass != nil {
		m.Title = append(m.Title, markup.T("; its last pass was "+markup.Ago(now.Sub(*s.LastPass))))
	}
	switch {
	case s.Overdue:
		m.Kind, m.Status, m.Title = "state.overdue", markup.Failed, markup.Spans(markup.T("The controller is overdue: nothing moves by itself"))
		m.Blocks = append(m.Blocks, markup.Text(markup.F(s.Health)))
	case s.PassError != "":
		m.Kind, m.Status, m.Title = "state.failing", markup.Failed, markup.Spans(markup.T("The controller's last pass failed"))
	}
	if s.PassError != "" {
		m.Blocks = append(m.Blocks, markup.Text(markup.F(s.PassError)))
	}
	return m
}

// standingItem is a component that production does not run as staging does.
func standingItem(c flowclient.ComponentStanding, repository string, zone *time.Location, now time.Time) []markup.Span {
	spans := markup.Spans(markup.C(c.Component), markup.T(" "), commit(repository, c.ToCommit), markup.T(": "), markup.B(c.Standing))
	if c.Since != nil {
		spans = append(spans, markup.T(" since "+markup.At(c.Since.In(zone), now)))
	}
	if c.Sentence != "" {
		spans = append(spans, markup.T(". "), markup.F(c.Sentence))
	}
	return spans
}

// nextLook is when a project is looked at again by itself.
func nextLook(p flowclient.ProjectState, now time.Time) []markup.Span {
	if p.Wake == nil {
		return markup.Spans(markup.T("when it changes"))
	}
	return markup.Spans(markup.T(markup.In(p.Wake.Sub(now))))
}

// openness is a window in a few words.
func openness(w flowclient.Window, now time.Time) []markup.Span {
	words := map[bool]string{true: "open", false: "closed"}[w.Open]
	if w.Flips == nil {
		return markup.Spans(markup.T(words))
	}
	return markup.Spans(markup.T(words + " until " + markup.At(w.Flips.In(w.Zone()), now)))
}
