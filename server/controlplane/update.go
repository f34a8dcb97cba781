package controlplane

import (
	"net/http"
	"strings"
)

// update answers PUT on one object: labels, annotations and spec are replaced,
// status is kept. With If-Match it is conditional: 412 when the object has
// another ETag by now.
func (s *Server) update(k kind) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		given, err := s.readDraft(r, k, r.PathValue("name"))
		if err != nil {
			s.answer(w, r, err)
			return
		}
		var stored object
		err = s.commit(r.Context(), "update "+string(k.name), func(t *tx) error {
			old, err := t.get(k.name, given.name)
			if err != nil {
				return err
			}
			if err := matches(r, old); err != nil {
				return err
			}
			stored = old
			stored.labels, stored.annotations, stored.spec = given.labels, given.annotations, given.spec
			if err := t.admit(k, &stored, &old); err != nil {
				return err
			}
			return t.replace(old, &stored)
		})
		if err != nil {
			s.answer(w, r, err)
			return
		}
		s.write(w, http.StatusOK, k, stored)
	}
}

// matches checks If-Match, where given, against the object as it is.
func matches(r *http.Request, o object) error {
	given := r.Header.Values("If-Match")
	if len(given) == 0 {
		return nil
	}
	for tag := range strings.SplitSeq(strings.Join(given, ","), ",") {
		if tag = strings.TrimSpace(tag); tag == "*" || tag == o.etag() {
			return nil
		}
	}
	return say(http.StatusPreconditionFailed, "%s '%s' has changed since it was read: its ETag is %s; read it again", o.kind, o.name, o.etag())
}
