package flow

import (
	"net/http"

	"platform.dev/platform/flowclient/wire"
)

func (s *Server) commit(r *http.Request, body []byte) (int, any, error) {
	req, err := request[wire.CommitBody](r, body)
	if err != nil {
		return 0, nil, err
	}
	commit, err := s.cfg.Flow.Commit(r.Context(), req)
	return http.StatusCreated, commit, err
}
