package flow

import (
	"net/http"

	"platform.dev/platform/flowclient/wire"
)

func (s *Server) merge(r *http.Request, body []byte) (int, any, error) {
	req, err := request[wire.MergeBody](r, body)
	if err != nil {
		return 0, nil, err
	}
	pull, err := s.cfg.Flow.Merge(r.Context(), req)
	return http.StatusOK, pull, err
}
