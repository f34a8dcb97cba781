package store_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/fixtures"
	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/flowtest"
)

func TestWithoutAGitServerWithPullRequestsEachIsRefused(t *testing.T) {
	b := newBench(t)
	b.shop()
	for name, ask := range map[string]func() error{
		"open": func() error {
			_, err := b.OpenPull(t.Context(), flowclient.PullRequest{Origin: b.origin(), Project: "shop", Branch: "b", Title: "t", Files: map[string]string{"x": ""}})
			return err
		},
		"merge": func() error {
			_, err := b.Merge(t.Context(), flowclient.MergeRequest{Origin: b.origin(), Project: "shop", Number: 1})
			return err
		},
		"reviews": func() error { _, err := b.Reviews(t.Context()); return err },
		"delivered": func() error {
			return b.Delivered(t.Context(), flowclient.PullDelivery{ID: "d", Repo: "platform/shop", Number: 1, Action: "opened"})
		},
		"sync": func() error {
			_, err := b.Sync(t.Context(), flowclient.SyncRequest{Origin: b.origin(), Repo: "platform/shop", Ref: "main"})
			return err
		},
		"diff": func() error { _, err := b.Diff(t.Context(), "shop"); return err },
	} {
		var refused *flowclient.Refusal
		require.ErrorAs(t, ask(), &refused, name)
		assert.Contains(t, refused.Sentence, "was given no git server with pull requests", name)
	}
	require.NoError(t, b.Pass(t.Context(), true))
	b.deps.Pulls = b.plane
	_, err := flowclient.New(b.deps)
	assert.Error(t, err, "pull requests have to be remembered")
}

// reviewed is a machine with one open pull request whose environment is present.
func reviewed(t *testing.T, ttl time.Duration) *reviewMachine {
	t.Helper()
	m := newReviewMachine(t, t, filepath.Join(t.TempDir(), "flow.db"), reviewCap, ttl)
	t.Cleanup(func() { assert.NoError(t, m.store.Close()) })
	_, err := m.flow.OpenPull(t.Context(), flowclient.PullRequest{Origin: m.origin(), Project: "shop", Branch: "feature", Title: "A feature", Files: map[string]string{"x": "1"}})
	require.NoError(t, err)
	return m
}

func (m *reviewMachine) passes(t *testing.T) {
	t.Helper()
	require.NoError(t, m.flow.Pass(t.Context(), true))
}

func (m *reviewMachine) state(t *testing.T) flowclient.Review {
	t.Helper()
	all, err := m.flow.Reviews(t.Context())
	require.NoError(t, err)
	if len(all) == 0 {
		return flowclient.Review{}
	}
	return all[0]
}

func (m *reviewMachine) comment(t *testing.T) string {
	t.Helper()
	texts, err := m.plane.PullComments(t.Context(), "platform/shop", 1)
	require.NoError(t, err)
	return strings.Join(texts, "\n---\n")
}

func TestAnEnvironmentThatNobodyWorksOnGoesAndComesBack(t *testing.T) {
	m := reviewed(t, time.Hour)
	m.passes(t)
	require.Equal(t, flowclient.ReviewPresent, m.state(t).State)
	assert.Contains(t, m.comment(t), "It is removed when nothing happens on the pull request for 1 h.")
	m.now = noon.Add(59 * time.Minute)
	m.passes(t)
	require.Equal(t, flowclient.ReviewPresent, m.state(t).State)
	m.now = noon.Add(time.Hour)
	m.passes(t)
	assert.Empty(t, m.left(t))
	assert.Contains(t, m.comment(t), "is destroyed: nothing happened on the pull request for 1 h.")
	m.now = noon.Add(3 * time.Hour)
	m.passes(t)
	assert.Empty(t, m.left(t), "being told so is no activity")
	c, err := m.flow.Commit(t.Context(), flowclient.CommitRequest{Origin: m.origin(), Project: "shop", Branch: "feature", Message: "m", Files: map[string]string{"x": "2"}})
	require.NoError(t, err)
	m.passes(t)
	assert.Equal(t, flowclient.ReviewPresent, m.state(t).State)
	assert.Equal(t, c.SHA, m.state(t).Head)
}

