package flowclient

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// passPlan is what an automatic pass makes of a project at an instant.
type passPlan struct {
	Move     movePlan            // what moves; nothing when Move.Moves is empty
	Standing []ComponentStanding // of what staging and production differ in, in the order of the snapshot
	Episodes []Episode           // that last from now on
	Opened   []Event             // of the episodes that end because the window opened
	Backoffs []Backoff           // that begin now
	Wake     *time.Time          // the first instant after now at which a failing gate may pass by time alone
	Asks     bool                // a page kept something: nothing tells when it answers, so it is asked again
}

// keeping is how a component stands that a gate keeps where it is.
type keeping struct {
	standing string
	whole    bool   // one episode of everything that the gate keeps, not one of each component
	lasts    bool   // it is an episode
	event    string // told when the episode begins; "" when /state alone says it
}

// keeps is the automatic column of the gate table as people meet it. What
// waits for itself is no episode: it ends without anybody doing anything. A
// rollback was told when it happened, and so was whoever took production out
// of service.
var keeps = map[string]keeping{
	"lock":     {StandLeftOut, false, true, EventAutoLeftOut},
	"window":   {StandParked, true, true, EventAutoParked},
	"capacity": {StandBackedOff, true, true, EventAutoRefused},
	"hold":     {StandHeld, false, true, ""},
	"service":  {StandOutOfService, false, true, ""},
	"ready":    {StandWaiting, false, false, ""},
	"soak":     {StandWaiting, false, false, ""},
	"check":    {StandLeftAlone, false, true, EventAutoLeftAlone},
	"backoff":  {StandBackedOff, true, false, ""},
}

// brokenAnnotation is how what a malformed annotation keeps stands, whichever gate reads it.
var brokenAnnotation = keeping{StandBroken, true, true, EventAutoBroken}

// kept is a component that stays where it is.
type kept struct {
	componentFacts
	keeping
	Verdict
}

// deciding is an automatic pass over one project.
type deciding struct {
	snapshot
	now    time.Time
	said   []Verdict
	kept   []kept
	unread map[string]string // annotations that cannot be read, by the gate that reads them
	plan   passPlan
}

// planPass decides what moves by itself and how everything else stands: pure.
// The set is what passes every gate of its own; the window and capacity are
// asked about the whole of it, so that it moves together or not at all. What
// capacity refuses is refused also while the window is closed: parked is what
// only waits for the window.
func planPass(s snapshot, now time.Time) passPlan {
	now = now.UTC().Round(0) // as it is recorded; see newPlan
	d := &deciding{snapshot: s, now: now}
	candidates := d.differing()
	if s.promotion() == promotionManual {
		for _, c := range candidates {
			d.stand(c.Component, keeping{standing: StandManual}, Verdict{Sentence: fmt.Sprintf("%s is promoted by hand; promote it to move %s %s.", s.Project.Metadata.Name, c.Component, c.Target.label())})
		}
		return d.done()
	}
	j := judge(s.question(), candidates, automatically, Promotion{}, now)
	d.said, d.unread = j.All, s.malformed()
	if text, broken := d.unread["promotion"]; broken {
		v := Verdict{Gate: "promotion", Sentence: fmt.Sprintf("the promotion annotation %q of %s is neither %s nor %s; nothing moves by itself until it is one of them.",
			clip(text), s.Project.Metadata.Name, promotionAuto, promotionManual)}
		for _, c := range candidates {
			d.stand(c.Component, brokenAnnotation, v)
		}
		return d.done()
	}
	for _, c := range candidates {
		if stop, stopped := j.Stops[c.Component]; stopped {
			d.stand(c.Component, keeps[stop.Gate], stop.Verdict)
		}
	}
	d.set(j)
	d.opened()
	d.wake()
	return d.done()
}

// malformed are the annotations that cannot be read, by the gate that reads them.
func (s snapshot) malformed() map[string]string {
	bad := map[string]string{}
	if p := s.promotion(); p != promotionAuto && p != promotionManual {
		bad["promotion"] = p
	}
	if text := s.annotation(AnnotationProductionWindow); text != "" {
		if _, err := s.windows.Parse(text); err != nil {
			bad["window"] = text
		}
	}
	if text := s.annotation(AnnotationSoak); text != "" {
		if soak, err := time.ParseDuration(text); err != nil || soak < 0 {
			bad["soak"] = text
		}
	}
	if text := s.annotation(AnnotationPromotionCheck); text != "" && text != checkHTTP {
		bad["check"] = text
	}
	return bad
}

// differing are the components that production does not run as staging does. A
// release that is gone keeps its own component alone.
func (d *deciding) differing() (all []candidate) {
	for _, f := range d.Components {
		target := f.Staging.spec.ReleaseName
		if target == "" || f.unchanged() {
			continue
		}
		if _, known := f.Releases[target]; !known {
			d.stand(f.Name, keeping{standing: StandWaiting}, Verdict{Gate: "ready",
				Sentence: fmt.Sprintf("%s runs release %s of %s, which does not exist; push a commit to build another.", Staging, target, f.Name)})
			continue
		}
		all = append(all, d.candidate(f, target))
	}
	return all
}

