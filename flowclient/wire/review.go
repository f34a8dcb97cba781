package wire

import "platform.dev/platform/flowclient"

// ReviewsPath takes GET, with the query of a page, and answers 200 with a ReviewsAnswer.
const ReviewsPath = "/reviews"

// ReviewsAnswer lists the review environments, queued ones included, oldest first.
type ReviewsAnswer struct {
	Reviews []flowclient.Review `json:"reviews"`
	Next    string              `json:"next,omitempty"`
}
