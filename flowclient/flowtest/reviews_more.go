package flowtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

func pullOnce(t *testing.T, s *pullSite) {
	s.scaffold(false)
	puller := s.Flow
	request := flowclient.PullRequest{Origin: s.origin(), Project: s.project, Branch: "feature", Title: "Once", Files: map[string]string{"once.html": page("once")}}
	p, err := puller.OpenPull(s.ctx(), request)
	require.NoError(t, err)
	assert.Equal(t, flowclient.PullOpen, p.State)
	assert.Equal(t, "feature", p.Branch)
	assert.Equal(t, "main", p.Base)
	assert.NotEmpty(t, p.URL)
	again, err := puller.OpenPull(s.ctx(), request)
	require.NoError(t, err)
	assert.Equal(t, p, again)

	merge := flowclient.MergeRequest{Origin: s.origin(), Project: s.project, Number: p.Number, Head: p.Head}
	merged, err := puller.Merge(s.ctx(), merge)
	require.NoError(t, err)
	assert.True(t, merged.Merged)
	assert.Len(t, merged.MergeCommit, 40)
	same, err := puller.Merge(s.ctx(), merge)
	require.NoError(t, err)
	assert.Equal(t, merged, same)
	merge.Origin = s.origin()
	_, err = puller.Merge(s.ctx(), merge)
	assert.Contains(t, refusal(t, err, "").Sentence, "is merged already")
	s.reaches(flowclient.Staging, merged.MergeCommit)

	for field, bad := range map[string]flowclient.PullRequest{
		"title":   {Origin: s.origin(), Project: s.project, Branch: "b", Files: map[string]string{"x": ""}},
		"branch":  {Origin: s.origin(), Project: s.project, Branch: "main", Title: "t", Files: map[string]string{"x": ""}},
		"files":   {Origin: s.origin(), Project: s.project, Branch: "b", Title: "t"},
		"base":    {Origin: s.origin(), Project: s.project, Branch: "b", Base: "--x", Title: "t", Files: map[string]string{"x": ""}},
		"project": {Origin: s.origin(), Project: "../x", Branch: "b", Title: "t", Files: map[string]string{"x": ""}},
	} {
		_, err := puller.OpenPull(s.ctx(), bad)
		requireInvalid(t, err, field)
	}
	_, err = puller.Merge(s.ctx(), flowclient.MergeRequest{Origin: s.origin(), Project: s.project, Number: 4711})
	requireNotFound(t, err)
	_, err = puller.Merge(s.ctx(), flowclient.MergeRequest{Origin: s.origin(), Project: s.project})
	requireInvalid(t, err, "number")
}

func mergeRefused(t *testing.T, s *pullSite) {
	s.scaffold(false)
	puller := s.Flow
	one := s.pull("one", "index.html", page("one"))
	two := s.pull("two", "index.html", page("two"))
	three := s.pull("three", "other.html", page("three"))
	_, err := puller.Merge(s.ctx(), flowclient.MergeRequest{Origin: s.origin(), Project: s.project, Number: three.Number, Head: one.Head})
	assert.NotEmpty(t, refusal(t, err, "").Sentence)
	require.NoError(t, s.ClosePull(s.ctx(), s.repo, three.Number))
	_, err = puller.Merge(s.ctx(), flowclient.MergeRequest{Origin: s.origin(), Project: s.project, Number: three.Number})
	assert.Contains(t, refusal(t, err, "").Sentence, "is closed")
	s.reaches(flowclient.Staging, s.merge(one.Number).MergeCommit)
	_, err = puller.Merge(s.ctx(), flowclient.MergeRequest{Origin: s.origin(), Project: s.project, Number: two.Number})
	assert.Contains(t, refusal(t, err, "").Sentence, "conflict")
}

