package flowclient

import (
	"context"
	"fmt"
)

// Quota is the ResourceQuota of a cell as the cluster has it: Used is the
// quota's status.used, the sum of declared requests.
type Quota struct {
	Namespace string     `json:"namespace"` // the cell's
	Hard      Quantities `json:"hard"`
	Used      Quantities `json:"used"`
}

// Cells reads the quotas of cells (port).
type Cells interface {
	// Quota is the quota of a cell's namespace; found is false when it has none, or does
	// not exist. Several quotas count as one: of each resource the one with least left. *Upstream.
	Quota(ctx context.Context, namespace string) (q Quota, found bool, err error)
}

// cell is the quota of the project's cell in production. Where there is none,
// the note is a sentence that says why.
func (c *Controller) cell(ctx context.Context, project Object) (*Quota, string, error) {
	place := project.Metadata.Name + " in " + Production
	if c.deps.Cells == nil {
		return nil, fmt.Sprintf("capacity of %s is not checked: no data plane is configured that tells of quotas.", place), nil
	}
	o, err := c.deps.ControlPlane.Get(ctx, KindProjectReleaseBinding, bindingName(project.Metadata.Name, Production))
	if IsNotFound(err) {
		return nil, fmt.Sprintf("%s has no cell yet: the first promotion makes it, so that there is no quota to ask yet.", place), nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("cell of %s: %w", place, err)
	}
	var status struct {
		Namespace string `json:"namespace"`
	}
	if err := o.Decode(nil, &status); err != nil {
		return nil, "", err
	}
	if status.Namespace == "" {
		return nil, fmt.Sprintf("the cell of %s has no namespace yet, so that no quota limits it.", place), nil
	}
	q, found, err := c.deps.Cells.Quota(ctx, status.Namespace)
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("quota of %s: %w", place, err)
	case !found:
		return nil, fmt.Sprintf("no quota limits the cell of %s.", place), nil
	}
	return &q, "", nil
}
