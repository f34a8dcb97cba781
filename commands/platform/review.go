package platform

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

// reviewer is the part of flowclient.Puller that status reads.
type reviewer interface {
	Reviews(ctx context.Context) ([]flowclient.Review, error)
}

// reviewsOf gives a section about the review environments of a project; none
// when there are none. One that cannot be read is said, and keeps nothing else
// from being shown.
func reviewsOf(ctx context.Context, r reviewer, project string, cs []flowclient.ComponentDelivery, now time.Time) []markup.Block {
	all, err := r.Reviews(ctx)
	var refusal *flowclient.Refusal
	if errors.As(err, &refusal) {
		return nil // the controller has no git server with pull requests
	}
	if err != nil {
		return []markup.Block{markup.Text(markup.T("Review environments could not be read: "), markup.F(err.Error()))}
	}
	var items [][]markup.Span
	for _, one := range all {
		if one.Project == project {
			items = append(items, reviewItem(one, repositoryOf(one, cs), now))
		}
	}
	if len(items) == 0 {
		return nil
	}
	return []markup.Block{markup.Text(markup.T("Review environments:")), markup.List(items...)}
}

// repositoryOf is the clone URL of the repository that a review environment is
// of, "" when no component tells.
func repositoryOf(r flowclient.Review, cs []flowclient.ComponentDelivery) string {
	for _, c := range cs {
		if strings.HasSuffix(strings.TrimSuffix(c.Repository, ".git"), "/"+r.Repo) {
			return c.Repository
		}
	}
	return ""
}

// reviewItem is one review environment in a line.
func reviewItem(r flowclient.Review, repository string, now time.Time) []markup.Span {
	number := fmt.Sprintf("#%d", r.Number)
	pull := markup.C(number)
	if page, ok := repositoryPage(repository); ok {
		pull = markup.L(number, fmt.Sprintf("%s/pulls/%d", page, r.Number))
	}
	spans := markup.Spans(markup.C(r.Environment), markup.T(" for "), pull, markup.T(" "))
	spans = append(spans, reviewPhrase(r, commit(repository, r.Head))...)
	if r.Message != "" {
		spans = append(spans, markup.T(": "), markup.F(strings.TrimSuffix(r.Message, ".")))
	}
	if !r.Active.IsZero() {
		spans = append(spans, markup.T(" (last activity "+markup.Ago(now.Sub(r.Active))+")"))
	}
	return spans
}

// reviewPhrase is how a review environment stands: "shows 9f8e7d6", "waits for a place, number 2 in the queue".
func reviewPhrase(r flowclient.Review, head markup.Span) []markup.Span {
	switch r.State {
	case flowclient.ReviewQueued:
		return markup.Spans(markup.B("waits for a place"), markup.T(fmt.Sprintf(", number %d in the queue", r.Place)))
	case flowclient.ReviewPresent:
		return markup.Spans(link("shows", r.URL), markup.T(" "), head)
	case flowclient.ReviewFailed:
		return markup.Spans(markup.B("failed"), markup.T(" with "), head)
	case flowclient.ReviewDestroying:
		return markup.Spans(markup.T("is being destroyed"))
	}
	return markup.Spans(markup.T("is being made from "), head)
}
