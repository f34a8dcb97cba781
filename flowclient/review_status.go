package flowclient

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// The phases of a forkStatus.
const (
	forkUnderWay = "under way"
	forkReady    = "ready"
	forkFailed   = "failed"
)

// forkStatus is how a fork stands with the head.
type forkStatus struct {
	Fork
	Phase string
	Doing string // what is waited for, or a sentence about what failed
	URL   string // where it answers, with whichever head
	Stage string // of the build, that failed
	Run   string
	Lines []string
}

// deployPatience is how long a binding may say that it is not Ready, for
// another reason than being under way, before that is called a failure.
const deployPatience = 30 * time.Second

// deployWords is how many bytes of a binding's message are told: those of a
// process that ends quote its last lines.
const deployWords = 1000

// underWay is the reasons of a binding that is being brought into service.
var underWay = map[string]bool{"NoConditions": true, "Progressing": true, "ResourcesProgressing": true, "EnvironmentNotFound": true,
	"ProjectReleaseBindingNotFound": true, "ComponentReleaseNotFound": true, "Starting": true, "RegistryUnreachable": true}

// forkStatus is how a fork stands, and what it needs next.
func (f reviewFacts) forkStatus(fork Fork) (s forkStatus, steps []reviewStep, err error) {
	there := f.There.Forks[fork.Name]
	s = forkStatus{Fork: fork, Phase: forkUnderWay, Doing: "is being made"}
	bound, err := there.binding(fork, f.Record.Number)
	if err != nil {
		return s, nil, err
	}
	s.URL = bound.url()
	target, err := f.newFork(fork)
	if err != nil {
		return s, nil, err
	}
	switch commit, err := targetOf(there.Component); {
	case err != nil:
		return s, nil, err
	case there.Component == nil:
		steps = append(steps, reviewStep{Op: stepCreate, Object: target})
	case there.Component.Metadata.Deleted != nil:
		return s, nil, nil // made again when it is gone
	case commit != f.Pull.Head:
		steps = append(steps, reviewStep{Op: stepRetarget, Object: target})
	}
	release, err := there.releaseOfHead(f.Pull.Head)
	if err != nil {
		return s, nil, err
	}
	if release == "" {
		more, err := f.buildStatus(&s, there)
		return s, append(steps, more...), err
	}
	if more, err := f.bindStatus(&s, bound, release); err != nil || more != nil {
		return s, append(steps, more...), err
	}
	return s, steps, nil
}

// targetOf is the commit that a fork is of, "" when there is none.
func targetOf(component *Object) (string, error) {
	if component == nil {
		return "", nil
	}
	var spec ComponentSpec
	if err := component.Decode(&spec, nil); err != nil || spec.Workflow == nil {
		return "", err
	}
	return spec.Workflow.Parameters.Repository.Revision.Commit, nil
}

// binding is the fork's binding in the environment; one that is not there is no error.
func (f forkObjects) binding(fork Fork, number int) (binding, error) {
	name := bindingName(fork.Name, reviewEnvironment(number))
	for _, o := range f.Bindings {
		if o.Metadata.Name == name {
			return bindingOf(o)
		}
	}
	return binding{}, nil
}

// buildStatus is how the build of the head stands.
func (f reviewFacts) buildStatus(s *forkStatus, there forkObjects) ([]reviewStep, error) {
	s.Run = forkRun(s.Name, f.Pull.Head)
	at := slices.IndexFunc(there.Runs, func(o Object) bool { return o.Metadata.Name == s.Run })
	if at < 0 {
		s.Doing = "waits for its build"
		o, err := f.newRun(s.Fork)
		return []reviewStep{{Op: stepCreate, Object: o}}, err
	}
	b, err := readBuild(there.Runs[at])
	if err != nil {
		return nil, err
	}
	switch b.Phase {
	case BuildFailed:
		s.Phase, s.Stage, s.Lines = forkFailed, b.FailedStage, there.Lines
		s.Doing = "its build failed"
		if b.FailedStage != "" {
			s.Doing += " in stage " + b.FailedStage
		}
		if b.Message != "" {
			s.Doing += ": " + strings.TrimSuffix(clip(b.Message), ".")
		}
	case BuildSucceeded:
		s.Doing = "is built; its release is being cut"
	case BuildRunning:
		s.Doing = "is being built"
	default:
		s.Doing = "waits for its build"
	}
	return nil, nil
}