func labelPromotes(t *testing.T, s *pullSite) {
	first := s.scaffold(false).Commit.SHA
	s.promoted()
	s.reaches(flowclient.Production, first)
	p := s.pull("feature", "index.html", page("labelled"))
	s.stands(p.Number, flowclient.ReviewPresent, p.Head)
	require.NoError(t, s.LabelPull(s.ctx(), s.repo, p.Number, "bug"))
	merged := s.merge(p.Number)
	s.reaches(flowclient.Staging, merged.MergeCommit)
	s.vanishes(p.Number)
	production, _ := s.deployment(flowclient.Production)
	assert.Equal(t, first, production.Commit, "another label promotes nothing")

	require.NoError(t, s.LabelPull(s.ctx(), s.repo, p.Number, "bug", "promote"))
	production = s.reaches(flowclient.Production, merged.MergeCommit)
	assert.Contains(t, production.PromotedBy, fmt.Sprintf("%s#%d", s.repo, p.Number))
	s.comment(p.Number, "production runs "+merged.MergeCommit[:7]+" now")
	assert.Len(t, s.events(flowclient.EventPromoted), 2)

	require.NoError(t, s.LabelPull(s.ctx(), s.repo, p.Number))
	require.NoError(t, s.LabelPull(s.ctx(), s.repo, p.Number, "promote"))
	later := s.push("index.html", page("later")).SHA
	_, err := s.promote()
	require.NoError(t, err)
	s.reaches(flowclient.Production, later)
}

func labelRefused(t *testing.T, s *pullSite) {
	first := s.scaffold(false).Commit.SHA
	s.promoted()
	s.reaches(flowclient.Production, first)
	day := time.Now().UTC().AddDate(0, 0, 3).Format("Mon")
	s.annotate(flowclient.AnnotationProductionWindow, day+" 09:00-17:00 UTC")
	one := s.pull("feature", "index.html", page("superseded"))
	earlier := s.merge(one.Number)
	s.reaches(flowclient.Staging, earlier.MergeCommit)
	two := s.pull("second", "other.html", page("too early"))
	merged := s.merge(two.Number)
	s.reaches(flowclient.Staging, merged.MergeCommit)

	require.NoError(t, s.LabelPull(s.ctx(), s.repo, two.Number, "promote"))
	told := s.comment(two.Number, "Refused: ")
	assert.Contains(t, told, "opens "+day)
	assert.Contains(t, told, "put it on again when that has changed", "what to do about it")
	s.happens(flowclient.EventPromoteRefuse, 1)
	s.annotate(flowclient.AnnotationProductionWindow, "Mon-Sun 00:00-24:00 UTC")
	require.NoError(t, s.LabelPull(s.ctx(), s.repo, one.Number, "promote"))
	s.comment(one.Number, "Superseded: staging runs "+merged.MergeCommit[:7])
	production, _ := s.deployment(flowclient.Production)
	assert.Equal(t, first, production.Commit)
}

// manifests are a project's manifests: one that changes its project, one new
// component, one that it may not own, and one that is no YAML.
func manifests(s *pullSite, soak, image string) map[string]string {
	component, err := s.ControlPlane.Get(s.ctx(), flowclient.KindComponent, s.component)
	require.NoError(s.t, err)
	second := strings.ReplaceAll(string(component.Spec), `"imageName":"web"`, `"imageName":"`+image+`"`)
	return map[string]string{
		"openchoreo/project.yaml": fmt.Sprintf("kind: Project\nmetadata:\n  name: %s\n  annotations:\n    %s: %s\nspec: {}\n", s.project, flowclient.AnnotationSoak, soak),
		"openchoreo/components.yaml": fmt.Sprintf("apiVersion: openchoreo.dev/v1alpha1\nkind: Component\nmetadata: {name: %s-extra}\nspec: %s\n---\n"+
			"kind: ReleaseBinding\nmetadata: {name: %s-production}\nspec: {}\n", s.project, second, s.component),
		"openchoreo/broken.yaml": "kind: [unclosed\n",
		"openchoreo/README.md":   "not a manifest",
	}
}

