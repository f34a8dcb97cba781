package walkthrough

import (
	"fmt"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

// tellProposed compares the review environment with staging.
func tellProposed(r *run, p flowclient.Pull, review flowclient.Review, b flowclient.Build, log []string) outcome {
	fields := append(pullFields(p), markup.Named("review environment", link(review.Environment, review.URL)))
	if b.Run != "" {
		fields = append(fields, buildFields(r, b)...)
	}
	o := outcome{
		kind:  "proposed",
		title: markup.Spans(markup.T("a pull request answers in a review environment of its own")),
		blocks: []markup.Block{
			markup.Fields(fields...),
			markup.Table([]string{"environment", "heading", "commit"},
				environmentRow(review.Environment, review.URL, r.s.Proposed, r.commitURL(r.s.Proposed.Commit)),
				environmentRow("staging", r.s.Staging, r.s.Second, r.commitURL(r.s.Second.Commit))),
		},
		links: markup.Spans(pullLink(p), link(flowclient.ShortSHA(p.Head), r.commitURL(p.Head))),
	}
	if len(log) > 0 {
		o.blocks = append(o.blocks, logSpoiler("", log))
	}
	return o
}

// tellMerged shows the change in staging, and the review environment gone.
func tellMerged(r *run, p flowclient.Pull, b flowclient.Build, d flowclient.Deployment, log []string) outcome {
	return outcome{
		kind:  "merged",
		title: markup.Spans(markup.T("the pull request is merged; its review environment is gone and staging shows it")),
		blocks: []markup.Block{
			markup.Fields(append(append(pullFields(p), markup.Named("merged as", link(flowclient.ShortSHA(p.MergeCommit), r.commitURL(p.MergeCommit)))), buildFields(r, b)...)...),
			markup.Table([]string{"environment", "heading", "commit"},
				environmentRow("staging", d.URL, r.s.Third, r.commitURL(r.s.Third.Commit)),
				environmentRow("production", r.s.Production, r.s.First, r.commitURL(r.s.First.Commit))),
			markup.Text(markup.C(r.s.Review), markup.T(" no longer answers.")),
			logSpoiler("", log),
		},
		links: markup.Spans(link(flowclient.ShortSHA(p.MergeCommit), r.commitURL(p.MergeCommit)), link(b.Run, b.URL)),
	}
}

// pullFields are a pull request with its branches.
func pullFields(p flowclient.Pull) []markup.Field {
	return []markup.Field{
		markup.Named("pull request", pullLink(p), markup.T(" "), markup.F(p.Title)),
		markup.Named("branches", markup.C(p.Branch), markup.T(" into "), markup.C(p.Base)),
	}
}

func pullLink(p flowclient.Pull) markup.Span { return link(fmt.Sprintf("#%d", p.Number), p.URL) }
