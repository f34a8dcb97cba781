package remote

import (
	"context"
	"net/http"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

// Locks lists the commit locks that hold, oldest first.
func (c *Client) Locks(ctx context.Context) ([]flowclient.Lock, error) {
	answer, err := get[wire.LocksAnswer](ctx, c, wire.LocksPath, "")
	return answer.Locks, err
}

// SetLock locks a commit of a component; set twice is one lock.
func (c *Client) SetLock(ctx context.Context, r flowclient.LockRequest) (flowclient.Lock, error) {
	return send[flowclient.Lock](ctx, c, http.MethodPost, wire.LocksPath, "", r.Origin, wire.FromLock(r))
}

// ClearLock clears the locks of a commit and returns them; *flowclient.NotFound when there is none.
func (c *Client) ClearLock(ctx context.Context, r flowclient.LockRequest) ([]flowclient.Lock, error) {
	answer, err := send[wire.LocksAnswer](ctx, c, http.MethodDelete, wire.LocksPath, wire.ClearQuery(r), r.Origin, nil)
	return answer.Locks, err
}
