package flowtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/flowclient"
)

// invariant is one sentence of the promotion rules about what always holds,
// and what shows it: a check after each step of the machine, or the property
// test that is elsewhere.
type invariant struct {
	sentence  string
	holds     func(t *rapid.T, m *machine, s step)
	elsewhere string
}

// invariants are the sentences of the promotion rules, in their order.
var invariants = []invariant{
	{"No pin of a locked release.", noLockedPin, ""},
	{"No automatic pin before soak, or when not Ready for that generation.", automaticOnlyWhenSoakedAndReady, ""},
	{"No promote or rollback admitted while the window is closed.", admittedWhileOpen, ""},
	{"Capacity refusal writes nothing.", refusedWritesNothing, ""},
	{"Rollback never asks capacity.", rollbackAsksNoCapacity, ""},
	{"No input lifts a lock.", nothingLiftsALock, ""},
	{"409 means zero writes.", refusedWritesNothing, ""},
	{"Pinned release = the one evaluated.", pinsWhatWasEvaluated, ""},
	{"Displaced differs from pinned.", displacedDiffers, ""},
	{"A retry never changes displaced.", retryKeepsDisplaced, ""},
	{"Promote then rollback restores the exact release.", rollbackRestores, ""},
	{"Rollback never touches resources.", rollbackTouchesBindingsAlone, ""},
	{"The automatic pass never re-pins a held release.", heldStays, ""},
	{"At least 10 minutes between automatic capacity attempts per component.", capacityRests, ""},
	{"One announcement per episode.", announcedOnce, ""},
	{"An announcer fault changes nothing.", endsAlike, ""},
	{"A crash at any write then a restart ends in the same state.", endsAlike, ""},
	{"Deliveries duplicated or reordered end in the same state.", endsAlike, ""},
	{"Two identical concurrent promotes have one effect.", oneEffectPerKey, ""},
	{"Review environments never exceed the cap.", nil, "store: TestReviewEnvironmentsEndAsTheirPullRequestsStand"},
	{"A partial listing destroys nothing.", nil, "store: TestReviewEnvironmentsEndAsTheirPullRequestsStand"},
	{"Teardown touches labelled objects alone.", nil, "the contract of Flow: teardown"},
	{"Window open equals a minute-by-minute oracle over IANA zones and DST days; next-open is open and minimal.", nil, "window: oracle_test.go"},
	{"Adding a lock or a need never turns a refusal into a pass.", nil, "flowclient: TestAddingALockOrANeedNeverTurnsARefusalIntoAPass, TestAddingALockNeverMovesMore"},
	{"Order of components never changes an outcome.", nil, "flowclient: TestADecisionIsPure"},
	{"A decision is pure: same snapshot and instant, same bytes.", decidedAgain, ""},
	{"dry-run equals the real outcome when nothing changed.", dryRunIsTheOutcome, ""},
	{"Every pin has promoted-by and an evidence row.", pinsAreEvident, ""},
	{"/state, why and /promote agree.", allAgree, ""},
}

// plan is the body of a move's intent, as far as it is looked at here.
type plan struct {
	Rollback  bool      `json:"rollback"`
	Automatic bool      `json:"automatic"`
	At        time.Time `json:"at"`
	Moves     []struct {
		Outcome flowclient.ComponentOutcome `json:"outcome"`
	} `json:"moves"`
	Inputs struct {
		Components []struct {
			Name    string            `json:"name"`
			Staging flowclient.Object `json:"staging"`
		} `json:"components"`
	} `json:"inputs"`
}

func planOf(t *rapid.T, in flowclient.Intent) (p plan) {
	require.NoError(t, json.Unmarshal(in.Body, &p))
	return p
}

// moved are the components that a plan is to move.
func (p plan) moved() (all []flowclient.ComponentOutcome) {
	for _, m := range p.Moves {
		if m.Outcome.Result == flowclient.Promoted || m.Outcome.Result == flowclient.RolledBack {
			all = append(all, m.Outcome)
		}
	}
	return all
}

// spec is what a write of a production binding left there, and what was there before.
func (p pinning) spec(t *rapid.T) (before, after flowclient.ReleaseBindingSpec) {
	if p.before.Spec != nil {
		require.NoError(t, p.before.Decode(&before, nil))
	}
	require.NoError(t, p.after.Decode(&after, nil))
	return before, after
}

func (p pinning) component(t *rapid.T) string {
	_, after := p.spec(t)
	return after.Owner.ComponentName
}

