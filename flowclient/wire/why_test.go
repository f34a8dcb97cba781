package wire

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// FuzzWhyQuery: a query is asked on as it was taken, or it is said what is wrong with it.
func FuzzWhyQuery(f *testing.F) {
	for _, seed := range []string{"project=shop", "project=shop&component=shop-web", "", "component=shop-web", "project=a&project=b", "project=shop&at=noon",
		"project=%", "project=%00", "project=%ff", "project=a;b", "project=shop&component=", "Project=shop", "project=+", "&&&", "project", "=0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		project, component, err := WhyRequest(query)
		var invalid *flowclient.Invalid
		if err != nil {
			require.True(t, errors.As(err, &invalid), "%v", err)
			require.NotEmpty(t, invalid.Field)
			require.LessOrEqual(t, len(err.Error()), 1000)
			return
		}
		require.NotEmpty(t, project)
		p, c, err := WhyRequest(WhyQuery(project, component))
		require.NoError(t, err)
		require.Equal(t, [2]string{project, component}, [2]string{p, c})
	})
}
