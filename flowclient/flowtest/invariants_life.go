package flowtest

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"platform.dev/platform/flowclient"
)

// life is one process of the machine: it can die at any write, whatever part
// the write is of, and tells what it wrote.
type life struct {
	mu      sync.Mutex
	crashAt int  // the write that it dies at; 0: none
	done    bool // whether that write still happens
	dead    bool
	mute    bool // events cannot be noted
	writes  int
	did     deeds
	begun   []flowclient.Intent // since begunSince was asked
}

// deeds is what a process did.
type deeds struct {
	objects []flowclient.Kind // that were written, one entry a write
	pins    []pinning
	begun   []flowclient.Intent
	stood   []stand
	quotas  int // how often a cell's quota was read
}

// pinning is a write of a production binding.
type pinning struct {
	at            time.Time
	before, after flowclient.Object // before is empty when it was made
}

// stand is a call of Standings.Stand that was carried out.
type stand struct {
	at       time.Time
	backoffs []flowclient.Backoff
}

// crash lets the process die at its n-th write from now on.
func (l *life) crash(n int, done bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes, l.crashAt, l.done = 0, n, done
}

// revive ends that and tells whether it died.
func (l *life) revive() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	died := l.dead
	l.crashAt, l.dead, l.mute = 0, false, false
	return died
}

// take gives what was done since it was taken last.
func (l *life) take() deeds {
	l.mu.Lock()
	defer l.mu.Unlock()
	did := l.did
	l.did = deeds{}
	return did
}

// write carries a write out, unless the process dies before it. note keeps what
// was done, also when the process dies right after.
func (l *life) write(do func() error, note func(*deeds)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return ErrCrashed
	}
	l.writes++
	l.dead = l.writes == l.crashAt
	if l.dead && !l.done {
		return ErrCrashed
	}
	if err := do(); err != nil {
		return err
	}
	if note(&l.did); l.dead {
		return ErrCrashed
	}
	return nil
}

func (l *life) alive() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return ErrCrashed
	}
	return nil
}

// livingPlane is a control plane as a process reaches it.
type livingPlane struct {
	flowclient.ControlPlane
	*life
	now func() time.Time
}

func (p livingPlane) Get(ctx context.Context, kind flowclient.Kind, name string) (flowclient.Object, error) {
	if err := p.alive(); err != nil {
		return flowclient.Object{}, err
	}
	return p.ControlPlane.Get(ctx, kind, name)
}

func (p livingPlane) List(ctx context.Context, kind flowclient.Kind, f flowclient.Filter) ([]flowclient.Object, error) {
	if err := p.alive(); err != nil {
		return nil, err
	}
	return p.ControlPlane.List(ctx, kind, f)
}

func (p livingPlane) Create(ctx context.Context, o flowclient.Object) (made flowclient.Object, err error) {
	err = p.write(func() (err error) { made, err = p.ControlPlane.Create(ctx, o); return err },
		func(d *deeds) { d.wrote(flowclient.Object{}, made, p.now()) })
	return made, err
}

func (p livingPlane) Update(ctx context.Context, o flowclient.Object) (written flowclient.Object, err error) {
	var before flowclient.Object
	err = p.write(func() (err error) {
		if before, err = p.ControlPlane.Get(ctx, o.Kind, o.Metadata.Name); err == nil {
			written, err = p.ControlPlane.Update(ctx, o)
		}
		return err
	}, func(d *deeds) { d.wrote(before, written, p.now()) })
	return written, err
}

func (p livingPlane) Delete(ctx context.Context, kind flowclient.Kind, name string) error {
	return p.write(func() error { return p.ControlPlane.Delete(ctx, kind, name) },
		func(d *deeds) { d.objects = append(d.objects, kind) })
}

func (d *deeds) wrote(before, after flowclient.Object, at time.Time) {
	d.objects = append(d.objects, after.Kind)
	var spec flowclient.ReleaseBindingSpec
	if after.Kind == flowclient.KindReleaseBinding && json.Unmarshal(after.Spec, &spec) == nil && spec.Environment == flowclient.Production {
		d.pins = append(d.pins, pinning{at, before, after})
	}
}

