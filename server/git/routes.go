package git

import (
	"net/http"
	"strings"
)

// routes serves everything: the API under its prefix, and beside it git's own
// paths and the pages, which begin with an owner's name.
func (s *Server) routes() (http.Handler, error) {
	pages, err := s.pages()
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{owner}/{repo}/info/refs", s.advertise)
	mux.HandleFunc("POST /{owner}/{repo}/"+uploadPack, s.fetch)
	mux.HandleFunc("POST /{owner}/{repo}/"+receivePack, s.receive)
	mux.Handle("/", pages)
	api := s.api()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, apiPrefix+"/") {
			api.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	}), nil
}
