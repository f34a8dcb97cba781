package flowclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"platform.dev/platform/flowclient/window"
)

// Deps is what a Controller works with. Everything is required but what says
// what happens without it, Now, Log and Noted.
type Deps struct {
	ControlPlane ControlPlane
	Git          Git
	Cluster      Cluster
	Prober       Prober
	Journal      Journal
	Locks        LockStore
	Sightings    Sightings
	Runs         Runs
	// Pulls is the pull-request side of the git server. Without it pull requests,
	// review environments, manifests and Diff are refused; with it Reviews and Applied are required.
	Pulls   Pulls
	Reviews PullStore
	Applied AppliedStore
	Traces  Traces  // nil: no trace is remembered
	History History // nil: there is no evidence
	// Telemetry tells which services took part in a trace; nil: evidence does not say.
	Telemetry Telemetry
	// Cells reads the quotas of cells; nil: capacity is not known, and every move passes that gate with a note.
	Cells Cells
	// Standings is the memory of the automatic pass; nil: nothing is promoted automatically, and nothing is held.
	Standings Standings
	// Freezes keeps the freezes of production; nil: none can be set, and none holds.
	Freezes FreezeStore
	// Templates holds the project templates: <name>/repository and <name>/objects, both
	// rendered by text/template over TemplateData. Other directories are passed over.
	Templates fs.FS
	Settings  Settings
	Now       func() time.Time // default time.Now
	Log       *slog.Logger     // default: nothing is logged
	Noted     func()           // called after events were recorded; it must not block
}

// Settings are the choices of whoever runs the controller.
type Settings struct {
	Owner       string                  // who owns the projects' repositories on the git server: "platform"
	Hooks       []HookTarget            // put on every repository that scaffold makes
	BuildPage   func(run string) string // page of a build for people; nil: builds carry no link
	SecretRef   string                  // names the credentials that builds clone with
	ModuleRef   string                  // the pipeline module's ref: "#main"
	DefaultSoak time.Duration           // where a project says none
	Floors      map[string]int64        // bytes of free memory that a walkthrough of a template needs
	PassEvery   time.Duration           // between full passes; default 30 s
	MaxReviews  int                     // review environments at one time; default 2, below 0 none
	ReviewTTL   time.Duration           // a review environment goes after so long without activity; 0: never
	ManifestDir string                  // directory of a repository's manifests; default "openchoreo"
	Namespace   string                  // that manifests may name; default "default"
	// CapacityMargin is the memory that capacity keeps free on top of every surge, in bytes; default 307Mi.
	CapacityMargin int64
	AllowSkipSoak  bool // a person may skip soak and URL check, with a reason
	// KeepHistory is how long events are kept; 0: for ever. A build that ended before that is not looked at
	// again, though the control plane still has its run.
	KeepHistory time.Duration
	// Watched says that Changed is called for every write to the control plane, so that
	// it need not be listed at each pass.
	Watched bool
}

// HookTarget is where a repository's deliveries go.
type HookTarget struct {
	URL    string
	Secret string
	Events []string // push, pull_request
}

// DefaultFloors are the free memory that walkthroughs need, by template, in
// bytes (interface document, Limits).
func DefaultFloors() map[string]int64 {
	return map[string]int64{"static": 1_500_000_000, "rails": 3_500_000_000}
}

// maxReviews is the review-environment cap of the interface document.
const maxReviews = 2

// capacityMargin is the margin of the interface document, in bytes.
const capacityMargin = 307 << 20

// passEvery is the reconcile interval of the interface document.
const passEvery = 30 * time.Second

// Controller decides, writes and remembers. It is a Flow; Run keeps it going.
type Controller struct {
	deps      Deps
	subjects  keyed               // one effect at a time per project
	finishers map[string]finisher // by Intent.Kind

	windows window.Parser // remembers the texts of windows
	wake    chan struct{}
	dirty   dirtySet
	reviews atomic.Bool // something of a review environment changed since the last pass
	around  atomic.Bool // something that pull requests and their environments follow from did since the last full look at them

	pass     sync.Mutex        // held during a pass
	noticed  map[string]string // run -> phase already noted; guarded by pass
	recalled bool              // noticed has what was noted before this process; guarded by pass

	pins map[string]pinned // what staging and production bindings were seen to run; guarded by pass

	table table        // of the automatic pass
	seed  maphash.Seed // of the sums in table

	changes atomic.Uint64 // see Generation
	recalls atomic.Uint64 // goes up after a lock, a freeze or a hold was recorded; see recollections

	status     sync.Mutex
	started    time.Time  // since when Run is at work; zero before
	passing    *time.Time // when the pass under way began
	lastPass   *time.Time // when one was completed
	listedAt   time.Time  // when everything was listed last
	passFailed string
}

