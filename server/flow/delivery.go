package flow

import "net/http"

func (s *Server) delivery(r *http.Request, _ []byte) (int, any, error) {
	return read(r, s.cfg.Flow.Delivery)
}
