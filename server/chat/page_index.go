package chat

import (
	"html/template"
	"net/http"
)

// indexTopics is how many topics of a channel the index shows.
const indexTopics = 12

// indexPage lists the channels with their newest topics.
func (s *Server) indexPage(r *http.Request) (*template.Template, any, error) {
	list, err := listStreams(r.Context(), s.file.Reader(), "")
	if err != nil {
		return nil, nil, err
	}
	var views []streamView
	for _, st := range list {
		v, err := s.streamView(r.Context(), st)
		if err != nil {
			return nil, nil, err
		}
		if len(v.Topics) > indexTopics {
			v.More = len(v.Topics) - indexTopics
			v.Topics = v.Topics[:indexTopics]
		}
		views = append(views, v)
	}
	return s.pages.index, map[string]any{"Title": s.cfg.Realm + " chat", "Realm": s.cfg.Realm, "URL": s.cfg.URL, "Streams": views}, nil
}
