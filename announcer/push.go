package announcer

import (
	"encoding/json"
	"slices"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

const (
	// Together is how far apart builds of one commit may begin to be told in one message, and how long after the first of
	// them locks that one person sets and components that move by themselves are told with it.
	Together = 30 * time.Second
	// recalled is how many events before the cursor are read at start, to know the builds that are under way.
	recalled = 1000
	// maxPushes is how many pushes are remembered; the builds of an older one are told in messages of their own.
	maxPushes = 256
)

// Push is the builds of one commit that began together: what the templates of build.several have as their body.
type Push struct {
	Project string
	Commit  string                  // whole SHA
	Subject string                  // of the commit
	Author  string                  // of the commit
	Builds  []flowclient.BuildEvent // each as it was heard of last, in the order in which they began; two or more
}

// push is what is known of one.
type push struct {
	onset
	project, commit string
	first           string   // run of the first build, which names the message
	order           []string // runs
	builds          map[string]flowclient.BuildEvent
}

// several tells whether there is more than one build to tell of.
func (p *push) several() bool { return len(p.order) > 1 }

// tell is the message of all its builds.
func (p *push) tell(who people) (markup.Message, any) {
	body := p.body()
	return several(body, who), body
}

// thread is the message of all of them: that of the first, which grows.
func (p *push) thread() thread { return thread{key: buildKey(p.first)} }

// has tells whether a component is built in it.
func (p *push) has(component string) bool {
	return slices.ContainsFunc(p.order, func(run string) bool { return p.builds[run].Build.Component == component })
}

func (p *push) body() Push {
	b := Push{Project: p.project, Commit: p.commit}
	for _, run := range p.order {
		one := p.builds[run]
		b.Builds = append(b.Builds, one)
		if b.Subject == "" {
			b.Subject, b.Author = one.Subject, one.Author
		}
	}
	return b
}

// pushes are the latest pushes. The zero value has none.
type pushes struct {
	order []*push
	byRun map[string]*push
}

// see takes note of an event; nil when it is of no build whose begin is known.
func (p *pushes) see(e flowclient.Event) *push {
	switch e.Kind {
	case flowclient.EventBuildStarted, flowclient.EventBuildPassed, flowclient.EventBuildFailed:
	default:
		return nil
	}
	var b flowclient.BuildEvent
	if json.Unmarshal(e.Body, &b) != nil || b.Build.Run == "" {
		return nil // whoever announces it says so
	}
	of := p.byRun[b.Build.Run]
	if of == nil && e.Kind == flowclient.EventBuildStarted {
		of = p.begin(e, b.Build)
	}
	if of != nil {
		of.builds[b.Build.Run] = b
	}
	return of
}

// begin finds the push that a build belongs to, or begins one. A component that
// is built twice of one commit was asked for again, which is told by itself.
func (p *pushes) begin(e flowclient.Event, b flowclient.Build) *push {
	i := slices.IndexFunc(p.order, func(known *push) bool {
		return b.Commit != "" && known.commit == b.Commit && known.project == e.Project && known.within(e) && !known.has(b.Component)
	})
	if i < 0 {
		i = len(p.order)
		p.order = append(p.order, &push{onset: onsetOf(e), project: e.Project, commit: b.Commit, first: b.Run, builds: map[string]flowclient.BuildEvent{}})
	}
	found := p.order[i]
	found.order = append(found.order, b.Run)
	if p.byRun == nil {
		p.byRun = map[string]*push{}
	}
	p.byRun[b.Run] = found
	if len(p.order) > maxPushes {
		for _, run := range p.order[0].order {
			delete(p.byRun, run)
		}
		p.order = slices.Delete(p.order, 0, 1)
	}
	return found
}
