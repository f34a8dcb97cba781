package chat

import "fmt"

// indexTopics is how many topics of a channel the index shows.
const indexTopics = 8

// indexModel is the first page: every channel with its newest topics.
type indexModel struct {
	Realm   string        `json:"realm"`
	URL     string        `json:"url"`
	Streams []streamModel `json:"streams"`
	Unread  int           `json:"unread"`
}

func (m *indexModel) title() string { return m.Realm + " chat" }

// indexPage lists the channels with their newest topics.
func (s *Server) indexPage(v *visit) (model, error) {
	list, err := listStreams(v.Context(), s.file.Reader(), "")
	if err != nil {
		return nil, err
	}
	count, err := s.unread(v.Context(), v.who.ID)
	if err != nil {
		return nil, err
	}
	m := &indexModel{Realm: s.cfg.Realm, URL: s.cfg.URL, Streams: []streamModel{}}
	for _, n := range count.streams {
		m.Unread += n
	}
	for _, st := range list {
		one, err := s.streamModel(v.Context(), st, indexTopics, count)
		if err != nil {
			return nil, fmt.Errorf("channel %s: %w", st.Name, err)
		}
		m.Streams = append(m.Streams, one)
	}
	return m, nil
}
