package flowclient

import (
	"fmt"
	"time"

	"platform.dev/platform/flowclient/window"
)

// A gate is one rule that a move to production must pass. The rules are facts
// about a candidate and an instant: same candidate and instant, same verdict.
type gate struct {
	name     string
	request  bool   // asked once for the whole request, not per component
	promote  effect // what a failing gate means for a promotion that a person asked for
	rollback effect
	lifts    string // what lets a move pass all the same
	verdict  func(c candidate, now time.Time) Verdict
}

// effect is what a failing gate means.
type effect string

const (
	refuses  effect = "409"   // the whole request is refused and nothing is written
	waits    effect = "retry" // the component is left where it is and may be asked for again
	notAsked effect = "-"
)

// gates is the whole policy, in the order in which refusals are named.
var gates = []gate{
	// name     request promote  rollback  what lifts it                 the rule
	{"lock", false, refuses, refuses, "nothing: clear the lock", lockGate},
	{"window", true, refuses, refuses, "nothing: wait for the window", windowGate},
	{"ready", false, waits, notAsked, "nothing: it becomes Ready", readyGate},
	{"soak", false, waits, notAsked, "nothing: time passes", soakGate},
	{"check", false, waits, notAsked, "nothing: the page answers", checkGate},
}

// candidate is one component on its way to a release in an environment, with
// everything that the gates look at.
type candidate struct {
	Project     string
	Component   string
	Environment string  // where it is to go
	Target      release // what is to run there; Name "" when staging runs nothing

	Locks    []Lock    // that hold on the component
	Releases []release // of the component: locks match by digest across them

	Window string // the annotation; "" allows every instant

	Ready     bool // in staging, for the release that staging names
	Reason    string
	Message   string
	Since     time.Time // when the target was first seen in staging
	Soak      string    // the annotation; "" is Default
	Default   time.Duration
	Check     string // the annotation; "" asks for no check
	URL       string // of staging
	Status    int    // what it answered; 0 when it did not
	Unbound   bool   // the gateway answered, not the application
	CheckFail string // why it did not answer
}

// verdicts asks every gate that applies: those of the request once, with the
// first candidate, the others for each. refused is the first that refuses the
// request; waiting is the first per component that makes it wait.
func verdicts(candidates []candidate, rollback bool, now time.Time) (all []Verdict, refused *Verdict, waiting map[string]Verdict) {
	waiting = map[string]Verdict{}
	for _, g := range gates {
		means := g.promote
		if rollback {
			means = g.rollback
		}
		if means == notAsked {
			continue
		}
		for i, c := range candidates {
			if g.request && i > 0 {
				break
			}
			v := g.verdict(c, now)
			v.Gate = g.name
			if !g.request {
				v.Component = c.Component
			}
			all = append(all, v)
			if v.Pass {
				continue
			}
			if _, known := waiting[c.Component]; means == waits && !known {
				waiting[c.Component] = v
			}
			if means == refuses && refused == nil {
				refused = &v
			}
		}
	}
	return all, refused, waiting
}

// lockGate: no pin of a locked release. A lock matches by commit; a release of
// the same digest, or one that the lock named when it was set, is the same thing.
func lockGate(c candidate, _ time.Time) Verdict {
	for _, l := range c.Locks {
		if !matches(l, c.Target, c.Environment, c.Releases) {
			continue
		}
		reason := l.Reason
		if reason == "" {
			reason = "no reason given"
		}
		where := "every environment"
		if l.Environment != "" {
			where = l.Environment
		}
		return Verdict{Sentence: fmt.Sprintf("%s %s is locked in %s by %s since %s: %s. Clear the lock on %s %s to go on.",
			c.Component, c.Target.label(), where, l.Who, l.At.UTC().Format("Mon 2 Jan 15:04 MST"), reason, l.Component, ShortSHA(l.Commit))}
	}
	return Verdict{Pass: true, Sentence: fmt.Sprintf("no lock holds %s %s.", c.Component, c.Target.label())}
}

