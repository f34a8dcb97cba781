package flow

import (
	"net/http"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

func (s *Server) freezes(r *http.Request, _ []byte) (int, any, error) {
	freezes, next, err := page(r, wire.FreezesPath, placeOfFreeze, s.cfg.Flow.Freezes)
	return http.StatusOK, wire.FreezesAnswer{Freezes: freezes, Next: next}, err
}

func (s *Server) setFreeze(r *http.Request, body []byte) (int, any, error) {
	req, err := request[wire.FreezeBody](r, body)
	if err != nil {
		return 0, nil, err
	}
	freeze, err := s.cfg.Flow.SetFreeze(r.Context(), req)
	return http.StatusCreated, freeze, err
}

func (s *Server) clearFreeze(r *http.Request, _ []byte) (int, any, error) {
	origin, err := wire.Origin(r.Header)
	if err != nil {
		return 0, nil, err
	}
	req, err := wire.ThawRequest(r.URL.RawQuery, origin)
	if err != nil {
		return 0, nil, err
	}
	cleared, err := s.cfg.Flow.ClearFreeze(r.Context(), req)
	return http.StatusOK, cleared, err
}

// placeOfFreeze is where a freeze stands in their list.
func placeOfFreeze(f flowclient.Freeze) string {
	return f.From.UTC().Format("2006-01-02T15:04:05.000000000Z ") + ascending(f.ID)
}
