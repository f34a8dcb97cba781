package flow

import (
	"net/http"

	"platform.dev/platform/flowclient/wire"
)

func (s *Server) window(r *http.Request, _ []byte) (int, any, error) {
	project, err := wire.WindowProject(r.URL.RawQuery)
	if err != nil {
		return 0, nil, err
	}
	window, err := s.cfg.Flow.Window(r.Context(), project)
	return http.StatusOK, window, err
}
