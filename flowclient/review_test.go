package flowclient

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// aSource is a component of the repository platform/shop.
func aSource(name string) source {
	return source{Project: "shop", Object: Object{Kind: KindComponent, Metadata: Metadata{Name: name}, Spec: json.RawMessage(`{
		"owner":{"projectName":"shop"},"componentType":{"kind":"ClusterComponentType","name":"deployment/static-site"},"autoBuild":true,"autoDeploy":true,
		"workflow":{"kind":"ClusterWorkflow","name":"build","parameters":{"repository":{"url":"http://git/platform/shop.git","revision":{"branch":"main"},"appPath":"` + name + `"},
		"siblingWorkloads":[{"component":"shop-api","workloadPath":"api.yaml"},{"component":"other","workloadPath":"o.yaml"}],"imageName":"web","cpus":2}}}`)}}
}

// openFacts is an open pull request that nothing is there for yet.
func openFacts() reviewFacts {
	return reviewFacts{
		Pull:     Pull{Repo: "platform/shop", Number: 7, State: PullOpen, Head: shaA, Branch: "feature", Title: "A feature", Updated: friday},
		Record:   PullRecord{ID: 3, Repo: "platform/shop", Number: 7, Pull: pullOpen, Active: friday},
		Sources:  []source{aSource("shop-web")},
		Projects: map[string]Object{"shop": {Metadata: Metadata{Name: "shop", Labels: map[string]string{LabelWalkthrough: "true"}}}},
		Staging:  Object{Spec: json.RawMessage(`{"dataPlaneRef":{"kind":"DataPlane","name":"default"},"isProduction":false}`)},
		There:    reviewObjects{Cells: map[string]Object{}, Lent: map[string]bool{}, Forks: map[string]forkObjects{}},
		NextLine: 9, Cap: 2, Now: friday,
	}
}

// stepNames are the steps as "create WorkflowRun shop-web-pr-7-run-aaaaaaaa".
func stepNames(steps []reviewStep) (names []string) {
	for _, s := range steps {
		names = append(names, fmt.Sprintf("%s %s %s", s.Op, s.Object.Kind, s.Object.Metadata.Name))
	}
	return names
}

// at puts objects of the fork of shop-web there: a run and a binding in the given states.
func (f reviewFacts) at(run, bound string, releases ...string) reviewFacts {
	environment := Object{Kind: KindEnvironment, Metadata: Metadata{Name: "pr-7", Annotations: map[string]string{AnnotationOwned: "true"}}}
	fork, _ := f.newFork(Fork{Name: "shop-web-pr-7", Of: "shop-web", Project: "shop"})
	there := forkObjects{Component: &fork}
	if run != "" {
		o, _ := f.newRun(Fork{Name: "shop-web-pr-7", Of: "shop-web", Project: "shop"})
		o.Status = json.RawMessage(`{"conditions":[{"type":"Workflow` + run + `","status":"True"}],"tasks":[{"name":"test","phase":"` + run + `"}]}`)
		there.Runs, there.Lines = []Object{o}, []string{"one", "``` two"}
	}
	for _, sha := range releases {
		there.Releases = append(there.Releases, Object{Kind: KindComponentRelease, Metadata: Metadata{Name: "r-" + ShortSHA(sha), Labels: map[string]string{LabelCommit: sha}},
			Spec: json.RawMessage(`{"owner":{"projectName":"shop","componentName":"shop-web-pr-7"}}`)})
	}
	if bound != "" {
		release, status, _ := strings.Cut(bound, " ")
		there.Bindings = []Object{{Kind: KindReleaseBinding, Metadata: Metadata{Name: "shop-web-pr-7-pr-7"},
			Spec: json.RawMessage(`{"environment":"pr-7","releaseName":"` + release + `"}`),
			Status: json.RawMessage(`{"conditions":[{"type":"Ready","status":"` + map[bool]string{true: "True", false: "False"}[status == "Ready"] + `","reason":"` + status + `","lastTransitionTime":"2026-11-20T11:00:00Z"}],
				"endpoints":[{"name":"http","externalURLs":{"http":{"scheme":"http","host":"pr-7-shop","path":"/shop-web-http"}}}]}`)}}
	}
	f.There = reviewObjects{Environment: &environment, Cells: map[string]Object{"shop": {Kind: KindProjectReleaseBinding, Metadata: Metadata{Name: "shop-pr-7"}}},
		Lent: map[string]bool{}, Forks: map[string]forkObjects{"shop-web-pr-7": there}}
	return f
}

