package flowclient

import (
	"context"
	"fmt"
)

// Host is what the machine that workloads run on has left.
func (c *Controller) Host(ctx context.Context) (Host, error) {
	free, err := c.deps.Cluster.AvailableMemory(ctx)
	if err != nil {
		return Host{}, fmt.Errorf("available memory: %w", err)
	}
	return Host{AvailableBytes: free}, nil
}
