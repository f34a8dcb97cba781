package flowtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// Celled is a reader of cells under test, and how a cell gets its quotas.
type Celled struct {
	Cells flowclient.Cells
	// Limit makes the namespace with one quota per map, from the resource's name to a
	// Kubernetes quantity, and returns when the data plane tells of them. Nothing runs there.
	Limit func(t *testing.T, namespace string, quotas ...map[string]string)
}

// Cells is the contract of flowclient.Cells. It uses namespaces of its own, so
// that a cluster with other things in it may be used.
func Cells(t *testing.T, open func(t *testing.T) Celled) {
	name := func() string { return fmt.Sprintf("contract-%08x", rand.Uint32()) }
	for _, c := range []struct {
		name   string
		quotas []map[string]string
		want   flowclient.Quantities
	}{
		{"limits are read in bytes, thousandths and pods", []map[string]string{{"requests.memory": "4Gi", "requests.cpu": "1500m", "pods": "10"}},
			flowclient.Quantities{flowclient.Memory: 4 << 30, flowclient.CPU: 1500, flowclient.Pods: 10}},
		{"a resource without its prefix is the same one", []map[string]string{{"memory": "512Mi", "cpu": "2"}},
			flowclient.Quantities{flowclient.Memory: 512 << 20, flowclient.CPU: 2000}},
		{"limits are another resource than requests", []map[string]string{{"limits.memory": "1Gi", "requests.memory": "500M", "limits.cpu": "1"}},
			flowclient.Quantities{"limits.memory": 1 << 30, flowclient.Memory: 500e6, "limits.cpu": 1000}},
		{"of several quotas the one with least left counts", []map[string]string{{"requests.memory": "4Gi", "pods": "4"}, {"memory": "2Gi"}, {"requests.memory": "3Gi", "requests.cpu": "1", "pods": "6"}},
			flowclient.Quantities{flowclient.Memory: 2 << 30, flowclient.CPU: 1000, flowclient.Pods: 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, ns := open(t), name()
			w.Limit(t, ns, c.quotas...)
			q, found, err := w.Cells.Quota(t.Context(), ns)
			require.NoError(t, err)
			require.True(t, found)
			used := flowclient.Quantities{}
			for resource := range c.want {
				used[resource] = 0
			}
			assert.Equal(t, flowclient.Quota{Namespace: ns, Hard: c.want, Used: used}, q)
		})
	}
	t.Run("a namespace without a quota has none", func(t *testing.T) {
		w, ns := open(t), name()
		w.Limit(t, ns)
		_, found, err := w.Cells.Quota(t.Context(), ns)
		require.NoError(t, err)
		assert.False(t, found)
	})
	t.Run("a namespace that does not exist has none", func(t *testing.T) {
		_, found, err := open(t).Cells.Quota(t.Context(), name())
		require.NoError(t, err)
		assert.False(t, found)
	})
	t.Run("a quota is its namespace's alone", func(t *testing.T) {
		w, ns := open(t), name()
		w.Limit(t, ns, map[string]string{"pods": "3"})
		_, found, err := w.Cells.Quota(t.Context(), ns+"-a")
		require.NoError(t, err)
		assert.False(t, found)
	})
	t.Run("a name that is none is refused before anybody is asked", func(t *testing.T) {
		w := open(t)
		for _, ns := range []string{"", "../default", "a/b", "A", "a?limit=1"} {
			_, _, err := w.Cells.Quota(t.Context(), ns)
			var invalid *flowclient.Invalid
			require.ErrorAs(t, err, &invalid, ns)
		}
	})
	t.Run("a read that is broken off names the data plane", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, _, err := open(t).Cells.Quota(ctx, name())
		var upstream *flowclient.Upstream
		require.ErrorAs(t, err, &upstream)
		assert.True(t, errors.Is(err, context.Canceled))
	})
}
