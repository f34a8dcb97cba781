package flowtest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// Ground is a control plane that the machine of Invariants plays on.
type Ground struct {
	flowclient.ControlPlane
	// Watch has the function told of each object that is written from now on.
	Watch func(changed func(kind flowclient.Kind, name string))
	// SetReady changes whether a binding's release is Ready, until it names another.
	SetReady func(binding string, ready bool)
	// Settle returns when everything has happened that follows from what was written.
	Settle func()
	// Same rewrites what is written of a side where grounds may differ: a cell's namespace is "cell". nil: nothing is.
	Same *strings.Replacer
	// Close ends it.
	Close func() error
}

// PlaneGround is a Plane to play on.
func PlaneGround(now func() time.Time) Ground {
	p := NewPlane(now)
	return Ground{ControlPlane: withCells{p}, Watch: p.Watch, SetReady: p.SetReady, Settle: func() {}, Close: func() error { return nil }}
}

// withCells is a Plane whose projects' bindings name their cells at once.
type withCells struct{ *Plane }

func (p withCells) Create(ctx context.Context, o flowclient.Object) (flowclient.Object, error) {
	made, err := p.Plane.Create(ctx, o)
	if err == nil && o.Kind == flowclient.KindProjectReleaseBinding {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.objects[o.Kind][o.Metadata.Name].object.Status = json.RawMessage(`{"namespace":"cell"}`)
	}
	return made, err
}

// ref names an object that was written.
type ref struct {
	kind flowclient.Kind
	name string
}

// side is one of the two controllers that are asked the same, with its world.
type side struct {
	Ground
	memory Memory
	life   *life
	flow   *flowclient.Controller
	deps   flowclient.Deps

	mu   sync.Mutex
	told []ref // written, and not told to the controller yet

	names     []string // ids of intents, each with its name; see look
	automatic int      // how many intents were of the automatic pass
	last      int64    // event that was looked at
	news      []flowclient.Event
}

func newSide(t require.TestingT, m *machine, g Ground, memory Memory) *side {
	s := &side{Ground: g, memory: memory, life: &life{}}
	living := livingMemory{memory, s.life}
	s.deps = flowclient.Deps{
		ControlPlane: livingPlane{g, s.life, m.clock}, Git: anyCommit{}, Cluster: NewPlane(m.clock), Prober: m, Journal: living, Locks: living,
		Sightings: living, Runs: memory, History: memory, Standings: living, Freezes: living, Cells: livingCells{s.life, m.cell},
		Templates: fs.FS(fstest.MapFS{}), Now: m.clock,
		Settings: flowclient.Settings{Owner: "platform", Watched: true, AllowSkipSoak: true, CapacityMargin: margin},
	}
	g.Watch(func(kind flowclient.Kind, name string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.told = append(s.told, ref{kind, name})
	})
	s.start(t)
	return s
}

// start starts a process, which has passed over nothing yet.
func (s *side) start(t require.TestingT) {
	var err error
	s.flow, err = flowclient.New(s.deps)
	require.NoError(t, err)
}

// deliver tells the controller what was written, in an order and number of the caller's choice.
func (s *side) deliver(as func([]ref) []ref) {
	s.mu.Lock()
	told := s.told
	s.told = nil
	s.mu.Unlock()
	for _, r := range as(told) {
		s.flow.Changed(r.kind, r.name)
	}
}

// rest passes until nothing is written any more: what is woken by its own writes has been.
func (s *side) rest(full bool, as func([]ref) []ref) error {
	const enough = 8
	for range enough {
		s.Settle()
		s.deliver(as)
		if err := s.flow.Pass(context.Background(), full); err != nil {
			return err
		}
		if s.Settle(); !s.owed() {
			return nil
		}
	}
	return errRestless
}

// errRestless is a controller whose own writes keep it writing.
var errRestless = errors.New("the controller does not come to rest")

// inOrder delivers as it happened.
func inOrder(told []ref) []ref { return told }

func (s *side) owed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.told) > 0
}

// anyCommit is a git server that has every commit.
type anyCommit struct{ flowclient.Git }

