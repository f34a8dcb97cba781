package flowclient

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// The phases of a Watched.
const (
	WatchNothing  = "nothing"        // nothing runs there, and nothing is on its way
	WatchBuilding = "building"       // what it will run is being built
	WatchBuilt    = "built"          // was built, and is about to be deployed
	WatchStarting = "starting"       // is deployed, and not Ready yet
	WatchReady    = "ready"          // the end: what was on its way serves
	WatchFailed   = "failed"         // the end: the build failed, or the deployment keeps failing
	WatchOut      = "out of service" // the end: somebody took it out of service
)

// Watched is how a component comes along in an environment.
type Watched struct {
	Project     string     `json:"project"`
	Component   string     `json:"component"`
	Environment string     `json:"environment"`
	Repository  string     `json:"repository,omitempty"`
	Phase       string     `json:"phase"`
	Sentence    string     `json:"sentence"` // what is under way, or what came of it
	Deployment  Deployment `json:"deployment"`
	Build       *Build     `json:"build,omitempty"` // on its way there, or the one that failed
	Late        bool       `json:"late,omitempty"`  // the limit is over and the end is not there
	since       time.Time  // when the deployment's reason was first seen
}

// Pipeline lists the environments of the application pipeline, the root first.
func Pipeline() []string { return []string{Staging, Production} }

// Ended tells whether there is nothing more to wait for.
func (w Watched) Ended() bool {
	return w.Phase == WatchReady || w.Phase == WatchFailed || w.Phase == WatchOut
}

// WatchRequest says what is watched, and for how long.
type WatchRequest struct {
	Component   string
	Environment string
	Limit       time.Duration
}

// watchEvery is how often a watch looks. What it reads is kept by whoever answers it.
const watchEvery = time.Second

// watchBuilt is how long after its end a build counts as about to be deployed:
// where nothing deploys it by itself, the environment stays as it is.
const watchBuilt = time.Minute

// Watch looks at a component in an environment until it is Ready there, has
// failed or the limit is over, and returns how it stands then. Each change is
// told first. It only reads. *NotFound for a component or an environment that it does not have.
func Watch(ctx context.Context, reader interface {
	Delivery(ctx context.Context) (Delivery, error)
}, r WatchRequest, now func() time.Time, tell func(Watched) error) (Watched, error) {
	var before Watched
	timer := time.NewTimer(watchEvery)
	defer timer.Stop()
	for end := now().Add(r.Limit); ; {
		d, err := reader.Delivery(ctx)
		if err != nil {
			return before, err
		}
		w, err := d.watched(r, before, now())
		if err != nil {
			return before, err
		}
		if w.Late = !w.Ended() && !now().Before(end); w.Ended() || w.Late {
			return w, nil
		}
		if w.Phase != before.Phase || w.Sentence != before.Sentence {
			if err := tell(w); err != nil {
				return w, err
			}
		}
		before = w
		timer.Reset(watchEvery)
		select {
		case <-ctx.Done():
			return before, ctx.Err()
		case <-timer.C:
		}
	}
}

// watched is how a component stands in an environment: pure. before is the
// last look, the zero value at the first.
func (d Delivery) watched(r WatchRequest, before Watched, now time.Time) (Watched, error) {
	c, there, err := d.component(r)
	if err != nil {
		return Watched{}, err
	}
	w := Watched{Project: c.Project, Component: c.Component, Environment: r.Environment, Repository: c.Repository, Deployment: there, since: now}
	if b := c.LastBuild; r.Environment == Staging && b != nil && w.coming(*b, now) {
		w.Build = b
		w.Phase, w.Sentence = b.watched()
		return w, nil
	}
	if before.Deployment.Release == w.Deployment.Release && before.Deployment.Reason == w.Deployment.Reason && before.Build == nil && !before.since.IsZero() {
		w.since = before.since
	}
	w.Phase, w.Sentence = w.Deployment.watched(now.Sub(w.since))
	return w, nil
}

// component finds what is watched. Where nothing was ever deployed there is no
// deployment to look at yet, but it is a place all the same.
func (d Delivery) component(r WatchRequest) (c ComponentDelivery, there Deployment, err error) {
	known := slices.Contains(Pipeline(), r.Environment)
	found := false
	for _, one := range d.Components {
		if one.Component == r.Component {
			c, found = one, true
		}
		known = known || slices.ContainsFunc(one.Environments, func(e Deployment) bool { return e.Environment == r.Environment })
	}
	switch {
	case !found:
		return c, there, &NotFound{Kind: "component", Name: r.Component}
	case !known:
		return c, there, &NotFound{Kind: "environment", Name: r.Environment}
	}
	for _, e := range c.Environments {
		if e.Environment == r.Environment {
			return c, e, nil
		}
	}
	return c, Deployment{Environment: r.Environment}, nil
}

// coming tells whether a build is, or should have been, on its way to where the deployment is.
func (w Watched) coming(b Build, now time.Time) bool {
	switch {
	case b.CompletedAt == nil:
		return true
	case b.Commit == w.Deployment.Commit:
		return false
	case b.Phase == BuildFailed:
		return true
	}
	return now.Sub(*b.CompletedAt) < watchBuilt
}

// watched is the phase of a build on its way, and a sentence about it.
func (b Build) watched() (phase, sentence string) {
	commit := ShortSHA(b.Commit)
	switch b.Phase {
	case BuildFailed:
		if b.FailedStage == "" {
			return WatchFailed, fmt.Sprintf("the build of %s failed.", commit)
		}
		return WatchFailed, fmt.Sprintf("the build of %s failed in stage %s.", commit, b.FailedStage)
	case BuildSucceeded:
		return WatchBuilt, fmt.Sprintf("%s was built and is about to be deployed.", commit)
	}
	for _, s := range b.Stages {
		if s.Phase == BuildRunning {
			return WatchBuilding, fmt.Sprintf("%s is being built, in stage %s.", commit, s.Name)
		}
	}
	return WatchBuilding, fmt.Sprintf("%s waits to be built.", commit)
}

// watched is the phase of a deployment whose reason has been the same for so long, and a sentence about it.
func (d Deployment) watched(age time.Duration) (phase, sentence string) {
	runs := release{Name: d.Release, Commit: d.Commit}.label()
	why := d.Reason
	if d.Message != "" {
		why += ": " + d.Message
	}
	switch {
	case d.Release == "":
		return WatchNothing, fmt.Sprintf("%s runs nothing yet.", d.Environment)
	case d.State == stateUndeploy:
		return WatchOut, fmt.Sprintf("%s is out of service there; promote it to bring it back.", runs)
	case d.Ready:
		return WatchReady, fmt.Sprintf("%s is Ready.", runs)
	case age >= deployPatience && !underWay[d.Reason]:
		return WatchFailed, fmt.Sprintf("%s is not Ready (%s), and does not become so.", runs, why)
	case why == "":
		return WatchStarting, fmt.Sprintf("%s is being started.", runs)
	}
	return WatchStarting, fmt.Sprintf("%s is not Ready yet (%s).", runs, why)
}
