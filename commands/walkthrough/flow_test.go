package walkthrough_test

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"platform.dev/platform/flowclient"
)

// flow is a small flow controller with everything behind it, faithful in what
// a walkthrough can see: repositories of files, builds that take time and run
// the site's own checks, releases, bindings, locks, effects deduplicated by
// their origin. Time passes when somebody waits.
type flow struct {
	now     time.Time
	sites   map[string]*site
	effects map[string]any // by origin key
	counts  map[string]int // effects carried out, by kind
	locks   []flowclient.Lock
	pulls   []*pull
	runs    []flowclient.Walkthrough
	refuse  error                                // of BeginWalkthrough
	break_  map[string]func(*site) error         // by effect kind, before it is carried out
	pages   func(url string, body string) string // what a faulty gateway makes of a page
	wrote   func(what string)                    // told of each durable write

	lostLogs bool // logs cannot be read
	stays    bool // the gateway goes on answering where a review environment was
}

// site is one project.
type site struct {
	project   string
	commits   []commit // of main
	branched  []commit // of other branches
	builds    []*build
	bound     map[string]string // environment to commit
	displaced string
}

type commit struct {
	flowclient.Commit
	files map[string]string
}

type build struct {
	flowclient.Build
	log map[string][]string
}

func newFlow() *flow {
	return &flow{
		now: time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC), sites: map[string]*site{}, effects: map[string]any{}, counts: map[string]int{},
		break_: map[string]func(*site) error{}, pages: func(_, body string) string { return body }, wrote: func(string) {},
	}
}

// wait lets time pass and work go on.
func (f *flow) wait(ctx context.Context, d time.Duration) error {
	f.now = f.now.Add(d)
	for _, s := range f.sites {
		for _, b := range s.builds {
			f.advance(s, b)
		}
	}
	for _, p := range f.pulls {
		f.reconcile(p)
	}
	return ctx.Err()
}

// effect carries something out once per origin key.
func effect[T any](f *flow, kind string, o flowclient.Origin, s *site, do func() (T, error)) (T, error) {
	var zero T
	if o.Key == "" || o.Who == "" {
		return zero, &flowclient.Invalid{Field: "origin", Value: o.Key, Why: "is incomplete"}
	}
	if was, known := f.effects[o.Key]; known {
		return was.(T), nil
	}
	if fault := f.break_[kind]; fault != nil {
		if err := fault(s); err != nil {
			return zero, err
		}
	}
	out, err := do()
	if err != nil {
		return zero, err
	}
	f.effects[o.Key] = out
	f.counts[kind]++
	f.wrote(kind)
	return out, nil
}

const firstPage = `<!doctype html><html lang="en"><head><meta name="commit" content="@COMMIT@"><title>x</title><link rel="stylesheet" href="style.css"></head><body><h1>%s</h1></body></html>`

func (f *flow) Scaffold(_ context.Context, r flowclient.ScaffoldRequest) (flowclient.Scaffolded, error) {
	return effect(f, "scaffold", r.Origin, nil, func() (flowclient.Scaffolded, error) {
		s := &site{project: r.Project, bound: map[string]string{}}
		f.sites[r.Project] = s
		c := f.push(s, "Start from the template static", map[string]string{"index.html": fmt.Sprintf(firstPage, r.Project), "style.css": "h1 {}"})
		return flowclient.Scaffolded{Project: r.Project, Components: []string{r.Project + "-web"}, Commit: c, Repository: flowclient.Repository{
			Name: "platform/" + r.Project, CloneURL: "http://git.example/platform/" + r.Project + ".git", WebURL: "http://git.example/platform/" + r.Project, DefaultBranch: "main",
		}}, nil
	})
}

func (f *flow) Commit(_ context.Context, r flowclient.CommitRequest) (flowclient.Commit, error) {
	s := f.sites[r.Project]
	return effect(f, "commit", r.Origin, s, func() (flowclient.Commit, error) { return f.push(s, r.Message, r.Files), nil })
}

// push adds a commit to main and asks for its build.
func (f *flow) push(s *site, subject string, changes map[string]string) flowclient.Commit {
	c := f.commit(s, subject, changes)
	s.commits = append(s.commits, c)
	f.build(s, s.project+"-web", c.SHA)
	return c.Commit
}

// commit makes a commit on top of main's head.
func (f *flow) commit(s *site, subject string, changes map[string]string) commit {
	files := map[string]string{}
	if n := len(s.commits); n > 0 {
		for path, text := range s.commits[n-1].files {
			files[path] = text
		}
	}
	for path, text := range changes {
		files[path] = text
	}
	sum := sha1.Sum([]byte(fmt.Sprint(s.project, subject, len(s.commits))))
	sha := hex.EncodeToString(sum[:])
	return commit{flowclient.Commit{SHA: sha, Subject: subject, At: f.now, WebURL: "http://git.example/platform/" + s.project + "/commit/" + sha}, files}
}

