package git

import (
	"context"
	"database/sql"
	"fmt"
)

// followed is what refs that moved have made of pull requests.
type followed struct {
	pulls  []pull
	merged []int64 // ids of the pull requests whose merge is done
	events []event
}

// follow finds what became of the open pull requests: merged by a merge that
// was begun here, closed because a branch is gone, or brought forward by a
// push. It goes by the refs as they are, so that what was not looked at in
// time is found all the same.
func (s *Server) follow(ctx context.Context, repo repository, recorded, actual map[string]string, wanted func(string) bool) (followed, error) {
	open, err := s.openPulls(ctx, repo)
	if err != nil || len(open) == 0 {
		return followed{}, err
	}
	begun, err := s.begunMerges(ctx, repo)
	if err != nil {
		return followed{}, err
	}
	var all followed
	for _, p := range open {
		next, told, err := s.followOne(ctx, repo, p, begun[p.ID], recorded, actual)
		if err != nil {
			return followed{}, fmt.Errorf("follow %s pull request %d: %w", repo.full(), p.Number, err)
		}
		if told == nil {
			continue
		}
		if next.State == pullMerged {
			all.merged = append(all.merged, p.ID)
		}
		events, err := s.pullEvents(ctx, repo, next, actual, wanted, told)
		if err != nil {
			return followed{}, err
		}
		all.pulls, all.events = append(all.pulls, next), append(all.events, events...)
	}
	return all, nil
}

// followOne is what became of one pull request; nothing is told when it is as it was.
func (s *Server) followOne(ctx context.Context, repo repository, p pull, m *begunMerge, recorded, actual map[string]string) (pull, []pullEvent, error) {
	base, head := actual["refs/heads/"+p.Base], actual["refs/heads/"+p.Branch]
	if m != nil && base != "" {
		done, err := s.contains(ctx, repo, base, m.sha)
		if err != nil {
			return p, nil, err
		}
		if done {
			facts, err := s.pair(ctx, repo, m.before, p.Head)
			p = p.end(pullMerged, facts.mergeBase, s.cfg.Now())
			p.MergeCommit = m.sha
			return p, []pullEvent{{eventPull, "closed", nil}}, err
		}
	}
	switch {
	case base == "" || head == "":
		if base == "" {
			base = recorded["refs/heads/"+p.Base]
		}
		facts := pair{}
		if base != "" {
			var err error
			if facts, err = s.pair(ctx, repo, base, p.Head); err != nil {
				return p, nil, err
			}
		}
		return p.end(pullClosed, facts.mergeBase, s.cfg.Now()), []pullEvent{{eventPull, "closed", nil}}, nil
	case head != p.Head:
		p.Head, p.Updated = head, s.cfg.Now()
		return p, []pullEvent{{eventPullSync, "synchronized", nil}}, s.keepHead(ctx, repo, p)
	}
	return p, nil, nil
}

// write records what follow found.
func (f followed) write(ctx context.Context, tx *sql.Tx) error {
	for _, p := range f.pulls {
		if err := writePull(ctx, tx, p); err != nil {
			return err
		}
	}
	for _, id := range f.merged {
		if err := endMerge(ctx, tx, id); err != nil {
			return err
		}
	}
	return nil
}
