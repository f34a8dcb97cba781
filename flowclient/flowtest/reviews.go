package flowtest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// ReviewWorld is a world with pull requests: what people do on the git server
// reaches the controller as it does there. The cap on review environments is 2.
type ReviewWorld struct {
	World
	People People
}

// People do on the git server what the controller has no reason to do.
type People interface {
	// ClosePull closes a pull request without merging it.
	ClosePull(ctx context.Context, repo string, number int) error
	// ReopenPull opens a closed one again.
	ReopenPull(ctx context.Context, repo string, number int) error
	// LabelPull gives a pull request the labels that it has from then on.
	LabelPull(ctx context.Context, repo string, number int, labels ...string) error
	// PullComments are the texts of the comments on a pull request.
	PullComments(ctx context.Context, repo string, number int) ([]string, error)
}

// Reviews is the contract of flowclient.Puller, Syncer and Witness: pull
// requests, their review environments and promote labels, manifests, diffs and
// evidence. open gives a world that works until the test ends.
func Reviews(t *testing.T, open func(t *testing.T) ReviewWorld) {
	for name, test := range map[string]func(t *testing.T, s *pullSite){
		"a pull request shows its head until it is merged":      reviewLives,
		"a failed build is told with its last lines":            reviewFails,
		"over the cap is queued in the opening order":           reviewQueues,
		"closed and opened again":                               reviewReopens,
		"a component that is left out is not forked":            reviewSkips,
		"a pull request is opened and merged once":              pullOnce,
		"a conflict, a moved head and a closed one are refused": mergeRefused,
		"the promote label promotes the merge commit":           labelPromotes,
		"a label that is refused says so":                       labelRefused,
		"manifests are merged and refused one by one":           syncMerges,
		"a diff is what a promotion would ship":                 diffShips,
		"evidence joins trace, commit, build and binding":       evidenceJoins,
		"evidence leads to whatever it speaks of":               evidenceLeads,
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			if w.Patience == 0 {
				w.Patience = 30 * time.Second
			}
			project := "r" + strings.ToLower(suffix(name))
			s := &pullSite{site: site{World: w.World, t: t, project: project, component: project + "-web"}, People: w.People, repo: "platform/" + project}
			test(t, s)
		})
	}
}

// pullSite is a site whose project's repository has pull requests.
type pullSite struct {
	site
	People
	repo string
}

// pull opens a pull request that changes a file.
func (s *pullSite) pull(branch, file, content string) flowclient.Pull {
	s.t.Helper()
	p, err := s.Flow.OpenPull(s.ctx(), flowclient.PullRequest{Origin: s.origin(), Project: s.project, Branch: branch,
		Title: "Change " + file + " on " + branch, Files: map[string]string{file: content}})
	require.NoError(s.t, err)
	require.Equal(s.t, s.repo, p.Repo)
	return p
}

func (s *pullSite) merge(number int) flowclient.Pull {
	s.t.Helper()
	p, err := s.Flow.Merge(s.ctx(), flowclient.MergeRequest{Origin: s.origin(), Project: s.project, Number: number})
	require.NoError(s.t, err)
	require.True(s.t, p.Merged)
	return p
}

// review is the pull request's environment; its State is "" when there is none.
func (s *pullSite) review(number int) flowclient.Review {
	s.t.Helper()
	all, err := s.Flow.Reviews(s.ctx())
	require.NoError(s.t, err)
	for _, r := range all {
		if r.Repo == s.repo && r.Number == number {
			return r
		}
	}
	return flowclient.Review{}
}

// stands waits until the environment is in a state with a head ("" for any).
func (s *pullSite) stands(number int, state, head string) flowclient.Review {
	s.t.Helper()
	var found flowclient.Review
	require.Eventually(s.t, func() bool {
		found = s.review(number)
		return found.State == state && (head == "" || found.Head == head)
	}, s.Patience, 10*time.Millisecond, "%s#%d: %s %s", s.repo, number, state, head)
	return found
}

// comment waits for a comment that holds the text.
func (s *pullSite) comment(number int, text string) string {
	s.t.Helper()
	found := ""
	require.Eventually(s.t, func() bool {
		all, err := s.PullComments(s.ctx(), s.repo, number)
		require.NoError(s.t, err)
		for _, one := range all {
			if strings.Contains(one, text) {
				found = one
				return true
			}
		}
		found = strings.Join(all, "\n---\n")
		return false
	}, s.Patience, 10*time.Millisecond, "a comment with %q on %s#%d", text, s.repo, number)
	return found
}

// happens waits for an event of the kind.
func (s *pullSite) happens(kind string, times int) []flowclient.Event {
	s.t.Helper()
	var found []flowclient.Event
	require.Eventually(s.t, func() bool { found = s.events(kind); return len(found) >= times }, s.Patience, 10*time.Millisecond, "%d of %s", times, kind)
	require.Len(s.t, found, times, kind)
	return found
}

