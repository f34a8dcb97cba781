package flowclient

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// removeProject removes a project's objects, then its repository, then the
// project: one that is gone was removed whole before a crash, and one of
// another UID is somebody's new project of that name. removed is false where
// something of the project has to stay.
func (c *Controller) removeProject(ctx context.Context, p projectPlan) (removed bool, refused []string, err error) {
	unlock, err := c.subjects.lock(ctx, projectSubject(p.Name))
	if err != nil {
		return false, nil, err
	}
	defer unlock()
	if err := c.resolve(ctx, projectSubject(p.Name)); err != nil {
		return false, nil, err
	}
	project := objectRef{KindProject, p.Name, p.UID}
	if there, err := c.isThere(ctx, project); err != nil || !there {
		return err == nil, nil, err
	}
	for _, holds := range []bool{true, false} {
		var going []objectRef
		for _, ref := range p.Objects {
			if ref.runs() != holds {
				continue
			}
			why, err := c.remove(ctx, ref)
			if err != nil {
				return false, nil, err
			}
			if refused = append(refused, why...); len(why) == 0 {
				going = append(going, ref)
			}
		}
		// Releases are given up only once no binding names them any more.
		if err := c.waitGone(ctx, going); err != nil {
			return false, nil, err
		}
	}
	// What controllers made while this went on belongs to components that are gone.
	held, err := c.held(ctx)
	if err != nil {
		return false, nil, err
	}
	if why := unlabelled(p.Name, held[p.Name]); why != "" {
		return false, append(refused, why), nil // made meanwhile, by somebody else
	}
	for _, o := range held[p.Name] {
		if _, err := c.remove(ctx, objectRef{o.Kind, o.Metadata.Name, o.Metadata.UID}); err != nil {
			return false, nil, err
		}
	}
	if err := c.deps.Git.DeleteRepository(ctx, p.Repository); err != nil && !IsNotFound(err) {
		return false, nil, fmt.Errorf("delete repository %s: %w", p.Repository, err)
	}
	why, err := c.remove(ctx, project)
	if err == nil && len(why) == 0 {
		err = c.waitGone(ctx, []objectRef{project})
	}
	return len(why) == 0, append(refused, why...), err
}

// goneWithin is how long a control plane may take over a deletion before the
// teardown is left to the next pass.
const goneWithin = 30 * time.Second

// errGoing is an object whose deletion takes long.
var errGoing = errors.New("is still being deleted")

// waitGone waits until none of the objects is there: a control plane answers a
// deletion before it has carried it out.
func (c *Controller) waitGone(ctx context.Context, refs []objectRef) error {
	const atLeast, atMost = 10 * time.Millisecond, time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, goneWithin, errGoing)
	defer cancel()
	for _, ref := range refs {
		for wait := atLeast; ; wait = min(2*wait, atMost) {
			there, err := c.isThere(ctx, ref)
			if err != nil {
				return err
			}
			if !there {
				break
			}
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return fmt.Errorf("%s %s: %w", ref.Kind, ref.Name, context.Cause(ctx))
			}
		}
	}
	return nil
}

// runs tells whether the object is or holds something that runs: its deletion
// takes time and everything else waits for it.
func (r objectRef) runs() bool { return r.Kind == KindComponent || r.Kind == KindReleaseBinding }

// isThere tells whether the very object exists.
func (c *Controller) isThere(ctx context.Context, ref objectRef) (bool, error) {
	o, err := c.deps.ControlPlane.Get(ctx, ref.Kind, ref.Name)
	if IsNotFound(err) {
		return false, nil
	}
	return err == nil && o.Metadata.UID == ref.UID, wrap(err, "read %s %s", ref.Kind, ref.Name)
}

// remove deletes an object unless it is gone or another's; what the control
// plane will not give up is told and left.
func (c *Controller) remove(ctx context.Context, ref objectRef) (refused []string, err error) {
	if there, err := c.isThere(ctx, ref); err != nil || !there {
		return nil, err
	}
	err = c.deps.ControlPlane.Delete(ctx, ref.Kind, ref.Name)
	var invalid *Invalid
	var refusal *Refusal
	switch {
	case err == nil || IsNotFound(err):
		return nil, nil
	case errors.Is(err, ErrConflict), errors.As(err, &invalid), errors.As(err, &refusal):
		return []string{fmt.Sprintf("%s %s stays: %v.", ref.Kind, ref.Name, err)}, nil
	}
	return nil, fmt.Errorf("delete %s %s: %w", ref.Kind, ref.Name, err)
}
