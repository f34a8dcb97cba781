package flowclient

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"platform.dev/platform/flowclient/window"
)

// lockGate: no pin of a locked release. A lock matches by commit; a release of
// the same digest, or one that the lock named when it was set, is the same thing.
func lockGate(q question, _ time.Time) Verdict {
	c := q.one()
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
		return Verdict{
			Numbers: map[string]string{"lock": fmt.Sprint(l.ID), "commit": l.Commit, "environment": where, "who": l.Who, "reason": reason, "at": l.At.UTC().Format(time.RFC3339)},
			Sentence: fmt.Sprintf("%s %s is locked in %s by %s since %s: %s. Clear the lock on %s %s to go on.",
				c.Component, c.Target.label(), where, l.Who, l.At.UTC().Format("Mon 2 Jan 15:04 MST"), reason, l.Component, ShortSHA(l.Commit)),
		}
	}
	return Verdict{Pass: true, Sentence: fmt.Sprintf("no lock holds %s.", c.label())}
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

// windowGate: production changes within the project's window and outside of
// every freeze; a text that cannot be read allows none.
func windowGate(q question, now time.Time) Verdict {
	w := windowOf(q.windows, q.Project, q.Window, q.Freezes, now)
	numbers := map[string]string{"window": w.Text, "freezes": fmt.Sprint(len(w.Freezes))}
	if w.Flips != nil {
		numbers["flips"] = w.Flips.UTC().Format(time.RFC3339)
	}
	return Verdict{Pass: w.Open, Sentence: w.Sentence, Numbers: numbers, Flips: w.Flips}
}

// holdGate: what was rolled back is not moved forward again by itself.
func holdGate(q question, _ time.Time) Verdict {
	c := q.one()
	if c.Held == nil || c.Held.Release != c.Target.Name {
		return Verdict{Pass: true, Sentence: fmt.Sprintf("no rollback holds %s.", c.label())}
	}
	return Verdict{
		Numbers: map[string]string{"who": c.Held.Who, "at": c.Held.At.UTC().Format(time.RFC3339), "release": c.Held.Release},
		Sentence: fmt.Sprintf("%s %s was rolled back by %s on %s and is not moved again by itself; promote it, or push another commit.",
			c.Component, c.Target.label(), c.Held.Who, c.Held.At.UTC().Format("Mon 2 Jan 15:04 MST")),
	}
}

// serviceGate: what somebody took out of service is not put back by itself.
func serviceGate(q question, _ time.Time) Verdict {
	c := q.one()
	if c.Undeployed {
		return Verdict{Sentence: fmt.Sprintf("%s is out of service in %s and is not put back by itself; promote it to bring it back.", c.Component, Production)}
	}
	return Verdict{Pass: true, Sentence: fmt.Sprintf("%s is not out of service in %s.", c.Component, Production)}
}

func readyGate(q question, _ time.Time) Verdict {
	c := q.one()
	switch {
	case c.Target.Name == "":
		return Verdict{Sentence: fmt.Sprintf("%s runs nothing in %s yet; push a commit, or ask again when its build is through.", c.Component, Staging)}
	case !c.Ready:
		why := c.Reason
		if c.Message != "" {
			why += ": " + c.Message
		}
		return Verdict{Numbers: map[string]string{"release": c.Target.Name, "reason": c.Reason},
			Sentence: fmt.Sprintf("%s %s is not Ready in %s (%s); ask again when it is.", c.Component, c.Target.label(), Staging, why)}
	}
	return Verdict{Pass: true, Numbers: map[string]string{"release": c.Target.Name, "reason": c.Reason},
		Sentence: fmt.Sprintf("%s %s is Ready in %s.", c.Component, c.Target.label(), Staging)}
}

