package controlplane

import (
	"net/http"

	"platform.dev/platform/server/web"
)

// show answers GET on one object, with its ETag.
func (s *Server) show(k kind) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		o, err := get(r.Context(), s.db.Reader(), k.name, r.PathValue("name"))
		if err != nil {
			s.answer(w, r, err)
			return
		}
		s.write(w, http.StatusOK, k, o)
	}
}

// write answers with one object.
func (s *Server) write(w http.ResponseWriter, status int, k kind, o object) {
	w.Header().Set("ETag", o.etag())
	web.JSON(w, status, o.wire(s.namespace, k.cluster))
}
