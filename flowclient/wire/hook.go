package wire

import (
	"cmp"
	"time"

	"platform.dev/platform/flowclient"
)

// HookPath takes POST and answers 200 with a HookAnswer: a delivery of a git
// server, recognised by its event header and signed; or, with the token, a
// DeliveredBody.
const HookPath = "/hooks/git"

// The effects of a delivery.
const (
	EffectLook = "look" // the controller looks at the pull request
	EffectWake = "wake" // the controller looks at builds at once
	EffectNone = "none" // deliveries of this event change nothing here
)

// HookAnswer says what a delivery led to. Nothing more is known yet: what is
// done follows from the pull request as the controller finds it.
type HookAnswer struct {
	Effect string `json:"effect"`
	Event  string `json:"event"`
	Action string `json:"action,omitempty"`
	Repo   string `json:"repo,omitempty"`
	Number int    `json:"number,omitempty"`
	Known  bool   `json:"known,omitempty"` // the delivery had been heard before
	Note   string `json:"note,omitempty"`  // why nothing comes of it
}

// DeliveredBody is a delivery as another controller's client passes it on.
type DeliveredBody struct {
	ID     string `json:"id"`
	Repo   string `json:"repo"`
	Number int    `json:"number"`
	Action string `json:"action"`
}

// Request is the body as the controller takes it, heard at an instant;
// *flowclient.Invalid names what is missing.
func (b DeliveredBody) Request(at time.Time) (flowclient.PullDelivery, error) {
	return flowclient.PullDelivery{ID: b.ID, Repo: b.Repo, Number: b.Number, Action: b.Action, At: at},
		cmp.Or(DeliveryID("id", b.ID), checkRepository("repo", b.Repo), positive("number", b.Number), printable("action", b.Action, maxActor))
}

// FromDelivered is the body of a delivery.
func FromDelivered(d flowclient.PullDelivery) DeliveredBody {
	return DeliveredBody{ID: d.ID, Repo: d.Repo, Number: d.Number, Action: d.Action}
}

// maxDelivery is the longest id of a delivery, in bytes; Gitea's are UUIDs.
const maxDelivery = 100

// DeliveryID checks the id of a delivery.
func DeliveryID(field, id string) error {
	return cmp.Or(required(field, id), printable(field, id, maxDelivery))
}

// PullEventBody is the part of a pull-request delivery that is read: which
// pull request it is about, and when. Neither its state nor its labels are: they
// are as old as the delivery, and a label event does not say which label it was.
type PullEventBody struct {
	Action     string `json:"action"`
	Number     int    `json:"number"`
	Repository struct {
		FullName string `json:"full_name"`
	} `json:"repository"`
	PullRequest struct {
		UpdatedAt string `json:"updated_at"`
	} `json:"pull_request"`
}

// fields are the ones that are read.
func (b *PullEventBody) fields() []wanted {
	return []wanted{
		{name: "action", text: &b.Action},
		{name: "number", number: &b.Number},
		{name: "repository", object: []wanted{{name: "full_name", text: &b.Repository.FullName}}},
		{name: "pull_request", object: []wanted{{name: "updated_at", text: &b.PullRequest.UpdatedAt}}},
	}
}

// At is when it happened, for a delivery heard at now: a late or repeated one
// is no new activity.
func (b PullEventBody) At(now time.Time) time.Time {
	if at, err := time.Parse(time.RFC3339, b.PullRequest.UpdatedAt); err == nil && at.Before(now) {
		return at
	}
	return now
}

// DecodePull reads a pull-request delivery; fields it does not know are a git server's to send.
func DecodePull(body []byte) (PullEventBody, error) {
	var b PullEventBody
	if err := readPayload(body, &b, b.fields()); err != nil {
		return b, err
	}
	return b, cmp.Or(checkRepository("repository.full_name", b.Repository.FullName), positive("number", b.Number),
		required("action", b.Action), printable("action", b.Action, maxActor))
}