// vanishes waits until nothing of the pull request's environment is left.
func (s *pullSite) vanishes(number int) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.review(number).State == "" }, s.Patience, 10*time.Millisecond, "%s#%d goes", s.repo, number)
	assert.Empty(s.t, leftOvers(s.t, s.ControlPlane, s.project, number))
}

// leftOvers lists what is there of a project's review environment.
func leftOvers(t require.TestingT, plane flowclient.ControlPlane, project string, number int) (left []string) {
	environment := fmt.Sprintf("pr-%d", number)
	for _, kind := range []flowclient.Kind{flowclient.KindComponent, flowclient.KindWorkload, flowclient.KindWorkflowRun, flowclient.KindComponentRelease,
		flowclient.KindReleaseBinding, flowclient.KindProjectReleaseBinding, flowclient.KindEnvironment} {
		objects, err := plane.List(context.Background(), kind, flowclient.Filter{})
		require.NoError(t, err)
		for _, o := range objects {
			name := o.Metadata.Name
			if name == environment || strings.HasPrefix(name, project+"-") && strings.Contains(name+"-", "-"+environment+"-") {
				left = append(left, string(kind)+" "+name)
			}
		}
	}
	return left
}

func reviewLives(t *testing.T, s *pullSite) {
	first := s.scaffold(true).Commit.SHA
	p := s.pull("feature", "index.html", page("of the pull request"))
	review := s.stands(p.Number, flowclient.ReviewPresent, p.Head)
	assert.Equal(t, fmt.Sprintf("pr-%d", p.Number), review.Environment)
	assert.Contains(t, review.URL, fmt.Sprintf("pr-%d-%s.", p.Number, s.project))
	staging, _ := s.deployment(flowclient.Staging)
	assert.Equal(t, first, staging.Commit, "nothing of a review environment reaches staging")
	assert.Contains(t, s.comment(p.Number, "shows "+p.Head[:7]), review.URL)
	assert.True(t, s.happens(flowclient.EventPullOpened, 1)[0].Walkthrough)
	var told flowclient.ReviewEvent
	require.NoError(t, json.Unmarshal(s.happens(flowclient.EventReviewCreated, 1)[0].Body, &told))
	assert.Equal(t, review.URL, told.Review.URL)
	assert.Equal(t, p.Number, told.Pull.Number)

	fork, err := s.ControlPlane.Get(s.ctx(), flowclient.KindComponent, s.component+"-"+review.Environment)
	require.NoError(t, err)
	assert.Equal(t, s.component, fork.Metadata.Labels[flowclient.LabelForkOf])
	assert.Equal(t, "true", fork.Metadata.Annotations[flowclient.AnnotationOwned])
	assert.Equal(t, "true", fork.Metadata.Labels[flowclient.LabelWalkthrough], "a teardown takes it along")
	var spec flowclient.ComponentSpec
	require.NoError(t, fork.Decode(&spec, nil))
	assert.False(t, spec.AutoBuild || spec.AutoDeploy)
	assert.Equal(t, p.Head, spec.Workflow.Parameters.Repository.Revision.Commit)

	c, err := s.Flow.Commit(s.ctx(), flowclient.CommitRequest{Origin: s.origin(), Project: s.project, Branch: "feature", Message: "More",
		Files: map[string]string{"index.html": page("of its second commit")}})
	require.NoError(t, err)
	s.stands(p.Number, flowclient.ReviewPresent, c.SHA)
	s.comment(p.Number, "shows "+c.SHA[:7])
	s.happens(flowclient.EventReviewUpdated, 1)
	var moved flowclient.PullEvent
	require.NoError(t, json.Unmarshal(s.happens(flowclient.EventPullUpdated, 1)[0].Body, &moved))
	assert.Equal(t, c.SHA, moved.Pull.Head)
	all, err := s.PullComments(s.ctx(), s.repo, p.Number)
	require.NoError(t, err)
	assert.Len(t, all, 1, "the comment is edited as it changes")
	delivery, err := s.Flow.Delivery(s.ctx())
	require.NoError(t, err)
	for _, one := range delivery.Components {
		assert.NotContains(t, one.Component, "-pr-", "a copy is no component of the project")
	}

	merged := s.merge(p.Number)
	s.vanishes(p.Number)
	s.comment(p.Number, "is destroyed: the pull request was merged.")
	s.reaches(flowclient.Staging, merged.MergeCommit)
	s.happens(flowclient.EventPullMerged, 1)
	s.happens(flowclient.EventReviewDestroyed, 1)
	assert.Empty(t, s.events(flowclient.EventPullClosed))
	assert.Empty(t, s.events(flowclient.EventReviewFailed))
}