// made is a record that takes a place.
func (f reviewFacts) in(state string) reviewFacts {
	f.Record.State, f.Record.Turn, f.Record.Line, f.Record.Target = state, 1, 4, shaA
	f.Record.Forks = []Fork{{Name: "shop-web-pr-7", Of: "shop-web", Project: "shop"}}
	if state == ReviewPresent {
		f.Record.Shown = shaA
	}
	return f
}

func TestThePlanOfAReviewEnvironment(t *testing.T) {
	closed := func(f reviewFacts) reviewFacts { f.Pull.State = PullClosed; return f }
	for name, c := range map[string]struct {
		facts reviewFacts
		state string
		steps []string
		event string
		text  string
	}{
		"opened: everything is made, what clashes first": {openFacts(), ReviewCreating, []string{"create Environment pr-7", "create ProjectReleaseBinding shop-pr-7",
			"create Component shop-web-pr-7", "create WorkflowRun shop-web-pr-7-run-aaaaaaaa"}, "", "is being made from aaaaaaa."},
		"no place is free": {func() reviewFacts { f := openFacts(); f.Taken = 2; return f }(), ReviewQueued, nil, EventReviewQueued, "It is number 1 in the queue"},
		"a place is free, for somebody who came before": {func() reviewFacts { f := openFacts(); f.Taken, f.Ahead = 1, 1; return f }(), ReviewQueued, nil, EventReviewQueued, "It is number 2 in the queue"},
		"it queued, and a place is free":                {func() reviewFacts { f := openFacts().in(ReviewQueued); f.Taken = 1; return f }(), ReviewCreating, nil, "", "is being made"},
		"it queued and was closed":                      {func() reviewFacts { f := closed(openFacts().in(ReviewQueued)); f.Record.Text = "waits"; return f }(), "", nil, EventReviewDestroyed, "was not made: the pull request was closed."},
		"closed before it was known to be open":         {closed(openFacts()), "", nil, "", ""},
		"the build is under way":                        {openFacts().in(ReviewCreating).at("Running", ""), ReviewCreating, nil, "", "is being built"},
		"the build failed":                              {openFacts().in(ReviewCreating).at("Failed", ""), ReviewFailed, nil, EventReviewFailed, "in stage test"},
		"it failed before":                              {openFacts().in(ReviewFailed).at("Failed", ""), ReviewFailed, nil, "", "in stage test"},
		"built, its release is not there yet":           {openFacts().in(ReviewCreating).at("Succeeded", ""), ReviewCreating, nil, "", "its release is being cut"},
		"the release is there":                          {openFacts().in(ReviewCreating).at("Succeeded", "", shaA), ReviewCreating, []string{"create ReleaseBinding shop-web-pr-7-pr-7"}, "", "is being brought into service"},
		"it answers":                                    {openFacts().in(ReviewCreating).at("Succeeded", "r-aaaaaaa Ready", shaA), ReviewPresent, nil, EventReviewCreated, "shows aaaaaaa."},
		"it answers still":                              {openFacts().in(ReviewPresent).at("Succeeded", "r-aaaaaaa Ready", shaA), ReviewPresent, nil, "", "at http://pr-7-shop/shop-web-http"},
		"it blinks":                                     {openFacts().in(ReviewPresent).at("Succeeded", "r-aaaaaaa ResourcesProgressing", shaA), ReviewPresent, nil, "", "shows aaaaaaa."},
		"it cannot be brought into service":             {openFacts().in(ReviewCreating).at("Succeeded", "r-aaaaaaa ImageInvalid", shaA), ReviewFailed, nil, EventReviewFailed, "could not be brought into service: ImageInvalid"},
		"a newer head, not built":                       {newHead(openFacts().in(ReviewPresent).at("Succeeded", "r-aaaaaaa Ready", shaA)), ReviewCreating, []string{"retarget Component shop-web-pr-7", "create WorkflowRun shop-web-pr-7-run-bbbbbbbb"}, "", "Until then it shows aaaaaaa."},
		"a newer head, built":                           {newHead(openFacts().in(ReviewPresent).at("Succeeded", "r-aaaaaaa Ready", shaA, shaB)), ReviewCreating, []string{"retarget Component shop-web-pr-7", "repoint ReleaseBinding shop-web-pr-7-pr-7"}, "", "Until then it shows aaaaaaa."},
		"closed: what runs goes first":                  {closed(openFacts().in(ReviewPresent).at("Succeeded", "r-aaaaaaa Ready", shaA)), ReviewDestroying, []string{"delete Component shop-web-pr-7", "delete ReleaseBinding shop-web-pr-7-pr-7"}, "", "is being destroyed: the pull request was closed."},
		"opened again while it goes":                    {openFacts().in(ReviewDestroying).at("Succeeded", "", shaA), ReviewDestroying, []string{"delete Component shop-web-pr-7"}, "", "is being destroyed"},
		"nothing is left":                               {func() reviewFacts { f := closed(openFacts().in(ReviewDestroying)); f.Record.Text = "x"; return f }(), "", nil, EventReviewDestroyed, "is destroyed: the pull request was closed."},
		"left by a process that remembers nothing":      {closed(openFacts().at("", "")), ReviewDestroying, []string{"delete Component shop-web-pr-7"}, "", "is being destroyed"},
		"nothing happened for too long": {func() reviewFacts {
			f := openFacts().in(ReviewPresent).at("", "")
			f.TTL, f.Now = time.Hour, friday.Add(time.Hour)
			return f
		}(), ReviewDestroying, []string{"delete Component shop-web-pr-7"}, "", "nothing happened on the pull request for 1 h"},
		"it may go by itself, later": {func() reviewFacts {
			f := openFacts().in(ReviewPresent).at("Succeeded", "r-aaaaaaa Ready", shaA)
			f.TTL = time.Hour
			return f
		}(), ReviewPresent, nil, "", "It is removed when nothing happens on the pull request for 1 h."},
		"its component takes part no longer": {func() reviewFacts {
			f := openFacts().in(ReviewPresent).at("", "")
			f.Sources = []source{aSource("shop-api")}
			return f
		}(), ReviewPresent, []string{"create Component shop-api-pr-7", "create WorkflowRun shop-api-pr-7-run-aaaaaaaa", "delete Component shop-web-pr-7"}, "", "shop-api"},
		"no component takes part": {func() reviewFacts { f := openFacts(); f.Sources = nil; return f }(), "", nil, "", ""},
		"switched off":            {func() reviewFacts { f := openFacts(); f.Cap = -1; return f }(), "", nil, "", ""},
		"the control plane refused": {func() reviewFacts {
			f := openFacts().in(ReviewCreating)
			f.Record.Refused = "Component shop-web-pr-7: exists already."
			return f
		}(), ReviewFailed, nil, EventReviewFailed, "exists already."},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := planReview(c.facts)
			require.NoError(t, err)
			assert.Equal(t, c.state, p.Record.State)
			if c.steps != nil {
				assert.Equal(t, c.steps, stepNames(p.Steps))
			}
			var kinds []string
			for _, e := range p.Events {
				kinds = append(kinds, e.Kind)
			}
			assert.Equal(t, c.event, strings.Join(kinds, " "))
			assert.Contains(t, p.Record.Text, c.text)
			if c.text == "" {
				assert.Empty(t, p.Record.Text)
			}
		})
	}
}