// errMute is a journal that takes no events by themselves.
var errMute = errors.New("events cannot be noted")

// livingMemory is a memory as a process reaches it.
type livingMemory struct {
	Memory
	*life
}

func nothing(*deeds) {}

func (m livingMemory) Begin(ctx context.Context, in flowclient.Intent) (recorded flowclient.Intent, fresh bool, err error) {
	err = m.write(func() (err error) { recorded, fresh, err = m.Memory.Begin(ctx, in); return err }, func(d *deeds) {
		if fresh {
			d.begun, m.begun = append(d.begun, recorded), append(m.begun, recorded)
		}
	})
	return recorded, fresh, err
}

func (m livingMemory) Settle(ctx context.Context, id string, s flowclient.Settlement) error {
	return m.write(func() error { return m.Memory.Settle(ctx, id, s) }, nothing)
}

func (m livingMemory) Note(ctx context.Context, events ...flowclient.Event) error {
	if m.mute {
		return errMute
	}
	return m.write(func() error { return m.Memory.Note(ctx, events...) }, nothing)
}

func (m livingMemory) Seen(ctx context.Context, binding, release string, now time.Time) (since time.Time, err error) {
	err = m.write(func() (err error) { since, err = m.Memory.Seen(ctx, binding, release, now); return err }, nothing)
	return since, err
}

func (m livingMemory) LiftHold(ctx context.Context, component, release string) error {
	return m.write(func() error { return m.Memory.LiftHold(ctx, component, release) }, nothing)
}

func (m livingMemory) Stand(ctx context.Context, project string, episodes []flowclient.Episode, backoffs []flowclient.Backoff, at time.Time, ended ...flowclient.Event) (last []flowclient.Episode, err error) {
	err = m.write(func() (err error) {
		last, err = m.Memory.Stand(ctx, project, episodes, backoffs, at, ended...)
		return err
	}, func(d *deeds) { d.stood = append(d.stood, stand{at, backoffs}) })
	return last, err
}

func (m livingMemory) SetLock(ctx context.Context, l flowclient.Lock, e flowclient.Event) (recorded flowclient.Lock, fresh bool, err error) {
	err = m.write(func() (err error) { recorded, fresh, err = m.Memory.SetLock(ctx, l, e); return err }, nothing)
	return recorded, fresh, err
}

func (m livingMemory) ClearLocks(ctx context.Context, component, commit, environment, who string, at time.Time, event func([]flowclient.Lock) flowclient.Event) (cleared []flowclient.Lock, err error) {
	err = m.write(func() (err error) {
		cleared, err = m.Memory.ClearLocks(ctx, component, commit, environment, who, at, event)
		return err
	}, nothing)
	return cleared, err
}

func (m livingMemory) SetFreeze(ctx context.Context, key string, f flowclient.Freeze, event func(flowclient.Freeze) flowclient.Event) (recorded flowclient.Freeze, fresh bool, err error) {
	err = m.write(func() (err error) { recorded, fresh, err = m.Memory.SetFreeze(ctx, key, f, event); return err }, nothing)
	return recorded, fresh, err
}

func (m livingMemory) ClearFreeze(ctx context.Context, key string, id int64, who string, at time.Time, event func(flowclient.Freeze) flowclient.Event) (cleared flowclient.Freeze, found bool, err error) {
	err = m.write(func() (err error) {
		cleared, found, err = m.Memory.ClearFreeze(ctx, key, id, who, at, event)
		return err
	}, nothing)
	return cleared, found, err
}

// livingCells counts how often quotas are read.
type livingCells struct {
	*life
	quota func() (flowclient.Quota, bool)
}

func (c livingCells) Quota(context.Context, string) (flowclient.Quota, bool, error) {
	c.mu.Lock()
	c.did.quotas++
	c.mu.Unlock()
	q, found := c.quota()
	return q, found, nil
}

// quotas is how often quotas were read since the deeds were taken last.
func (l *life) quotas() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.did.quotas
}

// begunSince are the intents that were begun since it was asked last.
func (l *life) begunSince() []flowclient.Intent {
	l.mu.Lock()
	defer l.mu.Unlock()
	begun := l.begun
	l.begun = nil
	return begun
}
