package platform

import (
	"strings"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

// gates are the messages about what keeps a release from production, and about what lifts it.
func (s sample) gates() []markup.Message {
	cs := []flowclient.ComponentDelivery{s.web, s.api}
	sentence := "Production changes to shop are allowed Mon-Fri 09:00-17:00 Europe/London. Closed now; opens Mon 23 Nov 09:00 GMT, in 2 d 15 h."
	london, monday := "Mon-Fri 09:00-17:00 Europe/London", time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	window := flowclient.Verdict{Gate: "window", Sentence: sentence, Flips: &monday}
	soaked := flowclient.Verdict{Gate: "soak", Component: "shop-web", Pass: true, Sentence: "shop-web 9f8e7d6 has been in staging for 12 min; 5 min was asked for."}
	ready := flowclient.Verdict{Gate: "ready", Component: "shop-api", Sentence: "shop-api 1a2b3c4 is not Ready in staging (ImageNotFound: registry: manifest *shop/api* is unknown); ask again when it is."}
	lock := flowclient.Verdict{Gate: "lock", Component: "shop-web", Numbers: map[string]string{"commit": s.second, "environment": "every environment"},
		Sentence: "shop-web 9f8e7d6 is locked in every environment by sre since Fri 20 Nov 17:48 UTC: breaks the checkout *badly*. Clear the lock on shop-web 9f8e7d6 to go on."}
	web := flowclient.WhyComponent{Component: "shop-web", Result: flowclient.Refused, Sentence: lock.Sentence, From: "shop-web-6f708192", FromCommit: s.first, To: "shop-web-2b3c4d5e", ToCommit: s.second,
		Automatic: "Nor does it move by itself (left out).", Gates: []flowclient.Verdict{lock, window, soaked}, Flips: &monday}
	api := flowclient.WhyComponent{Component: "shop-api", Result: flowclient.Refused, Sentence: ready.Sentence, To: "shop-api-a3b4c5d6", ToCommit: s.first, Gates: []flowclient.Verdict{window, ready}}
	same := flowclient.WhyComponent{Component: "shop-jobs", Result: flowclient.Unchanged, ToCommit: s.first}
	free := web
	free.Result, free.Gates, free.Automatic = flowclient.Promoted, []flowclient.Verdict{soaked}, "It moves by itself at the next pass."
	of := func(text string, cs ...flowclient.WhyComponent) flowclient.Why {
		return flowclient.Why{Project: "shop", At: s.now, Promotion: "auto", Window: flowclient.Window{Project: "shop", Text: london, Sentence: sentence}, Sentence: text, Components: cs}
	}
	short := flowclient.Verdict{Gate: "capacity", Lifted: "force", Sentence: "shop in production has no room for shop-api and shop-web: memory needs 512Mi + 307Mi margin; 3.4Gi of 4Gi used; short by 205Mi. shop-web alone would fit. Free something there, raise the quota, or force."}
	forcing := flowclient.Outcome{Project: "shop", Components: []flowclient.ComponentOutcome{
		{Component: "shop-web", Result: flowclient.Promoted, From: "shop-web-6f708192", FromCommit: s.first, To: "shop-web-2b3c4d5e", ToCommit: s.second, Gates: []flowclient.Verdict{short}},
		{Component: "shop-api", Result: flowclient.Promoted, To: "shop-api-a3b4c5d6", ToCommit: s.first, Gates: []flowclient.Verdict{short}},
	}}
	old := []flowclient.Lock{s.lock, {Component: "shop-api", Commit: s.second, Reason: strings.Repeat("a long story about the schema, ", 12) + "to be told again", Who: "admin", At: s.now.Add(-49 * 24 * time.Hour)}}
	return []markup.Message{
		whyMessage(of("A promotion of shop is refused now: "+lock.Sentence+" Time alone does not bring shop-web and shop-api there.", web, api, same), cs, s.now), whyMessage(of("Nothing is against a promotion of shop; it would move shop-web.", free), cs, s.now),
		whyMessage(of("There is nothing to promote: production of shop runs what staging runs.", same), cs, s.now), whyMessage(of("shop has no component to promote; push one."), nil, s.now),
		forcedMessage("shop", forcing, forced(forcing), cs),
		unlockingMessage(s.web, s.lock.Commit, flowclient.Production, flowclient.Unlocking{Locks: []flowclient.Lock{s.lock}, Sentence: "Without it, a promotion would move shop-web to 9f8e7d6 now. It moves by itself at the next pass."}),
		locksMessage(old[1:], flowclient.Delivery{Components: cs}, "", 14*24*time.Hour, s.now),
	}
}

// freezes are the messages about windows and freezes.
func (s sample) freezes() []markup.Message {
	london := "Mon-Fri 09:00-17:00 Europe/London"
	holds := flowclient.Freeze{ID: 3, From: s.now.Add(-26 * time.Hour), Until: time.Date(2027, 1, 4, 9, 0, 0, 0, time.UTC), Reason: "end of *year*", Who: "sre", At: s.now.Add(-50 * time.Hour)}
	coming := flowclient.Freeze{ID: 4, Project: "shop", From: s.now.Add(42 * time.Hour), Until: s.now.Add(64 * time.Hour), Reason: "the sale", Who: "admin", At: s.now.Add(-3 * time.Minute)}
	fresh := holds
	fresh.From, fresh.At = s.now, s.now
	closed := flowclient.Window{Project: "shop", Text: london, Flips: &holds.Until, Freezes: []flowclient.Freeze{holds, coming},
		Sentence: "Production changes to shop are allowed " + london + ". Frozen until Mon 4 Jan 2027 09:00 GMT in every project by sre: end of *year*; opens then, in 44 d 15 h."}
	open := flowclient.Window{Project: "shop", Open: true, Sentence: "Production changes to shop are allowed at any time."}
	zone := closed.Zone()
	return []markup.Message{
		windowMessage(open, s.now), windowMessage(closed, s.now),
		freezeMessage(fresh, zone, s.now), freezeMessage(coming, zone, s.now),
		freezesMessage([]flowclient.Freeze{holds, coming}, "shop", zone, s.now), freezesMessage(nil, "", time.UTC, s.now),
		thawMessage(coming, s.now), thawNothing(7, []flowclient.Freeze{holds}, s.now),
	}
}

// watches are the messages of a watch, in each phase.
func (s sample) watches() []markup.Message {
	deployed, failing := s.web.Environments[0], s.failing
	failing.Component, failing.URL = "shop-web", s.running.URL
	starting := deployed
	starting.Ready, starting.Reason, starting.Message = false, "Starting", "waits for *the database*"
	built := *s.web.LastBuild
	at := func(phase, sentence string, d flowclient.Deployment, b *flowclient.Build) flowclient.Watched {
		return flowclient.Watched{Project: "shop", Component: "shop-web", Environment: flowclient.Staging, Repository: s.web.Repository, Phase: phase, Sentence: sentence, Deployment: d, Build: b}
	}
	out := deployed
	out.State = "Undeploy"
	late := at(flowclient.WatchStarting, "9f8e7d6 is not Ready yet (Starting: waits for *the database*).", starting, nil)
	began := s.now.Add(-72 * time.Second)
	var all []markup.Message
	for _, w := range []flowclient.Watched{
		at(flowclient.WatchNothing, "staging runs nothing yet.", flowclient.Deployment{Environment: flowclient.Staging}, nil),
		at(flowclient.WatchBuilding, "9f8e7d6 is being built, in stage build.", deployed, &s.running), at(flowclient.WatchBuilt, "9f8e7d6 was built and is about to be deployed.", deployed, &built),
		late, at(flowclient.WatchReady, "9f8e7d6 is Ready.", deployed, nil),
		at(flowclient.WatchFailed, "the build of 9f8e7d6 failed in stage test.", deployed, &failing), at(flowclient.WatchOut, "9f8e7d6 is out of service there; promote it to bring it back.", out, nil),
	} {
		all = append(all, watchMessage(w, began, s.now))
	}
	late.Late = true
	return append(all, watchMessage(late, s.now.Add(-10*time.Minute), s.now))
}

// states are the messages of state: nothing there, much there, and not well.
func (s sample) states() []markup.Message {
	cs := flowclient.Delivery{Components: []flowclient.ComponentDelivery{s.web, s.api}}
	ago := func(d time.Duration) *time.Time { t := s.now.Add(-d); return &t }
	monday := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	shop := flowclient.ProjectState{Project: "shop", Promotion: "auto", Soak: "5m0s", Wake: &monday,
		Window: flowclient.Window{Project: "shop", Text: "Mon-Fri 09:00-17:00 Europe/London", Flips: &monday},
		Components: []flowclient.ComponentStanding{
			{Component: "shop-web", Standing: "parked", Gate: "window", Since: ago(40 * time.Minute), Flips: &monday, To: "shop-web-2b3c4d5e", ToCommit: s.second, Sentence: "Production changes to shop are allowed Mon-Fri 09:00-17:00 Europe/London. Closed now; opens Mon 23 Nov 09:00 GMT, in 2 d 15 h."},
			{Component: "shop-api", Standing: "waiting", Gate: "ready", To: "shop-api-a3b4c5d6", ToCommit: s.first, Sentence: "shop-api 1a2b3c4 is not Ready in staging (ImageNotFound: *no* such image); ask again when it is."},
		},
		Starvation: "6 merges an hour are made in shop: a soak of 30 min lets about 0.3 promotions an hour through.",
	}
	blog := flowclient.ProjectState{Project: "blog", Promotion: "manual", Soak: "0s", Window: flowclient.Window{Project: "blog", Open: true}, Error: "control plane: connection refused"}
	hung := flowclient.State{Overdue: true, Health: "No pass was completed since Fri 20 Nov 17:40 UTC, 20 min ago; one is expected every 30 s.", PassError: "control plane: connection refused", LastPass: ago(20 * time.Minute), OpenIntents: 1, Projects: []flowclient.ProjectState{blog}}
	failing := flowclient.State{PassError: "control plane: connection refused", LastPass: ago(12 * time.Second)}
	return []markup.Message{
		stateMessage(flowclient.State{LastPass: ago(12 * time.Second), OpenIntents: 2, Projects: []flowclient.ProjectState{blog, shop}, Notes: []string{"A rollback stays: nothing moves the same release forward again by itself."}}, "", cs, s.now),
		stateMessage(failing, "", cs, s.now), stateMessage(hung, "blog", cs, s.now),
	}
}
