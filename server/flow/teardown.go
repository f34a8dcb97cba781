package flow

import (
	"net/http"

	"platform.dev/platform/flowclient/wire"
)

func (s *Server) teardown(r *http.Request, body []byte) (int, any, error) {
	req, err := request[wire.TeardownBody](r, body)
	if err != nil {
		return 0, nil, err
	}
	removed, err := s.cfg.Flow.Teardown(r.Context(), req)
	return http.StatusOK, removed, err
}
