package flow

import (
	"net/http"

	"platform.dev/platform/flowclient/wire"
)

func (s *Server) audit(r *http.Request, _ []byte) (int, any, error) {
	q, err := wire.AuditRequest(r.URL.RawQuery)
	if err != nil {
		return 0, nil, err
	}
	page, err := s.cfg.Flow.Audit(r.Context(), q)
	return http.StatusOK, wire.AuditAnswer(page), err
}
