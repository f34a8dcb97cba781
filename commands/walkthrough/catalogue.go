package walkthrough

import (
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

// Catalogue gives one sample of each message kind that this package makes, for
// golden files and for people who want to see what the bot says.
func Catalogue() []markup.Message {
	s := newSample()
	ended := func(result, message string) flowclient.Walkthrough {
		w, at := s.run.w, s.run.w.Started.Add(38*time.Second)
		w.Ended, w.Result, w.Message = &at, result, message
		return w
	}
	asked := &stop{Who: "sre"}
	why := &missed{Expected: "staging shows \"static-1\" at commit 1a2b3c4 within 2 min", Seen: "http://staging-static-1.apps.platform.localhost:19080/static-1-web-http answers 404", Stage: "test", Lines: s.log}
	w, held, gone, broke := s.run.w, ended(passed, ""), ended(stopped, asked.Error()), ended(failed, why.Error())
	const stream = "walkthroughs"
	all := []flowclient.Walkthrough{w, held, gone, broke}
	removed := flowclient.Removed{Projects: []string{"static-1"}, Objects: 7, Repositories: []string{"platform/static-1"}}
	partial := removed
	partial.Refused = []string{"what no walkthrough made stays, since it carries no label project-flow.platform.dev/walkthrough: blog, shop."}
	return append(s.steps(),
		beganMessage(w, stream, len(staticSteps())), s.run.workingMessage("the build of 1a2b3c4 has succeeded", "build static-1-web-run-0a1b2c3d is in stage test"),
		s.run.failedMessage(why), s.run.stoppedMessage(asked),
		s.run.bot.closingMessage(held, s.done, nil), s.run.bot.closingMessage(gone, s.done[:2], nil), s.run.bot.closingMessage(broke, s.done[:3], why),
		endedMessage(held, stream), endedMessage(gone, stream), endedMessage(broke, stream),
		refusedMessage("walkthrough.refused", "The walkthrough does not start", flowclient.Refuse("a walkthrough needs 1.5 GB free for static; 0.9 GB is available. Free some memory and ask again.")),
		railsMessage(), statusMessage(all, stream, w.Started.Add(21*time.Second)), statusMessage(nil, stream, w.Started),
		stopMessage(w, stream), noneToStop(), busyMessage(w, stream), removingMessage("static"), teardownMessage("static", removed), teardownMessage("all", partial), teardownMessage("rails", flowclient.Removed{}),
		refusedMessage("walkthrough.teardown.refused", "Nothing was removed", flowclient.Refuse("scope \"shop\" is no walkthrough; write all, static or rails.")),
	)
}

// sample is a run as it may stand, to make samples of messages from.
type sample struct {
	run    *run
	made   flowclient.Scaffolded
	builds [2]flowclient.Build // one that passed, one that failed
	deploy flowclient.Deployment
	moved  flowclient.Outcome
	lock   flowclient.Lock
	log    []string
	done   []done
	pull   flowclient.Pull
	review flowclient.Review
}

func newSample() sample {
	const first, second, head, third, repository = "1a2b3c4d5e6f708192a3b4c5d6e7f80912a3b4c5", "9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c",
		"5d6e7f80912a3b4c51a2b3c4d5e6f708192a3b4c", "3c4d5e6f708192a3b4c5d6e7f80912a3b4c51a2b", "http://127.0.0.1:3001/platform/static-1"
	started := time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)
	at := func(ms int) *time.Time { t := started.Add(time.Duration(ms) * time.Millisecond); return &t }
	s := sample{log: []string{"ok    index.html: has one h1", `FAULT index.html:14: link "nowhere.html" leads nowhere: there is no file ./nowhere.html`, "", "1 pages, 5 checks, 1 faults"}}
	s.made = flowclient.Scaffolded{Project: "static-1", Components: []string{"static-1-web"},
		Repository: flowclient.Repository{Name: "platform/static-1", CloneURL: repository + ".git", WebURL: repository},
		Commit:     flowclient.Commit{SHA: first, Subject: "Start from the template static", WebURL: repository + "/commit/" + first}}
	b := flowclient.Build{Run: "static-1-web-run-0a1b2c3d", Commit: first, Phase: flowclient.BuildSucceeded, URL: "http://127.0.0.1:10081/runs/static-1-web-run-0a1b2c3d", Stages: []flowclient.Task{
		{Name: "checkout", Phase: flowclient.BuildSucceeded, StartedAt: at(0), CompletedAt: at(200)}, {Name: "test", Phase: flowclient.BuildSucceeded, StartedAt: at(200), CompletedAt: at(900)},
		{Name: "build", Phase: flowclient.BuildSucceeded, StartedAt: at(900), CompletedAt: at(1300)}, {Name: "publish", Phase: flowclient.BuildSucceeded, StartedAt: at(1300), CompletedAt: at(1900)}}}
	bad := b
	bad.Phase, bad.FailedStage, bad.Message = flowclient.BuildFailed, "test", "exit status 1"
	bad.Stages = append(append([]flowclient.Task{}, b.Stages[:1]...), flowclient.Task{Name: "test", Phase: flowclient.BuildFailed, StartedAt: at(200), CompletedAt: at(900)}, flowclient.Task{Name: "build", Phase: "Skipped"})
	s.builds = [2]flowclient.Build{b, bad}
	s.deploy = flowclient.Deployment{Environment: flowclient.Staging, Binding: "static-1-web-staging", Release: "static-1-web-6f708192", Build: "static-1-web-run-0a1b2c3d", URL: "http://staging-static-1.apps.platform.localhost:19080/static-1-web-http"}
	s.moved = flowclient.Outcome{Components: []flowclient.ComponentOutcome{{Component: "static-1-web", Sentence: "static-1-web: production runs 1a2b3c4 now; it ran nothing before."}}}
	s.lock = flowclient.Lock{Component: "static-1-web", Commit: second, Environment: flowclient.Production, Reason: lockReason, Who: "developer"}
	s.run = &run{bot: &bot{}, steps: staticSteps(), at: 3, w: flowclient.Walkthrough{ID: 1, Template: templateStatic, Project: "static-1", Who: "developer", Started: started, Step: "staging"}}
	s.run.w.Topic = topic(s.run.w)
	s.run.s = state{Repository: s.made.Repository, Component: "static-1-web", First: page{"static-1", first}, Second: page{"static-1, second edition", second},
		Proposed: page{"static-1, third edition", head}, Third: page{"static-1, third edition", third}, Pull: 1,
		Staging: s.deploy.URL, Production: "http://production-static-1.apps.platform.localhost:19080/static-1-web-http", Review: "http://pr-1-static-1.apps.platform.localhost:19080/static-1-web-http"}
	s.pull = flowclient.Pull{Repo: "platform/static-1", Number: 1, Title: "Change the heading again", State: flowclient.PullOpen, Branch: pullBranch, Head: head, Base: "main", Author: "developer", URL: repository + "/pulls/1"}
	s.review = flowclient.Review{Project: "static-1", Repo: "platform/static-1", Number: 1, Environment: "pr-1", State: flowclient.ReviewPresent, Head: head, URL: s.run.s.Review, Run: "static-1-web-pr-1-run-5d6e7f80"}
	return s
}