// set decides about what no gate of its own keeps.
func (d *deciding) set(j judgement) {
	if len(j.Eligible) == 0 {
		return
	}
	against := map[string]Verdict{}
	for _, s := range j.Whole {
		against[s.Gate] = s.Verdict
	}
	for _, gate := range wholeOrder {
		v, fails := against[gate]
		if !fails {
			continue
		}
		if gate == "capacity" {
			until := d.now.Add(capacityBackoff)
			v.Flips = &until
			for _, c := range j.Eligible {
				d.plan.Backoffs = append(d.plan.Backoffs, Backoff{Component: c.Component, Until: until})
			}
		}
		if refused, still := against["capacity"]; gate == "backoff" && still {
			v.Sentence += " " + refused.Sentence // the arithmetic as it is now: what there is to do about it
		}
		for _, c := range j.Eligible {
			d.stand(c.Component, keeps[gate], v)
		}
		return
	}
	d.move(j)
}

// move plans the set as a promotion that somebody asked for.
func (d *deciding) move(j judgement) {
	project := d.Project.Metadata.Name
	r := Promotion{Project: project, Origin: Origin{Who: Automatic}}
	plan := newPlan(d.snapshot, r, d.now)
	plan.Automatic = true
	var last []string // intents
	for _, f := range d.Components {
		if !slices.ContainsFunc(j.Eligible, func(c candidate) bool { return c.Component == f.Name }) {
			continue
		}
		m := f.promotion(j)
		plan.Moves, last = append(plan.Moves, m), append(last, f.Production.annotation(AnnotationIntent))
		d.stand(f.Name, keeping{standing: StandWaiting}, Verdict{Sentence: fmt.Sprintf("nothing keeps %s %s: it moves now.", f.Name, m.Outcome.label())})
	}
	plan.Note = note(d.snapshot, j.Eligible, j, plan.Moves)
	// The same move at the same instant is the same decision, unless something moved between.
	plan.Origin.Key = fmt.Sprintf("auto/%s/%s/%s", project, d.now.Format(time.RFC3339Nano), digest([]any{plan.Moves, last})[:8])
	d.plan.Move = plan
}

// label is what a component moves to, as people know it.
func (o ComponentOutcome) label() string { return release{Name: o.To, Commit: o.ToCommit}.label() }

// stand keeps a component where it is.
func (d *deciding) stand(component string, how keeping, v Verdict) {
	if _, broken := d.unread[v.Gate]; broken {
		how = brokenAnnotation
	}
	i := slices.IndexFunc(d.Components, func(f componentFacts) bool { return f.Name == component })
	d.kept = append(d.kept, kept{d.Components[i], how, v})
}

// wake is the first instant at which something that fails may pass by time alone.
func (d *deciding) wake() {
	for _, k := range d.kept {
		d.wakeAt(k.Flips)
		d.plan.Asks = d.plan.Asks || k.Gate == "check" && k.standing == StandLeftAlone
	}
}

// wakeAt has the project looked at again at an instant to come, nil for none.
func (d *deciding) wakeAt(at *time.Time) {
	if at != nil && at.After(d.now) && (d.plan.Wake == nil || at.Before(*d.plan.Wake)) {
		d.plan.Wake = at
	}
}

// done puts together how everything stands.
func (d *deciding) done() passPlan {
	d.episodes()
	for _, k := range d.kept {
		to := k.target()
		d.plan.Standing = append(d.plan.Standing, ComponentStanding{Component: k.Name, Standing: k.standing, Gate: k.Gate,
			Sentence: k.Sentence, Since: d.since(k), Flips: k.Flips, To: to.Name, ToCommit: to.Commit})
	}
	slices.SortFunc(d.plan.Standing, func(a, b ComponentStanding) int { return strings.Compare(a.Component, b.Component) })
	return d.plan
}

// target is what staging runs of the component.
func (f componentFacts) target() release {
	name := f.Staging.spec.ReleaseName
	if r, known := f.Releases[name]; known {
		return r
	}
	return release{Name: name, Of: f.Name}
}

// since is since when a component stands as it does, where that is known.
func (d *deciding) since(k kept) *time.Time {
	gate := k.Gate
	switch gate {
	case "soak":
		if k.standing == StandWaiting && !k.Since.IsZero() {
			return &k.Since
		}
	case "backoff":
		gate = "capacity"
	}
	for _, e := range d.plan.Episodes {
		if e.Cause == gate && slices.Contains(strings.Split(e.Subject, ","), k.Name) {
			return &e.Since
		}
	}
	return nil
}
