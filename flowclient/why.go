package flowclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"platform.dev/platform/flowclient/window"
)

// Why is what each component of a project would have to pass to reach
// production now, and when it could.
type Why struct {
	Project    string         `json:"project"`
	At         time.Time      `json:"at"`
	Promotion  string         `json:"promotion"` // auto, manual, or what the annotation says
	Window     Window         `json:"window"`
	Sentence   string         `json:"sentence"` // about the project: what is against it, and from when on it could be promoted
	Components []WhyComponent `json:"components"`
}

// Refused is the result of a component of a Why that would move, had the
// request not been refused as a whole.
const Refused = "refused"

// WhyComponent is one component of a Why.
type WhyComponent struct {
	Component  string `json:"component"`
	Result     string `json:"result"`   // what Promote would answer now: promoted, unchanged, retry, or refused
	Sentence   string `json:"sentence"` // the first gate against it, or that it would move
	From       string `json:"from,omitempty"`
	FromCommit string `json:"fromCommit,omitempty"`
	To         string `json:"to,omitempty"`
	ToCommit   string `json:"toCommit,omitempty"`
	// Automatic is what the automatic pass does with it, a sentence; empty where it has nothing to do.
	Automatic string    `json:"automatic,omitempty"`
	Gates     []Verdict `json:"gates,omitempty"` // every gate, the automatic pass's own included; none of what has nowhere to go
	// Flips is the next instant at which a gate changes by itself.
	Flips *time.Time `json:"flips,omitempty"`
	// Earliest is the earliest instant at which a promotion could happen if nothing else changes: nil when
	// something is against it that no time lifts. It is now when nothing is.
	Earliest *time.Time `json:"earliest,omitempty"`
}

// Why tells what is against a promotion of a project, or of one component of
// it, now: each gate with its numbers, and from when on it could happen.
func (c *Controller) Why(ctx context.Context, project, component string) (Why, error) {
	if err := check(checkLabel("project", project, maxLabel), checkOptional("component", component)); err != nil {
		return Why{}, err
	}
	s, err := c.snapshot(ctx, project, component)
	var none *Refusal
	if errors.As(err, &none) { // a project without components
		return c.whyNothing(ctx, project, none)
	}
	if err == nil {
		err = c.observe(ctx, &s, false)
	}
	if err == nil {
		err = c.compareForward(ctx, &s)
	}
	if err != nil {
		return Why{}, err
	}
	return whyOf(s, c.deps.Now().UTC()), nil
}

func (c *Controller) whyNothing(ctx context.Context, project string, none *Refusal) (Why, error) {
	o, err := c.deps.ControlPlane.Get(ctx, KindProject, project)
	if err != nil {
		return Why{}, err
	}
	now := c.deps.Now().UTC()
	s := snapshot{Project: o}
	if s.Freezes, err = c.freezesOf(ctx, project, now); err != nil {
		return Why{}, err
	}
	w := whyOf(s, now)
	w.Sentence = none.Sentence
	return w, nil
}

// whyOf explains a snapshot at an instant: pure. A component's result is that of
// planPromotion, told of each by itself where the whole request is refused.
func whyOf(s snapshot, now time.Time) Why {
	q := s.question()
	w := Why{Project: q.Project, At: now, Promotion: s.promotion(), Window: windowOf(q.windows, q.Project, q.Window, q.Freezes, now), Components: []WhyComponent{}}
	candidates, broken := s.candidates()
	x := explained{q: q, now: now, promotion: w.Promotion}
	if broken == nil {
		x.manual, x.auto = judge(q, candidates, promoting, Promotion{}, now), judge(q, candidates, automatically, Promotion{}, now)
		x.could, x.then = earliest(q, candidates, promoting, now)
		x.would, _ = earliest(q, candidates, automatically, now)
	}
	for _, f := range s.Components {
		if broken != nil && !f.unchanged() {
			w.Components = append(w.Components, WhyComponent{Component: f.Name, Result: Refused, Sentence: broken.Error()})
			continue
		}
		w.Components = append(w.Components, x.component(f))
	}
	w.Sentence = x.project(w.Components, broken)
	return w
}

