package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Names in the images directory that are no image: a pull under way, and what Collect has taken away.
const (
	unpackingPrefix = ".unpack-"
	collectedPrefix = ".collect-"
)

// Collect removes the images that no deployment has run for Config.Keep and
// that answer no request, and lists their digests. What it removes is pulled
// again when it is asked for again. The logs of names that have not run for
// Config.KeepLogs go, too.
func (s *Server) Collect(ctx context.Context) (removed []string, err error) {
	if err := s.logs.forget(s.cfg.Now().Add(-s.cfg.KeepLogs), s.recorded); err != nil {
		return nil, fmt.Errorf("collect logs: %w", err)
	}
	digests, err := s.images()
	if err != nil {
		return nil, err
	}
	for _, digest := range digests {
		if ctx.Err() != nil {
			return removed, ctx.Err()
		}
		taken, err := s.take(digest)
		if err != nil {
			return removed, fmt.Errorf("collect %s: %w", digest, err)
		}
		if taken == "" {
			continue
		}
		removed = append(removed, digest)
		if err := os.RemoveAll(taken); err != nil {
			return removed, fmt.Errorf("collect %s: %w", digest, err)
		}
	}
	return removed, nil
}

// recorded tells whether a name runs, or has a version to come.
func (s *Server) recorded(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records[name] != "" || s.services[name] != nil
}

// take moves an unused image out of the way, so that from here on nobody finds
// it, and returns where it lies; empty when it is in use.
func (s *Server) take(digest string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	since, released := s.released[digest]
	site := s.sites[digest]
	switch {
	case !released, s.wanted[digest] > 0, s.cfg.Now().Sub(since) < s.cfg.Keep:
		return "", nil
	case site != nil && site.requests.Load() > 0:
		return "", nil
	}
	from := s.imageDir(digest)
	to := filepath.Join(s.imagesDir(), collectedPrefix+filepath.Base(from))
	if err := os.Rename(from, to); err != nil {
		return "", err
	}
	delete(s.sites, digest)
	delete(s.released, digest)
	return to, nil
}

// images lists the digests that are unpacked.
func (s *Server) images() ([]string, error) {
	entries, err := os.ReadDir(s.imagesDir())
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	var digests []string
	for _, e := range entries {
		if algorithm, sum, ok := strings.Cut(e.Name(), "-"); ok && e.IsDir() && !strings.HasPrefix(algorithm, ".") {
			digests = append(digests, algorithm+":"+sum)
		}
	}
	return digests, nil
}

// releaseLeftovers starts the time of images that no record names.
func (s *Server) releaseLeftovers() error {
	digests, err := s.images()
	if err != nil {
		return err
	}
	used := map[string]bool{}
	for _, digest := range s.records {
		used[digest] = true
	}
	for _, digest := range digests {
		if !used[digest] {
			s.released[digest] = s.cfg.Now()
		}
	}
	return nil
}

// sweep removes what an interrupted pull or Collect left.
func (s *Server) sweep() error {
	entries, err := os.ReadDir(s.imagesDir())
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if slices.ContainsFunc([]string{unpackingPrefix, collectedPrefix}, func(p string) bool { return strings.HasPrefix(e.Name(), p) }) {
			errs = append(errs, os.RemoveAll(filepath.Join(s.imagesDir(), e.Name())))
		}
	}
	return errors.Join(errs...)
}