func (anyCommit) Commit(_ context.Context, _, ref string) (flowclient.Commit, error) {
	return flowclient.Commit{SHA: ref}, nil
}

// view is everything that there is on a side, without what is chosen at random:
// intents are named by the keys of who asked.
type view map[string]string

// same writes a value as both sides write it.
func (s *side) same(t require.TestingT, of any) string {
	raw, err := json.Marshal(of)
	require.NoError(t, err)
	text := addresses.ReplaceAllString(string(raw), "")
	if s.Same != nil {
		text = s.Same.Replace(text)
	}
	return text
}

// answer is what was answered to a question, as both sides write it.
func (s *side) answer(t require.TestingT, err error, of any) string {
	return strings.NewReplacer(s.names...).Replace(s.same(t, []any{fmt.Sprint(err), of}))
}

// addresses are where something answers: whether what is out of service has one is a control plane's own choice.
var addresses = regexp.MustCompile(`,"url":"[^"]*"`)

// look reads what happened since it was looked last, and gives what there is now
// besides. Events never change: those of before are compared already.
func (s *side) look(t require.TestingT) view {
	ctx := context.Background()
	for _, in := range s.life.begunSince() {
		name := "<" + in.Key + ">"
		if in.Who == flowclient.Automatic {
			s.automatic++
			name = fmt.Sprintf("<automatic %d>", s.automatic) // its key holds a digest of what it read
			s.names = append(s.names, in.Key, name)
		}
		s.names = append(s.names, in.ID, name)
	}
	names := strings.NewReplacer(s.names...)
	v := view{}
	add := func(name string, of any, err error) {
		require.NoError(t, err)
		v[name] = names.Replace(s.same(t, of))
	}
	for _, kind := range []flowclient.Kind{flowclient.KindReleaseBinding, flowclient.KindProjectReleaseBinding, flowclient.KindResourceReleaseBinding} {
		objects, err := s.List(ctx, kind, flowclient.Filter{})
		require.NoError(t, err)
		for _, o := range objects {
			var spec struct {
				Release string `json:"releaseName"`
				State   string `json:"state"`
			}
			err := o.Decode(&spec, nil)
			if o.Metadata.Annotations == nil {
				o.Metadata.Annotations = map[string]string{}
			}
			add(string(kind)+" "+o.Metadata.Name, []any{spec.Release, cmp.Or(spec.State, "Active"), o.Metadata.Annotations}, err)
		}
	}
	locks, err := s.memory.Locks(ctx)
	add("locks", locks, err)
	freezes, err := s.memory.Freezes(ctx, s.deps.Now())
	add("freezes", freezes, err)
	holds, err := s.memory.Holds(ctx)
	add("holds", holds, err)
	backoffs, err := s.memory.Backoffs(ctx, s.deps.Now())
	add("backoffs", backoffs, err)
	episodes, err := s.memory.Episodes(ctx, "")
	add("episodes", episodes, err)
	open, err := s.memory.Open(ctx)
	add("open intents", open, err)
	s.news, err = s.memory.Events(ctx, s.last, 1000)
	require.NoError(t, err)
	for _, e := range s.news {
		s.last = e.Seq
		var body map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(e.Body, &body))
		delete(body, "decision") // its inputs have versions and times of objects; it is decided again instead
		e.Seq, e.Body = 0, nil
		add("event "+names.Replace(e.Key), []any{e, body}, nil)
	}
	return v
}

// binding is what a binding says; nothing when it is not there.
func (s *side) binding(t require.TestingT, name string) (spec flowclient.ReleaseBindingSpec, o flowclient.Object, found bool) {
	o, err := s.Get(context.Background(), flowclient.KindReleaseBinding, name)
	if flowclient.IsNotFound(err) {
		return spec, o, false
	}
	require.NoError(t, err)
	require.NoError(t, o.Decode(&spec, nil))
	return spec, o, true
}

// differs lists what is not alike in two views, a line each.
func (v view) differs(other view) (lines []string) {
	names := map[string]bool{}
	for _, of := range []view{v, other} {
		for name := range of {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if v[name] != other[name] {
			lines = append(lines, name+"\n  calm:  "+v[name]+"\n  tried: "+other[name])
		}
	}
	return lines
}
