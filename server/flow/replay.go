package flow

import (
	"context"
	"net/http"

	"platform.dev/platform/flowclient"
)

func (s *Server) replay(r *http.Request, _ []byte) (int, any, error) {
	return read(r, func(ctx context.Context) (flowclient.Replayed, error) {
		return s.cfg.Flow.Replay(ctx, r.PathValue("id"))
	})
}
