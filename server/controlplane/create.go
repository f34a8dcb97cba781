package controlplane

import (
	"net/http"
)

// create answers POST on a collection: 201, or 409 when the name is taken.
func (s *Server) create(k kind) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		o, err := s.readDraft(r, k, "")
		if err != nil {
			s.answer(w, r, err)
			return
		}
		err = s.commit(r.Context(), "create "+string(k.name), func(t *tx) error { return t.create(k, &o) })
		if err != nil {
			s.answer(w, r, err)
			return
		}
		s.write(w, http.StatusCreated, k, o)
	}
}

// create stores a new object after every rule was asked.
func (t *tx) create(k kind, o *object) error {
	there, err := t.get(k.name, o.name)
	switch {
	case err == nil && there.deleted != nil:
		return say(http.StatusConflict, "%s '%s' is being deleted; create it again when it is gone", k.name, o.name)
	case err == nil:
		return say(http.StatusConflict, "%s '%s' already exists", k.name, o.name)
	case !isMissing(err):
		return err
	}
	if err := t.admit(k, o, nil); err != nil {
		return err
	}
	return t.insert(o)
}
