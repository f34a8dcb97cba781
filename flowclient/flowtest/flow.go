package flowtest

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// World is a controller at work, with what a test needs to arrange and look at
// what is around it. The template "static" makes one component, <project>-web.
type World struct {
	Flow         flowclient.Flow
	ControlPlane flowclient.ControlPlane
	Journal      flowclient.Journal
	Patience     time.Duration // how long a push may take to reach staging; default 30 s
}

// Flow is the contract of flowclient.Flow: what people and programs may rely
// on whatever stands behind it. open gives a world that works until the test ends.
func Flow(t *testing.T, open func(t *testing.T) World) {
	for name, test := range map[string]func(t *testing.T, w *site){
		"scaffold makes a project once":                          scaffoldOnce,
		"names that are taken or malformed are refused":          refusedNames,
		"a push reaches staging and production waits":            pushReachesStaging,
		"promote moves, then leaves alone":                       promoteMoves,
		"a dry run tells the outcome and writes nothing":         dryRun,
		"two identical promotes at once have one effect":         concurrentPromotes,
		"rollback restores what was displaced, once":             rollbackOnce,
		"a lock refuses promotion and rollback until cleared":    lockRefuses,
		"a lock on what production runs does not trap it":        lockTrapsNothing,
		"a closed or unreadable window refuses":                  windowRefuses,
		"a freeze refuses until it is cleared":                   freezeRefuses,
		"a freeze of every project, and one to come":             freezeOfEvery,
		"what no freeze can be is named":                         badFreezes,
		"production out of service is brought back by promote":   reactivates,
		"why and promote agree":                                  whyAgrees,
		"undo takes back the newest promotion of its own door":   undoTakesBack,
		"undo tells what it would take back, and writes nothing": undoTells,
		"clearing a lock is told before it is done":              unlockingTells,
		"every decision can be made again":                       decisionsReplay,
		"an automatic project moves, and a rollback stays put":   movesByItself,
		"a failed build is told with its stage and forty lines":  failedBuild,
		"teardown removes labelled projects alone":               teardownLabelled,
		"one walkthrough at a time":                              oneWalkthrough,
		"bad input names the field and changes nothing":          badInput,
		"what does not exist is named":                           unknownNames,
		"what was decided is on the record, newest first":        auditTold,
		"what bots decided is on the record with the rest":       decisionsTold,
		"delivery is measured from the record":                   doraMeasured,
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			if w.Patience == 0 {
				w.Patience = 30 * time.Second
			}
			project := "t" + strings.ToLower(suffix(name))
			test(t, &site{World: w, t: t, project: project, component: project + "-web"})
		})
	}
}

// site is a world with the one project that a test works on.
type site struct {
	World
	t         *testing.T
	project   string
	component string
	asked     int
}

// suffix makes a project's name of a test's name.
func suffix(name string) string {
	sum := uint32(2166136261)
	for _, b := range []byte(name) {
		sum = (sum ^ uint32(b)) * 16777619
	}
	const digits = "abcdefghijklmnopqrstuvwxyz"
	out := make([]byte, 6)
	for i := range out {
		out[i] = digits[sum%26]
		sum /= 26
	}
	return string(out)
}

func (s *site) ctx() context.Context { return s.t.Context() }

// origin is a new request's origin.
func (s *site) origin() flowclient.Origin {
	s.asked++
	return flowclient.Origin{Key: s.project + ":" + string(rune('a'+s.asked)), Who: "developer", Link: "http://chat/#31"}
}

// scaffold makes the project and waits until staging has it.
func (s *site) scaffold(walkthrough bool) flowclient.Scaffolded {
	s.t.Helper()
	made, err := s.Flow.Scaffold(s.ctx(), flowclient.ScaffoldRequest{Origin: s.origin(), Template: "static", Project: s.project, Walkthrough: walkthrough})
	require.NoError(s.t, err)
	s.reaches(flowclient.Staging, made.Commit.SHA)
	return made
}

