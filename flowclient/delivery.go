package flowclient

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Delivery joins components with their bindings, releases and builds: what is
// deployed where and what built it. It reads each kind once, however many
// components there are. Review environments are left to Reviews.
func (c *Controller) Delivery(ctx context.Context) (Delivery, error) {
	lists := map[Kind][]Object{}
	for _, kind := range []Kind{KindProject, KindComponent, KindReleaseBinding, KindComponentRelease, KindWorkflowRun} {
		objects, err := c.deps.ControlPlane.List(ctx, kind, Filter{})
		if err != nil {
			return Delivery{}, fmt.Errorf("delivery: list %s: %w", kind, err)
		}
		lists[kind] = objects
	}
	walkthrough := map[string]bool{}
	for _, o := range lists[KindProject] {
		walkthrough[o.Metadata.Name] = o.Metadata.Labels[LabelWalkthrough] == "true"
	}
	releases := map[string]release{}
	for _, o := range lists[KindComponentRelease] {
		r, err := releaseOf(o)
		if err != nil {
			return Delivery{}, err
		}
		releases[r.Name] = r
	}
	builds, err := c.buildsByComponent(lists[KindWorkflowRun])
	if err != nil {
		return Delivery{}, err
	}
	deployments := map[string][]Deployment{}
	for _, o := range lists[KindReleaseBinding] {
		b, err := bindingOf(o)
		if err != nil {
			return Delivery{}, err
		}
		component := b.spec.Owner.ComponentName
		deployments[component] = append(deployments[component], deploymentOf(b, releases, builds[component]))
	}
	d := Delivery{Components: []ComponentDelivery{}}
	for _, o := range lists[KindComponent] {
		var spec ComponentSpec
		if err := o.Decode(&spec, nil); err != nil {
			return Delivery{}, err
		}
		name := o.Metadata.Name
		if o.Metadata.Labels[LabelForkOf] != "" {
			continue
		}
		one := ComponentDelivery{Project: spec.Owner.ProjectName, Component: name,
			Walkthrough: walkthrough[spec.Owner.ProjectName], Environments: deployments[name]}
		if spec.Workflow != nil {
			one.Repository = spec.Workflow.Parameters.Repository.URL
		}
		if one.Environments == nil {
			one.Environments = []Deployment{}
		}
		slices.SortFunc(one.Environments, inPipelineOrder)
		if of := builds[name]; len(of) > 0 {
			one.LastBuild = &of[0]
		}
		d.Components = append(d.Components, one)
	}
	slices.SortFunc(d.Components, func(a, b ComponentDelivery) int {
		return cmp.Or(strings.Compare(a.Project, b.Project), strings.Compare(a.Component, b.Component))
	})
	return d, nil
}

// buildsByComponent gives each component's builds, newest first.
func (c *Controller) buildsByComponent(runs []Object) (map[string][]Build, error) {
	builds := map[string][]Build{}
	for _, o := range runs {
		b, err := c.buildOf(o)
		if err != nil {
			return nil, err
		}
		builds[b.Component] = append(builds[b.Component], b)
	}
	for _, of := range builds {
		slices.SortFunc(of, func(a, b Build) int {
			return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(b.Run, a.Run))
		})
	}
	return builds, nil
}

// deploymentOf is a component in one environment. The build is the newest one
// of the release's commit that passed.
func deploymentOf(b binding, releases map[string]release, builds []Build) Deployment {
	r := releases[b.spec.ReleaseName]
	d := Deployment{
		Environment: b.spec.Environment, Binding: b.Metadata.Name, Release: b.spec.ReleaseName,
		Commit: r.Commit, Image: r.Image, State: cmp.Or(b.spec.State, stateActive), Since: b.status.LastSpecUpdateTime,
		PromotedBy: b.annotation(AnnotationPromotedBy), Displaced: b.annotation(AnnotationDisplaced), URL: b.url(),
	}
	var reason, message string
	if d.Ready, reason, message = b.ready(); !d.Ready {
		d.Reason, d.Message = reason, message
	}
	for _, build := range builds {
		if r.Commit != "" && build.Commit == r.Commit && build.Phase == BuildSucceeded {
			d.Build = build.Run
			break
		}
	}
	return d
}

// inPipelineOrder puts staging before production, and what is in no pipeline
// (review environments) after them by name.
func inPipelineOrder(a, b Deployment) int {
	rank := func(environment string) int {
		if at := slices.Index(pipeline[:], environment); at >= 0 {
			return at
		}
		return len(pipeline)
	}
	return cmp.Or(cmp.Compare(rank(a.Environment), rank(b.Environment)), strings.Compare(a.Environment, b.Environment))
}

// pipeline is the order of the application pipeline.
var pipeline = [...]string{Staging, Production}