// intent is the intent that a write was of.
func (p pinning) intent(t *rapid.T, m *machine) flowclient.Intent {
	in, err := m.tried.memory.Intent(context.Background(), p.after.Metadata.Annotations[flowclient.AnnotationIntent])
	require.NoError(t, err, "a pin without an intent")
	return in
}

// lockedOut tells whether a commit may not be pinned in production.
func (m *machine) lockedOut(component, commit string) bool {
	return m.locks[lockOn{component, commit, ""}] || m.locks[lockOn{component, commit, flowclient.Production}]
}

// commitOf is the commit of a release, whose name ends with its beginning.
func commitOf(release string) string {
	short := release[strings.LastIndex(release, "-")+1:]
	i := slices.IndexFunc(commits, func(c string) bool { return strings.HasPrefix(c, short) })
	return commits[max(i, 0)]
}

func noLockedPin(t *rapid.T, m *machine, s step) {
	for _, p := range s.all().pins {
		if before, after := p.spec(t); before.ReleaseName != after.ReleaseName || before.State != after.State {
			require.False(t, m.lockedOut(after.Owner.ComponentName, commitOf(after.ReleaseName)), "%s was pinned to %s, which is locked", after.Owner.ComponentName, after.ReleaseName)
		}
	}
}

func automaticOnlyWhenSoakedAndReady(t *rapid.T, m *machine, s step) {
	for _, in := range s.all().begun {
		p := planOf(t, in)
		if !p.Automatic {
			continue
		}
		soak, err := time.ParseDuration("0" + m.project[flowclient.AnnotationSoak])
		require.NoError(t, err, "nothing moves by itself while the soak cannot be read")
		require.Contains(t, []string{"", "auto"}, m.project[flowclient.AnnotationPromotion])
		for _, o := range p.moved() {
			now := m.staging[o.Component]
			require.Equal(t, now.release, o.To)
			require.True(t, now.ready, "%s is not Ready in staging", o.Component)
			require.GreaterOrEqual(t, in.At.Sub(now.since), soak, "%s has not soaked", o.Component)
		}
	}
}

// The windows of the machine, and when they are open.
const (
	workdays  = "Mon-Fri 09:00-17:00 UTC"
	saturdays = "Sat 09:00-17:00 UTC"
)

// open tells whether production may change at an instant.
func (m *machine) open(t *rapid.T, at time.Time) bool {
	freezes, err := m.tried.memory.Freezes(context.Background(), at)
	require.NoError(t, err)
	for _, f := range freezes {
		if !at.Before(f.From) && at.Before(f.Until) {
			return false
		}
	}
	hours, weekend := at.Hour() >= 9 && at.Hour() < 17, at.Weekday() == time.Saturday || at.Weekday() == time.Sunday
	switch m.project[flowclient.AnnotationProductionWindow] {
	case "":
		return true
	case workdays:
		return hours && !weekend
	case saturdays:
		return hours && at.Weekday() == time.Saturday
	}
	return false // it cannot be read
}

func admittedWhileOpen(t *rapid.T, m *machine, s step) {
	for _, in := range s.all().begun {
		if len(planOf(t, in).moved()) > 0 {
			require.True(t, m.open(t, in.At), "%s was admitted while production is closed", in.Key)
		}
	}
}

func refusedWritesNothing(t *rapid.T, _ *machine, s step) {
	var refused *flowclient.Refusal
	if s.asked != nil && errors.As(s.err, &refused) {
		require.Empty(t, s.ask.objects)
		require.Empty(t, s.ask.begun)
	}
}

func rollbackAsksNoCapacity(t *rapid.T, m *machine, s step) {
	if s.name == "roll back" || s.name == "undo" {
		require.LessOrEqual(t, s.ask.quotas, m.passed, "passes may ask; a rollback does not")
	}
}

func nothingLiftsALock(t *rapid.T, m *machine, s step) {
	if s.name != "promote" {
		return
	}
	for _, name := range components {
		now, was := m.staging[name], s.were[name]
		asked := s.asked.Component == "" || s.asked.Component == name
		if asked && was.release != now.release && m.lockedOut(name, now.commit) {
			var refused *flowclient.Refusal
			require.ErrorAs(t, s.err, &refused)
			require.Equal(t, "lock", refused.Gate)
		}
	}
}

