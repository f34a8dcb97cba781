package flow

import (
	"net/http"

	"platform.dev/platform/flowclient/wire"
)

func (s *Server) reviews(r *http.Request, _ []byte) (int, any, error) {
	reviews, next, err := page(r, wire.ReviewsPath, placeOfReview, s.cfg.Flow.Reviews)
	return http.StatusOK, wire.ReviewsAnswer{Reviews: reviews, Next: next}, err
}
