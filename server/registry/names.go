package registry

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
)

// maxPage is how many names one answer lists.
const maxPage = 1000

// catalog lists the repositories that hold a manifest.
func (s *Server) catalog(w http.ResponseWriter, r *http.Request, _ target) error {
	names, err := s.repositories()
	if err != nil {
		return err
	}
	page, err := paged(w, r, names)
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, map[string]any{"repositories": page})
	return nil
}

// tags lists a repository's tags.
func (s *Server) tags(w http.ResponseWriter, r *http.Request, t target) error {
	if _, err := os.Stat(s.manifestPath(t.name, "")); errors.Is(err, fs.ErrNotExist) {
		return refuse(http.StatusNotFound, codeNameUnknown, "there is no repository %s", t.name)
	}
	names, err := s.tagsOf(t.name)
	if err != nil {
		return err
	}
	page, err := paged(w, r, names)
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, map[string]any{"name": t.name, "tags": page})
	return nil
}

// paged is the page of sorted names that n= and last= ask for, with a Link to the next.
func paged(w http.ResponseWriter, r *http.Request, names []string) ([]string, error) {
	q, n := r.URL.Query(), maxPage
	if text := q.Get("n"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 0 {
			return nil, refuse(http.StatusBadRequest, codePagination, "n %.50q must be a number", text)
		}
		n = min(n, maxPage)
	}
	if last := q.Get("last"); last != "" {
		at, found := slices.BinarySearch(names, last)
		if found {
			at++
		}
		names = names[at:]
	}
	if len(names) <= n {
		return names, nil
	}
	if n > 0 {
		next := url.Values{"n": {strconv.Itoa(n)}, "last": {names[n-1]}}
		w.Header().Set("Link", fmt.Sprintf(`<%s?%s>; rel="next"`, r.URL.Path, next.Encode()))
	}
	return names[:n], nil
}

// repositories lists the repositories that hold a manifest, sorted.
func (s *Server) repositories() ([]string, error) {
	names := []string{}
	root := os.DirFS(s.path("repositories"))
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		switch path.Base(p) {
		case "_tags":
			return fs.SkipDir
		case "_manifests":
			held, err := fs.ReadDir(root, p)
			if err != nil {
				return err
			}
			if len(held) > 0 {
				names = append(names, path.Dir(p))
			}
			return fs.SkipDir
		}
		return nil
	})
	slices.Sort(names)
	return names, err
}

// tagsOf lists a repository's tags, sorted.
func (s *Server) tagsOf(name string) ([]string, error) {
	entries, err := os.ReadDir(s.tagPath(name, ""))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names, nil
}

// userOf names a manifest that a blob is part of; empty when there is none.
func (s *Server) userOf(digest string) (string, error) {
	names, err := s.repositories()
	if err != nil {
		return "", err
	}
	for _, name := range names {
		held, err := os.ReadDir(s.manifestPath(name, ""))
		if err != nil {
			return "", err
		}
		for _, e := range held {
			m, err := s.readManifest(name, "sha256:"+e.Name())
			if err != nil {
				return "", err
			}
			blobs, _, err := parts(m)
			if err != nil {
				return "", err
			}
			for _, d := range blobs {
				if d.Digest.String() == digest {
					return name + "@" + m.digest, nil
				}
			}
		}
	}
	return "", nil
}
