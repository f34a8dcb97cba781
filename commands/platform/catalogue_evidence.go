package platform

import (
	"encoding/json"
	"fmt"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

// evidences are the messages of evidence: little, much, and of a trace.
func (s sample) evidences() []markup.Message {
	object := func(spec string) flowclient.Object {
		return flowclient.Object{Kind: flowclient.KindReleaseBinding, Metadata: flowclient.Metadata{Name: "shop-web-production"}, Spec: json.RawMessage(spec)}
	}
	before, yes, no := object(`{"releaseName":"shop-web-6f708192","state":"Active"}`), true, false
	gates := []flowclient.Verdict{
		{Gate: "lock", Component: "shop-web", Pass: true, Sentence: "no lock holds shop-web 9f8e7d6."},
		{Gate: "capacity", Lifted: "force", Sentence: "shop in production has no room for shop-web: memory needs 512Mi + 307Mi margin; 3.4Gi of 4Gi used; short by 205Mi."},
	}
	promoted := flowclient.EvidentIntent{ID: "promote-0a1b2c3d", Kind: "promote", Key: "zulip:31", Who: "developer", At: s.now.Add(-3 * time.Minute), Link: "http://127.0.0.1:9991/#narrow/near/31",
		Gates: gates, Writes: []flowclient.Written{{Before: &before, After: object(`{"releaseName":"shop-web-2b3c4d5e","state":"Active"}`)}}, Replayed: &yes,
		Outcome: json.RawMessage(`{"result":{"project":"shop","components":[{"component":"shop-web","result":"promoted","sentence":"shop-web: production runs 9f8e7d6 now; it ran 1a2b3c4 before."}]}}`)}
	open := flowclient.EvidentIntent{ID: "rollback-4e5f6071", Kind: "rollback", Key: "cli:7", Who: "sre", At: s.now.Add(-time.Second)}
	refused := flowclient.EvidentIntent{ID: "promote/zulip:30/refused", Kind: flowclient.EventPromoteRefuse, Key: "zulip:30", Who: "developer", At: s.now.Add(-10 * time.Minute), Replayed: &no, Gates: gates[1:],
		Outcome: json.RawMessage(`{"refusal":{"error":"shop-web 9f8e7d6 is locked in production by sre: breaks the checkout *badly*. Clear the lock to go on."}}`)}
	var many []flowclient.EvidentIntent
	for i := range 9 {
		old := promoted
		old.ID, old.Key, old.At = fmt.Sprintf("promote-%d", i), fmt.Sprintf("zulip:%d", i), s.now.Add(-time.Duration(20-i)*time.Hour)
		old.Gates, old.Writes, old.Replayed = nil, nil, nil
		many = append(many, old)
	}
	page := "http://127.0.0.1:3001/platform/shop/commit/" + s.second
	binding := flowclient.Evidence{Subject: "binding shop-web-production", Intents: append(many, promoted, open), Refused: []flowclient.EvidentIntent{refused}, Builds: []flowclient.Build{*s.web.LastBuild},
		Commits: []flowclient.Commit{{SHA: s.second, Subject: "Offer *gift wrapping*", Author: "Dev Developer", At: s.now.Add(-5 * time.Minute), WebURL: page}},
		Events:  []flowclient.Event{{Kind: flowclient.EventBuildPassed, At: s.now.Add(-4 * time.Minute), Component: "shop-web"}, {Kind: flowclient.EventPromoted, At: s.now.Add(-3 * time.Minute), Component: "shop-web"}},
		Logs:    []flowclient.StageLog{{Run: "shop-web-run-c6d7e8f9", Stage: "test", Phase: flowclient.BuildSucceeded, Lines: []string{"index.html has a title", "ok *all* of them"}}},
		Objects: []flowclient.Object{before}, Links: []string{page}, Notes: []string{"The log of shop-web-run-0a1b2c3d could not be read: log store: connection refused."}}
	trace := flowclient.Evidence{Subject: "flow 0af7651916cd43dd8448eb211c80319c", Intents: []flowclient.EvidentIntent{promoted}, Services: []string{"bots", "flow", "git"}}
	again := flowclient.Replayed{ID: promoted.ID, Kind: "promote", Project: "shop", Who: "developer", At: promoted.At, Same: true, Sentence: "The recorded inputs come to the same decision, byte for byte.",
		Recorded: json.RawMessage(`{"project":"shop","moves":[{"outcome":{"component":"shop-web","result":"promoted"}}]}`), Replayed: json.RawMessage(`{}`)}
	otherwise := again
	otherwise.Same, otherwise.Sentence = false, "The recorded inputs come to another decision now."
	otherwise.Replayed = json.RawMessage(`{"project":"shop","moves":[{"outcome":{"component":"shop-web","result":"retry","sentence":"*soaks*"}}]}`)
	return []markup.Message{
		evidenceMessage(flowclient.Evidence{}, "build", "shop-web-run-1a2b3c4d", s.now), evidenceMessage(binding, "binding", "shop-web-production", s.now),
		evidenceMessage(trace, "trace", "0af7651916cd43dd8448eb211c80319c", s.now),
		replayMessage(again, s.now), replayMessage(otherwise, s.now),
	}
}
