package flow

import (
	"context"

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

func (f *recorder) Diff(_ context.Context, project string) (flowclient.Diff, error) {
	return flowclient.Diff{Project: project, Components: []flowclient.ComponentDiff{
		{Component: "shop-web", To: sha, Commits: []flowclient.Commit{{SHA: sha, Subject: "Say hello", Author: "developer", At: noon}}},
	}}, f.note("Diff", project)
}
