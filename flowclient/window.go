package flowclient

import (
	"context"
	"time"

	"platform.dev/platform/flowclient/window"
)

// Window is the production window of a project with its freezes; *NotFound for an unknown project.
func (c *Controller) Window(ctx context.Context, project string) (Window, error) {
	if err := checkLabel("project", project, maxLabel); err != nil {
		return Window{}, err
	}
	o, err := c.deps.ControlPlane.Get(ctx, KindProject, project)
	if err != nil {
		return Window{}, err
	}
	now := c.deps.Now()
	freezes, err := c.freezesOf(ctx, project, now)
	if err != nil {
		return Window{}, err
	}
	return windowOf(&c.windows, project, o.Metadata.Annotations[AnnotationProductionWindow], freezes, now), nil
}

// windowOf judges a project's window at an instant: without a text every
// instant is open, with one that cannot be read none is, and none during a
// freeze. Freezes of other projects and those that have ended are passed over.
// known remembers texts; nil remembers none, and says the same.
func windowOf(known *window.Parser, project, text string, freezes []Freeze, now time.Time) Window {
	w := Window{Project: project, Text: text}
	for _, f := range freezes {
		if f.concerns(project) && f.Until.After(now) {
			w.Freezes = append(w.Freezes, f)
		}
	}
	calendar, err := calendarOf(known, project, text, w.Freezes)
	if err != nil {
		w.Sentence = window.Broken(project, err)
		return w
	}
	w.Open, w.Sentence = calendar.Contains(now), calendar.Sentence(project, now)
	if flip, ok := calendar.Next(now); ok {
		w.Flips = &flip
	}
	return w
}

// calendarOf is when production changes to a project are allowed, by its window
// text and the freezes that concern it; a *window.SyntaxError is a text that
// cannot be read.
func calendarOf(known *window.Parser, project, text string, freezes []Freeze) (window.Calendar, error) {
	var shut []window.Freeze
	for _, f := range freezes {
		if f.concerns(project) {
			shut = append(shut, window.Freeze{From: f.From, Until: f.Until, Reason: f.Reason, Who: f.Who, All: f.Project == ""})
		}
	}
	if text == "" {
		return window.Anytime(shut...), nil
	}
	w, err := known.Parse(text)
	if err != nil {
		return window.Calendar{}, err
	}
	return window.Within(w, shut...), nil
}

// Zone is the time zone of the window's text; UTC without one that can be read.
func (w Window) Zone() *time.Location {
	if parsed, err := window.Parse(w.Text); err == nil {
		return parsed.Zone()
	}
	return time.UTC
}
