package flow

import (
	"context"
	"net/http"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

func (s *Server) locks(r *http.Request, _ []byte) (int, any, error) {
	return read(r, func(ctx context.Context) (wire.LocksAnswer, error) {
		locks, err := s.cfg.Flow.Locks(ctx)
		return locksAnswer(locks), err
	})
}

func (s *Server) setLock(r *http.Request, body []byte) (int, any, error) {
	req, err := request[wire.LockBody](r, body)
	if err != nil {
		return 0, nil, err
	}
	lock, err := s.cfg.Flow.SetLock(r.Context(), req)
	return http.StatusCreated, lock, err
}

func (s *Server) clearLock(r *http.Request, _ []byte) (int, any, error) {
	origin, err := wire.Origin(r.Header)
	if err != nil {
		return 0, nil, err
	}
	req, err := wire.ClearRequest(r.URL.RawQuery, origin)
	if err != nil {
		return 0, nil, err
	}
	cleared, err := s.cfg.Flow.ClearLock(r.Context(), req)
	return http.StatusOK, locksAnswer(cleared), err
}

// locksAnswer is a list that is never null.
func locksAnswer(locks []flowclient.Lock) wire.LocksAnswer {
	return wire.LocksAnswer{Locks: append([]flowclient.Lock{}, locks...)}
}