// matches tells whether a lock holds a release back from an environment.
func matches(l Lock, target release, environment string, releases []release) bool {
	if l.Component != target.Of || l.Environment != "" && l.Environment != environment {
		return false
	}
	if l.Commit == target.Commit {
		return true
	}
	for _, name := range l.Releases {
		if name == target.Name {
			return true
		}
	}
	for _, r := range releases {
		if r.Commit == l.Commit && r.digest() != "" && r.digest() == target.digest() {
			return true
		}
	}
	return false
}

// windowGate: production changes within the project's window only; a text that
// cannot be read allows none.
func windowGate(c candidate, now time.Time) Verdict {
	w := windowOf(c.Project, c.Window, now)
	return Verdict{Pass: w.Open, Sentence: w.Sentence, Flips: w.Flips}
}

func readyGate(c candidate, _ time.Time) Verdict {
	switch {
	case c.Target.Name == "":
		return Verdict{Sentence: fmt.Sprintf("%s runs nothing in %s yet; push a commit, or ask again when its build is through.", c.Component, Staging)}
	case !c.Ready:
		why := c.Reason
		if c.Message != "" {
			why += ": " + c.Message
		}
		return Verdict{Sentence: fmt.Sprintf("%s %s is not Ready in %s (%s); ask again when it is.", c.Component, c.Target.label(), Staging, why)}
	}
	return Verdict{Pass: true, Sentence: fmt.Sprintf("%s %s is Ready in %s.", c.Component, c.Target.label(), Staging)}
}

// soakGate: the release has been in staging for the project's soak.
func soakGate(c candidate, now time.Time) Verdict {
	soak := c.Default
	if c.Soak != "" {
		var err error
		if soak, err = time.ParseDuration(c.Soak); err != nil || soak < 0 {
			return Verdict{Sentence: fmt.Sprintf("the soak %q of %s is no duration; write it as 5m or 1h30m.", clip(c.Soak), c.Project)}
		}
	}
	if c.Target.Name == "" || soak == 0 {
		return Verdict{Pass: true, Sentence: "no soak is asked for."}
	}
	elapsed, flips := now.Sub(c.Since), c.Since.Add(soak)
	if elapsed >= soak {
		return Verdict{Pass: true, Sentence: fmt.Sprintf("%s %s has been in %s for %s; %s was asked for.",
			c.Component, c.Target.label(), Staging, window.Span(elapsed), window.Span(soak))}
	}
	return Verdict{Flips: &flips, Sentence: fmt.Sprintf("%s %s has been in %s for %s of %s; ask again in %s.",
		c.Component, c.Target.label(), Staging, window.Span(elapsed), window.Span(soak), window.Span(soak-elapsed))}
}

// checkGate: the staging page answers below 500, where the project asks for it.
func checkGate(c candidate, _ time.Time) Verdict {
	const broken = 500
	switch {
	case c.Check == "":
		return Verdict{Pass: true, Sentence: "no URL check is asked for."}
	case c.Check != checkHTTP:
		return Verdict{Sentence: fmt.Sprintf("the promotion check %q of %s is not known; write %s.", clip(c.Check), c.Project, checkHTTP)}
	case c.URL == "":
		return Verdict{Sentence: fmt.Sprintf("%s has no address in %s yet; ask again when it has.", c.Component, Staging)}
	case c.Status == 0:
		return Verdict{Sentence: fmt.Sprintf("%s does not answer at %s (%s); ask again when it does.", c.Component, c.URL, c.CheckFail)}
	case c.Status >= broken:
		return Verdict{Sentence: fmt.Sprintf("%s answers %d at %s; ask again when it answers below %d.", c.Component, c.Status, c.URL, broken)}
	case c.Unbound:
		return Verdict{Pass: true, Sentence: fmt.Sprintf("%s answers %d, but the answer is the gateway's: nothing is bound there.", c.URL, c.Status)}
	}
	return Verdict{Pass: true, Sentence: fmt.Sprintf("%s answers %d.", c.URL, c.Status)}
}

// checkHTTP is the one value of AnnotationPromotionCheck.
const checkHTTP = "http"
