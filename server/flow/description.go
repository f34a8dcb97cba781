package flow

import (
	"net/http"

	"platform.dev/platform/flowclient/wire"
)

// description answers with what the surface is: it names no project, no person
// and no secret, so that whoever is to write a client may read it.
func (s *Server) description(r *http.Request, _ []byte) (int, any, error) {
	if _, err := wire.Query(r.URL.RawQuery); err != nil {
		return 0, nil, err
	}
	whole, err := s.describe()
	return http.StatusOK, whole, err
}