func syncMerges(t *testing.T, s *pullSite) {
	s.scaffold(false)
	syncer := s.Flow
	none, err := syncer.Sync(s.ctx(), flowclient.SyncRequest{Origin: s.origin(), Repo: s.repo, Ref: "main"})
	require.NoError(t, err)
	assert.Empty(t, none.Objects, "a repository without manifests has none")
	s.annotate("example.com/by-hand", "stays")

	commit := func(files map[string]string) flowclient.Commit {
		c, err := s.Flow.Commit(s.ctx(), flowclient.CommitRequest{Origin: s.origin(), Project: s.project, Message: "Manifests", Files: files})
		require.NoError(t, err)
		s.reaches(flowclient.Staging, c.SHA)
		return c
	}
	c := commit(manifests(s, "0s", "extra"))
	request := flowclient.SyncRequest{Origin: s.origin(), Repo: s.repo, Ref: "main"}
	out, err := syncer.Sync(s.ctx(), request)
	require.NoError(t, err)
	assert.Equal(t, c.SHA, out.Commit)
	assert.Equal(t, 2, out.Refused)
	assert.Equal(t, 2, out.Created+out.Updated+out.Skipped, "%+v", out)
	for _, o := range out.Objects {
		assert.Equal(t, o.Result == flowclient.SyncRefused, o.Why != "", "%+v", o)
	}
	again, err := syncer.Sync(s.ctx(), request)
	require.NoError(t, err)
	assert.Equal(t, out, again, "the same request heard twice has one effect")
	request.Origin = s.origin()
	again, err = syncer.Sync(s.ctx(), request)
	require.NoError(t, err)
	assert.Equal(t, 2, again.Skipped, "what is applied is left alone: %+v", again)

	project, err := s.ControlPlane.Get(s.ctx(), flowclient.KindProject, s.project)
	require.NoError(t, err)
	assert.Equal(t, "0s", project.Metadata.Annotations[flowclient.AnnotationSoak])
	assert.Equal(t, "stays", project.Metadata.Annotations["example.com/by-hand"])
	assert.Contains(t, string(project.Spec), "deploymentPipelineRef", "what a manifest does not name stays")
	_, err = s.ControlPlane.Get(s.ctx(), flowclient.KindComponent, s.project+"-extra")
	require.NoError(t, err)

	files := manifests(s, "0s", "other")
	files["openchoreo/project.yaml"] = fmt.Sprintf("kind: Project\nmetadata: {name: %s}\n", s.project)
	commit(files)
	request.Origin = s.origin()
	_, err = syncer.Sync(s.ctx(), request)
	require.NoError(t, err)
	project, err = s.ControlPlane.Get(s.ctx(), flowclient.KindProject, s.project)
	require.NoError(t, err)
	assert.NotContains(t, project.Metadata.Annotations, flowclient.AnnotationSoak, "what a manifest names no longer goes")
	assert.Equal(t, "stays", project.Metadata.Annotations["example.com/by-hand"])
	extra, err := s.ControlPlane.Get(s.ctx(), flowclient.KindComponent, s.project+"-extra")
	require.NoError(t, err)
	assert.Contains(t, string(extra.Spec), `"imageName":"other"`)

	request.Origin, request.Ref = s.origin(), "feature"
	_, err = syncer.Sync(s.ctx(), request)
	assert.Contains(t, refusal(t, err, "").Sentence, "nothing is built from that branch")
	request.Origin, request.Repo = s.origin(), "../x"
	_, err = syncer.Sync(s.ctx(), request)
	requireInvalid(t, err, "repo")
}

func diffShips(t *testing.T, s *pullSite) {
	first := s.scaffold(false).Commit.SHA
	witness := s.Flow
	d, err := witness.Diff(s.ctx(), s.project)
	require.NoError(t, err)
	require.Len(t, d.Components, 1)
	assert.Empty(t, d.Components[0].From, "production runs nothing")
	require.Len(t, d.Components[0].Commits, 1)
	s.promoted()
	s.reaches(flowclient.Production, first)
	d, err = witness.Diff(s.ctx(), s.project)
	require.NoError(t, err)
	assert.Empty(t, d.Components[0].Commits)
	second := s.push("index.html", page("second"))
	third := s.push("index.html", page("third"))
	d, err = witness.Diff(s.ctx(), s.project)
	require.NoError(t, err)
	one := d.Components[0]
	assert.Equal(t, s.component, one.Component)
	assert.Equal(t, first, one.From)
	assert.Equal(t, third.SHA, one.To)
	require.Len(t, one.Commits, 2)
	assert.Equal(t, []string{third.SHA, second.SHA}, []string{one.Commits[0].SHA, one.Commits[1].SHA}, "newest first")
	assert.Equal(t, "developer", one.Commits[0].Author)
	assert.False(t, one.Behind || one.More)
	_, err = witness.Diff(s.ctx(), "nowhere")
	requireNotFound(t, err)
}

