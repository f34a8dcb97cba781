package flowtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"platform.dev/platform/flowclient"
)

// ErrCrashed is what every call answers once the process is supposed to be dead.
var ErrCrashed = errors.New("the process is gone")

// Plane is a control plane and a git server in memory, with the builds and
// bindings of an embedded platform done at once, inside the write that asks
// for them. It is a flowclient.ControlPlane, Git, Cluster, Cells and Prober.
type Plane struct {
	Free int64            // bytes that AvailableMemory answers
	Now  func() time.Time // of creation times and commits

	watch   func(kind flowclient.Kind, name string)
	mu      sync.Mutex
	objects map[flowclient.Kind]map[string]*kept
	owned   map[flowclient.Kind]map[flowclient.Owner]map[string]*kept // by project, and by component
	repos   map[string]*repo
	logs    map[string][]flowclient.LogLine // by "run/stage"
	answers map[string]int                  // Probe's, by URL

	statuses map[string]flowclient.CommitStatus // by "repo@sha context"
	told     func(flowclient.PullDelivery)
	untold   []flowclient.PullDelivery // delivered when the lock is given up
	held     bool                      // runs that are asked for wait for FinishRun

	quotas map[string]flowclient.Quota // of cells, by namespace
	asked  int                         // how often

	uid int

	writes  []string // what was written, in order
	crashAt int      // the write that the process dies at; 0: none
	done    bool     // whether that write still happens
	dead    bool
}

// kept is one object with its version.
type kept struct {
	object     flowclient.Object
	version    int
	generation int64
	owner      flowclient.Owner // as it is kept under; of labels where spec names none
}

// NewPlane gives a world with the environments of the application pipeline.
func NewPlane(now func() time.Time) *Plane {
	p := &Plane{Free: 8 << 30, Now: now, objects: map[flowclient.Kind]map[string]*kept{}, repos: map[string]*repo{},
		logs: map[string][]flowclient.LogLine{}, answers: map[string]int{}, statuses: map[string]flowclient.CommitStatus{}, quotas: map[string]flowclient.Quota{}}
	for _, name := range []string{flowclient.Staging, flowclient.Production} {
		p.put(flowclient.Object{Kind: flowclient.KindEnvironment, Metadata: flowclient.Metadata{Name: name}, Spec: json.RawMessage(`{}`)})
	}
	return p
}

// CrashAt lets the process die at the n-th write from now: right before it, or
// right after it when done is set. Revive ends that.
func (p *Plane) CrashAt(n int, done bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.crashAt, p.done, p.writes = n, done, nil
}

// Revive starts a new process over what is there and returns what the dead one
// wrote, and whether it died at all.
func (p *Plane) Revive() (writes []string, died bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	writes, died = p.writes, p.dead
	p.writes, p.crashAt, p.dead = nil, 0, false
	return writes, died
}

// Watch names each object that is written from now on, as the embedded control plane does.
func (p *Plane) Watch(changed func(kind flowclient.Kind, name string)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watch = changed
}

// Answer sets what Probe sees at a URL.
func (p *Plane) Answer(url string, status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers[url] = status
}

// writing counts a write and carries it out, unless the process dies before it.
func (p *Plane) writing(what string, do func() error) error {
	if p.dead {
		return ErrCrashed
	}
	p.writes = append(p.writes, what)
	if len(p.writes) != p.crashAt {
		return do()
	}
	p.dead = true
	if p.done {
		if err := do(); err != nil {
			return err
		}
	}
	return ErrCrashed
}

// Write counts a write of another part of the process, a journal, among the
// plane's, so that it can die there too.
func (p *Plane) Write(what string, do func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.writing(what, do)
}

// AvailableMemory is p.Free.
func (p *Plane) AvailableMemory(context.Context) (int64, error) { return p.Free, nil }

// Probe answers what Answer set, else 200.
func (p *Plane) Probe(_ context.Context, url string) (status int, unbound bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if status, ok := p.answers[url]; ok {
		return status, false, nil
	}
	return 200, false, nil
}

// Get reads one object.
func (p *Plane) Get(_ context.Context, kind flowclient.Kind, name string) (flowclient.Object, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return flowclient.Object{}, ErrCrashed
	}
	k, ok := p.objects[kind][name]
	if !ok {
		return flowclient.Object{}, &flowclient.NotFound{Kind: string(kind), Name: name}
	}
	return k.read(), nil
}

// List lists the objects of a kind by name.
func (p *Plane) List(_ context.Context, kind flowclient.Kind, f flowclient.Filter) ([]flowclient.Object, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return nil, ErrCrashed
	}
	objects := []flowclient.Object{}
	among := p.objects[kind]
	switch {
	case f.Component != "":
		among = p.owned[kind][flowclient.Owner{ComponentName: f.Component}]
	case f.Project != "":
		among = p.owned[kind][flowclient.Owner{ProjectName: f.Project}]
	}
	for _, name := range slices.Sorted(maps.Keys(among)) {
		if o := among[name].read(); narrowed(o, f) {
			o.ETag = ""
			objects = append(objects, o)
		}
	}
	return objects, nil
}