// bindStatus is how the release of the head stands in the environment.
func (f reviewFacts) bindStatus(s *forkStatus, bound binding, release string) ([]reviewStep, error) {
	s.Doing = "is being brought into service"
	switch {
	case !bound.exists:
		o, err := f.newBinding(s.Fork, release)
		return []reviewStep{{Op: stepCreate, Object: o}}, err
	case bound.Metadata.Deleted != nil:
		return nil, nil
	case bound.spec.ReleaseName != release:
		return []reviewStep{{Op: stepRepoint, Object: bound.Object, Release: release}}, nil
	}
	ready, reason, message := bound.ready()
	switch {
	case ready:
		s.Phase, s.Doing = forkReady, "answers"
	case !underWay[reason] && f.Now.Sub(bound.since()) >= deployPatience:
		s.Phase, s.Doing = forkFailed, "it could not be brought into service: "+strings.TrimSuffix(clipTo(cmp.Or(message, reason), deployWords), ".")
	}
	return nil, nil
}

// since is when the binding's Ready condition became what it is.
func (b binding) since() (at time.Time) {
	for _, cond := range b.status.Conditions {
		if cond.Type == "Ready" {
			at = cond.LastTransitionTime
		}
	}
	return at
}

// conclude is the environment's state by those of its forks, what is told of
// it, and the comment.
func (f reviewFacts) conclude(p reviewPlan, all []forkStatus) (reviewPlan, error) {
	was := f.Record.State
	r := &p.Record
	r.URL = ""
	for _, s := range all {
		r.URL = cmp.Or(r.URL, s.URL)
	}
	failed := slices.IndexFunc(all, func(s forkStatus) bool { return s.Phase == forkFailed })
	whole := !slices.ContainsFunc(all, func(s forkStatus) bool { return s.Phase != forkReady })
	shown := f.Record.Shown
	switch {
	case r.Refused != "":
		r.State, r.Message = ReviewFailed, r.Refused
	case failed >= 0:
		r.State, r.Message = ReviewFailed, fmt.Sprintf("%s: %s", all[failed].Of, all[failed].Doing)
	case whole && len(p.Steps) == 0:
		r.State, r.Message, r.Shown = ReviewPresent, "", r.Target
	case was == ReviewPresent && shown == r.Target:
		r.State = ReviewPresent // what was whole once and blinks is not made anew
	default:
		r.State, r.Message = ReviewCreating, doing(all)
	}
	p.say(f.comment(*r, all, ""))
	switch {
	case r.State == ReviewPresent && shown == "":
		return f.tell(p, EventReviewCreated, "created", ReviewEvent{})
	case r.State == ReviewPresent && shown != r.Target:
		return f.tell(p, EventReviewUpdated, fmt.Sprintf("updated/%d", r.Revision), ReviewEvent{})
	case r.State == ReviewFailed && (was != ReviewFailed || f.Record.Revision != r.Revision):
		e := ReviewEvent{Why: r.Message}
		if failed >= 0 && r.Refused == "" {
			e.Stage, e.Run, e.Lines = all[failed].Stage, all[failed].Run, all[failed].Lines
			if f.Page != nil && e.Run != "" {
				e.Page = f.Page(e.Run)
			}
		}
		return f.tell(p, EventReviewFailed, fmt.Sprintf("failed/%d", r.Revision), e)
	}
	return p, nil
}

// doing is what the first fork that is not ready waits for.
func doing(all []forkStatus) string {
	for _, s := range all {
		if s.Phase != forkReady {
			return s.Of + " " + s.Doing
		}
	}
	return ""
}

// tell adds an event about the environment; its key is told once.
func (f reviewFacts) tell(p reviewPlan, kind, key string, body ReviewEvent) (reviewPlan, error) {
	body.Review, body.Pull = p.Record.review(), f.Pull
	if p.Record.State == ReviewQueued {
		body.Review.Place = f.Ahead + 1
	}
	walkthrough := f.Projects[p.Record.Project].Metadata.Labels[LabelWalkthrough] == "true"
	e, err := event(fmt.Sprintf("review/%d/%d/%s", p.Record.ID, p.Record.Turn, key), kind,
		Event{At: f.Now, Project: p.Record.Project, Walkthrough: walkthrough}, body)
	if err != nil {
		return p, err
	}
	p.Events = append(p.Events, e)
	return p, nil
}

// made is when an object was created.
func made(o Object) time.Time {
	if o.Metadata.Created == nil {
		return time.Time{}
	}
	return *o.Metadata.Created
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
