package flow

import (
	"net/http"

	"platform.dev/platform/flowclient/wire"
)

func (s *Server) builds(r *http.Request, _ []byte) (int, any, error) {
	builds, next, err := page(r, wire.BuildsPath, placeOfBuild, s.cfg.Flow.Builds)
	return http.StatusOK, wire.BuildsAnswer{Builds: builds, Next: next}, err
}
