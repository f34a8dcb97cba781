package controlplane

import (
	"net/http"
)

// remove answers DELETE on one object: 204. Where the object holds others, or
// something that runs, it stays readable with a deletion time until its
// controller has removed those.
func (s *Server) remove(k kind) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := s.commit(r.Context(), "delete "+string(k.name), func(t *tx) error {
			o, err := t.get(k.name, r.PathValue("name"))
			if err != nil {
				return err
			}
			if err := matches(r, o); err != nil {
				return err
			}
			if k.spared != nil {
				if err := k.spared(t, o); err != nil {
					return err
				}
			}
			if k.holds {
				return t.condemn(o)
			}
			return t.remove(o)
		})
		if err != nil {
			s.answer(w, r, err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}