func TestAComponentThatHasTheNameAlreadyIsLeftAlone(t *testing.T) {
	m := reviewed(t, 0)
	o, err := m.plane.Get(t.Context(), flowclient.KindComponent, "shop-web")
	require.NoError(t, err)
	mine := flowclient.Object{Kind: flowclient.KindComponent, Metadata: flowclient.Metadata{Name: "shop-web-pr-1"}, Spec: o.Spec}
	_, err = m.plane.Create(t.Context(), mine)
	require.NoError(t, err)
	for range 3 {
		m.passes(t)
	}
	assert.Equal(t, flowclient.ReviewFailed, m.state(t).State)
	assert.Contains(t, m.comment(t), "Component shop-web-pr-1: exists already and was not made for platform/shop#1; delete or rename it.")
	events, err := m.store.Events(t.Context(), 0, 100)
	require.NoError(t, err)
	failed := 0
	for _, e := range events {
		if e.Kind == flowclient.EventReviewFailed {
			failed++
		}
	}
	assert.Equal(t, 1, failed, "said once")
	require.NoError(t, m.plane.ClosePull(t.Context(), "platform/shop", 1))
	m.passes(t)
	assert.Equal(t, map[string][]string{"pr-1": {"Component shop-web-pr-1"}}, m.left(t), "what somebody else made stays")

	require.NoError(t, m.plane.Delete(t.Context(), flowclient.KindComponent, "shop-web-pr-1"))
	require.NoError(t, m.plane.ReopenPull(t.Context(), "platform/shop", 1))
	m.passes(t)
	assert.Equal(t, flowclient.ReviewPresent, m.state(t).State)
}

func TestWhatALostMemoryLeftBehindIsFound(t *testing.T) {
	m := reviewed(t, 0)
	m.passes(t)
	require.NotEmpty(t, m.left(t))
	require.NoError(t, m.plane.ClosePull(t.Context(), "platform/shop", 1))
	require.NoError(t, m.store.ForgetPulls(t.Context(), "platform/shop"))
	m.passes(t)
	assert.Empty(t, m.left(t))
}

func TestAProjectThatIsTornDownTakesItsEnvironmentsAlong(t *testing.T) {
	m := reviewed(t, 0)
	m.removable(t)
	m.passes(t)
	require.Equal(t, flowclient.ReviewPresent, m.state(t).State)
	_, err := m.flow.Teardown(t.Context(), flowclient.TeardownRequest{Origin: m.origin(), Scope: "project:shop"})
	require.NoError(t, err)
	m.passes(t)
	m.passes(t)
	assert.Empty(t, m.left(t))
	repositories, err := m.store.PullRepositories(t.Context())
	require.NoError(t, err)
	assert.Empty(t, repositories, "what is gone is forgotten")
}

// meanwhile has something happen once, right after the open pull requests were listed.
type meanwhile struct {
	flowclient.Pulls
	do func()
}

func (m *meanwhile) OpenPulls(ctx context.Context, repo string) ([]flowclient.Pull, error) {
	pulls, err := m.Pulls.OpenPulls(ctx, repo)
	if do := m.do; do != nil {
		m.do = nil
		do()
	}
	return pulls, err
}

func TestAPassThatATeardownOvertakesMakesNothingAnew(t *testing.T) {
	m := reviewed(t, 0)
	m.removable(t)
	m.passes(t)
	c := flowtest.NewController(t, m.plane, m.store, fixtures.Templates(), func(d *flowclient.Deps) {
		d.Settings.MaxReviews = reviewCap
		d.Pulls = &meanwhile{d.Pulls, func() {
			_, err := m.flow.Teardown(t.Context(), flowclient.TeardownRequest{Origin: m.origin(), Scope: "project:shop"})
			require.NoError(t, err)
		}}
	})
	require.NoError(t, c.Pass(t.Context(), true))
	m.passes(t)
	assert.Empty(t, m.left(t))
	events, err := m.store.Events(t.Context(), 0, 1000)
	require.NoError(t, err)
	for _, e := range events {
		assert.NotEqual(t, flowclient.EventReviewFailed, e.Kind, "%s", e.Body)
	}
}

