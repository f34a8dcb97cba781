package flow

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

// syncKind is the kind under which deliveries to /sync are recorded.
const syncKind = "sync"

// maxMissed bounds the deliveries that are remembered as missed.
const maxMissed = 1000

// provider is how a git server names a delivery in headers.
type provider struct{ event, delivery, push string }

// providers in the order in which they are looked for: Gitea sends the headers of three.
var providers = []provider{
	{"X-Gitea-Event", "X-Gitea-Delivery", "push"},
	{"X-Gogs-Event", "X-Gogs-Delivery", "push"},
	{"X-GitHub-Event", "X-GitHub-Delivery", "push"},
	{"X-Gitlab-Event", "X-Gitlab-Event-UUID", "Push Hook"},
}

// sync takes a hook: a push delivery wakes the controller; the strict body asks
// for the repository's manifests.
func (s *Server) sync(r *http.Request, body []byte) (int, any, error) {
	body, err := payload(r, body)
	if err != nil {
		return 0, nil, err
	}
	if err := verify(r.Header, s.cfg.WebhookSecret, body); err != nil {
		return 0, nil, err
	}
	for _, p := range providers {
		switch event := r.Header.Get(p.event); event {
		case "":
		case p.push:
			return s.push(r, r.Header.Get(p.delivery), body)
		default:
			return 0, nil, &flowclient.Invalid{Field: p.event, Value: event, Why: "is not taken here: send " + p.push + " deliveries to " + wire.SyncPath}
		}
	}
	var b wire.SyncBody
	if err := wire.Decode(body, &b); err != nil {
		return 0, nil, err
	}
	if err := b.Check(); err != nil {
		return 0, nil, err
	}
	return 0, nil, flowclient.Refuse(
		"the manifests of %s at %s were not applied: this version does not apply manifests from a repository; apply them with the control-plane API", b.Repo, b.Ref)
}

// payload is the signed bytes: the body, or the field of a form that a git
// server may be told to send instead.
func payload(r *http.Request, body []byte) ([]byte, error) {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(kind), "application/x-www-form-urlencoded") {
		return body, nil // a body that is no form is JSON, whatever it is called
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, &flowclient.Invalid{Field: "body", Value: string(body), Why: "is no form: " + err.Error()}
	}
	if !form.Has("payload") {
		return nil, &flowclient.Invalid{Field: "payload", Why: "is required in a form"}
	}
	return []byte(form.Get("payload")), nil
}

// push wakes the controller, once per delivery.
func (s *Server) push(r *http.Request, id string, body []byte) (int, any, error) {
	pushed, err := wire.DecodePush(body)
	if err != nil {
		return 0, nil, err
	}
	if len(id) > 100 {
		return 0, nil, &flowclient.Invalid{Field: "delivery", Value: id, Why: "is longer than 100 bytes"}
	}
	if id == "" { // the same bytes are the same delivery
		sum := sha256.Sum256(body)
		id = "body:" + hex.EncodeToString(sum[:])
	}
	fresh, err := s.cfg.Deliveries.Record(r.Context(), id, syncKind, s.cfg.Now())
	if err != nil {
		return 0, nil, err
	}
	if fresh || s.takeMissed(id) {
		if err := s.cfg.Pushed(r.Context(), pushed.Repository.FullName, pushed.Ref, pushed.After); err != nil {
			s.miss(id)
			return 0, nil, err
		}
	}
	return http.StatusOK, wire.SyncAnswer{}, nil
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