// The values of AnnotationPromotion.
const (
	promotionAuto   = "auto"
	promotionManual = "manual"
)

// promotion is the project's annotation, or its default. Where there is no
// automatic pass every project is promoted by hand.
func (s snapshot) promotion() string {
	if s.Unattended {
		return promotionManual
	}
	return cmp.Or(s.annotation(AnnotationPromotion), promotionAuto)
}

// explained is what the gates say of a project, asked by a person and by the automatic pass.
type explained struct {
	q            question
	now          time.Time
	promotion    string
	manual, auto judgement
	could, would map[string]time.Time // see earliest, of each
	then         map[string]Verdict   // likewise, of what a person asks for
}

func (x explained) component(f componentFacts) WhyComponent {
	o := f.promotion(x.manual).Outcome
	w := WhyComponent{Component: f.Name, Result: o.Result, Sentence: o.Sentence, From: o.From, FromCommit: o.FromCommit, To: o.To, ToCommit: o.ToCommit}
	if o.Result == Unchanged {
		return w
	}
	if from := f.Production.spec.ReleaseName; from != o.To {
		w.From, w.FromCommit = from, f.Releases[from].Commit
	}
	w.Gates = x.gates(f.Name)
	w.Flips = flipsOf(w.Gates, x.now)
	switch refused := x.manual.Refused; {
	case refused != nil && refused.Component != "" && refused.Component != f.Name:
		w.Result, w.Sentence = Refused, fmt.Sprintf("a promotion of all of %s is refused for %s: %s Promote %s alone to leave it out.", x.q.Project, refused.Component, refused.Sentence, f.Name)
	case refused != nil:
		w.Result, w.Sentence = Refused, refused.Sentence
	case o.Result == Promoted:
		w.Sentence = wouldMove(w, f.undeployed())
		if len(f.Differs) > 0 {
			w.Sentence += fmt.Sprintf(" More than code would change: %s.", listOf(f.Differs))
		}
	}
	if at, ok := x.could[f.Name]; ok {
		w.Earliest = &at
	}
	w.Automatic = x.automatic(w)
	return w
}

// gates are the verdicts that concern a component in the order of the table:
// those of a person's request, and of the automatic pass what only that is asked.
func (x explained) gates(component string) (all []Verdict) {
	manual, auto := verdictsOf(x.manual.All, component), verdictsOf(x.auto.All, component)
	for _, g := range gates {
		of := func(v Verdict) bool { return v.Gate == g.name }
		from := manual
		if g.promote == notAsked {
			from = auto
		}
		if i := slices.IndexFunc(from, of); i >= 0 {
			all = append(all, from[i])
		}
	}
	return all
}

// flipsOf is the next instant after now at which one of the verdicts changes by itself.
func flipsOf(verdicts []Verdict, now time.Time) (next *time.Time) {
	for _, v := range verdicts {
		if v.Flips != nil && v.Flips.After(now) && (next == nil || v.Flips.Before(*next)) {
			next = v.Flips
		}
	}
	return next
}

// wouldMove tells what a promotion would do.
func wouldMove(w WhyComponent, undeployed bool) string {
	to := release{Name: w.To, Commit: w.ToCommit}.label()
	rest := ", where nothing runs yet"
	switch {
	case undeployed && w.From == "":
		return fmt.Sprintf("%s: nothing is against it; %s would run %s again, which is out of service.", w.Component, Production, to)
	case w.From != "":
		rest = " in place of " + release{Name: w.From, Commit: w.FromCommit}.label()
		if undeployed {
			rest += ", which is out of service"
		}
	}
	return fmt.Sprintf("%s: nothing is against it; %s would run %s%s.", w.Component, Production, to, rest)
}

// movesNow is what the automatic pass does with what nothing is against.
const movesNow = "It moves by itself at the next pass."