func evidenceJoins(t *testing.T, s *pullSite) {
	first := s.scaffold(false).Commit.SHA
	s.promoted()
	s.reaches(flowclient.Production, first)
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	origin := s.origin()
	origin.Trace = "00-" + trace + "-00f067aa0ba902b7-01"
	c, err := s.Flow.Commit(s.ctx(), flowclient.CommitRequest{Origin: origin, Project: s.project, Message: "Traced", Files: map[string]string{"index.html": page("traced")}})
	require.NoError(t, err)
	staging := s.reaches(flowclient.Staging, c.SHA)
	s.promoted()
	s.reaches(flowclient.Production, c.SHA)
	require.Eventually(t, func() bool { return len(s.events(flowclient.EventBuildPassed)) == 2 }, s.Patience, 10*time.Millisecond)
	witness := s.Flow

	build, err := witness.EvidenceOfBuild(s.ctx(), staging.Build)
	require.NoError(t, err)
	binding, err := witness.EvidenceOfBinding(s.ctx(), s.component+"-"+flowclient.Production)
	require.NoError(t, err)
	flow, err := witness.EvidenceOfFlow(s.ctx(), trace)
	require.NoError(t, err)
	own := flowclient.TraceIDOf(flowclient.TraceBuild, staging.Build)
	flowOfBuild, err := witness.EvidenceOfFlow(s.ctx(), own)
	require.NoError(t, err)
	for name, e := range map[string]flowclient.Evidence{"build": build, "binding": binding, "flow": flow, "flow of the build's own trace": flowOfBuild} {
		assert.ElementsMatch(t, []string{trace, own}, e.Traces, name)
		require.NotEmpty(t, e.Builds, name)
		assert.Equal(t, c.SHA, e.Builds[0].Commit, name)
		require.Len(t, e.Commits, 1, name)
		assert.Equal(t, "Traced", e.Commits[0].Subject, name)
		assert.Contains(t, kinds(e), "commit", name)
		assert.NotEmpty(t, e.Events, name)
		assert.NotEmpty(t, e.Objects, name)
		assert.Contains(t, e.Links, "http://chat/#31", name)
		for _, in := range e.Intents {
			assert.NotEmpty(t, in.Plan, name)
			assert.NotEmpty(t, in.Who, name)
		}
	}
	promotions := 0
	for _, kind := range kinds(binding) {
		if kind == "promote" {
			promotions++
		}
	}
	assert.Equal(t, 2, promotions, "every move of the component there")
	_, err = witness.EvidenceOfFlow(s.ctx(), strings.Repeat("0", 31)+"1")
	requireNotFound(t, err)
	_, err = witness.EvidenceOfFlow(s.ctx(), "short")
	requireInvalid(t, err, "trace_id")
	_, err = witness.EvidenceOfBuild(s.ctx(), "no-run")
	requireNotFound(t, err)
	_, err = witness.EvidenceOfBinding(s.ctx(), "no-binding")
	requireNotFound(t, err)
}

func evidenceLeads(t *testing.T, s *pullSite) {
	s.scaffold(false)
	p := s.pull("feature", "index.html", page("from a pull request"))
	s.stands(p.Number, flowclient.ReviewPresent, p.Head)
	merged := s.merge(p.Number)
	staging := s.reaches(flowclient.Staging, merged.MergeCommit)
	s.promoted()
	s.reaches(flowclient.Production, merged.MergeCommit)
	require.Eventually(t, func() bool { return len(s.events(flowclient.EventPullMerged)) == 1 }, s.Patience, 10*time.Millisecond)
	e, err := s.Flow.EvidenceOfBuild(s.ctx(), staging.Build)
	require.NoError(t, err)
	delivery, err := s.Flow.Delivery(s.ctx())
	require.NoError(t, err)
	repository := ""
	for _, c := range delivery.Components {
		if c.Component == s.component {
			repository = strings.TrimSuffix(c.Repository, ".git")
		}
	}
	require.Len(t, e.Commits, 1)
	run := e.Builds[0]
	for what, link := range map[string]string{"the repository": repository, "the commit": e.Commits[0].WebURL, "the pull request": p.URL, "the run's page": run.URL, "the message": "http://chat/#31"} {
		if link != "" { // a git server or workflow engine without pages has none
			assert.Contains(t, e.Links, link, what)
		}
	}
	var logged []string
	for _, l := range e.Logs {
		assert.Equal(t, run.Run, l.Run)
		assert.NotEmpty(t, l.Lines, l.Stage)
		logged = append(logged, l.Stage)
	}
	var ran []string
	for _, stage := range run.Stages {
		ran = append(ran, stage.Name)
	}
	assert.Equal(t, ran, logged, "the last lines of each stage that ran")
	assert.Empty(t, e.Notes, "everything could be read")
}

func kinds(e flowclient.Evidence) (kinds []string) {
	for _, in := range e.Intents {
		kinds = append(kinds, in.Kind)
	}
	return kinds
}
