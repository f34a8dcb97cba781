package flow

import (
	"net/http"

	"platform.dev/platform/flowclient/wire"
)

func (s *Server) promote(r *http.Request, body []byte) (int, any, error) {
	b, origin, err := parse[wire.PromoteBody](r, body)
	if err != nil {
		return 0, nil, err
	}
	req, err := b.Request(origin)
	if err != nil {
		return 0, nil, err
	}
	move := s.cfg.Flow.Promote
	if b.Rollback {
		move = s.cfg.Flow.Rollback
	}
	outcome, err := move(r.Context(), req)
	return wire.OutcomeStatus(outcome), outcome, err
}
