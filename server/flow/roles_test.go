package flow

import (
	"context"
	"time"

	"platform.dev/platform/flowclient"
)

// The recorder's roles beside reading, promoting and locking.

func (f *recorder) OpenPull(_ context.Context, r flowclient.PullRequest) (flowclient.Pull, error) {
	return flowclient.Pull{Repo: "platform/" + r.Project, Number: 7, Title: r.Title, State: "open", Branch: r.Branch, Head: sha, Base: "main", Author: "platform", Updated: noon}, f.note("OpenPull", r)
}

func (f *recorder) Merge(_ context.Context, r flowclient.MergeRequest) (flowclient.Pull, error) {
	return flowclient.Pull{Repo: "platform/" + r.Project, Number: r.Number, Title: "Say hello", State: "closed", Merged: true, MergeCommit: sha, Updated: noon}, f.note("Merge", r)
}

func (f *recorder) Reviews(context.Context) ([]flowclient.Review, error) {
	return []flowclient.Review{{Project: "shop", Repo: "platform/shop", Number: 7, Environment: "pr-7", State: flowclient.ReviewPresent, Head: sha, Active: noon}}, f.note("Reviews")
}

func (f *recorder) Delivered(_ context.Context, d flowclient.PullDelivery) error {
	return f.note("Delivered", d)
}

func (f *recorder) Sync(_ context.Context, r flowclient.SyncRequest) (flowclient.Synced, error) {
	if f.synced != nil {
		return *f.synced, f.note("Sync", r)
	}
	return flowclient.Synced{Repo: r.Repo, Commit: sha, Created: 1, Updated: 2, Skipped: 3, Refused: 1, Objects: []flowclient.SyncObject{
		{File: "openchoreo/web.yaml", Kind: "Component", Name: "shop-web", Result: "created"},
		{File: "openchoreo/db.yaml", Kind: "Secret", Name: "db", Result: "refused", Why: "Secret is no kind that a repository may bring."},
	}}, f.note("Sync", r)
}

func (f *recorder) EvidenceOfBuild(_ context.Context, run string) (flowclient.Evidence, error) {
	return flowclient.Evidence{Subject: "build " + run}, f.note("EvidenceOfBuild", run)
}

func (f *recorder) EvidenceOfBinding(_ context.Context, binding string) (flowclient.Evidence, error) {
	return flowclient.Evidence{Subject: "binding " + binding}, f.note("EvidenceOfBinding", binding)
}

func (f *recorder) EvidenceOfFlow(_ context.Context, trace string) (flowclient.Evidence, error) {
	return flowclient.Evidence{Subject: "flow " + trace, Traces: []string{trace}}, f.note("EvidenceOfFlow", trace)
}

func (f *recorder) Replay(_ context.Context, id string) (flowclient.Replayed, error) {
	return flowclient.Replayed{ID: id, Kind: "promote", Project: "shop", Who: "developer", At: noon, Recorded: []byte(`{"project":"shop"}`), Replayed: []byte(`{"project":"shop"}`), Same: true,
		Sentence: "Decided again from the same inputs, it comes to the same, byte for byte."}, f.note("Replay", id)
}

func (f *recorder) Why(_ context.Context, project, component string) (flowclient.Why, error) {
	opens := noon.Add(time.Hour)
	return flowclient.Why{Project: project, At: noon, Promotion: "auto", Window: flowclient.Window{Project: project, Sentence: "closed", Flips: &opens},
		Sentence: "A promotion of shop is refused now: closed.", Components: []flowclient.WhyComponent{{
			Component: "shop-web", Result: flowclient.Refused, Sentence: "closed.", To: "shop-web-2", ToCommit: sha, Automatic: "It moves by itself from Wed 4 Mar 13:00 UTC on, in 1 h, if nothing else changes.",
			Gates: []flowclient.Verdict{{Gate: "window", Sentence: "closed.", Flips: &opens}}, Flips: &opens, Earliest: &opens}}}, f.note("Why", project, component)
}

func (f *recorder) Undo(_ context.Context, r flowclient.UndoRequest) (flowclient.Outcome, error) {
	return f.outcome, f.note("Undo", r)
}

func (f *recorder) Unlocking(_ context.Context, r flowclient.LockRequest) (flowclient.Unlocking, error) {
	return flowclient.Unlocking{Locks: []flowclient.Lock{{ID: 1, Component: r.Component, Commit: sha, Reason: "x", Who: "sre", At: noon, Releases: []string{}}},
		Moves:    []flowclient.ComponentOutcome{{Component: r.Component, Result: flowclient.Promoted, Sentence: "shop-web: nothing is against it.", To: "shop-web-2", ToCommit: sha}},
		Sentence: "Without it, a promotion would move shop-web to 1a2b3c4 now. It moves by itself at the next pass."}, f.note("Unlocking", r)
}

func (f *recorder) Diff(_ context.Context, project string) (flowclient.Diff, error) {
	return flowclient.Diff{Project: project, Components: []flowclient.ComponentDiff{
		{Component: "shop-web", To: sha, Commits: []flowclient.Commit{{SHA: sha, Subject: "Say hello", Author: "developer", At: noon}}},
	}}, f.note("Diff", project)
}

func (f *recorder) Audit(_ context.Context, q flowclient.AuditQuery) (flowclient.AuditPage, error) {
	return flowclient.AuditPage{Next: "1772625600000000000-e31", Entries: []flowclient.AuditEntry{
		{Ref: "intent/4k2j5mabcdefg", At: noon, Who: "developer", Link: "http://chat.example/31", Project: "shop", Component: "shop-web", Kind: "promotion", Result: flowclient.AuditDone,
			Outcome: "shop-web: production runs 1a2b3c4 now; it ran nothing before.", Intent: "4k2j5mabcdefg", Gates: []flowclient.AuditGate{{Gate: "lock", Component: "shop-web", Pass: true}, {Gate: "window", Pass: true}}},
		{Ref: "event/lock/zulip:31/set", At: noon, Who: "sre", Project: "shop", Component: "shop-web", Kind: "lock", Result: flowclient.AuditDone, Outcome: "Locked shop-web 1a2b3c4 in every environment: breaks."},
		{Ref: "decision/zulip:30/denied", At: noon, Who: "sre", Link: "http://chat.example/30", Project: "shop", Kind: flowclient.DecisionDenied, Result: flowclient.AuditRefused,
			Outcome: "Asked of platform: promote shop. Denied, since sre is not granted component:promote."},
	}}, f.note("Audit", q)
}

func (f *recorder) Dora(_ context.Context, project string, days int) (flowclient.DoraReport, error) {
	return flowclient.DoraReport{Project: project, From: noon.AddDate(0, 0, -days), To: noon, Promotions: 3, PerDay: 0.1, Measures: []flowclient.Measure{
		{Name: "deployment frequency", Value: "3 promotions, 0.1 a day", Means: "Promotions that moved at least one component to production."}}}, f.note("Dora", project, days)
}
