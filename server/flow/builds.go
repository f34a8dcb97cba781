package flow

import (
	"context"
	"net/http"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

func (s *Server) builds(r *http.Request, _ []byte) (int, any, error) {
	return read(r, func(ctx context.Context) (wire.BuildsAnswer, error) {
		builds, err := s.cfg.Flow.Builds(ctx)
		return wire.BuildsAnswer{Builds: append([]flowclient.Build{}, builds...)}, err
	})
}
