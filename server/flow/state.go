package flow

import "net/http"

func (s *Server) state(r *http.Request, _ []byte) (int, any, error) { return read(r, s.cfg.Flow.State) }
