package platform

import (
	"slices"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

// Catalogue gives one sample of each message kind that this package makes, for
// golden files and for people who want to see what the bot says.
func Catalogue() []markup.Message {
	s := newSample()
	window := flowclient.Window{Project: "shop", Sentence: "Production changes to shop are allowed Mon-Fri 09:00-17:00 Europe/London. Closed now; opens Mon 23 Nov 09:00 GMT, in 2 d 15 h."}
	same := s.web
	same.Environments = []flowclient.Deployment{s.web.Environments[0], s.web.Environments[0]}
	same.Environments[1].Environment = flowclient.Production
	nowhere := flowclient.ComponentDelivery{Project: "shop", Component: "shop-new", LastBuild: &s.failing}
	late := s.lock
	late.Note = "production runs 1a2b3c4 already: the lock takes nothing out of service there, and refuses only a return to it."
	all := flowclient.Delivery{Components: []flowclient.ComponentDelivery{s.web, s.api}}
	return slices.Concat(s.moves(), s.gates(), s.freezes(), s.watches(), s.states(), s.evidences(), []markup.Message{
		statusMessage("shop", all.Components, s.reviews(), window, s.now),
		diffMessage(s.ships(), all.Components, s.now), diffMessage(s.behind(), all.Components, s.now), diffMessage(s.shipped(), all.Components, s.now),
		whereMessage(s.web, s.now), whereMessage(same, s.now), whereMessage(nowhere, s.now),
		buildsMessage([]flowclient.Build{s.running, s.pending}, all, s.now), buildsMessage(nil, all, s.now),
		lockMessage(late, true, s.web.Repository, s.now), lockMessage(s.lock, false, s.web.Repository, s.now),
		refusedLock("lock", "Not locked: ", s.lock.Commit[:4], s.web.Component, flowclient.Refuse("commit \"1a2b\" is ambiguous in platform/shop; write more of it.")),
		refusedLock("unlock", "Not unlocked: ", s.lock.Commit[:4], s.web.Component, flowclient.Refuse("commit \"1a2b\" is ambiguous in platform/shop; write more of it.")),
		unlockMessage(s.web, s.lock.Commit, "", []flowclient.Lock{s.lock}), unlockMessage(s.web, s.lock.Commit, "staging", nil),
		locksMessage([]flowclient.Lock{s.lock, {Component: "shop-api", Commit: s.second, Reason: "not before Monday", Who: "admin", At: s.now.Add(-49 * time.Hour)}}, all, "shop", 0, s.now),
		locksMessage(nil, all, "shop", 0, s.now),
		doraMessage(s.delivered(), 30), doraMessage(s.undelivered(), 1),
		auditMessage(s.audited(), "", s.now), auditMessage(flowclient.AuditPage{}, "shop", s.now),
	})
}

// sample is a project as it may stand, to make samples of messages from.
type sample struct {
	now                       time.Time
	first, second             string // commits
	web, api                  flowclient.ComponentDelivery
	running, pending, failing flowclient.Build
	lock                      flowclient.Lock
}

func newSample() sample {
	now := time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) *time.Time { t := now.Add(-d); return &t }
	s := sample{now: now, first: "1a2b3c4d5e6f708192a3b4c5d6e7f80912a3b4c5", second: "9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c"}
	const git, gateway, runs = "http://127.0.0.1:3001/platform/shop", "http://staging-shop.apps.platform.localhost:19080/", "http://127.0.0.1:10081/runs/"
	s.running = flowclient.Build{Run: "shop-web-run-0a1b2c3d", Project: "shop", Component: "shop-web", Commit: s.second, Phase: flowclient.BuildRunning, CreatedAt: *ago(20 * time.Second), StartedAt: ago(18 * time.Second),
		Stages: []flowclient.Task{{Name: "test", Phase: flowclient.BuildSucceeded}, {Name: "build", Phase: flowclient.BuildRunning}}, URL: runs + "shop-web-run-0a1b2c3d"}
	s.pending = flowclient.Build{Run: "shop-api-run-4e5f6071", Project: "shop", Component: "shop-api", Commit: s.second, Phase: flowclient.BuildPending, CreatedAt: *ago(7 * time.Second)}
	s.failing = flowclient.Build{Run: "shop-api-run-8293a4b5", Project: "shop", Component: "shop-api", Commit: s.second, Phase: flowclient.BuildFailed, FailedStage: "test", CompletedAt: ago(3 * time.Minute), CreatedAt: *ago(4 * time.Minute)}
	passed := flowclient.Build{Run: "shop-web-run-c6d7e8f9", Project: "shop", Component: "shop-web", Commit: s.second, Phase: flowclient.BuildSucceeded, CompletedAt: ago(3 * time.Minute), CreatedAt: *ago(4 * time.Minute), URL: runs + "shop-web-run-c6d7e8f9"}
	s.web = flowclient.ComponentDelivery{Project: "shop", Component: "shop-web", Repository: git + ".git", LastBuild: &passed, Environments: []flowclient.Deployment{
		{Environment: flowclient.Staging, Binding: "shop-web-staging", Release: "shop-web-2b3c4d5e", Commit: s.second, State: "Active", Ready: true, Since: ago(3 * time.Minute), URL: gateway + "shop-web-http"},
		{Environment: flowclient.Production, Binding: "shop-web-production", Release: "shop-web-6f708192", Commit: s.first, State: "Active", Ready: true, Since: ago(26 * time.Hour), PromotedBy: "developer", URL: "http://production-shop.apps.platform.localhost:19080/shop-web-http"},
	}}
	s.api = flowclient.ComponentDelivery{Project: "shop", Component: "shop-api", LastBuild: &s.failing, Environments: []flowclient.Deployment{
		{Environment: flowclient.Staging, Release: "shop-api-a3b4c5d6", Commit: s.first, State: "Active", Reason: "ImageNotFound", Message: "registry: manifest shop/api is unknown", Since: ago(40 * time.Second)},
		{Environment: flowclient.Production},
	}}
	s.lock = flowclient.Lock{ID: 1, Component: "shop-web", Commit: s.first, Environment: flowclient.Production, Reason: "breaks the checkout *badly*", Who: "sre", At: *ago(12 * time.Minute), Releases: []string{"shop-web-6f708192"}}
	return s
}