// removable labels the project as a walkthrough's.
func (m *reviewMachine) removable(t *testing.T) {
	t.Helper()
	for _, name := range []string{"shop", "shop-web"} {
		kind := map[string]flowclient.Kind{"shop": flowclient.KindProject, "shop-web": flowclient.KindComponent}[name]
		o, err := m.plane.Get(t.Context(), kind, name)
		require.NoError(t, err)
		o.Metadata.Labels[flowclient.LabelWalkthrough] = "true"
		_, err = m.plane.Update(t.Context(), o)
		require.NoError(t, err)
	}
}

// silent is a git server whose comments fail.
type silent struct{ flowclient.Pulls }

func (silent) Comment(context.Context, string, int, string, string) error { return errOut }

func TestACommentThatFailsHoldsNothingUpAndIsMadeLater(t *testing.T) {
	m := reviewed(t, 0)
	b := newBench(t)
	deps := b.deps
	deps.ControlPlane, deps.Git, deps.Pulls, deps.Reviews, deps.Applied, deps.Journal = m.plane, m.plane, silent{m.plane}, m.store, m.store, m.store
	c, err := flowclient.New(deps)
	require.NoError(t, err)
	require.ErrorIs(t, c.Pass(t.Context(), true), errOut)
	assert.Equal(t, flowclient.ReviewPresent, m.state(t).State)
	assert.Empty(t, m.comment(t))
	require.NoError(t, m.flow.Pass(t.Context(), false))
	assert.Contains(t, m.comment(t), "shows ")
}

func TestALabelPromotesWhatTheMergeCommitWasBuiltForAndNothingElse(t *testing.T) {
	m := reviewed(t, 0)
	// A second component of the same repository that the merge commit is not built for.
	o, err := m.plane.Get(t.Context(), flowclient.KindComponent, "shop-web")
	require.NoError(t, err)
	other := flowclient.Object{Kind: flowclient.KindComponent, Metadata: flowclient.Metadata{Name: "shop-api", Labels: map[string]string{flowclient.LabelProject: "shop"}}, Spec: o.Spec}
	_, err = m.plane.Create(t.Context(), other)
	require.NoError(t, err)
	first, err := m.flow.Commit(t.Context(), flowclient.CommitRequest{Origin: m.origin(), Project: "shop", Message: "both", Files: map[string]string{"y": "1"}})
	require.NoError(t, err)
	other.Spec = json.RawMessage(strings.Replace(string(o.Spec), `"autoBuild":true`, `"autoBuild":false`, 1))
	_, err = m.plane.Update(t.Context(), other)
	require.NoError(t, err)
	merged, err := m.flow.Merge(t.Context(), flowclient.MergeRequest{Origin: m.origin(), Project: "shop", Number: 1})
	require.NoError(t, err)
	require.NoError(t, m.plane.LabelPull(t.Context(), "platform/shop", 1, "promote"))
	m.passes(t)
	web, err := m.plane.Get(t.Context(), flowclient.KindReleaseBinding, "shop-web-production")
	require.NoError(t, err)
	assert.Contains(t, string(web.Spec), merged.MergeCommit[:10])
	_, err = m.plane.Get(t.Context(), flowclient.KindReleaseBinding, "shop-api-production")
	assert.True(t, flowclient.IsNotFound(err), "staging runs %s of it, which nobody asked to promote", first.SHA)
	in, found, err := m.store.Find(t.Context(), "pull/platform/shop/1/promote/"+merged.MergeCommit+"/1")
	require.NoError(t, err)
	require.True(t, found)
	assert.Equal(t, "promote", in.Kind)
}

func TestALabelWaitsUntilStagingRunsTheMergeCommit(t *testing.T) {
	m := reviewed(t, 0)
	o, err := m.plane.Get(t.Context(), flowclient.KindComponent, "shop-web")
	require.NoError(t, err)
	manual := o
	manual.Spec = json.RawMessage(strings.Replace(string(o.Spec), `"autoDeploy":true`, `"autoDeploy":false`, 1))
	_, err = m.plane.Update(t.Context(), manual)
	require.NoError(t, err)
	merged, err := m.flow.Merge(t.Context(), flowclient.MergeRequest{Origin: m.origin(), Project: "shop", Number: 1})
	require.NoError(t, err)
	require.NoError(t, m.plane.LabelPull(t.Context(), "platform/shop", 1, "promote"))
	m.passes(t)
	m.passes(t)
	assert.Contains(t, m.comment(t), "is promoted when staging runs it; shop-web does not yet.")
	m.now = noon.Add(24 * time.Hour)
	m.passes(t)
	assert.Contains(t, m.comment(t), "Staging did not come to run "+merged.MergeCommit[:7]+" within 24 hours")
	_, err = m.plane.Get(t.Context(), flowclient.KindReleaseBinding, "shop-web-production")
	assert.True(t, flowclient.IsNotFound(err))
}

