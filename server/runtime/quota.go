package runtime

import (
	"maps"
	"slices"
	"sync"
	"time"

	"platform.dev/platform/flowclient"
)

// Cell is a project's place in an environment: the namespace that a cluster
// would have for it, with its quotas. Applying it again changes nothing.
type Cell struct {
	Name      string                       // of its ProjectReleaseBinding: unique
	Namespace string                       // a DNS label: unique
	Labels    map[string]string            // of the namespace and its quotas
	Quotas    map[string]map[string]string // by the quota's name: its limits, by resource, as Kubernetes writes quantities
}

// cells is what there is to tell of cells. Quotas are told, and limit nothing
// here: what asks for room asks the flow controller.
type cells struct {
	mu       sync.Mutex
	version  int64               // counts changes
	of       map[string]*cell    // by Cell.Name
	declared map[string]declared // by deployment name
}

// cell is a Cell with what a cluster would note of it.
type cell struct {
	Cell
	since   time.Time
	version int64 // of cells, when it or what runs in it changed last
}

// declared is what a deployment counts for, in which namespace.
type declared struct {
	namespace string
	amounts   flowclient.Quantities
}

func newCells() *cells { return &cells{of: map[string]*cell{}, declared: map[string]declared{}} }

// ApplyCell makes the cell be as described.
func (s *Server) ApplyCell(c Cell) {
	q := s.cells
	q.mu.Lock()
	defer q.mu.Unlock()
	before, there := q.of[c.Name]
	if there && before.Namespace == c.Namespace && maps.Equal(before.Labels, c.Labels) && maps.EqualFunc(before.Quotas, c.Quotas, maps.Equal[map[string]string, map[string]string]) {
		return
	}
	q.version++
	next := &cell{Cell: c, since: s.cfg.Now().UTC().Truncate(time.Second), version: q.version}
	if there && before.Namespace == c.Namespace {
		next.since = before.since
	}
	q.of[c.Name] = next
}

// RemoveCell forgets a cell; an unknown name is no error. What runs there stays until it is removed.
func (s *Server) RemoveCell(name string) {
	s.cells.mu.Lock()
	defer s.cells.mu.Unlock()
	delete(s.cells.of, name)
	s.cells.version++
}

// counts notes what a deployment declares; it counts from the moment that it
// is to run, as on a cluster, whether or not it can.
func (q *cells) counts(d Deployment) {
	q.note(d.Name, declared{d.Cell, d.Declared})
}

// ends notes that a deployment counts no more.
func (q *cells) ends(name string) { q.note(name, declared{}) }

func (q *cells) note(name string, now declared) {
	q.mu.Lock()
	defer q.mu.Unlock()
	before := q.declared[name]
	if before.namespace == now.namespace && maps.Equal(before.amounts, now.amounts) {
		return
	}
	q.version++
	if q.declared[name] = now; now.namespace == "" {
		delete(q.declared, name)
	}
	for _, c := range q.of {
		if c.Namespace == before.namespace || c.Namespace == now.namespace {
			c.version = q.version
		}
	}
}

// quotas are the quotas of a namespace, by name, and the version they were read at.
func (q *cells) quotas(namespace string) (all []resourceQuota, version int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	used := flowclient.Quantities{}
	for _, d := range q.declared {
		if d.namespace == namespace {
			for resource, n := range d.amounts {
				used[resource] = saturated(used[resource], n)
			}
		}
	}
	for _, c := range q.of {
		if c.Namespace != namespace {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(c.Quotas)) {
			all = append(all, c.quota(name, used))
		}
	}
	return all, q.version
}

// saturated adds amounts that are not negative.
func saturated(a, b int64) int64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return 1<<63 - 1
}