func newHead(f reviewFacts) reviewFacts {
	f.Pull.Head = shaB
	return f
}

func TestAForkReachesNothingOfItsSource(t *testing.T) {
	f := openFacts()
	f.Sources = append(f.Sources, aSource("shop-api"))
	o, err := f.newFork(Fork{Name: "shop-web-pr-7", Of: "shop-web", Project: "shop"})
	require.NoError(t, err)
	assert.JSONEq(t, `{"owner":{"projectName":"shop"},"componentType":{"kind":"ClusterComponentType","name":"deployment/static-site"},"autoBuild":false,"autoDeploy":false,
		"workflow":{"kind":"ClusterWorkflow","name":"build","parameters":{"repository":{"url":"http://git/platform/shop.git","revision":{"branch":"feature","commit":"`+shaA+`"},"appPath":"shop-web"},
		"siblingWorkloads":[{"component":"shop-api-pr-7","workloadPath":"api.yaml"}],"imageName":"web","cpus":2}}}`, string(o.Spec))
	assert.Equal(t, map[string]string{LabelProject: "shop", LabelForkOf: "shop-web", LabelWalkthrough: "true", labelOwned: "true"}, o.Metadata.Labels)
	assert.Equal(t, map[string]string{AnnotationOwned: "true", AnnotationPull: "platform/shop#7"}, o.Metadata.Annotations)
	environment, err := f.newEnvironment()
	require.NoError(t, err)
	assert.JSONEq(t, `{"dataPlaneRef":{"kind":"DataPlane","name":"default"}}`, string(environment.Spec))
}

