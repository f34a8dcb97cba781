package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"platform.dev/platform/flowclient"
)

// The conditions of a WorkflowRun, and the reasons by phase.
const (
	condRunning   = "WorkflowRunning"
	condSucceeded = "WorkflowSucceeded"
	condFailed    = "WorkflowFailed"
	condCompleted = "WorkflowCompleted"
)

// reconcileRun has the run built and copies how it stands. What a success makes
// is stored together with it, so that a finished run needs no second look.
func (s *Server) reconcileRun(ctx context.Context, name string) error {
	o, err := get(ctx, s.db.Reader(), flowclient.KindWorkflowRun, name)
	if isMissing(err) || err == nil && o.settled {
		return nil
	}
	if err != nil {
		return err
	}
	b, err := s.buildOf(ctx, o)
	if err != nil {
		return err
	}
	st, failure := s.builder.Ensure(ctx, b)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if failure != nil {
		failure = fmt.Errorf("build %s: %w", name, failure)
		st = BuildStatus{Phase: flowclient.BuildPending, Message: failure.Error()}
	}
	err = s.commit(ctx, "reconcile WorkflowRun", func(t *tx) error { return t.reportRun(o, st) })
	return errors.Join(failure, err)
}

// buildOf is what the run asks to be built. A module ref that it leaves open is the workflow's default.
func (s *Server) buildOf(ctx context.Context, o object) (Build, error) {
	spec, err := decode[flowclient.WorkflowRunSpec](o.spec)
	if err != nil {
		return Build{}, err
	}
	b := Build{Run: o.name, Project: s.ref(o, refProject), Component: s.ref(o, refComponent), Params: spec.Workflow.Parameters}
	if b.Params.ModuleRef != "" {
		return b, nil
	}
	workflow, err := get(ctx, s.db.Reader(), flowclient.KindClusterWorkflow, spec.Workflow.Name)
	if isMissing(err) {
		return b, nil // the builder has a default of its own
	}
	b.Params.ModuleRef = workflow.at("parameters.openAPIV3Schema.properties.module-ref.default")
	return b, err
}

// reportRun stores a run's status, and on its success the workload that it made.
func (t *tx) reportRun(seen object, st BuildStatus) error {
	o, err := t.get(seen.kind, seen.name)
	if isMissing(err) || err == nil && (o.uid != seen.uid || o.settled) {
		return nil
	}
	if err != nil {
		return err
	}
	if st.Commit != "" && o.labels[flowclient.LabelCommit] != st.Commit {
		labelled := o
		labelled.labels = maps.Clone(o.labels)
		labelled.labels[flowclient.LabelCommit] = st.Commit
		if err := t.replace(o, &labelled); err != nil {
			return err
		}
		o = labelled
	}
	if st.Phase == flowclient.BuildSucceeded {
		var refused *problem
		if err := t.makeWorkload(o, st); errors.As(err, &refused) {
			st.Phase, st.Message = flowclient.BuildFailed, "the workload that the build made is refused: "+refused.Message
		} else if err != nil {
			return err
		}
	}
	c, err := observe(o, t.now)
	if err != nil {
		return err
	}
	tellRun(c, st)
	done := st.Phase == flowclient.BuildSucceeded || st.Phase == flowclient.BuildFailed
	return t.reportStatus(o, flowclient.WorkflowRunStatus{
		Conditions: c.after, Tasks: st.Tasks, StartedAt: st.StartedAt, CompletedAt: st.CompletedAt,
	}, done)
}

// tellRun sets a run's conditions.
func tellRun(c *conditions, st BuildStatus) {
	phase := st.Phase
	if phase == "" {
		phase = flowclient.BuildPending
	}
	reason := "Workflow" + phase
	for _, kind := range []struct {
		name  string
		holds bool
	}{
		{condRunning, phase == flowclient.BuildRunning},
		{condSucceeded, phase == flowclient.BuildSucceeded},
		{condFailed, phase == flowclient.BuildFailed},
		{condCompleted, phase == flowclient.BuildSucceeded || phase == flowclient.BuildFailed},
	} {
		c.set(kind.name, kind.holds, reason, st.Message)
	}
}

// phaseOf reads a run's phase from its conditions.
func phaseOf(st flowclient.WorkflowRunStatus) string {
	for _, kind := range []struct{ condition, phase string }{
		{condSucceeded, flowclient.BuildSucceeded}, {condFailed, flowclient.BuildFailed}, {condRunning, flowclient.BuildRunning},
	} {
		if flowclient.ConditionIs(st.Conditions, kind.condition, 0) {
			return kind.phase
		}
	}
	return flowclient.BuildPending
}

// makeWorkload stores what a successful run made as its component's workload,
// unless a newer run did so before, or the component is gone.
func (t *tx) makeWorkload(run object, st BuildStatus) error {
	component, err := t.get(flowclient.KindComponent, t.s.ref(run, refComponent))
	if isMissing(err) || err == nil && component.deleted != nil {
		return nil
	}
	if err != nil {
		return err
	}
	old, err := t.get(flowclient.KindWorkload, component.name)
	fresh := isMissing(err)
	if err != nil && !fresh {
		return err
	}
	if made, err := strconv.ParseInt(old.annotations[annotationTurn], 10, 64); err == nil && made > run.id {
		return nil
	}
	w := old
	w.kind, w.name = flowclient.KindWorkload, component.name
	w.labels, w.annotations = maps.Clone(orEmpty(old.labels)), maps.Clone(orEmpty(old.annotations))
	maps.Copy(w.labels, inherit(component, map[string]string{
		flowclient.LabelProject: t.s.ref(run, refProject), flowclient.LabelComponent: component.name, flowclient.LabelCommit: st.Commit,
	}))
	w.annotations[annotationRun], w.annotations[annotationTurn] = run.name, strconv.FormatInt(run.id, 10)
	if w.spec, err = t.s.workloadOf(component, old, st); err != nil {
		return err
	}
	if fresh {
		return t.insert(&w)
	}
	return t.replace(old, &w)
}

// workloadOf is the workload's spec after a build: the descriptor's where there
// is one, else the one there was, with the image that was built. It passes the
// same schema as one that comes over the API; a *problem says why it does not.
func (s *Server) workloadOf(component, old object, st BuildStatus) (json.RawMessage, error) {
	made, err := membersOf(old.spec)
	if err != nil {
		return nil, err
	}
	if st.Workload != nil {
		raw, err := encode(st.Workload)
		if err != nil {
			return nil, err
		}
		if made, err = membersOf(raw); err != nil {
			return nil, err
		}
	}
	container, ok := made["container"].(map[string]any)
	if !ok {
		container = map[string]any{}
	}
	if st.Image != "" {
		container["image"] = st.Image
	}
	made["container"] = container
	made["owner"] = map[string]any{"projectName": s.ref(component, refProject), "componentName": component.name}
	checked, err := s.kinds[flowclient.KindWorkload].spec.read("spec", made)
	if err != nil {
		return nil, err
	}
	return encode(checked)
}
