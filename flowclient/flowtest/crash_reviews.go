package flowtest

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// reviewActs are what Crash kills beside acts: requests about pull requests,
// and the passes that make and remove review environments.
var reviewActs = map[string]act{
	"pull request": {
		writes:  6, // begin, push, remember, ensure pull, mark, settle
		prepare: func(s *site) { s.scaffold(false) },
		do: func(s *site, f flowclient.Flow) (any, error) {
			origin := s.origin()
			origin.Trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
			return f.OpenPull(s.ctx(), flowclient.PullRequest{Origin: origin, Project: s.project, Branch: "feature", Title: "Once",
				Files: map[string]string{"once": "x"}})
		},
		check: func(t *testing.T, s *site, out any) {
			p, ok := out.(flowclient.Pull)
			require.True(t, ok)
			memory, ok := s.Journal.(Memory)
			require.True(t, ok)
			trace, err := memory.Recall(s.ctx(), p.Head)
			require.NoError(t, err)
			assert.NotEmpty(t, trace)
			assert.Equal(t, 1, p.Number)
		},
	},
	"merge": {
		writes:  4, // begin, merge, mark, settle
		prepare: func(s *site) { s.scaffold(false); s.opened(1); s.passed() },
		do: func(s *site, f flowclient.Flow) (any, error) {
			return f.Merge(s.ctx(), flowclient.MergeRequest{Origin: s.origin(), Project: s.project, Number: 1})
		},
		check: func(t *testing.T, s *site, out any) {
			p, ok := out.(flowclient.Pull)
			require.True(t, ok)
			s.reaches(flowclient.Staging, p.MergeCommit)
		},
	},
	"sync": {
		writes: 6, // begin, component, project, put applied, set status, settle
		prepare: func(s *site) {
			s.scaffold(false)
			_, err := s.Flow.Commit(s.ctx(), flowclient.CommitRequest{Origin: s.origin(), Project: s.project, Message: "Manifests",
				Files: manifests(&pullSite{site: *s}, "0s", "extra")})
			require.NoError(s.t, err)
		},
		do: func(s *site, f flowclient.Flow) (any, error) {
			return f.Sync(s.ctx(), flowclient.SyncRequest{Origin: s.origin(), Repo: "platform/" + s.project, Ref: "main"})
		},
		check: func(t *testing.T, s *site, out any) {
			synced, ok := out.(flowclient.Synced)
			require.True(t, ok)
			assert.Equal(t, []int{1, 1, 0, 2}, []int{synced.Created, synced.Updated, synced.Skipped, synced.Refused})
			plane, ok := s.ControlPlane.(*Plane)
			require.True(t, ok)
			assert.Equal(t, flowclient.CommitStatus{Context: "platform/manifests", State: "failure", Description: "1 created, 1 updated, 0 skipped, 2 refused"},
				plane.Status(synced.Repo, synced.Commit, "platform/manifests"))
		},
	},
	"review environment": {
		writes:  8, // put pull, environment, cell, fork, run, put pull, binding, put pull, comment, put pull
		prepare: func(s *site) { s.scaffold(true); s.opened(1) },
		do:      passing,
		check: func(t *testing.T, s *site, _ any) {
			assert.Len(t, s.events(flowclient.EventReviewCreated), 1)
			assert.Len(t, s.comments(1), 1)
			assert.Contains(t, s.comments(1)[0], "shows ")
		},
	},
	"review environment of a new head": {
		writes: 6, // put pull, retarget, run, repoint, put pull, comment, put pull
		prepare: func(s *site) {
			s.scaffold(true)
			s.opened(1)
			s.passed()
			_, err := s.Flow.Commit(s.ctx(), flowclient.CommitRequest{Origin: s.origin(), Project: s.project, Branch: "feature-1", Message: "m", Files: map[string]string{"x": "2"}})
			require.NoError(s.t, err)
		},
		do: passing,
		check: func(t *testing.T, s *site, _ any) {
			assert.Len(t, s.events(flowclient.EventReviewCreated), 1)
			assert.Len(t, s.events(flowclient.EventReviewUpdated), 1)
		},
	},
	"review environment that goes while another waits": {
		writes: 16,
		prepare: func(s *site) {
			s.scaffold(true)
			s.opened(1)
			s.opened(2)
			s.opened(3)
			s.passed()
			require.NoError(s.t, s.plane().ClosePull(s.ctx(), "platform/"+s.project, 1))
		},
		do: passing,
		check: func(t *testing.T, s *site, _ any) {
			assert.Len(t, s.events(flowclient.EventReviewDestroyed), 1)
			assert.Len(t, s.events(flowclient.EventReviewCreated), 3)
			assert.Empty(t, leftOvers(t, s.ControlPlane, s.project, 1))
			assert.Contains(t, s.comments(1)[0], "is destroyed")
			assert.Contains(t, s.comments(3)[0], "shows ")
		},
	},
	"promote label": {
		writes: 8, // put pull, begin, cell, binding, settle, comment, put pull
		prepare: func(s *site) {
			s.scaffold(true)
			s.opened(1)
			_, err := s.Flow.Merge(s.ctx(), flowclient.MergeRequest{Origin: s.origin(), Project: s.project, Number: 1})
			require.NoError(s.t, err)
			s.passed()
			require.NoError(s.t, s.plane().LabelPull(s.ctx(), "platform/"+s.project, 1, "promote"))
			require.NoError(s.t, s.Flow.Delivered(s.ctx(), flowclient.PullDelivery{ID: "d", Repo: "platform/" + s.project, Number: 1, Action: "label_updated"}))
		},
		do: passing,
		check: func(t *testing.T, s *site, _ any) {
			assert.Len(t, s.events(flowclient.EventPromoted), 1)
			p, err := s.plane().Pull(s.ctx(), "platform/"+s.project, 1)
			require.NoError(t, err)
			d, _ := s.deployment(flowclient.Production)
			assert.Equal(t, p.MergeCommit, d.Commit)
			assert.Equal(t, "label promote on platform/shop#1", d.PromotedBy)
		},
	},
}

func (s *site) plane() *Plane {
	s.t.Helper()
	p, ok := s.ControlPlane.(*Plane)
	require.True(s.t, ok)
	return p
}

// opened opens the n-th pull request, of the branch feature-n.
func (s *site) opened(n int) {
	s.t.Helper()
	p, err := s.Flow.OpenPull(s.ctx(), flowclient.PullRequest{Origin: s.origin(), Project: s.project, Branch: fmt.Sprint("feature-", n), Title: fmt.Sprint("Feature ", n),
		Files: map[string]string{fmt.Sprint("feature-", n): "x"}})
	require.NoError(s.t, err)
	require.Equal(s.t, n, p.Number)
}

func (s *site) passed() {
	s.t.Helper()
	_, err := passing(s, s.Flow)
	require.NoError(s.t, err)
}

// passing is a full pass of the controller, and what it is with the environments then.
func passing(s *site, f flowclient.Flow) (any, error) {
	c, ok := f.(interface {
		Pass(ctx context.Context, full bool) error
	})
	require.True(s.t, ok)
	if err := c.Pass(s.ctx(), true); err != nil {
		return nil, err
	}
	return f.Reviews(s.ctx())
}

// comments are the comments on a pull request.
func (s *site) comments(number int) []string {
	s.t.Helper()
	texts, err := s.plane().PullComments(s.ctx(), "platform/"+s.project, number)
	require.NoError(s.t, err)
	return texts
}
