package flowtest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/flowclient"
)

// Invariants plays with two controllers that are asked the same: a calm one over
// a Plane, and one over another ground that dies at any write, is started
// anew, is asked twice, also at the same time, cannot note its refusals, and is
// told of changes in any order, repeatedly or never. Both end alike after
// each step, and what the second one did keeps to the table in invariants.go.
func Invariants(t rapid.TB, ground func(t *rapid.T, now func() time.Time) Ground, memory func(t *rapid.T) (m Memory, end func())) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine()
		calm, endCalm := memory(t)
		defer endCalm()
		tried, endTried := memory(t)
		defer endTried()
		m.calm = newSide(t, m, PlaneGround(m.clock), calm)
		m.tried = newSide(t, m, ground(t, m.clock), tried)
		defer func() { require.NoError(t, m.tried.Close()) }()
		m.prepare(t)
		actions := m.actions()
		actions[""] = func(*rapid.T) {} // each step is checked by itself
		t.Repeat(actions)
	})
}

const (
	project = "shop"
	margin  = 100 << 20 // bytes
)

// components of the project, and the commits that they are built from.
var (
	components = []string{"shop-api", "shop-web"}
	commits    = []string{sha("a"), sha("b"), sha("c"), sha("d")}
)

// machine is two controllers and the facts that decide what they may do, as it
// arranged them itself.
type machine struct {
	calm, tried *side
	keys        []string // origin keys that were used

	mu    sync.Mutex // guards what controllers read
	now   time.Time
	pages map[string]int // what the staging page of a component answers; 0: nothing
	quota *flowclient.Quota

	version  int // changes with everything but time, passes, restarts and repetitions
	staging  map[string]stagedRelease
	locks    map[lockOn]bool
	project  map[string]string // annotations
	held     map[string]string // by component: the release that was rolled back
	refused  map[string]time.Time
	external map[string]bool // production was pinned by hand since its last promotion or rollback
	said     map[string]bool // announcements of the version, by what they say
	unsaid   []string        // events that the tried side could not note
	saidOf   int             // the version
	effects  map[string]int  // moves that were recorded, by origin key
	passed   int             // quotas that passes may have read while a step was asked for
}

// stagedRelease is what staging runs of a component.
type stagedRelease struct {
	release, commit string
	since           time.Time
	ready           bool
}

// lockOn is a lock that holds.
type lockOn struct{ component, commit, environment string }

func newMachine() *machine {
	return &machine{
		now:   time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), // a Friday
		pages: map[string]int{}, staging: map[string]stagedRelease{}, locks: map[lockOn]bool{}, project: map[string]string{}, held: map[string]string{},
		refused: map[string]time.Time{}, external: map[string]bool{}, said: map[string]bool{}, effects: map[string]int{},
	}
}

func (m *machine) clock() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func (m *machine) cell() (flowclient.Quota, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.quota == nil {
		return flowclient.Quota{}, false
	}
	return *m.quota, true
}

// Probe answers as the machine arranged.
func (m *machine) Probe(_ context.Context, url string) (status int, unbound bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	status = 200
	for component, answer := range m.pages {
		if containsComponent(url, component) {
			status = answer
		}
	}
	if status == 0 {
		return 0, false, errors.New("connection refused")
	}
	return status, false, nil
}

// step is what one step came to on the tried side.
type step struct {
	name  string
	asked *flowclient.Promotion // of a promotion, a rollback or an undo
	keyed string                // its origin key
	out   flowclient.Outcome
	err   error
	dry   func() (flowclient.Outcome, error) // what a dry run said right before; nil: none was asked for
	were  map[string]bound                   // production before it
	ask   deeds                              // until it was answered
	then  deeds                              // what followed
	alike [2]view
	news  []flowclient.Event // that were recorded
}

// bound is what production runs of a component.
type bound struct{ release, displaced string }

// all is everything that was done in the step.
func (s step) all() deeds {
	return deeds{slices.Concat(s.ask.objects, s.then.objects), slices.Concat(s.ask.pins, s.then.pins), slices.Concat(s.ask.begun, s.then.begun),
		slices.Concat(s.ask.stood, s.then.stood), s.ask.quotas + s.then.quotas}
}

// The ways in which the tried side is asked.
const (
	calmly    = "calmly"
	dying     = "dying at a write"
	twice     = "twice"
	atOnce    = "twice at once"
	afterPass = "after a pass"
	mutely    = "with events that cannot be noted"
)

var ways = []string{calmly, calmly, dying, dying, twice, atOnce, afterPass}

