package chat

import (
	"html/template"
	"net/http"
)

// streamPage lists a channel's topics.
func (s *Server) streamPage(r *http.Request) (*template.Template, any, error) {
	st, err := s.pageStream(r)
	if err != nil {
		return nil, nil, err
	}
	v, err := s.streamView(r.Context(), st)
	return s.pages.stream, map[string]any{"Title": "#" + st.Name, "Realm": s.cfg.Realm, "Stream": v}, err
}
