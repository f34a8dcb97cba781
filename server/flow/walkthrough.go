package flow

import (
	"net/http"

	"platform.dev/platform/flowclient/wire"
)

func (s *Server) walkthroughs(r *http.Request, _ []byte) (int, any, error) {
	walkthroughs, next, err := page(r, wire.WalkthroughsPath, placeOfWalkthrough, s.cfg.Flow.Walkthroughs)
	return http.StatusOK, wire.WalkthroughsAnswer{Walkthroughs: walkthroughs, Next: next}, err
}

func (s *Server) beginWalkthrough(r *http.Request, body []byte) (int, any, error) {
	b, origin, err := parse[wire.WalkthroughBody](r, body)
	if err != nil {
		return 0, nil, err
	}
	begun, err := s.cfg.Flow.BeginWalkthrough(r.Context(), origin.Key, b.Template, origin.Who)
	return http.StatusCreated, begun, err
}

func (s *Server) updateWalkthrough(r *http.Request, body []byte) (int, any, error) {
	b, _, err := parse[wire.UpdateBody](r, body)
	if err != nil {
		return 0, nil, err
	}
	w, err := b.Request(r.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, wire.Done{Done: true}, s.cfg.Flow.UpdateWalkthrough(r.Context(), w)
}
