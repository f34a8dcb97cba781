package server

import (
	"context"
	"sync"

	"platform.dev/platform/server/controlplane"
	"platform.dev/platform/server/observer"
	"platform.dev/platform/server/runtime"
	"platform.dev/platform/server/workflow"
)

// The labels of log lines; ci_stage is the interface document's name.
const (
	labelStage       = "ci_stage"
	labelComponent   = "component"
	labelProject     = "project"
	labelEnvironment = "environment"
	labelRun         = "run"
	labelStream      = "stream" // stdout, stderr
)

// buildLine keeps a line of a build's output, as it comes.
func (t *instruments) buildLine(b workflow.Build, l workflow.Line) {
	t.keep(map[string]string{
		labelStage: l.Stage, labelComponent: b.Component, labelProject: b.Project, labelRun: b.Run,
	}, observer.Line{At: l.At, Text: l.Text})
}

// processLine keeps a line that a deployed process wrote.
func (t *instruments) processLine(name string, l runtime.LogLine) {
	d := t.places.get(name)
	t.keep(map[string]string{
		labelComponent: d.Component, labelProject: d.Project, labelEnvironment: d.Environment, labelStream: l.Stream,
	}, observer.Line{At: l.At, Text: l.Text})
}

// keep hands a line to the log store. One that it cannot take is this program's own mistake.
func (t *instruments) keep(labels map[string]string, l observer.Line) {
	if err := t.observer.Log(context.Background(), labels, []observer.Line{l}); err != nil {
		t.log.Warn("a log line is left out", "error", err)
	}
}

// places remembers what each deployment's name stands for. The zero value is ready.
type places struct {
	mu sync.Mutex
	of map[string]controlplane.Deployment
}

// put is told of a deployment before anything of it runs.
func (p *places) put(d controlplane.Deployment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[string]controlplane.Deployment{}
	}
	p.of[d.Name] = d
}

// get is the deployment of that name; one that is not known yet is its own component.
func (p *places) get(name string) controlplane.Deployment {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d, ok := p.of[name]; ok {
		return d
	}
	return controlplane.Deployment{Name: name, Component: name}
}