func TestManifestsOfAnotherProjectAreRefused(t *testing.T) {
	m := reviewed(t, 0)
	_, err := m.flow.Scaffold(t.Context(), flowclient.ScaffoldRequest{Origin: m.origin(), Template: "static", Project: "blog"})
	require.NoError(t, err)
	files := map[string]string{
		"openchoreo/a.yaml": "kind: Project\nmetadata: {name: blog}\nspec: {}\n",
		"openchoreo/b.yaml": "kind: Component\nmetadata: {name: blog-web}\nspec: {owner: {projectName: shop}}\n",
		"openchoreo/c.yaml": "kind: ClusterWorkflow\nmetadata: {name: build}\nspec: {}\n",
		"openchoreo/d.yaml": "kind: Project\nmetadata: {name: shop, namespace: kube-system}\n",
		"openchoreo/e.yaml": "kind: Project\nmetadata: {name: shop, annotations: {promoted-by: me}}\n",
		"openchoreo/f.yaml": "kind: Project\nmetadata: {name: shop, annotations: {project-flow.platform.dev/soak: 5m}}\n",
		"openchoreo/g.yaml": "kind: Project\nmetadata: {name: shop}\n",
		"openchoreo/h.yaml": "kind: Workload\nmetadata: {name: shop-web}\n---\njust text\n---\nkind: Project\n---\n? [a, b]\n: c\n",
	}
	_, err = m.flow.Commit(t.Context(), flowclient.CommitRequest{Origin: m.origin(), Project: "shop", Message: "m", Files: files})
	require.NoError(t, err)
	before, err := m.plane.Get(t.Context(), flowclient.KindComponent, "blog-web")
	require.NoError(t, err)
	out, err := m.flow.Sync(t.Context(), flowclient.SyncRequest{Origin: m.origin(), Repo: "platform/shop", Ref: "main"})
	require.NoError(t, err)
	why := map[string]string{}
	for _, o := range out.Objects {
		why[o.File] += o.Result + " " + o.Why
	}
	for file, part := range map[string]string{
		"openchoreo/a.yaml": `project "blog" is not built from platform/shop`,
		"openchoreo/b.yaml": "belongs to project blog",
		"openchoreo/c.yaml": "belongs to the platform",
		"openchoreo/d.yaml": `namespace "kube-system" is not default`,
		"openchoreo/e.yaml": "promoted-by is set by the platform alone",
		"openchoreo/f.yaml": "updated",
		"openchoreo/g.yaml": "it stands in openchoreo/",
		"openchoreo/h.yaml": "is made by the build",
	} {
		if file == "openchoreo/f.yaml" || file == "openchoreo/g.yaml" {
			continue
		}
		assert.Contains(t, why[file], part, file)
	}
	assert.Contains(t, why["openchoreo/f.yaml"]+why["openchoreo/g.yaml"], "it stands in openchoreo/")
	assert.Contains(t, why["openchoreo/h.yaml"], "has no name")
	assert.Contains(t, why["openchoreo/h.yaml"], "is no object")
	after, err := m.plane.Get(t.Context(), flowclient.KindComponent, "blog-web")
	require.NoError(t, err)
	assert.Equal(t, before, after)
}