// push commits a file and waits until staging has it.
func (s *site) push(file, content string) flowclient.Commit {
	s.t.Helper()
	c, err := s.Flow.Commit(s.ctx(), flowclient.CommitRequest{Origin: s.origin(), Project: s.project, Message: "Change " + file, Files: map[string]string{file: content}})
	require.NoError(s.t, err)
	s.reaches(flowclient.Staging, c.SHA)
	return c
}

func (s *site) promote() (flowclient.Outcome, error) {
	return s.Flow.Promote(s.ctx(), flowclient.Promotion{Origin: s.origin(), Project: s.project})
}

func (s *site) promoted() flowclient.ComponentOutcome {
	s.t.Helper()
	out, err := s.promote()
	require.NoError(s.t, err)
	require.Len(s.t, out.Components, 1, "every component once")
	require.Equal(s.t, flowclient.Promoted, out.Components[0].Result, out.Components[0].Sentence)
	return out.Components[0]
}

func (s *site) rollback() (flowclient.Outcome, error) {
	return s.Flow.Rollback(s.ctx(), flowclient.Promotion{Origin: s.origin(), Project: s.project, Component: s.component})
}

// deployment is the component in an environment; ok is false when it is not there.
func (s *site) deployment(environment string) (d flowclient.Deployment, ok bool) {
	s.t.Helper()
	delivery, err := s.Flow.Delivery(s.ctx())
	require.NoError(s.t, err)
	for _, c := range delivery.Components {
		if c.Component != s.component {
			continue
		}
		for _, d := range c.Environments {
			if d.Environment == environment {
				return d, true
			}
		}
	}
	return flowclient.Deployment{}, false
}

// reaches waits until the environment is Ready with the commit.
func (s *site) reaches(environment, sha string) flowclient.Deployment {
	s.t.Helper()
	var found flowclient.Deployment
	require.Eventually(s.t, func() bool {
		d, ok := s.deployment(environment)
		found = d
		return ok && d.Commit == sha && d.Ready
	}, s.Patience, 10*time.Millisecond, "%s at %s", environment, sha)
	return found
}

// events are the project's events of a kind.
func (s *site) events(kind string) (events []flowclient.Event) {
	s.t.Helper()
	for after := int64(0); ; {
		page, err := s.Journal.Events(s.ctx(), after, 100)
		require.NoError(s.t, err)
		if len(page) == 0 {
			return events
		}
		for _, e := range page {
			after = e.Seq
			if e.Kind == kind && e.Project == s.project {
				events = append(events, e)
			}
		}
	}
}

// annotate sets an annotation of the project, as an operator would.
func (s *site) annotate(key, value string) {
	s.t.Helper()
	o, err := s.ControlPlane.Get(s.ctx(), flowclient.KindProject, s.project)
	require.NoError(s.t, err)
	o.Metadata.Annotations[key] = value
	_, err = s.ControlPlane.Update(s.ctx(), o)
	require.NoError(s.t, err)
}

// setState sets spec.state of the component's production binding.
func (s *site) setState(state string) {
	s.t.Helper()
	s.bindByHand("state", state)
}

// bindByHand changes a field of the spec of the component's production binding
// past the controller.
func (s *site) bindByHand(field, value string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		o, err := s.ControlPlane.Get(s.ctx(), flowclient.KindReleaseBinding, s.component+"-"+flowclient.Production)
		require.NoError(s.t, err)
		spec := map[string]any{}
		require.NoError(s.t, json.Unmarshal(o.Spec, &spec))
		spec[field] = value
		o.Spec, err = json.Marshal(spec)
		require.NoError(s.t, err)
		_, err = s.ControlPlane.Update(s.ctx(), o)
		return err == nil
	}, s.Patience, 10*time.Millisecond)
}

// refusal asserts that err is a refusal by the gate ("" for none) and returns it.
func refusal(t *testing.T, err error, gate string) *flowclient.Refusal {
	t.Helper()
	var r *flowclient.Refusal
	require.ErrorAs(t, err, &r)
	assert.Equal(t, gate, r.Gate)
	assert.True(t, strings.HasSuffix(r.Sentence, "."), "a refusal is a sentence: %s", r.Sentence)
	return r
}

// together runs n calls at once and gives their errors.
func together(n int, call func(i int) error) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = call(i) })
	}
	all.Wait()
	return errs
}
