package walkthrough

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"platform.dev/platform/flowclient"
)

// pullBranch is the branch that the walkthrough's pull request is of.
const pullBranch = "third-edition"

// proposed opens a pull request with another heading and compares its review
// environment with staging.
func proposed(ctx context.Context, r *run) (outcome, error) {
	heading := r.w.Project + ", third edition"
	source, err := pageSource(heading, "This page was changed in a pull request.", "")
	if err != nil {
		return outcome{}, err
	}
	p, err := r.bot.Puller.OpenPull(ctx, flowclient.PullRequest{
		Origin: r.origin("pull"), Project: r.w.Project, Branch: pullBranch, Title: "Change the heading again",
		Body: "The walkthrough looks at this change in a review environment, and then merges it.", Files: map[string]string{"index.html": source},
	})
	if err != nil {
		return outcome{}, err
	}
	r.s.Pull, r.s.Proposed = p.Number, page{Heading: heading, Commit: p.Head}
	review, err := r.reviewed(ctx, r.s.Proposed)
	if err != nil {
		return outcome{}, err
	}
	r.s.Review = review.URL
	if err := r.still(ctx, flowclient.Staging, r.s.Staging, r.s.Second); err != nil {
		return outcome{}, err
	}
	return tellProposed(r, p, review, r.reviewBuild(ctx, review), r.reviewLog(ctx, review)), nil
}

// merged merges the pull request and waits until its review environment is gone
// and staging shows what was merged.
func merged(ctx context.Context, r *run) (outcome, error) {
	p, err := r.bot.Puller.Merge(ctx, flowclient.MergeRequest{Origin: r.origin("merge"), Project: r.w.Project, Number: r.s.Pull, Head: r.s.Proposed.Commit})
	if err != nil {
		return outcome{}, err
	}
	if p.MergeCommit == "" {
		return outcome{}, &missed{Expected: "the pull request is merged", Seen: fmt.Sprintf("#%d is %s and names no merge commit", p.Number, p.State)}
	}
	r.s.Third = page{Heading: r.s.Proposed.Heading, Commit: p.MergeCommit}
	if err := r.vanished(ctx); err != nil {
		return outcome{}, err
	}
	b, err := r.build(ctx, p.MergeCommit, flowclient.BuildSucceeded)
	if err != nil {
		return outcome{}, err
	}
	d, err := r.shows(ctx, flowclient.Staging, r.s.Third)
	if err != nil {
		return outcome{}, err
	}
	if err := r.still(ctx, flowclient.Production, r.s.Production, r.s.First); err != nil {
		return outcome{}, err
	}
	return tellMerged(r, p, b, d, r.log(ctx, b.Run, "", lines)), nil
}

// review is the review environment of the run's pull request; there is false when there is none.
func (r *run) review(ctx context.Context) (review flowclient.Review, there bool, err error) {
	all, err := r.bot.Puller.Reviews(ctx)
	if err != nil {
		return flowclient.Review{}, false, err
	}
	for _, one := range all {
		if one.Project == r.w.Project && one.Number == r.s.Pull {
			return one, true, nil
		}
	}
	return flowclient.Review{}, false, nil
}

// reviewed waits until the review environment shows a page's commit to a visitor.
func (r *run) reviewed(ctx context.Context, want page) (review flowclient.Review, err error) {
	expected := fmt.Sprintf("the review environment of #%d shows %s", r.s.Pull, want)
	err = r.until(ctx, expected, func(ctx context.Context) (bool, string, error) {
		var there bool
		review, there, err = r.review(ctx)
		switch {
		case err != nil:
			return false, "", err
		case !there:
			return false, fmt.Sprintf("#%d has no review environment yet", r.s.Pull), nil
		case review.State == flowclient.ReviewFailed && review.Head == want.Commit:
			return false, "", &missed{Expected: expected, Seen: reviewSeen(review), Lines: r.reviewLog(ctx, review)}
		case review.State != flowclient.ReviewPresent || review.Head != want.Commit:
			return false, reviewSeen(review), nil
		}
		got, err := r.bot.visit(ctx, review.URL)
		if err != nil {
			return false, "", err
		}
		return got == want, review.Environment + " shows " + got.String(), nil
	})
	return review, err
}

// reviewSeen is how a review environment stands.
func reviewSeen(r flowclient.Review) string {
	seen := r.Environment + " is " + r.State
	if r.State == flowclient.ReviewQueued {
		seen += fmt.Sprintf(" at place %d", r.Place)
	}
	if r.Message != "" {
		seen += ": " + strings.TrimSuffix(r.Message, ".")
	}
	return seen
}

// reviewLog is the end of the log of the build that a review environment is
// made by; empty when no build is known.
func (r *run) reviewLog(ctx context.Context, review flowclient.Review) []string {
	if review.Run == "" {
		return nil
	}
	return r.log(ctx, review.Run, "", lines)
}

// reviewBuild is the build that a review environment is made by; what cannot be
// read of it is left out.
func (r *run) reviewBuild(ctx context.Context, review flowclient.Review) flowclient.Build {
	if review.Run == "" {
		return flowclient.Build{}
	}
	b, err := r.bot.Reader.Build(ctx, review.Run)
	if err != nil {
		return flowclient.Build{Run: review.Run}
	}
	return b
}

// vanished waits until the review environment is listed no more, and nothing
// answers any more where it did.
func (r *run) vanished(ctx context.Context) error {
	return r.until(ctx, fmt.Sprintf("the review environment of #%d is gone", r.s.Pull), func(ctx context.Context) (bool, string, error) {
		review, there, err := r.review(ctx)
		if err != nil {
			return false, "", err
		}
		if there {
			return false, reviewSeen(review), nil
		}
		status, _, err := r.bot.Fetch(ctx, r.s.Review)
		if err != nil {
			return false, "", fmt.Errorf("%s does not answer: %w", r.s.Review, err)
		}
		return status == http.StatusNotFound, fmt.Sprintf("%s answers %d", r.s.Review, status), nil
	})
}