var _ Flow = (*Controller)(nil)

// New checks the dependencies and returns a controller that is not running yet.
func New(d Deps) (*Controller, error) {
	for name, missing := range map[string]bool{
		"ControlPlane": d.ControlPlane == nil, "Git": d.Git == nil, "Cluster": d.Cluster == nil,
		"Prober": d.Prober == nil, "Journal": d.Journal == nil, "Locks": d.Locks == nil,
		"Sightings": d.Sightings == nil, "Runs": d.Runs == nil, "Templates": d.Templates == nil,
		"Settings.Owner": d.Settings.Owner == "",
		"Reviews":        d.Pulls != nil && d.Reviews == nil, "Applied": d.Pulls != nil && d.Applied == nil,
	} {
		if missing {
			return nil, fmt.Errorf("flow controller: %s is missing", name)
		}
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Noted == nil {
		d.Noted = func() {}
	}
	if d.Settings.PassEvery <= 0 {
		d.Settings.PassEvery = passEvery
	}
	if d.Settings.MaxReviews == 0 {
		d.Settings.MaxReviews = maxReviews
	}
	if d.Settings.CapacityMargin == 0 {
		d.Settings.CapacityMargin = capacityMargin
	}
	d.Settings.ManifestDir = cmp.Or(d.Settings.ManifestDir, "openchoreo")
	d.Settings.Namespace = cmp.Or(d.Settings.Namespace, "default")
	d.Settings.Floors = maps.Clone(d.Settings.Floors)
	c := &Controller{deps: d, wake: make(chan struct{}, 1), noticed: map[string]string{}, pins: map[string]pinned{}, seed: maphash.MakeSeed()}
	c.finishers = map[string]finisher{
		kindPromote:  c.finishMove,
		kindRollback: c.finishMove,
		kindScaffold: c.finishScaffold,
		kindTeardown: c.finishTeardown,
		kindCommit:   c.finishCommit,
		kindOpenPull: c.finishOpenPull,
		kindMerge:    c.finishMerge,
		kindSync:     c.finishSync,
	}
	return c, nil
}

// Generation counts what Changed was told of: what was read at a generation is
// still so while it lasts, where every write is told.
func (c *Controller) Generation() uint64 { return c.changes.Load() }

// isWalkthrough tells whether the project is a walkthrough's; one that is gone is not.
func (c *Controller) isWalkthrough(ctx context.Context, project string) (bool, error) {
	if project == "" {
		return false, nil
	}
	o, err := c.deps.ControlPlane.Get(ctx, KindProject, project)
	if IsNotFound(err) {
		return false, nil
	}
	return o.Metadata.Labels[LabelWalkthrough] == "true", err
}

// keyed is a mutex per name. The zero value is ready.
type keyed struct {
	mu    sync.Mutex
	names map[string]*waited
}

type waited struct {
	turn    chan struct{} // holds one value while the name is free
	holders int           // how many hold or wait
}

// tryLock is lock for whoever does not wait; free is false when somebody has or wants the name.
func (k *keyed) tryLock(name string) (unlock func(), free bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.names[name] != nil {
		return nil, false
	}
	w := k.waited(name)
	<-w.turn
	w.holders++
	return k.release(name, w), true
}

// waited is the name's turn, made where nobody has it; k.mu is held.
func (k *keyed) waited(name string) *waited {
	if k.names == nil {
		k.names = map[string]*waited{}
	}
	w := k.names[name]
	if w == nil {
		w = &waited{turn: make(chan struct{}, 1)}
		w.turn <- struct{}{}
		k.names[name] = w
	}
	return w
}

// release gives the turn to the next.
func (k *keyed) release(name string, w *waited) func() {
	return func() {
		w.turn <- struct{}{}
		k.leave(name, w)
	}
}

// leave forgets a name that nobody holds or waits for.
func (k *keyed) leave(name string, w *waited) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if w.holders--; w.holders == 0 {
		delete(k.names, name)
	}
}

// lock waits for the name and returns its release; ctx's end ends the wait.
func (k *keyed) lock(ctx context.Context, name string) (unlock func(), err error) {
	k.mu.Lock()
	w := k.waited(name)
	w.holders++
	k.mu.Unlock()
	select {
	case <-w.turn:
		return k.release(name, w), nil
	case <-ctx.Done():
		k.leave(name, w)
		return nil, fmt.Errorf("wait for %s: %w", name, errors.Join(ctx.Err(), context.Cause(ctx)))
	}
}
