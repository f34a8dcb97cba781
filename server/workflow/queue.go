package workflow

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

// Run carries out runs, oldest first and at most MaxConcurrent at once, until
// ctx ends. Runs that are under way then, or were when a previous life was
// killed, are started over by the next Run: their stages are recorded anew,
// for the commits resolved the first time. It returns nil when ctx has ended,
// after its processes have.
func (s *Server) Run(ctx context.Context) error {
	if err := s.recover(ctx); err != nil {
		return s.ended(ctx, err)
	}
	slots := semaphore.NewWeighted(int64(s.cfg.MaxConcurrent))
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error {
		for slots.Acquire(ctx, 1) == nil {
			rec, found, err := s.book.claim(ctx, s.cfg.Now())
			if err != nil {
				return s.ended(ctx, err)
			}
			if !found {
				slots.Release(1)
				select {
				case <-s.wake:
				case <-ctx.Done():
				}
				continue
			}
			s.changed(rec.Run)
			work.Go(func() error {
				defer slots.Release(1)
				return s.ended(ctx, s.build(ctx, rec))
			})
		}
		return nil
	})
	return work.Wait()
}

// ended is err, unless it only says that ctx has ended.
func (s *Server) ended(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return nil
	default:
		return err
	}
}

// recover clears what a previous life has left: processes, build directories, and runs that were under way.
func (s *Server) recover(ctx context.Context) error {
	groups, err := s.book.groups(ctx)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if g.clear(ctx) {
			s.cfg.Log.Info("killed what a run had left behind", "run", g.run, "group", g.pgid)
		}
	}
	if err := s.book.requeue(ctx); err != nil {
		return err
	}
	dir := filepath.Join(s.cfg.Dir, "builds")
	if err := os.RemoveAll(dir); err != nil {
		// A directory that a dying process still writes to hinders nobody: each life of a run has its own.
		s.cfg.Log.Warn("build directories stay", "dir", dir, "error", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make build directory: %w", err)
	}
	return nil
}