func pinsWhatWasEvaluated(t *rapid.T, m *machine, s step) {
	for _, p := range s.all().pins {
		before, after := p.spec(t)
		if before.ReleaseName == after.ReleaseName {
			continue
		}
		plan := planOf(t, p.intent(t, m))
		i := slices.IndexFunc(plan.moved(), func(o flowclient.ComponentOutcome) bool { return o.Component == after.Owner.ComponentName })
		require.GreaterOrEqual(t, i, 0)
		require.Equal(t, plan.moved()[i].To, after.ReleaseName)
		if plan.Rollback {
			continue
		}
		require.Equal(t, m.staging[after.Owner.ComponentName].release, after.ReleaseName, "staging runs it")
		for _, c := range plan.Inputs.Components {
			var staging flowclient.ReleaseBindingSpec
			if c.Name == after.Owner.ComponentName {
				require.NoError(t, c.Staging.Decode(&staging, nil))
				require.Equal(t, staging.ReleaseName, after.ReleaseName)
			}
		}
	}
}

func displacedDiffers(t *rapid.T, m *machine, _ step) {
	for _, name := range components {
		spec, o, _ := m.tried.binding(t, name+"-"+flowclient.Production)
		if displaced := o.Metadata.Annotations[flowclient.AnnotationDisplaced]; displaced != "" && !m.external[name] {
			require.NotEqual(t, spec.ReleaseName, displaced)
		}
	}
}

func retryKeepsDisplaced(t *rapid.T, _ *machine, s step) {
	first := map[string]string{}
	for _, p := range s.all().pins {
		of := p.after.Metadata.Name + " " + p.after.Metadata.Annotations[flowclient.AnnotationIntent]
		displaced := p.after.Metadata.Annotations[flowclient.AnnotationDisplaced]
		if was, again := first[of]; again {
			require.Equal(t, was, displaced)
		}
		first[of] = displaced
	}
}

func rollbackRestores(t *rapid.T, m *machine, s step) {
	if s.name != "roll back" && s.name != "undo" || s.err != nil {
		return
	}
	for _, o := range s.out.Components {
		if was := s.were[o.Component]; o.Result == flowclient.RolledBack {
			require.Equal(t, was.displaced, o.To)
			spec, b, _ := m.tried.binding(t, o.Component+"-"+flowclient.Production)
			require.Equal(t, was.displaced, spec.ReleaseName)
			require.Empty(t, b.Metadata.Annotations[flowclient.AnnotationDisplaced])
		}
	}
}

func rollbackTouchesBindingsAlone(t *rapid.T, _ *machine, s step) {
	if s.name == "roll back" || s.name == "undo" {
		for _, kind := range s.ask.objects {
			require.Equal(t, flowclient.KindReleaseBinding, kind)
		}
	}
}

func heldStays(t *rapid.T, m *machine, s step) {
	for _, in := range s.all().begun {
		for _, o := range planOf(t, in).moved() {
			if in.Who == flowclient.Automatic {
				require.NotEqual(t, m.held[o.Component], o.To, "%s was rolled back from it", o.Component)
			}
		}
	}
}

const rests = 10 * time.Minute // interface document, Limits

func capacityRests(t *rapid.T, m *machine, s step) {
	rested := func(component string, at time.Time) {
		if last, known := m.refused[component]; known {
			require.GreaterOrEqual(t, at.Sub(last), rests, "capacity was asked again for %s", component)
		}
	}
	for _, d := range s.all().stood {
		for _, b := range d.backoffs {
			rested(b.Component, d.at)
		}
	}
	for _, in := range s.all().begun {
		for _, o := range planOf(t, in).moved() {
			if in.Who == flowclient.Automatic {
				rested(o.Component, in.At)
			}
		}
	}
}

// announcedOnce looks at the events themselves: the announcer tells each once.
// As long as nobody changes anything, time alone begins no episode a second time.
func announcedOnce(t *rapid.T, m *machine, s step) {
	if m.saidOf != m.version {
		m.saidOf, m.said = m.version, map[string]bool{}
	}
	for _, e := range s.news {
		var body flowclient.AutoEvent
		if !strings.HasPrefix(e.Kind, "auto.") {
			continue
		}
		require.NoError(t, json.Unmarshal(e.Body, &body))
		says := []any{e.Kind, body.Set, body.Cause, body.Flips}
		for _, o := range body.Moves {
			says = append(says, o.To)
		}
		if e.Kind == flowclient.EventAutoRefused { // its Flips is when it is asked again
			says = append(says[:3], body.Sentence)
		}
		key := written(t, says)
		require.False(t, m.said[key], "announced twice: %s", key)
		m.said[key] = true
	}
}

