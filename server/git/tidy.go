package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"platform.dev/platform/flowclient/gitea/gitcmd"
)

const (
	tidyInterval = time.Hour
	tidyObjects  = 2000 // loose objects from which on a repository is packed
)

// Tidy packs every repository that holds more than so many loose objects.
// Pushes never do it themselves: the pusher would wait, or a process would go
// on that nobody waits for.
func (s *Server) Tidy(ctx context.Context, objects int) error {
	all, err := s.repositories(ctx, "")
	if err != nil {
		return err
	}
	var failed []error
	for _, repo := range all {
		if err := s.tidy(ctx, repo, objects); err != nil {
			failed = append(failed, fmt.Errorf("tidy %s: %w", repo.full(), err))
		}
	}
	return errors.Join(failed...)
}

// tidy packs one repository. What a push brings meanwhile is young, and gc
// spares the young.
func (s *Server) tidy(ctx context.Context, repo repository, objects int) error {
	over := slices.DeleteFunc(slices.Clone(settings), func(set gitcmd.Setting) bool { return set.Key == "gc.auto" })
	_, err := s.transfer.Run(ctx, gitcmd.Call{
		Args: []string{"gc", "--auto", "--quiet"}, GitDir: s.dir(repo), Timeout: transferTimeout,
		Settings: append(over, gitcmd.Setting{Key: "gc.auto", Value: strconv.Itoa(objects)}, gitcmd.Setting{Key: "gc.autoDetach", Value: "false"}),
	})
	return err
}
