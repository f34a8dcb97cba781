package wire

import "platform.dev/platform/flowclient"

// BuildsPath takes GET, with the query of a page, and answers 200 with a BuildsAnswer.
const BuildsPath = "/builds"

// BuildsAnswer lists the builds that the controller is waiting on, oldest first.
// Next is there when there are more (PageQuery), here as in every list.
type BuildsAnswer struct {
	Builds []flowclient.Build `json:"builds"`
	Next   string             `json:"next,omitempty"`
}
