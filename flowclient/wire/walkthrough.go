package wire

import (
	"strconv"
	"time"

	"platform.dev/platform/flowclient"
)

// WalkthroughsPath takes GET, with the query of a page, and answers 200 with a
// WalkthroughsAnswer; POST with a WalkthroughBody and answers 201 with the
// flowclient.Walkthrough that was begun. The origin's key makes it one, whoever
// asks twice.
const WalkthroughsPath = "/walkthroughs"

// WalkthroughPath takes PUT with an UpdateBody and answers 200 with a Done.
const WalkthroughPath = "/walkthroughs/{id}"

// WalkthroughBody asks for a walkthrough of a template to begin.
type WalkthroughBody struct {
	Template string `json:"template"`
}

// WalkthroughsAnswer lists walkthroughs, newest first.
type WalkthroughsAnswer struct {
	Walkthroughs []flowclient.Walkthrough `json:"walkthroughs"`
	Next         string                   `json:"next,omitempty"`
}

// Done is the answer of a write that has nothing else to say.
type Done struct {
	Done bool `json:"done"`
}

// UpdateBody is how far a walkthrough has come; Ended and Result are there at its end.
type UpdateBody struct {
	Topic   string     `json:"topic,omitempty"`
	Step    string     `json:"step,omitempty"`
	Ended   *time.Time `json:"ended,omitempty"`
	Result  string     `json:"result,omitempty"`
	Message string     `json:"message,omitempty"`
	State   []byte     `json:"state,omitempty"`
}

// FromUpdate is the body that records a walkthrough's progress.
func FromUpdate(w flowclient.Walkthrough) UpdateBody {
	return UpdateBody{Topic: w.Topic, Step: w.Step, Ended: w.Ended, Result: w.Result, Message: w.Message, State: w.State}
}

// Request is the body as the controller takes it, for the walkthrough of the
// id in the path; *flowclient.Invalid when that is no number.
func (b UpdateBody) Request(id string) (flowclient.Walkthrough, error) {
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil || number < 1 {
		return flowclient.Walkthrough{}, invalid("id", id, "must be the number of a walkthrough")
	}
	return flowclient.Walkthrough{ID: number, Topic: b.Topic, Step: b.Step, Ended: b.Ended, Result: b.Result, Message: b.Message, State: b.State}, nil
}
