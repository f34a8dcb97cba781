package flowclient

import (
	"context"
	"time"

	"platform.dev/platform/flowclient/window"
)

// Window is the production window of a project; *NotFound for an unknown one.
func (c *Controller) Window(ctx context.Context, project string) (Window, error) {
	if err := checkLabel("project", project, maxLabel); err != nil {
		return Window{}, err
	}
	o, err := c.deps.ControlPlane.Get(ctx, KindProject, project)
	if err != nil {
		return Window{}, err
	}
	return windowOf(project, o.Metadata.Annotations[AnnotationProductionWindow], c.deps.Now()), nil
}

// windowOf judges a project's window at an instant: without a text every
// instant is open, with one that cannot be read none is.
func windowOf(project, text string, now time.Time) Window {
	if text == "" {
		return Window{Project: project, Open: true, Sentence: window.Always(project)}
	}
	parsed, err := window.Parse(text)
	if err != nil {
		return Window{Project: project, Text: text, Sentence: window.Broken(project, err)}
	}
	w := Window{Project: project, Open: parsed.Contains(now), Text: text, Sentence: parsed.Sentence(project, now)}
	if flip, ok := parsed.Next(now); ok {
		w.Flips = &flip
	}
	return w
}
