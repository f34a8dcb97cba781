package flow

import (
	"context"
	"net/http"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

func (s *Server) build(r *http.Request, _ []byte) (int, any, error) {
	return read(r, func(ctx context.Context) (flowclient.Build, error) {
		return s.cfg.Flow.Build(ctx, r.PathValue("run"))
	})
}

func (s *Server) buildLog(r *http.Request, _ []byte) (int, any, error) {
	stage, last, err := wire.LogRequest(r.URL.RawQuery)
	if err != nil {
		return 0, nil, err
	}
	lines, err := s.cfg.Flow.BuildLog(r.Context(), r.PathValue("run"), stage, last)
	return http.StatusOK, wire.LogAnswer{Lines: append([]string{}, lines...)}, err
}
