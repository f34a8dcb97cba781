package controlplane

import (
	"errors"
	"net/http"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/server/web"
)

// generateRelease answers POST components/{name}/generate-release: 201 and the
// release of what the component is now. The same content gives the same release.
func (s *Server) generateRelease(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		ReleaseName string `json:"releaseName"`
	}
	raw, err := body(r)
	if err == nil {
		err = readJSON(raw, &asked)
	}
	k := s.kinds[flowclient.KindComponentRelease]
	if err == nil && asked.ReleaseName != "" {
		if k.checkName(asked.ReleaseName) != nil {
			err = bad(http.StatusBadRequest, "releaseName", web.Echo(asked.ReleaseName), "must be lower-case letters, digits and '-'")
		}
	}
	if err != nil {
		s.answer(w, r, err)
		return
	}
	var release object
	err = s.commit(r.Context(), "generate ComponentRelease", func(t *tx) error {
		component, err := t.get(flowclient.KindComponent, r.PathValue("name"))
		if err != nil {
			return err
		}
		release, _, err = t.cut(component, asked.ReleaseName)
		return err
	})
	var not *unmet
	if errors.As(err, &not) {
		err = say(http.StatusUnprocessableEntity, "Component '%s' has no release to cut: %s", r.PathValue("name"), not.message)
	}
	if err != nil {
		s.answer(w, r, err)
		return
	}
	s.write(w, http.StatusCreated, k, release)
}