func TestAnEnvironmentThatIsSharedOrForeignStays(t *testing.T) {
	f := openFacts().in(ReviewDestroying).at("", "")
	f.There.Forks = map[string]forkObjects{}
	assert.Equal(t, []string{"delete ProjectReleaseBinding shop-pr-7"}, stepNames(f.removal()))
	f.There.Lent["shop"] = true
	f.There.Shared = true
	assert.Empty(t, f.removal(), "another pull request of the project is there")
	assert.True(t, f.There.empty())
	f.There.Cells, f.There.Shared = nil, false
	assert.Equal(t, []string{"delete Environment pr-7"}, stepNames(f.removal()))
	f.There.Environment.Metadata.Annotations = nil
	assert.Empty(t, f.removal(), "somebody else made it")
}

func TestTheLinesOfAFailureCannotLeaveTheirFence(t *testing.T) {
	p, err := planReview(openFacts().in(ReviewCreating).at("Failed", ""))
	require.NoError(t, err)
	assert.Contains(t, p.Record.Text, "````\none\n``` two\n````")

	f := openFacts().in(ReviewCreating).at("Failed", "")
	there := f.There.Forks["shop-web-pr-7"]
	there.Lines = slices.Repeat([]string{strings.Repeat("é", 1<<20)}, lastLines)
	f.There.Forks["shop-web-pr-7"] = there
	p, err = planReview(f)
	require.NoError(t, err)
	assert.Less(t, len(p.Record.Text), 20_000, "a comment has its bounds, whatever a build wrote")
}

func TestLabelsAndStateAreComparedWithThoseKnownBefore(t *testing.T) {
	f := openFacts()
	f.Record = PullRecord{ID: 3, Repo: "platform/shop", Number: 7}
	f.Home = "shop"
	step := func(change func()) []string {
		change()
		r, events, err := f.notePull()
		require.NoError(t, err)
		f.Record = r
		var keys []string
		for _, e := range events {
			keys = append(keys, e.Kind+" "+e.Key)
		}
		return keys
	}
	assert.Equal(t, []string{"pull.opened pull/3/open/1"}, step(func() {}))
	assert.Empty(t, step(func() {}), "said once")
	assert.Equal(t, []string{"pull.updated pull/3/open/1/updated/1"}, step(func() { f.Pull.Head = strings.Repeat("e", 40) }))
	assert.Empty(t, step(func() {}), "said once")
	assert.Equal(t, []string{"pull.updated pull/3/open/1/updated/2"}, step(func() { f.Pull.Title = "another" }))
	assert.Empty(t, step(func() { f.Pull.Labels = []string{"promote", "bug"}; f.Now = friday.Add(time.Hour) }))
	assert.Equal(t, 1, f.Record.Asked)
	assert.Empty(t, step(func() { f.Pull.Labels = []string{"bug", "promote"} }))
	assert.Equal(t, 1, f.Record.Asked, "the order of labels says nothing")
	step(func() { f.Pull.Labels = nil })
	step(func() { f.Pull.Labels = []string{"promote"} })
	assert.Equal(t, 2, f.Record.Asked)
	assert.Equal(t, []string{"pull.closed pull/3/closed/1"}, step(func() { f.Pull.State, f.Pull.Head = PullClosed, strings.Repeat("f", 40) }))
	assert.Empty(t, step(func() { f.Pull.Title = "closed" }), "of one that is not open nobody is told")
	assert.Equal(t, []string{"pull.opened pull/3/open/2"}, step(func() { f.Pull.State = PullOpen }))
	assert.Equal(t, 3, f.Record.Asked, "opened again with the label on")
	assert.Equal(t, []string{"pull.merged pull/3/merged/2"}, step(func() { f.Pull.State, f.Pull.Merged = PullClosed, true; f.Now = friday.Add(50 * time.Hour) }))
	assert.Equal(t, f.Now, f.Record.AskedAt, "waiting begins when it is merged")
}

