package remote

import (
	"context"
	"net/http"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

// Locks lists the commit locks that hold, oldest first.
func (c *Client) Locks(ctx context.Context) ([]flowclient.Lock, error) {
	return list(ctx, c, wire.LocksPath, func(a wire.LocksAnswer) ([]flowclient.Lock, string) { return a.Locks, a.Next })
}

// SetLock locks a commit of a component; set twice is one lock.
func (c *Client) SetLock(ctx context.Context, r flowclient.LockRequest) (flowclient.Lock, error) {
	return send[flowclient.Lock](ctx, c, http.MethodPost, wire.LocksPath, "", r.Origin, wire.FromLock(r))
}

// ClearLock clears the locks of a commit and returns them; *flowclient.NotFound when there is none.
func (c *Client) ClearLock(ctx context.Context, r flowclient.LockRequest) ([]flowclient.Lock, error) {
	answer, err := send[wire.ClearAnswer](ctx, c, http.MethodDelete, wire.LocksPath, wire.ClearQuery(r, false), r.Origin, nil)
	return answer.Locks, err
}

// Unlocking tells what ClearLock would clear and what could move then; *flowclient.NotFound when there is no lock.
func (c *Client) Unlocking(ctx context.Context, r flowclient.LockRequest) (flowclient.Unlocking, error) {
	var answer wire.ClearAnswer
	err := c.exchange(ctx, c.reads, http.MethodDelete, wire.LocksPath, wire.ClearQuery(r, true), http.Header{}, nil, &answer)
	if err != nil {
		return flowclient.Unlocking{}, err
	}
	return flowclient.Unlocking{Locks: answer.Locks, Moves: append([]flowclient.ComponentOutcome{}, answer.Moves...), Sentence: answer.Sentence}, nil
}
