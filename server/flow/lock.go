package flow

import (
	"net/http"
	"slices"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

func (s *Server) locks(r *http.Request, _ []byte) (int, any, error) {
	p, olderThan, err := wire.LocksRequest(r.URL.RawQuery)
	if err != nil {
		return 0, nil, err
	}
	locks, err := s.cfg.Flow.Locks(r.Context())
	if err != nil {
		return 0, nil, err
	}
	if olderThan > 0 {
		old := flowclient.OldLocks(locks, s.cfg.Now(), olderThan)
		locks = slices.DeleteFunc(locks, func(l flowclient.Lock) bool {
			return !slices.ContainsFunc(old, func(o flowclient.Lock) bool { return o.ID == l.ID })
		})
	}
	answer := wire.LocksAnswer{}
	if answer.Locks, answer.Next = part(wire.LocksPath, p, locks, placeOfLock); olderThan > 0 {
		answer.OlderThan = olderThan.String()
	}
	return http.StatusOK, answer, nil
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
	req, dryRun, err := wire.ClearRequest(r.URL.RawQuery, origin)
	if err != nil {
		return 0, nil, err
	}
	if dryRun {
		u, err := s.cfg.Flow.Unlocking(r.Context(), req)
		return http.StatusOK, wire.ClearAnswer{Locks: append([]flowclient.Lock{}, u.Locks...), Moves: u.Moves, Sentence: u.Sentence}, err
	}
	cleared, err := s.cfg.Flow.ClearLock(r.Context(), req)
	return http.StatusOK, wire.ClearAnswer{Locks: append([]flowclient.Lock{}, cleared...)}, err
}