func TestActivityIsNeverTheControllersOwnComment(t *testing.T) {
	f := openFacts()
	f.Record = PullRecord{Repo: "platform/shop", Number: 7}
	note := func() time.Time {
		r, _, err := f.notePull()
		require.NoError(t, err)
		f.Record = r
		return r.Active
	}
	assert.Equal(t, friday, note())
	f.Now, f.Pull.Updated = friday.Add(2*time.Hour), friday.Add(time.Hour)
	assert.Equal(t, friday, note(), "a comment changes nothing that is compared")
	f.Record.Touched = friday.Add(90 * time.Minute)
	assert.Equal(t, friday.Add(90*time.Minute), note())
	f.Pull.Head, f.Pull.Updated = shaB, friday.Add(100*time.Hour)
	assert.Equal(t, f.Now, note(), "a clock that is ahead does not lengthen it")
}

func TestThePlanOfAReviewEnvironmentIsPureAndKeepsTheCap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := openFacts()
		f.Taken, f.Ahead, f.Cap = rapid.IntRange(0, 4).Draw(t, "taken"), rapid.IntRange(0, 3).Draw(t, "ahead"), rapid.IntRange(-1, 3).Draw(t, "cap")
		state := rapid.SampledFrom([]string{"", ReviewQueued, ReviewCreating, ReviewPresent, ReviewFailed, ReviewDestroying}).Draw(t, "state")
		if state != "" {
			f = f.in(state)
		}
		if state != "" && state != ReviewQueued && rapid.Bool().Draw(t, "there") {
			f = f.at(rapid.SampledFrom([]string{"", "Running", "Failed", "Succeeded"}).Draw(t, "run"),
				rapid.SampledFrom([]string{"", "r-aaaaaaa Ready", "r-aaaaaaa ImageInvalid", "r-bbbbbbb Ready"}).Draw(t, "bound"),
				rapid.SampledFrom([][]string{nil, {shaA}, {shaB}, {shaA, shaB}}).Draw(t, "releases")...)
		}
		f.Pull.State = rapid.SampledFrom([]string{PullOpen, PullOpen, PullClosed}).Draw(t, "pull")
		f.Pull.Head = rapid.SampledFrom([]string{shaA, shaB}).Draw(t, "head")
		one, err := planReview(f)
		require.NoError(t, err)
		two, err := planReview(f)
		require.NoError(t, err)
		first, err := json.Marshal([]any{one.Record, one.Events, one.Steps})
		require.NoError(t, err)
		second, err := json.Marshal([]any{two.Record, two.Events, two.Steps})
		require.NoError(t, err)
		require.Equal(t, string(first), string(second), "same facts, same bytes")
		if !f.Record.takesPlace() && one.Record.takesPlace() {
			require.Less(t, f.Taken+f.Ahead, f.Cap, "a place is taken only where one is free")
			require.Equal(t, PullOpen, f.Pull.State)
		}
		deletes := slices.ContainsFunc(one.Steps, func(s reviewStep) bool { return s.Op == stepDelete })
		require.Equal(t, deletes, deletes && one.Record.State == ReviewDestroying, "only what is being destroyed is deleted")
		require.Equal(t, len(one.Steps) > 0, len(one.Steps) > 0 && one.Record.takesPlace(), "nothing is written without a place")
		if f.Pull.State != PullOpen {
			require.False(t, slices.ContainsFunc(one.Steps, func(s reviewStep) bool { return s.Op != stepDelete }), "nothing is made for a closed pull request")
		}
	})
}

