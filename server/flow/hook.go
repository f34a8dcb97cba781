package flow

import (
	"cmp"
	"errors"
	"net/http"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

// hookKind is the kind under which deliveries to /hooks/git are recorded.
const hookKind = "git"

// hook takes a git server's deliveries. One about a pull request says where to
// look and nothing else; a push wakes the controller; the rest changes nothing.
func (s *Server) hook(r *http.Request, body []byte) (int, any, error) {
	h, is, err := s.hear(r, body)
	if err != nil {
		return 0, nil, err
	}
	answer := wire.HookAnswer{Event: h.name, Effect: wire.EffectNone}
	switch {
	case !is:
		answer, err = s.passedOn(r, h.body)
	case h.isPush():
		var pushed wire.PushBody
		if pushed, err = wire.DecodePush(h.body); err != nil {
			break
		}
		answer.Effect, answer.Repo = wire.EffectWake, pushed.Repository.FullName
		answer.Known, err = s.wake(r.Context(), hookKind, h, pushed)
	case h.isPull():
		var about wire.PullEventBody
		if about, err = wire.DecodePull(h.body); err != nil {
			break
		}
		answer, err = s.look(r, h.name, flowclient.PullDelivery{
			ID: h.id, Repo: about.Repository.FullName, Number: about.Number, Action: about.Action, At: about.At(s.cfg.Now()),
		})
		var refusal *flowclient.Refusal
		if errors.As(err, &refusal) { // a decision: the sender would only hear it again
			answer, err = wire.HookAnswer{Event: h.name, Effect: wire.EffectNone, Note: refusal.Sentence}, nil
		}
	}
	return http.StatusOK, answer, err
}

// look tells the controller which pull request to look at. The delivery is
// recorded after the controller has made that durable: cut short in between, it
// is sent again and looked at again, which is harmless, instead of being lost.
func (s *Server) look(r *http.Request, event string, d flowclient.PullDelivery) (wire.HookAnswer, error) {
	if err := s.cfg.Flow.Delivered(r.Context(), d); err != nil {
		return wire.HookAnswer{}, err
	}
	fresh, err := s.cfg.Deliveries.Record(r.Context(), d.ID, hookKind, s.cfg.Now())
	return wire.HookAnswer{Effect: wire.EffectLook, Event: event, Action: d.Action, Repo: d.Repo, Number: d.Number, Known: !fresh}, err
}

// passedOn takes a delivery from a client that speaks for a git server.
func (s *Server) passedOn(r *http.Request, body []byte) (wire.HookAnswer, error) {
	b, _, err := parse[wire.DeliveredBody](r, body)
	d, bad := b.Request(s.cfg.Now())
	if err = cmp.Or(err, bad); err != nil {
		return wire.HookAnswer{}, err
	}
	return s.look(r, "pull_request", d)
}