func reviewFails(t *testing.T, s *pullSite) {
	s.scaffold(false)
	var script strings.Builder
	for i := range 60 {
		fmt.Fprintf(&script, "echo line %d of 60\n", i+1)
	}
	p := s.pull("broken", "ci/test.sh", script.String()+"exit 1\n")
	review := s.stands(p.Number, flowclient.ReviewFailed, p.Head)
	assert.Contains(t, review.Message, "its build failed in stage test")
	text := s.comment(p.Number, "line 60 of 60")
	assert.Contains(t, text, "failed with "+p.Head[:7])
	assert.NotContains(t, text, "line 5 of 60")
	var told flowclient.ReviewEvent
	require.NoError(t, json.Unmarshal(s.happens(flowclient.EventReviewFailed, 1)[0].Body, &told))
	assert.Equal(t, "test", told.Stage)
	assert.Len(t, told.Lines, 40)

	c, err := s.Flow.Commit(s.ctx(), flowclient.CommitRequest{Origin: s.origin(), Project: s.project, Branch: "broken", Message: "Mend",
		Files: map[string]string{"ci/test.sh": "echo fine\n"}})
	require.NoError(t, err)
	s.stands(p.Number, flowclient.ReviewPresent, c.SHA)
	require.NoError(t, s.ClosePull(s.ctx(), s.repo, p.Number))
	s.vanishes(p.Number)
	s.happens(flowclient.EventPullClosed, 1)
	assert.Empty(t, s.events(flowclient.EventBuildFailed), "what a review environment came to is told as such")
}

func reviewQueues(t *testing.T, s *pullSite) {
	s.scaffold(false)
	var pulls []flowclient.Pull
	for i, state := range []string{flowclient.ReviewPresent, flowclient.ReviewPresent, flowclient.ReviewQueued, flowclient.ReviewQueued} {
		p := s.pull(fmt.Sprint("feature-", i), fmt.Sprintf("page-%d.html", i), page("one of several"))
		s.stands(p.Number, state, p.Head)
		pulls = append(pulls, p)
	}
	assert.Equal(t, 1, s.review(pulls[2].Number).Place)
	assert.Equal(t, 2, s.review(pulls[3].Number).Place)
	s.comment(pulls[2].Number, "all 2 places for review environments are taken. It is number 1 in the queue")
	s.comment(pulls[3].Number, "It is number 2 in the queue")
	s.happens(flowclient.EventReviewQueued, 2)
	assert.Empty(t, leftOvers(t, s.ControlPlane, s.project, pulls[2].Number))

	require.NoError(t, s.ClosePull(s.ctx(), s.repo, pulls[0].Number))
	s.vanishes(pulls[0].Number)
	s.stands(pulls[2].Number, flowclient.ReviewPresent, pulls[2].Head)
	s.comment(pulls[3].Number, "It is number 1 in the queue")
	require.NoError(t, s.ClosePull(s.ctx(), s.repo, pulls[3].Number))
	s.vanishes(pulls[3].Number)
	s.comment(pulls[3].Number, "was not made: the pull request was closed.")
	for _, p := range pulls[1:3] {
		require.NoError(t, s.ClosePull(s.ctx(), s.repo, p.Number))
		s.vanishes(p.Number)
	}
}

func reviewReopens(t *testing.T, s *pullSite) {
	s.scaffold(false)
	p := s.pull("feature", "index.html", page("again"))
	s.stands(p.Number, flowclient.ReviewPresent, p.Head)
	require.NoError(t, s.ClosePull(s.ctx(), s.repo, p.Number))
	s.vanishes(p.Number)
	s.comment(p.Number, "is destroyed: the pull request was closed.")
	require.NoError(t, s.ReopenPull(s.ctx(), s.repo, p.Number))
	s.stands(p.Number, flowclient.ReviewPresent, p.Head)
	s.comment(p.Number, "shows "+p.Head[:7])
	s.happens(flowclient.EventPullOpened, 2)
	s.happens(flowclient.EventReviewCreated, 2)
	require.NoError(t, s.ClosePull(s.ctx(), s.repo, p.Number))
	s.vanishes(p.Number)
	s.happens(flowclient.EventReviewDestroyed, 2)
}

func reviewSkips(t *testing.T, s *pullSite) {
	s.scaffold(false)
	require.Eventually(t, func() bool {
		o, err := s.ControlPlane.Get(s.ctx(), flowclient.KindComponent, s.component)
		require.NoError(t, err)
		if o.Metadata.Annotations == nil {
			o.Metadata.Annotations = map[string]string{}
		}
		o.Metadata.Annotations[flowclient.AnnotationSkip] = "true"
		_, err = s.ControlPlane.Update(s.ctx(), o)
		return err == nil
	}, s.Patience, 10*time.Millisecond)
	p := s.pull("feature", "index.html", page("skipped"))
	s.happens(flowclient.EventPullOpened, 0+1)
	assert.Empty(t, s.review(p.Number).State)
	assert.Empty(t, leftOvers(t, s.ControlPlane, s.project, p.Number))
	all, err := s.PullComments(s.ctx(), s.repo, p.Number)
	require.NoError(t, err)
	assert.Empty(t, all, "there is nothing to say")
}
