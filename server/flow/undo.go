package flow

import (
	"net/http"

	"platform.dev/platform/flowclient/wire"
)

func (s *Server) undo(r *http.Request, body []byte) (int, any, error) {
	req, err := request[wire.UndoBody](r, body)
	if err != nil {
		return 0, nil, err
	}
	outcome, err := s.cfg.Flow.Undo(r.Context(), req)
	return wire.OutcomeStatus(outcome), outcome, err
}
