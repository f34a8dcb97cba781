package flow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
	"platform.dev/platform/server/web"
)

// provider is how a git server names deliveries in headers.
type provider struct {
	event, delivery string // headers
	push            string // the event of a push
	pull            string // what the events of a pull request begin with; "" for a server whose payloads are not read
}

// providers in the order in which they are looked for: Gitea sends the headers
// of three. Gitea calls a synchronised, labelled or assigned pull request
// pull_request as well, and a reviewed one pull_request_approved and the like.
var providers = []provider{
	{"X-Gitea-Event", "X-Gitea-Delivery", "push", "pull_request"},
	{"X-Gogs-Event", "X-Gogs-Delivery", "push", "pull_request"},
	{"X-GitHub-Event", "X-GitHub-Delivery", "push", "pull_request"},
	{"X-Gitlab-Event", "X-Gitlab-Event-UUID", "Push Hook", ""},
}

// heard is a delivery whose signature has been verified.
type heard struct {
	provider
	name string // of the event
	id   string
	body []byte
}

func (h heard) isPush() bool { return h.name == h.push }

func (h heard) isPull() bool { return h.pull != "" && strings.HasPrefix(h.name, h.pull) }

// hear verifies a request to a hook. is tells whether it is a git server's
// delivery: without an event header it is a strict body, which may come with
// the token instead of a signature.
func (s *Server) hear(r *http.Request, body []byte) (h heard, is bool, err error) {
	signed, payload, err := web.SignedPart(r.Header, body)
	switch {
	case errors.Is(err, web.ErrNoPayload):
		return h, false, &flowclient.Invalid{Field: "payload", Why: "is required in a form"}
	case err != nil:
		return h, false, &flowclient.Invalid{Field: "body", Value: string(body), Why: "is no form: " + err.Error()}
	}
	h.body = payload
	for _, p := range providers {
		if h.name = r.Header.Get(p.event); h.name != "" {
			h.provider, is = p, true
			break
		}
	}
	if !is && !web.Signed(r.Header) && r.Header.Get("Authorization") != "" {
		if !web.SameSecret(web.Bearer(r), s.cfg.Token) {
			return h, false, wire.ErrToken
		}
		return h, false, nil
	}
	if err := verify(r.Header, s.cfg.WebhookSecret, signed); err != nil || !is {
		return h, false, err
	}
	if h.id = r.Header.Get(h.delivery); h.id == "" { // the same bytes are the same delivery
		sum := sha256.Sum256(h.body)
		h.id = "body:" + hex.EncodeToString(sum[:])
	}
	return h, true, wire.DeliveryID("delivery", h.id)
}

// maxMissed bounds the deliveries that are remembered as missed.
const maxMissed = 1000

// wake tells the controller of a push, once per delivery; known is true when
// the delivery had been heard before.
func (s *Server) wake(ctx context.Context, kind string, h heard, p wire.PushBody) (known bool, err error) {
	fresh, err := s.cfg.Deliveries.Record(ctx, h.id, kind, s.cfg.Now())
	if err != nil || !fresh && !s.takeMissed(h.id) {
		return !fresh, err
	}
	if err := s.cfg.Pushed(ctx, p.Repository.FullName, p.Ref, p.After); err != nil {
		s.miss(h.id)
		return !fresh, err
	}
	return !fresh, nil
}

// miss remembers a delivery that was recorded and woke nobody, so that the
// sender's next attempt does. Memory is enough: after a restart the controller
// looks at everything without being woken.
func (s *Server) miss(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.missed) < maxMissed {
		s.missed[id] = true
	}
}

// takeMissed tells whether the delivery was missed, and forgets it.
func (s *Server) takeMissed(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	missed := s.missed[id]
	delete(s.missed, id)
	return missed
}
