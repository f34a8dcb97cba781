package announcer

import (
	"encoding/json"
	"slices"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

// Catalogue gives one sample of each message kind that is announced, for golden
// files and for people who want to see what is said.
func Catalogue() []markup.Message {
	var (
		out    []markup.Message
		folded = summary{titles: map[string][]markup.Span{}, seen: map[string]bool{}}
		noon   = sampleTime()
	)
	for i, s := range allSamples() {
		out = append(out, s.message)
		folded.add(s.key, s.message, noon.Add(time.Duration(i)*time.Minute))
	}
	return append(out, folded.message())
}

// sample is one announcement with what it tells of.
type sample struct {
	About
	key     string
	message markup.Message
}

// sampleTime is when everything in the samples happens.
func sampleTime() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// allSamples has one of each kind.
func allSamples() []sample {
	var (
		out   []sample
		noon  = sampleTime()
		known = func(author string) markup.Span { return markup.M("10", author) }
	)
	for _, s := range slices.Concat(sampleBodies(noon), autoBodies(noon), pullBodies(noon)) {
		switch many := s.body.(type) {
		case Push:
			out = append(out, sample{About{Kind: s.kind, Project: many.Project, At: noon, Body: many}, s.kind, several(many, known)})
			continue
		case Locking:
			out = append(out, sample{About{Kind: s.kind, Project: many.Project, At: noon, Body: many}, s.kind, severalLocks(many)})
			continue
		}
		body, err := json.Marshal(s.body)
		if err != nil {
			panic(err) // the samples are constant, and the tests make them
		}
		e := flowclient.Event{Key: s.kind, Kind: s.kind, At: noon, Project: "shop", Component: "shop-web", Body: body}
		t, m, err := kinds[s.kind].write(e, known)
		if err != nil {
			panic(err)
		}
		out = append(out, sample{about(e, s.body), t.key, m})
	}
	return out
}

// sampleBody is the body of an event of a kind.
type sampleBody struct {
	kind string
	body any
}

// sampleBodies has one body for each kind of event that is announced.
func sampleBodies(noon time.Time) []sampleBody {
	const first, second = "1a2b3c4d5e6f708192a3b4c5d6e7f80912a3b4c5", "9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c"
	at := func(ms int) *time.Time { t := noon.Add(time.Duration(ms) * time.Millisecond); return &t }
	stage := func(name, phase string, from, to int) flowclient.Task {
		return flowclient.Task{Name: name, Phase: phase, StartedAt: at(from), CompletedAt: at(to)}
	}
	running := flowclient.BuildEvent{Subject: "Change the *heading*", Author: "developer", Build: flowclient.Build{
		Run: "shop-web-run-0a1b2c3d", Project: "shop", Component: "shop-web", Commit: second, Phase: flowclient.BuildRunning, StartedAt: at(0),
		URL: "http://127.0.0.1:10081/runs/shop-web-run-0a1b2c3d", Stages: []flowclient.Task{stage("checkout", flowclient.BuildSucceeded, 0, 66)}}}
	passed, failed := running, running
	passed.Build.Phase, passed.Build.CompletedAt = flowclient.BuildSucceeded, at(13_400)
	passed.Build.Stages = append(passed.Build.Stages[:1:1], stage("test", flowclient.BuildSucceeded, 70, 1270), stage("build", flowclient.BuildSucceeded, 1280, 13_300))
	failed.Build.Phase, failed.Build.CompletedAt, failed.Build.FailedStage, failed.Build.Message = flowclient.BuildFailed, at(900), "test", "exit status 1"
	failed.Build.Stages = append(failed.Build.Stages[:1:1], stage("test", flowclient.BuildFailed, 70, 890))
	failed.Lines = []string{"ok    index.html: has one h1", `FAULT index.html:14: link "nowhere.html" leads nowhere: there is no file ./nowhere.html`, "", "1 pages, 7 checks, 1 faults"}

	other, still := passed, running
	other.Build.Run, other.Build.Component, other.Build.URL = "shop-api-run-4d5e6f70", "shop-api", "http://127.0.0.1:10081/runs/shop-api-run-4d5e6f70"
	still.Build.Run, still.Build.Component, still.Build.URL = "shop-cart-run-8192a3b4", "shop-cart", "http://127.0.0.1:10081/runs/shop-cart-run-8192a3b4"
	push := Push{Project: "shop", Commit: second, Subject: running.Subject, Author: running.Author, Builds: []flowclient.BuildEvent{other, failed, still}}

	asked := flowclient.Origin{Key: "zulip:31", Who: "developer", Link: "http://127.0.0.1:9991/#narrow/channel/3-shop/topic/release/near/31"}
	moved := flowclient.ComponentOutcome{Component: "shop-web", Result: flowclient.Promoted, From: "shop-web-6f708192", FromCommit: first, To: "shop-web-2b3c4d5e", ToCommit: second,
		URL: "http://production-shop.apps.platform.localhost:19080/shop-web-http/", Gates: []flowclient.Verdict{
			{Gate: "window", Pass: true, Numbers: map[string]string{"window": "Mon-Fri 09:00-17:00 UTC"}, Sentence: "Production changes to shop are allowed Mon-Fri 09:00-17:00 UTC. Open now; closes Fri 20 Nov 17:00 UTC, in 5 h."},
			{Gate: "soak", Component: "shop-web", Pass: true, Numbers: map[string]string{"soak": "30m0s", "elapsed": "42m0s"}, Sentence: "shop-web 9f8e7d6 has been in staging for 42 min; 30 min was asked for."}}}
	waits := flowclient.ComponentOutcome{Component: "shop-api", Result: flowclient.Retry, Sentence: "shop-api 1a2b3c4 is not Ready in staging (ImageNotFound); ask again when it is."}
	returned := moved
	returned.Gates = nil
	returned.Result, returned.From, returned.To, returned.FromCommit, returned.ToCommit = flowclient.RolledBack, moved.To, moved.From, second, first
	lock := flowclient.Lock{ID: 1, Component: "shop-web", Commit: second, Environment: flowclient.Production, Reason: "breaks the checkout *badly*", Who: "sre", At: noon,
		Note: "production runs 9f8e7d6 already: the lock takes nothing out of service there, and refuses only a return to it."}
	locked := "shop-web 9f8e7d6 is locked in production by sre since Fri 20 Nov 11:48 UTC: breaks the checkout. Clear the lock on shop-web 9f8e7d6 to go on."
	refusal := &flowclient.Refusal{Sentence: locked, Gate: "lock", Gates: []flowclient.Verdict{
		{Gate: "lock", Component: "shop-web", Sentence: locked},
		{Gate: "window", Sentence: "Production changes to shop are allowed Mon-Fri 13:00-17:00 UTC. Closed now; opens Fri 20 Nov 13:00 UTC, in 1 h."}}}
	freeze := flowclient.Freeze{ID: 3, Project: "shop", From: noon, Until: noon.AddDate(0, 0, 45), Reason: "the *end* of the year", Who: "sre", At: noon}
	everywhere := lock
	everywhere.ID, everywhere.Component, everywhere.Environment, everywhere.Note = 2, "shop-api", "", ""
	both := Locking{Project: "shop", Who: "sre", Locks: []flowclient.Lock{lock, everywhere}, Links: []string{asked.Link}}
	of := func(project ...flowclient.ComponentOutcome) flowclient.Outcome {
		return flowclient.Outcome{Project: "shop", Components: project}
	}
	return []sampleBody{
		{flowclient.EventBuildStarted, running}, {flowclient.EventBuildPassed, passed}, {flowclient.EventBuildFailed, failed}, {kindSeveral, push},
		{flowclient.EventPromoted, flowclient.MoveEvent{Origin: asked, Outcome: of(moved, waits)}},
		{flowclient.EventPromoteRefuse, flowclient.MoveEvent{Origin: asked, Outcome: of(), Refusal: refusal}},
		{flowclient.EventRolledBack, flowclient.MoveEvent{Origin: asked, Outcome: of(returned)}},
		{flowclient.EventRollbackRefuse, flowclient.MoveEvent{Origin: asked, Outcome: of(), Refusal: refusal}},
		{flowclient.EventLockSet, flowclient.LockEvent{Who: "sre", Locks: []flowclient.Lock{lock}}},
		{flowclient.EventLockCleared, flowclient.LockEvent{Who: "admin", Locks: []flowclient.Lock{lock}}}, {kindSeveralLocks, both},
		{flowclient.EventFreezeSet, flowclient.FreezeEvent{Who: "sre", Freeze: freeze}},
		{flowclient.EventFreezeCleared, flowclient.FreezeEvent{Who: "admin", Freeze: freeze}},
		{flowclient.EventScaffolded, flowclient.ProjectEvent{Who: "developer", Template: "static",
			Repository: flowclient.Repository{Name: "platform/shop", WebURL: "http://127.0.0.1:3001/platform/shop"},
			Commit:     flowclient.Commit{SHA: first, Subject: "Begin shop from the template static"}}},
		{flowclient.EventRemoved, flowclient.ProjectEvent{Who: "admin"}},
	}
}
