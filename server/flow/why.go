package flow

import (
	"net/http"

	"platform.dev/platform/flowclient/wire"
)

func (s *Server) why(r *http.Request, _ []byte) (int, any, error) {
	project, component, err := wire.WhyRequest(r.URL.RawQuery)
	if err != nil {
		return 0, nil, err
	}
	why, err := s.cfg.Flow.Why(r.Context(), project, component)
	return http.StatusOK, why, err
}
