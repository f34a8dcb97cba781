package flowclient

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"platform.dev/platform/flowclient/window"
)

// reviewFacts is everything that the plan of a review environment looks at, read once.
type reviewFacts struct {
	Pull     Pull // as it stands
	Gone     bool // the git server has it no longer; Pull is empty
	Record   PullRecord
	Home     string   // the project of the first component built from the repository; "" when there is none
	Sources  []source // the components that it would have, by name
	Projects map[string]Object
	Staging  Object // staging's Environment
	There    reviewObjects

	Taken    int   // places that others take
	Ahead    int   // how many that are queued go before it
	NextLine int64 // behind everybody who is in line
	Cap      int
	TTL      time.Duration
	Now      time.Time
	Page     func(run string) string // of a build, for people; nil where builds have none
}

// reviewPlan is what follows from the facts. The record is stored, with the
// events, before the steps are taken; then the facts are read again, until
// nothing follows any more.
type reviewPlan struct {
	Record PullRecord
	Events []Event
	Steps  []reviewStep
}

// say has the comment become text; "" leaves it as it is.
func (p *reviewPlan) say(text string) { p.Record.Text = cmp.Or(text, p.Record.Text) }

// The operations of a reviewStep.
const (
	stepCreate   = "create"   // unless it is there
	stepRetarget = "retarget" // a fork, to the head that Object is of
	stepRepoint  = "repoint"  // a binding, to Release
	stepDelete   = "delete"
)

// reviewStep is one write; each may be repeated.
type reviewStep struct {
	Op      string
	Object  Object // to create, or to delete as it was read
	Release string
}

// planReview decides what to do about a pull request's review environment: pure.
func planReview(f reviewFacts) (reviewPlan, error) {
	p := reviewPlan{Record: f.Record}
	why := f.unwanted()
	switch f.Record.State {
	case ReviewDestroying:
		return f.planDestruction(p, cmp.Or(f.Record.Why, why))
	case "", ReviewQueued:
		if !f.There.empty() { // left by a process that remembered nothing, or made by nobody we know
			return f.planAdoption(p, why)
		}
		if why != "" {
			if f.Record.State == ReviewQueued {
				return f.planLeaving(p, why)
			}
			return p, nil
		}
		return f.planAdmission(p)
	}
	if why != "" {
		return f.planDestruction(p, why)
	}
	return f.planConvergence(p)
}

// unwanted says why there is to be no environment, "" when there is to be one.
func (f reviewFacts) unwanted() string {
	switch {
	case f.Gone:
		return "the pull request is gone"
	case f.Pull.Merged:
		return "the pull request was merged"
	case f.Pull.State != PullOpen:
		return "the pull request was closed"
	case len(f.Sources) == 0:
		return "no component takes part in review environments"
	case f.Cap < 0:
		return "review environments are switched off"
	case f.TTL > 0 && f.Now.Sub(f.Record.Active) >= f.TTL:
		return fmt.Sprintf("nothing happened on the pull request for %s", window.Span(f.TTL))
	}
	return ""
}

// planLeaving takes a pull request out of the queue. Its event is that of an
// environment that is gone, so that whoever told of the queue tells of the end.
func (f reviewFacts) planLeaving(p reviewPlan, why string) (reviewPlan, error) {
	p, err := f.tell(p, EventReviewDestroyed, "destroyed", ReviewEvent{Why: why})
	p.Record.State, p.Record.Line, p.Record.Message = "", 0, ""
	p.say(f.comment(p.Record, nil, why))
	return p, err
}

// planAdoption takes in what is there without being remembered: it takes a
// place already.
func (f reviewFacts) planAdoption(p reviewPlan, why string) (reviewPlan, error) {
	for _, name := range sortedKeys(f.There.Forks) {
		if !slices.ContainsFunc(p.Record.Forks, func(k Fork) bool { return k.Name == name }) {
			p.Record.Forks = append(slices.Clone(p.Record.Forks), f.There.Forks[name].fork(name))
		}
	}
	p.Record = f.inLine(p.Record)
	if why != "" {
		return f.planDestruction(p, why)
	}
	return f.planConvergence(f.admitted(p))
}

// fork is what the objects of a fork say about it.
func (f forkObjects) fork(name string) Fork {
	fork := Fork{Name: name}
	for _, o := range append(f.holding(), f.held()...) {
		fork.Of = cmp.Or(fork.Of, o.Metadata.Labels[LabelForkOf])
		fork.Project = cmp.Or(fork.Project, o.Metadata.Labels[LabelProject])
	}
	return fork
}

// inLine gives a record its place behind everybody else's, with nothing left of earlier times.
func (f reviewFacts) inLine(r PullRecord) PullRecord {
	if r.Line == 0 {
		r.Line = f.NextLine
		r.Turn++
	}
	r.Revision, r.Shown, r.URL, r.Message, r.Refused, r.Why = 0, "", "", "", "", ""
	return r
}

// planAdmission gives a place, or one in the queue.
func (f reviewFacts) planAdmission(p reviewPlan) (reviewPlan, error) {
	p.Record = f.inLine(p.Record)
	if f.Cap-f.Taken > f.Ahead {
		return f.planConvergence(f.admitted(p))
	}
	fresh := f.Record.State != ReviewQueued
	p.Record.State, p.Record.Target = ReviewQueued, f.Pull.Head
	p.Record.Message = f.full()
	p.say(f.comment(p.Record, nil, ""))
	if !fresh {
		return p, nil
	}
	return f.tell(p, EventReviewQueued, "queued", ReviewEvent{Why: p.Record.Message})
}

