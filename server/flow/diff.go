package flow

import (
	"net/http"

	"platform.dev/platform/flowclient/wire"
)

func (s *Server) diff(r *http.Request, _ []byte) (int, any, error) {
	project, err := wire.WindowProject(r.URL.RawQuery)
	if err != nil {
		return 0, nil, err
	}
	diff, err := s.cfg.Flow.Diff(r.Context(), project)
	return http.StatusOK, diff, err
}