// steps are the messages of steps that held; on the way it fills in what the closing message lists.
func (s *sample) steps() []markup.Message {
	r := s.run
	c := flowclient.Commit{SHA: r.s.Second.Commit, Subject: "Change the heading", WebURL: r.commitURL(r.s.Second.Commit)}
	production := s.deploy
	production.Environment, production.Binding, production.URL = flowclient.Production, "static-1-web-production", r.s.Production
	refusal := flowclient.Refuse("static-1-web 9f8e7d6 is locked in production by developer since Fri 20 Nov 18:00 UTC: %s. Clear the lock on static-1-web 9f8e7d6 to go on.", lockReason)
	refusal.Gates = []flowclient.Verdict{
		{Gate: "lock", Component: s.lock.Component, Sentence: refusal.Sentence},
		{Gate: "window", Pass: true, Sentence: "Production changes to static-1 are allowed at any time."}}
	pushed := []string{"dist holds:", "       884 bytes  dist/index.html", "pushed 127.0.0.1:10082/static-1/web@sha256:7880cb09cb43"}
	merged := s.pull
	merged.State, merged.Merged, merged.MergeCommit = flowclient.PullClosed, true, r.s.Third.Commit
	reviewed := s.builds[0]
	reviewed.Run, reviewed.Commit, reviewed.URL = s.review.Run, s.pull.Head, "http://127.0.0.1:10081/runs/"+s.review.Run
	var out []markup.Message
	for i, o := range []outcome{
		tellStarted(r), tellScaffolded(r, s.made), tellBuilt(r, s.builds[0], []string{"checkout of 1a2b3c4", "ok    index.html: has one h1", "stamped dist/index.html with 1a2b3c4"}),
		tellStaging(r, s.deploy, pushed), tellPromoted(r, production, s.moved, pushed), tellChanged(r, c, s.builds[0], s.deploy, pushed), tellLocked(r, s.lock, refusal),
		tellUnlocked(r, []flowclient.Lock{s.lock}, production, s.moved, pushed), tellRolledBack(r, production, s.moved, pushed),
		tellProposed(r, s.pull, s.review, reviewed, pushed), tellMerged(r, merged, s.builds[0], s.deploy, pushed), tellBroken(r, c, s.builds[1], s.log),
	} {
		took := time.Duration(i*1300) * time.Millisecond
		r.at = i
		s.done = append(s.done, done{Name: r.steps[i].title, Took: took, Links: o.links})
		out = append(out, r.doneMessage(o, took))
	}
	r.at = 3
	return out
}
