package main

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"platform.dev/platform/fixtures/goldenfile"
	"platform.dev/platform/flowclient"
)

const (
	oldSHA = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d"
	newSHA = "9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// before is an instant before noon.
func before(d time.Duration) *time.Time { t := noon.Add(-d); return &t }

var (
	webInStaging    = flowclient.Deployment{Environment: "staging", Binding: "shop-web-staging", Release: "shop-web-9f8e7d6c", Commit: newSHA, Build: "shop-web-run-9f8e7d6c", State: "Active", Ready: true, Since: before(3 * time.Minute), URL: "http://staging-shop.apps.platform.localhost:19080/shop-web-http"}
	webInProduction = flowclient.Deployment{Environment: "production", Binding: "shop-web-production", Release: "shop-web-1a2b3c4d", Commit: oldSHA, Build: "shop-web-run-1a2b3c4d", State: "Active", Ready: false, Reason: "ResourcesProgressing", Message: "the image is pulled\x1b[31m", Since: before(50 * time.Hour), PromotedBy: "Ada Admin"}
	failing         = flowclient.Build{Run: "shop-web-run-77", Project: "shop", Component: "shop-web", Commit: newSHA, Phase: flowclient.BuildFailed, FailedStage: "test", CreatedAt: *before(90 * time.Second), URL: "http://127.0.0.1:10081/runs/shop-web-run-77"}
	running         = flowclient.Build{Run: "api-run-1", Project: "shop", Component: "shop-api", Commit: oldSHA, Phase: flowclient.BuildRunning, Stages: []flowclient.Task{{Name: "checkout", Phase: flowclient.BuildSucceeded}, {Name: "test", Phase: flowclient.BuildRunning}}, CreatedAt: *before(5 * time.Second)}
	web             = flowclient.ComponentDelivery{Project: "shop", Component: "shop-web", Environments: []flowclient.Deployment{webInStaging, webInProduction}, LastBuild: &failing}
	api             = flowclient.ComponentDelivery{Project: "shop", Component: "shop-api", Environments: []flowclient.Deployment{}, LastBuild: &running}
	locks           = []flowclient.Lock{
		{Component: "shop-web", Commit: oldSHA, Reason: "breaks the\ncart", Who: "Sam SRE", At: *before(2 * time.Hour), Releases: []string{"shop-web-1a2b3c4d"}},
		{Component: "shop-api", Commit: newSHA, Environment: "production", Reason: "not before Monday", Who: "ci", At: noon},
	}
)

var (
	opens   = noon.Add(69 * time.Hour)
	against = flowclient.Why{Project: "shop", Sentence: "A promotion of shop is refused now: Closed now; opens Sat 7 Mar 09:00.", Components: []flowclient.WhyComponent{
		{Component: "shop-web", Result: "refused", FromCommit: oldSHA, ToCommit: newSHA, Earliest: &opens, Automatic: "It moves by itself from then on.", Gates: []flowclient.Verdict{
			{Gate: "window", Sentence: "Closed now; opens Sat 7 Mar 09:00."}, {Gate: "ready", Component: "shop-web", Pass: true, Sentence: "shop-web 9f8e7d6 is Ready in staging."}}},
		{Component: "shop-api", Result: "refused", ToCommit: newSHA, Gates: []flowclient.Verdict{{Gate: "window", Sentence: "Closed now; opens Sat 7 Mar 09:00."}, {Gate: "lock", Component: "shop-api", Sentence: "shop-api 9f8e7d6 is locked."}}},
		{Component: "shop-db", Result: flowclient.Unchanged, ToCommit: oldSHA},
	}}
	freezes = []flowclient.Freeze{
		{ID: 3, From: *before(time.Hour), Until: noon.Add(time.Hour), Reason: "end of\x1b[31m year", Who: "Sam SRE", At: *before(time.Hour)},
		{ID: 4, Project: "shop", From: opens, Until: opens.AddDate(1, 0, 0), Reason: "the sale", Who: "ci", At: noon},
	}
	same  = true
	known = flowclient.Evidence{Subject: "binding shop-web-production", Builds: []flowclient.Build{failing}, Traces: []string{"0af7651916cd43dd8448eb211c80319c"}, Services: []string{"bots", "flow"},
		Intents: []flowclient.EvidentIntent{{ID: "promote-1", Kind: "promote", Key: "zulip:31", Who: "developer", At: noon, Replayed: &same, Gates: against.Components[0].Gates}},
		Refused: []flowclient.EvidentIntent{{ID: "promote/zulip:30/refused", Kind: "promotion.refused", Key: "zulip:30", Who: "developer", At: noon, Gates: []flowclient.Verdict{{Gate: "capacity", Sentence: "short by 205Mi.", Lifted: "force"}},
			Outcome: json.RawMessage(`{"refusal":{"error":"shop-web is locked by sre."}}`)}},
		Commits: []flowclient.Commit{{SHA: newSHA, Subject: "Say\nhello", Author: "Dev Developer", At: *before(time.Hour)}}, Events: []flowclient.Event{{Kind: "build.failed", At: noon, Component: "shop-web"}},
		Logs:  []flowclient.StageLog{{Run: "shop-web-run-77", Stage: "test", Phase: "Failed", Lines: []string{"not\x1b[31m ok"}}},
		Links: []string{"http://127.0.0.1:10081/runs/shop-web-run-77"}, Notes: []string{"The older half is left out."}}
)

func TestTables(t *testing.T) {
	for name, write := range map[string]func(io.Writer){
		"promote": func(w io.Writer) {
			printOutcome(w, flowclient.Outcome{Project: "shop", Note: "shop-db runs no image that tells its commit.", Components: []flowclient.ComponentOutcome{
				{Component: "shop-web", Result: flowclient.Promoted, FromCommit: oldSHA, ToCommit: newSHA, From: "shop-web-1a2b3c4d", To: "shop-web-9f8e7d6c", URL: "http://production-shop.apps.platform.localhost:19080/shop-web-http", Sentence: "shop-web: production moved from 1a2b3c4 to 9f8e7d6."},
				{Component: "shop-api", Result: flowclient.Retry, Sentence: "shop-api runs nothing in staging yet; push a commit, or ask again when its build is through."},
			}}, noon)
		},
		"status": func(w io.Writer) {
			printStatus(w, projectStatus{Components: []flowclient.ComponentDelivery{web, api}, Window: flowclient.Window{Sentence: "shop has no production window: changes are allowed at any time."}}, noon)
		},
		"status of nothing": func(w io.Writer) {
			printStatus(w, projectStatus{Window: flowclient.Window{Sentence: "open."}}, noon)
		},
		"where":         func(w io.Writer) { printWhere(w, web, noon) },
		"where nowhere": func(w io.Writer) { printWhere(w, api, noon) },
		"delivery": func(w io.Writer) {
			printDelivery(w, flowclient.Delivery{Components: []flowclient.ComponentDelivery{api, web}}, noon)
		},
		"delivery of nothing": func(w io.Writer) { printDelivery(w, flowclient.Delivery{}, noon) },
		"builds":              func(w io.Writer) { printBuilds(w, []flowclient.Build{running, failing}, noon) },
		"no builds":           func(w io.Writer) { printBuilds(w, nil, noon) },
		"locks":               func(w io.Writer) { printLocks(w, locks, noon) },
		"no locks":            func(w io.Writer) { printLocks(w, nil, noon) },
		"lock":                func(w io.Writer) { printLock(w, locks[0], noon) },
		"state": func(w io.Writer) {
			flips := noon.Add(3 * time.Hour)
			printState(w, flowclient.State{OpenIntents: 2, LastPass: before(31 * time.Second), PassError: "control plane: connection refused", Projects: []flowclient.ProjectState{
				{Project: "blog", Promotion: "manual", Soak: "0s", Window: flowclient.Window{Open: true}, Template: "static"},
				{Project: "shop", Promotion: "auto", Soak: "5m", Window: flowclient.Window{Flips: &flips}},
			}}, noon)
		},
		"state that waits": func(w io.Writer) {
			printState(w, flowclient.State{Overdue: true, Health: "No pass was completed for 5 min.", LastPass: before(5 * time.Minute), Projects: []flowclient.ProjectState{
				{Project: "shop", Promotion: "auto", Soak: "5m", Window: flowclient.Window{Open: true}, Error: "control plane: connection\nrefused", Starvation: "Merges come faster than the soak lets through.", Components: []flowclient.ComponentStanding{
					{Component: "shop-web", Standing: "parked", Since: before(2 * time.Hour), ToCommit: newSHA, Sentence: "Closed now; opens Mon 09:00."}}},
			}}, noon)
		},
		"why":            func(w io.Writer) { printWhy(w, against, noon) },
		"why of nothing": func(w io.Writer) { printWhy(w, flowclient.Why{Sentence: "There is nothing to promote."}, noon) },
		"unlocking": func(w io.Writer) {
			printUnlocking(w, flowclient.Unlocking{Locks: locks[:1], Sentence: "Without it, a promotion would move shop-web to 9f8e7d6 now."}, noon)
		},
		"freezes":    func(w io.Writer) { printFreezes(w, freezes, time.UTC, noon) },
		"no freezes": func(w io.Writer) { printFreezes(w, nil, time.UTC, noon) },
		"watch": func(w io.Writer) {
			for _, phase := range []flowclient.Watched{
				{Component: "shop-web", Environment: "staging", Phase: flowclient.WatchBuilding, Sentence: "9f8e7d6 is being built, in stage test."},
				{Component: "shop-web", Environment: "staging", Phase: flowclient.WatchReady, Sentence: "9f8e7d6 is Ready.", Deployment: webInStaging},
				{Component: "shop-web", Environment: "staging", Phase: flowclient.WatchStarting, Sentence: "9f8e7d6 is not Ready yet (Starting).", Late: true},
			} {
				printWatched(w, phase, noon)
			}
		},
		"evidence": func(w io.Writer) { printEvidence(w, known, noon) },
		"replay": func(w io.Writer) {
			printReplayed(w, flowclient.Replayed{ID: "promote-1", Kind: "promote", Project: "shop", Who: "Dev Developer", At: noon, Same: true, Sentence: "The recorded inputs come to the same decision."}, noon)
		},
		"evidence of nothing": func(w io.Writer) { printEvidence(w, flowclient.Evidence{Subject: "build shop-web-run-1"}, noon) },
		"state of nothing":    func(w io.Writer) { printState(w, flowclient.State{}, noon) },
		"scaffold": func(w io.Writer) {
			printScaffolded(w, flowclient.Scaffolded{Project: "shop", Components: []string{"shop-web", "shop-api"}, Commit: flowclient.Commit{SHA: oldSHA}, Repository: flowclient.Repository{CloneURL: "http://127.0.0.1:3001/platform/shop.git"}}, noon)
		},
		"teardown": func(w io.Writer) {
			printRemoved(w, flowclient.Removed{Projects: []string{"static-1", "static-2"}, Objects: 17, Repositories: []string{"platform/static-1", "platform/static-2"}, Refused: []string{"shop was not made by a walkthrough."}}, noon)
		},
		"teardown of nothing": func(w io.Writer) { printRemoved(w, flowclient.Removed{}, noon) },
		"sync": func(w io.Writer) {
			printSynced(w, flowclient.Synced{Repo: "platform/shop", Commit: newSHA, Created: 1, Refused: 1, Objects: []flowclient.SyncObject{
				{File: "openchoreo/web.yaml", Kind: "Component", Name: "shop-web", Result: "created"},
				{File: "openchoreo/secret.yaml", Kind: "Secret", Name: "db", Result: "refused", Why: "Secret is no kind that a repository may bring."},
			}}, noon)
		},
		"sync of nothing": func(w io.Writer) { printSynced(w, flowclient.Synced{Repo: "platform/shop", Commit: newSHA}, noon) },
		"diff": func(w io.Writer) {
			printDiff(w, flowclient.Diff{Project: "shop", Components: []flowclient.ComponentDiff{
				{Component: "shop-api", To: newSHA, Commits: []flowclient.Commit{{SHA: newSHA, Subject: "Begin", Author: "Dev Developer", At: *before(time.Hour)}}},
				{Component: "shop-db"},
				{Component: "shop-jobs", From: newSHA, To: oldSHA, Behind: true},
				{Component: "shop-mail", From: newSHA, To: newSHA},
				{Component: "shop-web", From: oldSHA, To: newSHA, More: true, Commits: []flowclient.Commit{
					{SHA: newSHA, Subject: "Say hello", Author: "Dev Developer", At: *before(time.Hour)}, {SHA: oldSHA, Subject: "Tidy", Author: "Petra Platform", At: *before(72 * time.Hour)}}},
			}}, noon)
		},
		"diff of nothing": func(w io.Writer) { printDiff(w, flowclient.Diff{Project: "shop"}, noon) },
	} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			write(&got)
			file := filepath.Join("..", "..", "fixtures", "golden", "cli", strings.ReplaceAll(name, " ", "-")+".txt")
			goldenfile.Compare(t, file, got.String())
		})
	}
}
