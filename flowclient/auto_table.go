package flowclient

import (
	"math"
	"sync"
	"time"
)

// table is what the controller keeps of each project between passes: when it
// is to be looked at, and how it stood then. The zero value is empty.
type table struct {
	mu     sync.Mutex
	rows   []row          // side by side: a pass reads all of them
	index  map[string]int // by project
	owners map[dirtyRef]string
}

// row is one project.
type row struct {
	due     int64 // Unix nanoseconds from which on it is looked at; see dueNow and dueNever
	project string
	stood   *stood // nil until it was looked at
	sum     uint64 // of its objects, as they were listed right before it was looked at; see unlisted
}

const (
	dueNow   = 0
	dueNever = math.MaxInt64
	unlisted = 0 // the sum of a project that has to be looked at, whatever the next listing shows
)

// dueAt is an instant as a row keeps it. One that no row can hold (a soak of
// centuries) is never: wrapped around it would be past, and due at every look.
func dueAt(at time.Time) int64 {
	if at.After(time.Unix(0, dueNever)) {
		return dueNever
	}
	return at.UnixNano()
}

// stood is how a project stood when it was looked at. It is never changed.
type stood struct {
	inputs snapshot
	wake   *time.Time
	failed string // why the newest look failed
}

// touch makes a project due; for an empty name every one that something is kept of.
func (t *table) touch(project string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if project != "" {
		r := t.row(project)
		r.due, r.sum = dueNow, 0
		return
	}
	for i := range t.rows {
		if t.rows[i].stands() {
			t.rows[i].due = dueNow
		}
	}
}

// stands tells whether something of the project stays where it is, as far as is known.
func (r row) stands() bool {
	return r.stood != nil && (len(r.stood.inputs.Components) > 0 || r.stood.failed != "")
}

// row is a project's row, made where there is none. t.mu is held.
func (t *table) row(project string) *row {
	i, known := t.index[project]
	if !known {
		if t.index == nil {
			t.index = map[string]int{}
		}
		i = len(t.rows)
		t.index[project] = i
		t.rows = append(t.rows, row{due: dueNever, project: project})
	}
	return &t.rows[i]
}

// take lists the projects that are due; none is again until it is put back or
// touched. What is looked at without having been listed may be looked at in a
// state that no listing ever shows, so that the next one cannot be compared with
// the last: it is looked at again then.
func (t *table) take(now time.Time, listed bool) (due []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	instant := now.UnixNano()
	for i := range t.rows {
		if t.rows[i].due <= instant {
			if t.rows[i].due = dueNever; !listed {
				t.rows[i].sum = unlisted
			}
			due = append(due, t.rows[i].project)
		}
	}
	return due
}

// next is when the next project is due; ok is false when none is.
func (t *table) next() (at time.Time, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	least := int64(dueNever)
	for i := range t.rows {
		least = min(least, t.rows[i].due)
	}
	return time.Unix(0, least), least != dueNever
}

// put keeps how a project stood, and when it is due unless it was touched
// meanwhile. Without inputs the last ones stay.
func (t *table) put(project string, s stood, due int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i, known := t.index[project]
	if !known {
		return // it went meanwhile
	}
	r := &t.rows[i]
	if s.failed != "" && r.stood != nil {
		s.inputs, s.wake = r.stood.inputs, r.stood.wake
	}
	r.stood, r.due = &s, min(r.due, due)
}

// remove forgets a project that is gone.
func (t *table) remove(project string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(project)
}

func (t *table) drop(project string) {
	i, known := t.index[project]
	if !known {
		return
	}
	last := len(t.rows) - 1
	t.rows[i] = t.rows[last]
	t.index[t.rows[i].project] = i
	t.rows[last] = row{}
	t.rows = t.rows[:last]
	delete(t.index, project)
}

// stands is how a project stood, nil when it was not looked at yet.
func (t *table) stands(project string) *stood {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i, known := t.index[project]; known {
		return t.rows[i].stood
	}
	return nil
}

// owned remembers whose an object is: what is deleted does not tell any more.
func (t *table) owned(ref dirtyRef, project string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.owners == nil {
		t.owners = map[dirtyRef]string{}
	}
	t.owners[ref] = project
}

// gone is the project of an object that was deleted, which is then forgotten.
func (t *table) gone(ref dirtyRef) (project string, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	project, known = t.owners[ref]
	delete(t.owners, ref)
	return project, known
}

// listed is a project as a listing of everything found it.
type listed struct {
	sum     uint64 // of its objects
	differs bool   // production does not run what staging does
	awaited bool   // something is remembered of it that may end: a hold, an episode
}

// compare takes a listing of everything: what is gone is forgotten, and what
// changed is due where anything could follow from it.
func (t *table) compare(all map[string]*listed, owners map[dirtyRef]string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := len(t.rows) - 1; i >= 0; i-- {
		if project := t.rows[i].project; all[project] == nil && t.rows[i].due != dueNow {
			t.drop(project)
		}
	}
	for project, l := range all {
		r := t.row(project)
		if r.sum != l.sum && (l.differs || l.awaited || r.stands()) {
			r.due = dueNow
		}
		r.sum = l.sum
	}
	t.owners = owners
}
