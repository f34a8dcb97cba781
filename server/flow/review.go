package flow

import (
	"context"
	"net/http"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

func (s *Server) reviews(r *http.Request, _ []byte) (int, any, error) {
	return read(r, func(ctx context.Context) (wire.ReviewsAnswer, error) {
		reviews, err := s.cfg.Flow.Reviews(ctx)
		return wire.ReviewsAnswer{Reviews: append([]flowclient.Review{}, reviews...)}, err
	})
}
