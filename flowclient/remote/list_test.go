package remote

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

func TestListsAreReadToTheirEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		field string
		read  func(context.Context, *Client) (int, error)
		path  string
	}{
		"builds":  {"builds", func(ctx context.Context, c *Client) (int, error) { all, err := c.Builds(ctx); return len(all), err }, "/builds"},
		"reviews": {"reviews", func(ctx context.Context, c *Client) (int, error) { all, err := c.Reviews(ctx); return len(all), err }, "/reviews"},
		"locks":   {"locks", func(ctx context.Context, c *Client) (int, error) { all, err := c.Locks(ctx); return len(all), err }, "/locks"},
		"freezes": {"freezes", func(ctx context.Context, c *Client) (int, error) { all, err := c.Freezes(ctx); return len(all), err }, "/freezes"},
		"walkthroughs": {"walkthroughs", func(ctx context.Context, c *Client) (int, error) {
			all, err := c.Walkthroughs(ctx)
			return len(all), err
		}, "/walkthroughs"},
	} {
		t.Run(name, func(t *testing.T) {
			c, asked := controller(t,
				answer{status: 200, body: `{"` + tc.field + `":[{},{}],"next":"b2Y="}`},
				answer{status: 502, body: `{"error":"git server: refused","part":"git server"}`}, // tried again, where it was
				answer{status: 200, body: `{"` + tc.field + `":[{}],"next":"ZW5k"}`},
				answer{status: 200, body: `{"` + tc.field + `":[]}`})
			n, err := tc.read(t.Context(), c)
			require.NoError(t, err)
			assert.Equal(t, 3, n)
			var lines []string
			for _, a := range *asked {
				lines = append(lines, a.line)
			}
			assert.Equal(t, []string{
				"GET " + tc.path + "?limit=500", "GET " + tc.path + "?cursor=b2Y%3D&limit=500", "GET " + tc.path + "?cursor=b2Y%3D&limit=500", "GET " + tc.path + "?cursor=ZW5k&limit=500",
			}, lines)
		})
	}
}

func TestAListIsWholeOrAnError(t *testing.T) {
	c, _ := controller(t, answer{status: 200, body: `{"locks":[{}],"next":"b2Y"}`}, answer{status: 400, body: `{"error":"x","field":"cursor","value":"b2Y","why":"is no cursor of this list"}`})
	locks, err := c.Locks(t.Context())
	var bad *flowclient.Invalid
	require.ErrorAs(t, err, &bad)
	assert.Nil(t, locks)
}

func TestAListWithoutAnEndIsTheControllersFault(t *testing.T) {
	c, asked := controller(t, answer{status: 200, body: `{"locks":[{}],"next":"again"}`})
	_, err := c.Locks(t.Context())
	var up *flowclient.Upstream
	require.ErrorAs(t, err, &up)
	assert.ErrorContains(t, err, "/locks goes on after 200 pages")
	assert.Len(t, *asked, maxPages)
}