// full says that nobody else may be admitted.
func (f reviewFacts) full() string {
	if f.Cap == 1 {
		return "the one place for a review environment is taken"
	}
	return fmt.Sprintf("all %d places for review environments are taken", f.Cap)
}

// admitted makes the record one that takes a place.
func (f reviewFacts) admitted(p reviewPlan) reviewPlan {
	p.Record.State, p.Record.Target, p.Record.Message = ReviewCreating, f.Pull.Head, ""
	return p
}

// planDestruction removes what there is: what runs first, then what is left
// of it, then the environment unless it is somebody else's too.
func (f reviewFacts) planDestruction(p reviewPlan, why string) (reviewPlan, error) {
	p.Record.State, p.Record.Why = ReviewDestroying, why
	p.Record.URL, p.Record.Message = "", cmp.Or(p.Record.Refused, why)
	if left := f.removal(); len(left) > 0 {
		p.Steps = left
		p.say(f.comment(p.Record, nil, why))
		return p, nil
	}
	if !f.There.empty() {
		p.say(f.comment(p.Record, nil, why))
		return p, nil // it is being deleted
	}
	done := p.Record
	done.State = "" // nothing is left: the place is free
	done.Text = cmp.Or(f.comment(done, nil, why), done.Text)
	p, err := f.tell(p, EventReviewDestroyed, "destroyed", ReviewEvent{Why: why})
	done.Line, done.Target, done.Shown, done.Forks, done.Message, done.Refused, done.Why = 0, "", "", nil, "", "", ""
	p.Record = done
	return p, err
}

// removal is what may be deleted now: nothing that something else still needs.
func (f reviewFacts) removal() []reviewStep {
	var running, left []Object
	for _, name := range sortedKeys(f.There.Forks) {
		running = append(running, f.There.Forks[name].holding()...)
		left = append(left, f.There.Forks[name].held()...)
	}
	left = append(left, f.There.ownCells()...)
	switch {
	case len(running) > 0:
		return deletions(running)
	case len(left) > 0:
		return deletions(left)
	case f.There.ownEnvironment():
		return deletions([]Object{*f.There.Environment})
	}
	return nil
}

// deletions deletes what is not being deleted already.
func deletions(objects []Object) (steps []reviewStep) {
	for _, o := range objects {
		if o.Metadata.Deleted == nil {
			steps = append(steps, reviewStep{Op: stepDelete, Object: o})
		}
	}
	return steps
}

// planConvergence makes what is missing for the head. What serves an older
// head goes on serving until the release of the new one is there.
func (f reviewFacts) planConvergence(p reviewPlan) (reviewPlan, error) {
	if p.Record.Target != f.Pull.Head {
		p.Record.Target, p.Record.Refused = f.Pull.Head, ""
		p.Record.Revision++
	}
	p.Record.Forks = f.forks(p.Record.Forks)
	if err := f.makeCells(&p); err != nil {
		return p, err
	}
	var all []forkStatus
	for _, fork := range p.Record.Forks {
		if !f.wants(fork) {
			p.Steps = append(p.Steps, f.dropFork(fork)...)
			continue
		}
		s, steps, err := f.forkStatus(fork)
		if err != nil {
			return p, err
		}
		all, p.Steps = append(all, s), append(p.Steps, steps...)
	}
	return f.conclude(p, all)
}

// forks are the copies that there are to be, and those that are not gone yet, by name.
func (f reviewFacts) forks(known []Fork) []Fork {
	var all []Fork
	for _, s := range f.Sources {
		all = append(all, forkOf(s.Object, s.Project, f.Record.Number))
	}
	for _, k := range known {
		there := f.There.Forks[k.Name]
		left := len(there.holding())+len(there.held()) > 0
		if left && !slices.ContainsFunc(all, func(a Fork) bool { return a.Name == k.Name }) {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b Fork) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// wants tells whether the component that the fork is of still takes part.
func (f reviewFacts) wants(fork Fork) bool {
	return slices.ContainsFunc(f.Sources, func(s source) bool { return s.Metadata.Name == fork.Of })
}

// dropFork removes the fork of a component that takes part no longer.
func (f reviewFacts) dropFork(fork Fork) []reviewStep {
	there := f.There.Forks[fork.Name]
	if running := there.holding(); len(running) > 0 {
		return deletions(running)
	}
	return deletions(there.held())
}

// makeCells makes the environment and each project's place in it, before
// anything is built for it: what the names clash with is told at once.
func (f reviewFacts) makeCells(p *reviewPlan) error {
	if f.There.Environment == nil {
		o, err := f.newEnvironment()
		if err != nil {
			return err
		}
		p.Steps = append(p.Steps, reviewStep{Op: stepCreate, Object: o})
	}
	for _, s := range f.Sources {
		_, there := f.There.Cells[s.Project]
		planned := slices.ContainsFunc(p.Steps, func(step reviewStep) bool {
			return step.Object.Kind == KindProjectReleaseBinding && step.Object.Metadata.Labels[LabelProject] == s.Project
		})
		if there || planned {
			continue
		}
		o, err := f.newCell(s.Project)
		if err != nil {
			return err
		}
		p.Steps = append(p.Steps, reviewStep{Op: stepCreate, Object: o})
	}
	return nil
}
