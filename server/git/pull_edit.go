package git

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
)

// pullEvent is an event about a pull request, before it has a body.
type pullEvent struct {
	name, action string
	changes      *changesShape
}

// pullEdit is what an edit sets; nil leaves alone.
type pullEdit struct {
	Title, Body, State *string
}

// editPull changes title, body and state. What is so already is told to nobody.
func (s *Server) editPull(ctx context.Context, repo repository, number string, e pullEdit) (edited pull, err error) {
	err = s.changePull(ctx, repo, number, func(repo repository, p pull) error {
		var told []pullEvent
		if e.Title != nil && *e.Title != p.Title {
			told = append(told, pullEvent{eventPull, "edited", &changesShape{Title: &fromShape{p.Title}}})
			p.Title = *e.Title
		}
		if e.Body != nil && *e.Body != p.Body {
			told = append(told, pullEvent{eventPull, "edited", &changesShape{Body: &fromShape{p.Body}}})
			p.Body = *e.Body
		}
		if err := p.check(); err != nil {
			return err
		}
		if len(told) > 0 {
			p.Updated = s.cfg.Now()
		}
		if e.State != nil {
			var action string
			if p, action, err = s.turn(ctx, repo, p, *e.State); err != nil {
				return err
			}
			if action != "" {
				told = append(told, pullEvent{eventPull, action, nil})
			}
		}
		edited = p
		if len(told) == 0 {
			return nil
		}
		return s.savePull(ctx, repo, p, told, nil)
	})
	return edited, err
}

// turn closes or reopens a pull request; action is empty when it is so already.
func (s *Server) turn(ctx context.Context, repo repository, p pull, state string) (turned pull, action string, err error) {
	switch {
	case state != pullOpen && state != pullClosed:
		return p, "", unprocessable("state", state, "want open or closed")
	case p.State == pullMerged:
		return p, "", &refusal{http.StatusPreconditionFailed, "cannot change state of this pull request, it was already merged"}
	case p.State == state:
		return p, "", nil
	}
	refs, err := s.refsOnDisk(ctx, repo)
	if err != nil {
		return p, "", err
	}
	if state == pullClosed {
		facts, err := s.pair(ctx, repo, refs["refs/heads/"+p.Base], p.Head)
		return p.end(pullClosed, facts.mergeBase, s.cfg.Now()), "closed", err
	}
	if err := s.checkPair(ctx, repo, p, refs); err != nil {
		return p, "", err
	}
	p.State, p.MergeBase, p.Closed, p.Updated = pullOpen, "", nil, s.cfg.Now()
	p.Head = refs["refs/heads/"+p.Branch] // which may have moved meanwhile
	return p, "reopened", s.keepHead(ctx, repo, p)
}

// savePull writes a pull request, what else also writes, and what is told of
// it, in one transaction.
func (s *Server) savePull(ctx context.Context, repo repository, p pull, told []pullEvent, also func(*sql.Tx) error) error {
	ctx = context.WithoutCancel(ctx)
	hooks, err := s.hooks(ctx, repo)
	if err != nil {
		return err
	}
	refs, err := s.refsOnDisk(ctx, repo)
	if err != nil {
		return err
	}
	events, err := s.pullEvents(ctx, repo, p, refs, subscribed(hooks), told)
	if err != nil {
		return err
	}
	err = s.file.Update(ctx, "pull request "+p.State, func(tx *sql.Tx) error {
		if err := writePull(ctx, tx, p); err != nil {
			return err
		}
		if also != nil {
			if err := also(tx); err != nil {
				return err
			}
		}
		return s.enqueue(ctx, tx, hooks, events)
	})
	if err != nil {
		return fmt.Errorf("save %s pull request %d: %w", repo.full(), p.Number, err)
	}
	s.news.tell()
	return nil
}