// build asks for the build of a commit.
func (f *flow) build(s *site, component, sha string) *build {
	run := component + "-run-" + sha[:8]
	s.builds = append(s.builds, &build{Build: flowclient.Build{
		Run: run, Project: s.project, Component: component, Commit: sha, Phase: flowclient.BuildPending, CreatedAt: f.now, URL: "http://workflow.example/runs/" + run,
		Stages: []flowclient.Task{{Name: "checkout", Phase: flowclient.BuildPending}, {Name: "test", Phase: flowclient.BuildPending}, {Name: "build", Phase: flowclient.BuildPending}, {Name: "publish", Phase: flowclient.BuildPending}},
	}, log: map[string][]string{}})
	return s.builds[len(s.builds)-1]
}

var localLink = regexp.MustCompile(`(?:href|src)="([^":]+)"`)

// advance takes a build one stage further.
func (f *flow) advance(s *site, b *build) {
	if b.Phase == flowclient.BuildSucceeded || b.Phase == flowclient.BuildFailed {
		return
	}
	now := f.now
	b.Phase = flowclient.BuildRunning
	for i := range b.Stages {
		t := &b.Stages[i]
		switch t.Phase {
		case flowclient.BuildPending:
			t.Phase, t.StartedAt = flowclient.BuildRunning, &now
			return
		case flowclient.BuildRunning:
			t.CompletedAt = &now
			if !f.stage(s, b, t.Name) {
				t.Phase, b.Phase, b.FailedStage, b.Message, b.CompletedAt = flowclient.BuildFailed, flowclient.BuildFailed, t.Name, "exit status 1", &now
				return
			}
			t.Phase = flowclient.BuildSucceeded
		}
	}
	b.Phase, b.CompletedAt = flowclient.BuildSucceeded, &now
	if b.Component == s.project+"-web" { // autoDeploy: a copy in a review environment has none
		s.bound[flowclient.Staging] = b.Commit
	}
}

// stage does a stage's work and keeps what it printed.
func (f *flow) stage(s *site, b *build, name string) bool {
	ok := true
	lines := []string{name + " of " + b.Commit[:7]}
	if name == "test" {
		files := s.at(b.Commit).files
		for i := range 50 {
			lines = append(lines, fmt.Sprintf("ok    check %d", i+1))
		}
		for _, m := range localLink.FindAllStringSubmatch(files["index.html"], -1) {
			if _, there := files[m[1]]; !there {
				ok = false
				lines = append(lines, fmt.Sprintf("FAULT index.html: link %q leads nowhere", m[1]))
			}
		}
	}
	b.log[name] = lines
	return ok
}

func (s *site) at(sha string) commit {
	for _, c := range append(s.commits, s.branched...) {
		if c.SHA == sha {
			return c
		}
	}
	return commit{}
}

func (f *flow) BuildLog(_ context.Context, run, stage string, last int) ([]string, error) {
	if f.lostLogs {
		return nil, &flowclient.Upstream{Part: "log store", Err: errors.New("away")}
	}
	for _, s := range f.sites {
		for _, b := range s.builds {
			if b.Run != run {
				continue
			}
			var out []string
			for _, t := range b.Stages {
				if stage == "" || stage == t.Name {
					out = append(out, b.log[t.Name]...)
				}
			}
			return out[max(0, len(out)-last):], nil
		}
	}
	return nil, &flowclient.NotFound{Kind: "build", Name: run}
}

func (f *flow) Delivery(context.Context) (flowclient.Delivery, error) {
	var d flowclient.Delivery
	for _, s := range f.sites {
		c := flowclient.ComponentDelivery{Project: s.project, Component: s.project + "-web", Walkthrough: true}
		for _, environment := range []string{flowclient.Staging, flowclient.Production} {
			if sha := s.bound[environment]; sha != "" {
				c.Environments = append(c.Environments, flowclient.Deployment{
					Environment: environment, Binding: c.Component + "-" + environment, Release: c.Component + "-" + sha[:8], Commit: sha, State: "Active", Ready: true, Build: s.builtBy(sha),
					URL: "http://" + environment + "-" + s.project + ".apps.example:19080/" + c.Component + "-http",
				})
			}
		}
		for _, b := range s.builds {
			if b.Component == c.Component {
				last := b.Build
				last.Stages = append([]flowclient.Task{}, last.Stages...)
				c.LastBuild = &last
			}
		}
		d.Components = append(d.Components, c)
	}
	return d, nil
}

// builtBy is the run that built a commit.
func (s *site) builtBy(sha string) string {
	for _, b := range s.builds {
		if b.Commit == sha {
			return b.Run
		}
	}
	return ""
}