// ask asks both sides the same; do is asked of the tried one in a drawn way.
func ask[T any](t *rapid.T, m *machine, s *step, ways []string, do func(c *flowclient.Controller) (T, error)) (T, error) {
	want, wanted := do(m.calm.flow)
	var got T
	var err error
	m.tried.life.take()
	m.passed = 0
	way := rapid.SampledFrom(ways).Draw(t, "asked")
	switch way {
	case dying:
		m.tried.life.crash(rapid.IntRange(1, 9).Draw(t, "dies at write"), rapid.Bool().Draw(t, "done"))
		got, err = do(m.tried.flow)
		if m.tried.life.revive() {
			var refused *flowclient.Refusal
			require.True(t, errors.Is(err, ErrCrashed) || errors.As(err, &refused), "%v", err) // a refusal is the answer also when it cannot be noted
			before := m.tried.life.quotas()
			m.restart(t)
			m.passed = m.tried.life.quotas() - before
			got, err = do(m.tried.flow)
		}
	case twice:
		_, _ = do(m.tried.flow) // compared by what comes of it
		got, err = do(m.tried.flow)
	case atOnce:
		var both sync.WaitGroup
		var other error
		both.Go(func() { _, other = do(m.tried.flow) })
		got, err = do(m.tried.flow)
		both.Wait()
		require.Equal(t, m.calm.answer(t, wanted, nil), m.tried.answer(t, other, nil))
	case afterPass:
		require.NoError(t, m.tried.rest(rapid.Bool().Draw(t, "full"), inOrder))
		m.passed = m.tried.life.quotas()
		got, err = do(m.tried.flow)
	case mutely:
		m.tried.life.mute = true
		m.unsaid = append(m.unsaid, "event promote/"+s.keyed+"/refused", "event rollback/"+s.keyed+"/refused")
		got, err = do(m.tried.flow)
		m.tried.life.mute = false
	default:
		got, err = do(m.tried.flow)
	}
	require.Equal(t, m.calm.answer(t, wanted, want), m.tried.answer(t, err, got), "%s %s", s.name, way)
	s.ask = m.tried.life.take()
	return got, err
}

// written is a value as it is answered.
func written(t require.TestingT, v any) string {
	raw, err := json.MarshalIndent(v, "", " ")
	require.NoError(t, err)
	return string(raw)
}

// restart starts the tried side's process anew: its first pass finishes what was begun.
func (m *machine) restart(t *rapid.T) {
	m.tried.start(t)
	require.NoError(t, m.tried.rest(true, inOrder))
	open, err := m.tried.memory.Open(context.Background())
	require.NoError(t, err)
	require.Empty(t, open, "the first pass finishes what was begun")
}

// follow lets happen what follows from a step, on the tried side in a drawn way,
// and checks everything.
func (m *machine) follow(t *rapid.T, s step) {
	require.NoError(t, m.calm.rest(false, inOrder))
	switch rapid.SampledFrom([]string{calmly, calmly, dying, "anew", "in another order", "by listing"}).Draw(t, "followed") {
	case dying:
		m.tried.life.crash(rapid.IntRange(1, 12).Draw(t, "dies at write"), rapid.Bool().Draw(t, "done"))
		err := m.tried.rest(false, inOrder)
		if m.tried.life.revive() {
			require.ErrorIs(t, err, ErrCrashed)
			m.restart(t)
		}
		require.NoError(t, m.tried.rest(false, inOrder))
	case "anew":
		m.restart(t)
	case "in another order":
		require.NoError(t, m.tried.rest(false, func(told []ref) []ref {
			return rapid.Permutation(slices.Concat(told, told)).Draw(t, "told")
		}))
	case "by listing":
		require.NoError(t, m.tried.rest(true, func([]ref) []ref { return nil }))
	default:
		require.NoError(t, m.tried.rest(false, inOrder))
	}
	s.then = m.tried.life.take()
	s.alike, s.news = [2]view{m.calm.look(t), m.tried.look(t)}, m.tried.news
	for _, name := range m.unsaid {
		delete(s.alike[0], name)
	}
	m.checked(t, s)
}

// checked holds a step against every invariant, and takes its facts over.
func (m *machine) checked(t *rapid.T, s step) {
	for _, i := range invariants {
		if i.holds != nil {
			i.holds(t, m, s)
		}
	}
	m.learn(t, s)
}

// learn takes over what the step changed of what later steps are held against.
func (m *machine) learn(t *rapid.T, s step) {
	for _, d := range s.all().stood {
		for _, b := range d.backoffs {
			m.refused[b.Component] = d.at
		}
	}
	for _, p := range s.all().pins {
		m.external[p.component(t)] = false
	}
	if s.asked == nil || s.err != nil {
		return
	}
	for _, o := range s.out.Components {
		switch {
		case o.Result == flowclient.RolledBack && o.From != "":
			m.held[o.Component] = o.From
		case o.Result == flowclient.Promoted:
			delete(m.held, o.Component)
			delete(m.refused, o.Component)
		}
	}
}