func TestTheAnswerToAPromoteLabel(t *testing.T) {
	merged := func(of ...labelledComponent) labelFacts {
		return labelFacts{Pull: Pull{Repo: "platform/shop", Number: 7, State: PullClosed, Merged: true, MergeCommit: shaA},
			Record: PullRecord{Pull: pullMerged, Labels: []string{labelPromote}, Asked: 1, AskedAt: friday}, Built: of, Now: friday}
	}
	with := func(f labelFacts, change func(*labelFacts)) labelFacts { change(&f); return f }
	runs := labelledComponent{Name: "shop-web", Project: "shop", Staging: shaA}
	behind := labelledComponent{Name: "shop-api", Project: "shop", Staging: shaB}
	for name, c := range map[string]struct {
		facts   labelFacts
		promote int
		wait    string
		final   string
	}{
		"staging runs it":                         {merged(runs), 1, "", ""},
		"one component does not yet":              {merged(runs, behind), 0, "shop-api does not yet", ""},
		"it is not built yet":                     {merged(), 0, "aaaaaaa waits for its build", ""},
		"it was built for nothing, and passed by": {with(merged(), func(f *labelFacts) { f.Others = true }), 0, "", "Superseded"},
		"staging runs a later one":                {merged(labelledComponent{Name: "shop-web", Staging: shaB, Later: true}), 0, "", "Superseded: staging runs bbbbbbb"},
		"its build failed":                        {merged(labelledComponent{Name: "shop-web", Staging: shaB, Build: Build{Phase: BuildFailed}}), 0, "", "Refused: the build of aaaaaaa of shop-web failed"},
		"the label was taken off":                 {with(merged(runs), func(f *labelFacts) { f.Record.Labels = nil }), 0, "", "taken off"},
		"it is open":                              {with(merged(), func(f *labelFacts) { f.Pull, f.Record.Pull = Pull{State: PullOpen}, pullOpen }), 0, "When this is merged", ""},
		"it was closed without being merged":      {with(merged(), func(f *labelFacts) { f.Pull, f.Record.Pull = Pull{State: PullClosed}, pullClosed }), 0, "", "without being merged"},
		"staging never came to run it":            {with(merged(behind), func(f *labelFacts) { f.Now = friday.Add(24 * time.Hour) }), 0, "", "did not come to run aaaaaaa within 24 hours"},
		"staging runs it late":                    {with(merged(runs), func(f *labelFacts) { f.Now = friday.Add(48 * time.Hour) }), 1, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := planLabel(c.facts)
			assert.Len(t, a.Promote, c.promote)
			for _, pair := range [][2]string{{c.wait, a.Wait}, {c.final, a.Final}} {
				assert.Equal(t, pair[0] == "", pair[1] == "", pair[1])
				assert.Contains(t, pair[1], pair[0])
			}
		})
	}
}

func TestThePullRequestIsToldOfTheOnePlaceAsOne(t *testing.T) {
	f := openFacts()
	f.Cap, f.Taken, f.Ahead = 1, 1, 2
	p, err := planReview(f)
	require.NoError(t, err)
	assert.Equal(t, "Review environment `pr-7` waits: the one place for a review environment is taken. It is number 3 in the queue and is made when a place is free.", p.Record.Text)
}

func TestAFailureIsToldOnceAndWithTheLastWordsOfItsProcess(t *testing.T) {
	f := openFacts()
	f.Record.State, f.Record.Number = ReviewFailed, 7
	words := strings.Repeat("panic: no database ", 40)
	bound := binding{exists: true, spec: ReleaseBindingSpec{ReleaseName: "r"}, status: ReleaseBindingStatus{Conditions: []Condition{
		{Type: "Ready", Status: "False", Reason: "CrashLoopBackOff", Message: words, LastTransitionTime: f.Now.Add(-time.Hour)},
	}}}
	s := forkStatus{Fork: Fork{Of: "shop-api"}}
	steps, err := f.bindStatus(&s, bound, "r")
	require.NoError(t, err)
	require.Empty(t, steps)
	plan, err := f.conclude(reviewPlan{Record: f.Record}, []forkStatus{s})
	require.NoError(t, err)
	assert.Contains(t, plan.Record.Message, words[:len(words)-1], "announcements show it whole")
	assert.Equal(t, 1, strings.Count(plan.Record.Text, words[:len(words)-1]), plan.Record.Text)
}