// fetch is the gateway.
func (f *flow) fetch(_ context.Context, url string) (int, []byte, error) {
	for _, s := range f.sites {
		for environment, sha := range s.bound {
			if strings.HasPrefix(url, "http://"+environment+"-"+s.project+".") {
				body := strings.ReplaceAll(s.at(sha).files["index.html"], "@COMMIT@", sha)
				return 200, []byte(f.pages(url, body)), nil
			}
		}
	}
	return 404, []byte("nothing is bound here"), nil
}

func (f *flow) Promote(_ context.Context, r flowclient.Promotion) (flowclient.Outcome, error) {
	s := f.sites[r.Project]
	return effect(f, "promote", r.Origin, s, func() (flowclient.Outcome, error) {
		to, from := s.bound[flowclient.Staging], s.bound[flowclient.Production]
		for _, l := range f.locks {
			if l.Commit == to {
				return flowclient.Outcome{}, flowclient.Refuse("%s %s is locked in %s by %s: %s. Clear the lock to go on.", l.Component, to[:7], l.Environment, l.Who, l.Reason)
			}
		}
		s.bound[flowclient.Production], s.displaced = to, from
		return f.moved(s, flowclient.Promoted, from, to), nil
	})
}

func (f *flow) Rollback(_ context.Context, r flowclient.Promotion) (flowclient.Outcome, error) {
	s := f.sites[r.Project]
	return effect(f, "rollback", r.Origin, s, func() (flowclient.Outcome, error) {
		if s.displaced == "" {
			return flowclient.Outcome{}, flowclient.Refuse("nothing recorded.")
		}
		from := s.bound[flowclient.Production]
		s.bound[flowclient.Production], s.displaced = s.displaced, ""
		return f.moved(s, flowclient.RolledBack, from, s.bound[flowclient.Production]), nil
	})
}

func (f *flow) moved(s *site, result, from, to string) flowclient.Outcome {
	c := s.project + "-web"
	return flowclient.Outcome{Project: s.project, Components: []flowclient.ComponentOutcome{{
		Component: c, Result: result, FromCommit: from, ToCommit: to, Sentence: fmt.Sprintf("%s: production runs %s.", c, to[:7]),
	}}}
}

func (f *flow) SetLock(_ context.Context, r flowclient.LockRequest) (flowclient.Lock, error) {
	return effect(f, "lock", r.Origin, nil, func() (flowclient.Lock, error) {
		l := flowclient.Lock{ID: 1, Component: r.Component, Commit: r.Commit, Environment: r.Environment, Reason: r.Reason, Who: r.Origin.Who, At: f.now}
		f.locks = append(f.locks, l)
		return l, nil
	})
}

func (f *flow) ClearLock(_ context.Context, r flowclient.LockRequest) ([]flowclient.Lock, error) {
	return effect(f, "unlock", r.Origin, nil, func() ([]flowclient.Lock, error) {
		cleared := f.locks
		f.locks = nil
		return cleared, nil
	})
}

func (f *flow) Teardown(_ context.Context, r flowclient.TeardownRequest) (flowclient.Removed, error) {
	return effect(f, "teardown", r.Origin, nil, func() (flowclient.Removed, error) {
		var out flowclient.Removed
		for name := range f.sites {
			out.Projects, out.Repositories, out.Objects = append(out.Projects, name), append(out.Repositories, "platform/"+name), out.Objects+5
			delete(f.sites, name)
		}
		return out, nil
	})
}

func (f *flow) BeginWalkthrough(_ context.Context, key, template, who string) (flowclient.Walkthrough, error) {
	for _, w := range f.runs {
		if w.Key == key {
			return w, nil
		}
	}
	if f.refuse != nil {
		return flowclient.Walkthrough{}, f.refuse
	}
	for _, w := range f.runs {
		if w.Ended == nil {
			return flowclient.Walkthrough{}, flowclient.Refuse("walkthrough %s is under way: %s started it. Wait for its end.", w.Project, w.Who)
		}
	}
	id := int64(len(f.runs) + 1)
	w := flowclient.Walkthrough{ID: id, Key: key, Template: template, Project: fmt.Sprintf("%s-%d", template, id), Topic: fmt.Sprintf("%s-%d", template, id), Who: who, Started: f.now}
	f.runs = append([]flowclient.Walkthrough{w}, f.runs...)
	f.wrote("begin")
	return w, nil
}

func (f *flow) UpdateWalkthrough(_ context.Context, w flowclient.Walkthrough) error {
	for i := range f.runs {
		if f.runs[i].ID == w.ID {
			if f.runs[i].Ended == nil {
				f.runs[i] = w
			}
			f.wrote("update")
			return nil
		}
	}
	return &flowclient.NotFound{Kind: "walkthrough", Name: w.Project}
}

func (f *flow) Walkthroughs(context.Context) ([]flowclient.Walkthrough, error) { return f.runs, nil }
