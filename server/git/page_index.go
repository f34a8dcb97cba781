package git

import "net/http"

type indexModel struct {
	Repositories []repositoryModel
	All          bool // nothing is hidden from the reader
}

// indexPage lists the repositories that the reader may see.
func (s *Server) indexPage(r *http.Request, who caller) (any, error) {
	all, err := s.repositories(r.Context(), "")
	if err != nil {
		return nil, err
	}
	m := indexModel{All: who.may(readRepository)}
	for _, repo := range all {
		if !repo.Private || m.All {
			m.Repositories = append(m.Repositories, repositoryModel{Name: repo.full(), Description: repo.Description, Private: repo.Private})
		}
	}
	return m, nil
}