func TestASyncThatLosesItsStatusIsFinishedLater(t *testing.T) {
	m := reviewed(t, 0)
	_, err := m.flow.Commit(t.Context(), flowclient.CommitRequest{Origin: m.origin(), Project: "shop", Message: "m",
		Files: map[string]string{"openchoreo/p.yaml": "kind: Project\nmetadata: {name: shop, annotations: {project-flow.platform.dev/soak: 5m}}\n"}})
	require.NoError(t, err)
	b := newBench(t)
	deps := b.deps
	mute := &muted{Git: m.plane, out: true}
	deps.ControlPlane, deps.Git, deps.Pulls, deps.Reviews, deps.Applied, deps.Journal, deps.History = m.plane, mute, m.plane, m.store, m.store, m.store, m.store
	c, err := flowclient.New(deps)
	require.NoError(t, err)
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	request := flowclient.SyncRequest{Origin: m.origin(), Repo: "platform/shop", Ref: "main"}
	request.Origin.Trace = "00-" + trace + "-00f067aa0ba902b7-01"
	_, err = c.Sync(t.Context(), request)
	require.ErrorIs(t, err, errOut)
	mute.out = false
	require.NoError(t, c.Pass(t.Context(), false))
	out, err := c.Sync(t.Context(), request)
	require.NoError(t, err)
	assert.Equal(t, 1, out.Updated, "what was decided is what is told")
	assert.Equal(t, "success", m.plane.Status("platform/shop", out.Commit, "platform/manifests").State)

	e, err := c.EvidenceOfFlow(t.Context(), trace)
	require.NoError(t, err)
	require.Len(t, e.Intents, 1)
	told := e.Intents[0]
	assert.Equal(t, []string{"Applied the manifests of platform/shop at " + flowclient.ShortSHA(out.Commit) + ": 0 created, 1 updated, 0 skipped."}, told.CameTo())
	require.Len(t, told.Writes, 1)
	assert.NotContains(t, told.Writes[0].Before.Metadata.Annotations, flowclient.AnnotationSoak, "as it was before the write, which was made before the failure")
	assert.Equal(t, "5m", told.Writes[0].After.Metadata.Annotations[flowclient.AnnotationSoak])
}

// muted is a git server that takes no commit status while out is set.
type muted struct {
	flowclient.Git
	out bool
}

func (m *muted) SetStatus(ctx context.Context, repo, sha string, s flowclient.CommitStatus) error {
	if m.out {
		return errOut
	}
	return m.Git.SetStatus(ctx, repo, sha, s)
}

func TestALabelWaitsForTheGatesOfAPromotion(t *testing.T) {
	m := reviewed(t, 0)
	_, err := m.flow.Promote(t.Context(), flowclient.Promotion{Origin: m.origin(), Project: "shop"})
	require.NoError(t, err)
	o, err := m.plane.Get(t.Context(), flowclient.KindProject, "shop")
	require.NoError(t, err)
	o.Metadata.Annotations[flowclient.AnnotationSoak] = "5m"
	_, err = m.plane.Update(t.Context(), o)
	require.NoError(t, err)
	merged, err := m.flow.Merge(t.Context(), flowclient.MergeRequest{Origin: m.origin(), Project: "shop", Number: 1})
	require.NoError(t, err)
	require.NoError(t, m.plane.LabelPull(t.Context(), "platform/shop", 1, "promote"))
	m.passes(t)
	assert.Contains(t, m.comment(t), "has been in staging for less than a second of 5 min")
	key := "pull/platform/shop/1/promote/" + merged.MergeCommit + "/1"
	_, found, err := m.store.Find(t.Context(), key)
	require.NoError(t, err)
	assert.False(t, found, "nothing is recorded while it has to wait")
	m.now = noon.Add(5 * time.Minute)
	m.passes(t)
	assert.Contains(t, m.comment(t), "production runs "+merged.MergeCommit[:7]+" now")
	_, found, err = m.store.Find(t.Context(), key)
	require.NoError(t, err)
	assert.True(t, found)
}

func TestAComponentThatIsLeftOutFromNowOnLosesItsForkAtOnce(t *testing.T) {
	m := reviewed(t, 0)
	m.passes(t)
	require.Equal(t, flowclient.ReviewPresent, m.state(t).State)
	o, err := m.plane.Get(t.Context(), flowclient.KindComponent, "shop-web")
	require.NoError(t, err)
	o.Kind, o.Metadata.Annotations = flowclient.KindComponent, map[string]string{flowclient.AnnotationSkip: "true"}
	_, err = m.plane.Update(t.Context(), o)
	require.NoError(t, err)
	m.flow.Changed(flowclient.KindComponent, "shop-web")
	require.NoError(t, m.flow.Pass(t.Context(), false))
	assert.Empty(t, m.left(t))
	assert.Contains(t, m.comment(t), "is destroyed: no component takes part in review environments.")
}
