package flow

import (
	"net/http"

	"platform.dev/platform/flowclient/wire"
)

func (s *Server) scaffold(r *http.Request, body []byte) (int, any, error) {
	req, err := request[wire.ScaffoldBody](r, body)
	if err != nil {
		return 0, nil, err
	}
	made, err := s.cfg.Flow.Scaffold(r.Context(), req)
	return http.StatusCreated, made, err
}