// moves are the messages of promote and rollback.
func (s sample) moves() []markup.Message {
	cs := []flowclient.ComponentDelivery{s.web, s.api}
	promoted := flowclient.ComponentOutcome{Component: "shop-web", Result: flowclient.Promoted, From: "shop-web-6f708192", FromCommit: s.first, To: "shop-web-2b3c4d5e", ToCommit: s.second, URL: s.web.Environments[1].URL}
	first := flowclient.ComponentOutcome{Component: "shop-api", Result: flowclient.Promoted, To: "shop-api-a3b4c5d6", ToCommit: s.first}
	notReady := "shop-api 1a2b3c4 is not Ready in staging (ImageNotFound); ask again when it is."
	waiting := flowclient.ComponentOutcome{Component: "shop-api", Result: flowclient.Retry, Sentence: notReady, Gates: []flowclient.Verdict{{Gate: "ready", Component: "shop-api", Sentence: notReady}}}
	unchanged := flowclient.ComponentOutcome{Component: "shop-web", Result: flowclient.Unchanged, Sentence: "shop-web: production runs 9f8e7d6 already."}
	rolled := promoted
	rolled.Result, rolled.From, rolled.To, rolled.FromCommit, rolled.ToCommit = flowclient.RolledBack, promoted.To, promoted.From, s.second, s.first
	refusal := &flowclient.Refusal{
		Sentence: "shop-web 9f8e7d6 is locked in production by sre since Fri 20 Nov 17:48 UTC: breaks the checkout. Clear the lock on shop-web 9f8e7d6 to go on.", Gate: "lock",
		Gates: []flowclient.Verdict{
			{Gate: "lock", Component: "shop-web", Numbers: map[string]string{"commit": s.second, "environment": flowclient.Production, "who": "sre"},
				Sentence: "shop-web 9f8e7d6 is locked in production by sre since Fri 20 Nov 17:48 UTC: breaks the checkout. Clear the lock on shop-web 9f8e7d6 to go on."},
			{Gate: "window", Sentence: "Production changes to shop are allowed Mon-Fri 09:00-17:00 Europe/London. Closed now; opens Mon 23 Nov 09:00 GMT, in 2 d 15 h."},
			{Gate: "capacity", Numbers: map[string]string{"fits": "shop-web"},
				Sentence: "shop in production has no room for shop-api and shop-web: memory needs 512Mi + 307Mi margin; 3.4Gi of 4Gi used; short by 205Mi. shop-web alone would fit. Free something there, raise the quota, or force."},
			{Gate: "ready", Component: "shop-api", Sentence: "shop-api 1a2b3c4 is not Ready in staging (ImageNotFound: registry: manifest shop/api is unknown); ask again when it is."},
			{Gate: "soak", Component: "shop-web", Pass: true, Sentence: "shop-web 9f8e7d6 has been in staging for 12 min; 5 min was asked for."},
		},
	}
	of := func(cs ...flowclient.ComponentOutcome) flowclient.Outcome {
		return flowclient.Outcome{Project: "shop", Components: cs}
	}
	soaking := waiting
	soaking.Sentence = "shop-api 1a2b3c4 has been in staging for 40 s of 5 min; ask again in 4 min 20 s."
	soaking.Gates = []flowclient.Verdict{{Gate: "soak", Component: "shop-api", Sentence: soaking.Sentence}}
	superseded := flowclient.ComponentOutcome{Component: "shop-api", Result: flowclient.Superseded, Sentence: "shop-api: production was changed meanwhile; look, and ask again."}
	more := of(promoted, first)
	more.Note = "More than code changes: of shop-web between 1a2b3c4 and 9f8e7d6: the component type deployment/service and the resource orders, made since. A rollback would not take that back; check that the older code could work with it."
	noted := of(rolled)
	noted.Note = "A rollback moves code only: schema changes and resources stay as they are."
	taken := noted
	taken.Undoes = &flowclient.Undone{Intent: "4k2j5mabcdefg", Who: "developer", At: s.now.Add(-26 * time.Hour), Link: "http://127.0.0.1:9991/#narrow/near/31"}
	return []markup.Message{
		movedMessage(planned, "shop", cs, of(promoted, first)), movedMessage(planned, "shop", cs, of(promoted, soaking)),
		movedMessage(planned, "shop", cs, of(unchanged, soaking)), movedMessage(planned, "shop", cs, of(unchanged)), refusedMessage(planned, "shop", refusal),
		movedMessage(undone, "shop", cs, noted), movedMessage(undone, "shop", cs, of(rolled, superseded)), movedMessage(undone, "shop", cs, of(superseded)), movedMessage(undone, "shop", cs, of(unchanged)),
		undoMessage("shop", cs, taken), refusedMessage(plannedUndo, "shop", &flowclient.Refusal{Sentence: "shop-web was rolled back by sre on Fri 20 Nov 17:40 UTC, which is the newest change; nothing was undone. Promote to go forward again."}),
		refusedMessage(undone, "shop", &flowclient.Refusal{Sentence: "shop-web was rolled back by sre at Fri 20 Nov 17:40 UTC; nothing was undone. Roll back by hand."}),
		movedMessage(forward, "shop", cs, more), movedMessage(forward, "shop", cs, of(promoted, waiting)),
		movedMessage(forward, "shop", cs, of(unchanged, waiting)), movedMessage(forward, "shop", cs, of(unchanged)),
		refusedMessage(forward, "shop", refusal),
		movedMessage(back, "shop", cs, noted), movedMessage(back, "shop", cs, of(rolled, waiting)),
		movedMessage(back, "shop", cs, of(waiting)), movedMessage(back, "shop", cs, of(unchanged)),
		movedMessage(plannedBack, "shop", cs, noted), movedMessage(plannedBack, "shop", cs, of(unchanged)),
		refusedMessage(plannedBack, "shop", &flowclient.Refusal{Sentence: "nothing recorded: no promotion of shop-web has left a release behind that it could return to; promote one first."}),
		refusedMessage(back, "shop", &flowclient.Refusal{Sentence: "nothing recorded: no promotion of shop-web has left a release behind that it could return to; promote one first."}),
	}
}