// Create makes an object.
func (p *Plane) Create(_ context.Context, o flowclient.Object) (made flowclient.Object, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return made, p.writing("create "+string(o.Kind), func() error {
		if _, exists := p.objects[o.Kind][o.Metadata.Name]; exists {
			return fmt.Errorf("%s %s: %w", o.Kind, o.Metadata.Name, flowclient.ErrExists)
		}
		if err := admit(o, nil); err != nil {
			return err
		}
		made = p.put(o)
		return nil
	})
}

// Update replaces labels, annotations and spec, conditionally when the object carries an ETag.
func (p *Plane) Update(_ context.Context, o flowclient.Object) (written flowclient.Object, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return written, p.writing("update "+string(o.Kind), func() error {
		k, ok := p.objects[o.Kind][o.Metadata.Name]
		if !ok {
			return &flowclient.NotFound{Kind: string(o.Kind), Name: o.Metadata.Name}
		}
		if o.ETag != "" && o.ETag != k.etag() {
			return fmt.Errorf("%s %s: %w", o.Kind, o.Metadata.Name, flowclient.ErrConflict)
		}
		if err := admit(o, &k.object); err != nil {
			return err
		}
		k.object.Metadata.Labels, k.object.Metadata.Annotations = maps.Clone(o.Metadata.Labels), maps.Clone(o.Metadata.Annotations)
		k.object.Spec = slices.Clone(o.Spec)
		p.own(k, true)
		p.reconcile(k)
		written = k.read()
		return nil
	})
}

// Delete removes an object; a release that a binding names stays.
func (p *Plane) Delete(_ context.Context, kind flowclient.Kind, name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.writing("delete "+string(kind), func() error {
		if _, ok := p.objects[kind][name]; !ok {
			return &flowclient.NotFound{Kind: string(kind), Name: name}
		}
		if kind == flowclient.KindComponentRelease {
			for binding, k := range p.objects[flowclient.KindReleaseBinding] {
				if strings.Contains(string(k.object.Spec), `"releaseName":"`+name+`"`) {
					return flowclient.Refuse("release %s is named by binding %s", name, binding)
				}
			}
		}
		p.own(p.objects[kind][name], false)
		delete(p.objects[kind], name)
		if p.watch != nil {
			p.watch(kind, name)
		}
		return nil
	})
}

// RunLog is what the stages of a run wrote.
func (p *Plane) RunLog(_ context.Context, run, stage string) ([]flowclient.LogLine, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.objects[flowclient.KindWorkflowRun][run]; !ok {
		return nil, &flowclient.NotFound{Kind: string(flowclient.KindWorkflowRun), Name: run}
	}
	lines := []flowclient.LogLine{}
	for _, key := range slices.Sorted(maps.Keys(p.logs)) {
		if key == run+"/"+stage || stage == "" && strings.HasPrefix(key, run+"/") {
			lines = append(lines, p.logs[key]...)
		}
	}
	return lines, nil
}

// put makes an object, whatever was there.
func (p *Plane) put(o flowclient.Object) flowclient.Object {
	p.uid++
	created := p.Now()
	o.Metadata.UID, o.Metadata.Created = fmt.Sprintf("uid-%d", p.uid), &created
	o.Metadata.Labels, o.Metadata.Annotations = maps.Clone(o.Metadata.Labels), maps.Clone(o.Metadata.Annotations)
	k := &kept{object: o}
	if p.objects[o.Kind] == nil {
		p.objects[o.Kind] = map[string]*kept{}
	}
	p.objects[o.Kind][o.Metadata.Name] = k
	p.own(k, true)
	p.reconcile(k)
	return k.read()
}

// own keeps an object under whose it is, or takes it away from there.
func (p *Plane) own(k *kept, there bool) {
	kind, name, now := k.object.Kind, k.object.Metadata.Name, ownerOf(k.object)
	if now.ProjectName == "" {
		now.ProjectName, now.ComponentName = k.object.Metadata.Labels[flowclient.LabelProject], k.object.Metadata.Labels[flowclient.LabelComponent]
	}
	if p.owned == nil {
		p.owned = map[flowclient.Kind]map[flowclient.Owner]map[string]*kept{}
	}
	if p.owned[kind] == nil {
		p.owned[kind] = map[flowclient.Owner]map[string]*kept{}
	}
	of := p.owned[kind]
	for _, owner := range []flowclient.Owner{{ProjectName: k.owner.ProjectName}, {ComponentName: k.owner.ComponentName}} {
		delete(of[owner], name)
	}
	if k.owner = now; !there {
		return
	}
	for _, owner := range []flowclient.Owner{{ProjectName: now.ProjectName}, {ComponentName: now.ComponentName}} {
		if owner == (flowclient.Owner{}) {
			continue
		}
		if of[owner] == nil {
			of[owner] = map[string]*kept{}
		}
		of[owner][name] = k
	}
}

func (k *kept) etag() string { return fmt.Sprintf(`"%d"`, k.version) }

// read is a copy that its reader may change.
func (k *kept) read() flowclient.Object {
	o := k.object
	o.ETag = k.etag()
	o.Metadata.Labels, o.Metadata.Annotations = maps.Clone(o.Metadata.Labels), maps.Clone(o.Metadata.Annotations)
	o.Spec, o.Status = slices.Clone(o.Spec), slices.Clone(o.Status)
	return o
}