// automatic is what the automatic pass does with a component that could move.
func (x explained) automatic(w WhyComponent) string {
	switch x.promotion {
	case promotionAuto:
	case promotionManual:
		return ""
	default:
		return fmt.Sprintf("The promotion annotation %q of %s is neither %s nor %s: nothing moves by itself until it is.", clip(x.promotion), x.q.Project, promotionAuto, promotionManual)
	}
	against, stopped := x.auto.Stops[w.Component]
	if !stopped {
		against, stopped = x.auto.whole()
	}
	at, would := x.would[w.Component]
	switch {
	case !stopped:
		return movesNow
	case would:
		return fmt.Sprintf("It moves by itself %s if nothing else changes.", x.from(at))
	}
	if against.Sentence == w.Sentence {
		return fmt.Sprintf("Nor does it move by itself (%s).", against.Effect)
	}
	return fmt.Sprintf("It does not move by itself (%s): %s", against.Effect, against.Sentence)
}

// wholeOrder is the order in which the automatic pass is told what keeps a
// whole set: what only waits for the window is what passes all else.
var wholeOrder = []string{"backoff", "capacity", "window"}

// whole is the first gate against the whole set, as the automatic pass tells it.
func (j judgement) whole() (against stop, stopped bool) {
	for _, gate := range wholeOrder {
		if i := slices.IndexFunc(j.Whole, func(s stop) bool { return s.Gate == gate }); i >= 0 {
			return j.Whole[i], true
		}
	}
	return stop{}, false
}

// from is an instant from which on something can be: "from Mon 23 Nov 09:00 GMT on, in 2 d 15 h,".
func (x explained) from(at time.Time) string {
	// A window that cannot be read has no zone, and lets nothing be at any time.
	calendar, _ := calendarOf(x.q.windows, x.q.Project, x.q.Window, x.q.Freezes)
	return fmt.Sprintf("from %s on, in %s,", calendar.Instant(at, x.now), window.SpanUp(at.Sub(x.now)))
}

// project is the sentence about all of it.
func (x explained) project(all []WhyComponent, broken error) string {
	var now, waiting, never []string
	later := map[time.Time][]string{}
	first := ""
	for _, w := range all {
		switch {
		case w.Result == Unchanged:
			continue
		case w.Result == Promoted:
			now = append(now, w.Component)
			continue
		case w.Earliest == nil:
			never = append(never, w.Component)
		default:
			later[*w.Earliest] = append(later[*w.Earliest], w.Component)
		}
		waiting = append(waiting, w.Component)
		first = cmp.Or(first, w.Sentence)
	}
	switch {
	case broken != nil:
		return broken.Error()
	case len(now)+len(waiting) == 0:
		return fmt.Sprintf("There is nothing to promote: %s of %s runs what %s runs.", Production, x.q.Project, Staging)
	case len(waiting) == 0:
		return fmt.Sprintf("Nothing is against a promotion of %s; it would move %s.", x.q.Project, listOf(now))
	}
	text := fmt.Sprintf("A promotion of %s would move nothing now: %s", x.q.Project, first)
	switch {
	case x.manual.Refused != nil:
		text = fmt.Sprintf("A promotion of %s is refused now: %s", x.q.Project, x.manual.Refused.Sentence)
	case len(now) > 0:
		text = fmt.Sprintf("A promotion of %s would move %s now, and not %s: %s", x.q.Project, listOf(now), listOf(waiting), first)
	}
	var when []string
	for _, at := range slices.SortedFunc(maps.Keys(later), time.Time.Compare) {
		when = append(when, listOf(later[at])+" "+strings.TrimSuffix(x.from(at), ","))
	}
	if len(when) > 0 {
		text += fmt.Sprintf(" If nothing else changes, it could move %s.", strings.Join(when, "; "))
	}
	if len(never) > 0 {
		text += fmt.Sprintf(" Time alone does not bring %s there.", listOf(never))
		if v, known := x.then[never[0]]; known && !strings.Contains(text, v.Sentence) {
			text = strings.TrimSuffix(text, ".") + ": " + v.Sentence
		}
	}
	return text
}
