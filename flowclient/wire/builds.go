package wire

import "platform.dev/platform/flowclient"

// BuildsPath takes GET and answers 200 with a BuildsAnswer.
const BuildsPath = "/builds"

// BuildsAnswer lists the builds that the controller is waiting on, oldest first.
type BuildsAnswer struct {
	Builds []flowclient.Build `json:"builds"`
}