func endsAlike(t *rapid.T, _ *machine, s step) {
	require.Empty(t, strings.Join(s.alike[0].differs(s.alike[1]), "\n"), s.name)
}

func oneEffectPerKey(t *rapid.T, m *machine, s step) {
	effects := map[string]int{}
	for _, p := range s.all().pins {
		if before, after := p.spec(t); before.ReleaseName != after.ReleaseName {
			effects[p.after.Metadata.Annotations[flowclient.AnnotationIntent]+" "+after.Owner.ComponentName]++
		}
	}
	for _, e := range s.news {
		if e.Kind == flowclient.EventPromoted || e.Kind == flowclient.EventRolledBack {
			var body flowclient.MoveEvent
			require.NoError(t, json.Unmarshal(e.Body, &body))
			m.effects[body.Origin.Key]++
			effects[body.Origin.Key] = m.effects[body.Origin.Key]
		}
	}
	for of, n := range effects {
		require.Equal(t, 1, n, of)
	}
}

func decidedAgain(t *rapid.T, m *machine, s step) {
	again := func(id string) {
		r, err := m.tried.flow.Replay(context.Background(), id)
		require.NoError(t, err)
		require.True(t, r.Same, "%s\n%s\n%s", r.Sentence, r.Recorded, r.Replayed)
	}
	for _, in := range s.all().begun {
		again(in.ID)
	}
	var refused *flowclient.Refusal
	if s.keyed == "" || !errors.As(s.err, &refused) || refused.Gate == "" || slices.Contains(m.unsaid, "event promote/"+s.keyed+"/refused") {
		return
	}
	again(map[bool]string{true: "promote", false: "rollback"}[s.name == "promote"] + "/" + s.keyed + "/refused")
}

func dryRunIsTheOutcome(t *rapid.T, _ *machine, s step) {
	if s.dry == nil {
		return
	}
	out, err := s.dry()
	require.Equal(t, fmt.Sprint(err), fmt.Sprint(s.err))
	if err == nil {
		require.Equal(t, written(t, out), written(t, s.out))
	}
}

func pinsAreEvident(t *rapid.T, m *machine, s step) {
	for _, p := range s.all().pins {
		in := p.intent(t, m)
		require.Equal(t, in.Who, p.after.Metadata.Annotations[flowclient.AnnotationPromotedBy])
		require.NotNil(t, in.Outcome, "its outcome is recorded")
		found := slices.ContainsFunc(s.news, func(e flowclient.Event) bool { return e.Key == in.Kind+"/"+in.ID })
		require.True(t, found, "%s has an event", in.Key)
	}
}

// allAgree asks for why, the state and a dry run of a promotion of everything.
func allAgree(t *rapid.T, m *machine, s step) {
	ctx := context.Background()
	why, err := m.tried.flow.Why(ctx, project, "")
	require.NoError(t, err)
	state, err := m.tried.flow.State(ctx)
	require.NoError(t, err)
	require.Len(t, state.Projects, 1)
	out, err := m.tried.flow.Promote(ctx, flowclient.Promotion{Origin: flowclient.Origin{Key: "zulip:dry", Who: "sre"}, Project: project, DryRun: true})
	var refused *flowclient.Refusal
	if err != nil {
		require.ErrorAs(t, err, &refused)
	}
	stands := map[string]flowclient.ComponentStanding{}
	for _, c := range state.Projects[0].Components {
		stands[c.Component] = c
	}
	for i, w := range why.Components {
		c, stand := stands[w.Component]
		require.Equal(t, w.Result != flowclient.Unchanged, stand, "%s: %s", s.name, w.Sentence)
		switch {
		case err == nil:
			require.Equal(t, out.Components[i].Result, w.Result)
			require.Equal(t, out.Components[i].To, w.To)
		case stand:
			require.Equal(t, flowclient.Refused, w.Result)
		}
		if stand {
			require.Equal(t, w.To, c.To)
			require.NotEqual(t, "It moves by itself at the next pass.", w.Automatic, "%s: the pass has been", w.Component)
			require.Equal(t, why.Promotion == "manual", c.Standing == flowclient.StandManual, c.Sentence)
		}
	}
	m.tried.life.take() // what was looked at for this is no deed of a step
}