// soakGate: the release has been in staging for the project's soak.
func soakGate(q question, now time.Time) Verdict {
	c := q.one()
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
	numbers := map[string]string{"soak": soak.String(), "elapsed": elapsed.String(), "since": c.Since.UTC().Format(time.RFC3339)}
	if elapsed >= soak {
		return Verdict{Pass: true, Numbers: numbers, Sentence: fmt.Sprintf("%s %s has been in %s for %s; %s was asked for.",
			c.Component, c.Target.label(), Staging, window.Span(elapsed), window.Span(soak))}
	}
	numbers["remaining"] = (soak - elapsed).String()
	return Verdict{Flips: &flips, Numbers: numbers, Sentence: fmt.Sprintf("%s %s has been in %s for %s of %s; ask again in %s.",
		c.Component, c.Target.label(), Staging, window.Span(elapsed), window.Span(soak), window.SpanUp(soak-elapsed))}
}

// checkHTTP is the one value of AnnotationPromotionCheck.
const checkHTTP = "http"

// checkGate: the staging page answers below 500, where the project asks for it.
func checkGate(q question, _ time.Time) Verdict {
	const broken = 500
	c := q.one()
	switch {
	case c.Check == "":
		return Verdict{Pass: true, Sentence: "no URL check is asked for."}
	case c.Check != checkHTTP:
		return Verdict{Sentence: fmt.Sprintf("the promotion check %q of %s is not known; write %s.", clip(c.Check), c.Project, checkHTTP)}
	case c.Unasked:
		return Verdict{Pass: true, Sentence: fmt.Sprintf("the page of %s in %s is fetched when nothing else keeps it.", c.Component, Staging)}
	case c.URL == "":
		return Verdict{Sentence: fmt.Sprintf("%s has no address in %s yet; ask again when it has.", c.Component, Staging)}
	}
	numbers := map[string]string{"url": c.URL, "status": fmt.Sprint(c.Status), "below": fmt.Sprint(broken)}
	switch {
	case c.Status == 0:
		return Verdict{Numbers: numbers, Sentence: fmt.Sprintf("%s does not answer at %s (%s); ask again when it does.", c.Component, c.URL, c.CheckFail)}
	case c.Status >= broken:
		return Verdict{Numbers: numbers, Sentence: fmt.Sprintf("%s answers %d at %s; ask again when it answers below %d.", c.Component, c.Status, c.URL, broken)}
	case c.Unbound:
		return Verdict{Pass: true, Numbers: numbers, Sentence: fmt.Sprintf("%s answers %d, but the answer is the gateway's: nothing is bound there.", c.URL, c.Status)}
	}
	return Verdict{Pass: true, Numbers: numbers, Sentence: fmt.Sprintf("%s answers %d.", c.URL, c.Status)}
}

// capacityBackoff is how long the automatic pass does not ask capacity again
// for a component that was refused (interface document, Limits).
const capacityBackoff = 10 * time.Minute

// backoffGate: what capacity refused is asked about again after
// capacityBackoff. The set is what every other gate lets go, so what joins it
// meanwhile waits with the rest: to ask about that alone would split the set,
// which capacity is asked about as a whole.
func backoffGate(q question, now time.Time) Verdict {
	var resting []candidate
	var until time.Time // when all of it may be asked about
	for _, c := range slices.SortedFunc(slices.Values(q.Set), func(a, b candidate) int { return strings.Compare(a.Component, b.Component) }) {
		if c.Backoff == nil || !now.Before(*c.Backoff) {
			continue
		}
		if resting = append(resting, c); c.Backoff.After(until) {
			until = *c.Backoff
		}
	}
	if len(resting) == 0 {
		return Verdict{Pass: true, Sentence: fmt.Sprintf("capacity has refused nothing of %s that would move in the last %s.", q.Project, window.Span(capacityBackoff))}
	}
	return Verdict{Flips: &until, Numbers: map[string]string{"until": until.UTC().Format(time.RFC3339)},
		Sentence: fmt.Sprintf("capacity refused %s; it is asked again in %s.", listOf(componentNames(resting)), window.SpanUp(until.Sub(now)))}
}
