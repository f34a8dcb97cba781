package flow

import (
	"net/http"

	"platform.dev/platform/flowclient/wire"
)

func (s *Server) dora(r *http.Request, _ []byte) (int, any, error) {
	project, days, err := wire.DoraRequest(r.URL.RawQuery)
	if err != nil {
		return 0, nil, err
	}
	report, err := s.cfg.Flow.Dora(r.Context(), project, days)
	return http.StatusOK, report, err
}
