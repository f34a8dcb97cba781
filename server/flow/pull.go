package flow

import (
	"net/http"

	"platform.dev/platform/flowclient/wire"
)

func (s *Server) pull(r *http.Request, body []byte) (int, any, error) {
	req, err := request[wire.PullBody](r, body)
	if err != nil {
		return 0, nil, err
	}
	pull, err := s.cfg.Flow.OpenPull(r.Context(), req)
	return http.StatusCreated, pull, err
}
