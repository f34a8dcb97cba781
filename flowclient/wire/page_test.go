package wire

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

func TestAPageComesBackAsItWent(t *testing.T) {
	p, err := PageRequest("/builds", PageQuery(Cursor("/builds", "2026-03-04 run-1")))
	require.NoError(t, err)
	assert.Equal(t, Page{Limit: MaxLimit, After: "2026-03-04 run-1"}, p)
	p, err = PageRequest("/builds", PageQuery(""))
	require.NoError(t, err)
	assert.Equal(t, Page{Limit: MaxLimit}, p)
	p, err = PageRequest("/builds", "")
	require.NoError(t, err)
	assert.Equal(t, Page{Limit: DefaultLimit}, p)
	p, err = PageOf("/audit", map[string]string{"project": "shop", "limit": "3"})
	require.NoError(t, err)
	assert.Equal(t, Page{Limit: 3}, p, "a list may have other parameters")
}

func TestACursorIsOfItsListAlone(t *testing.T) {
	for _, cursor := range []string{Cursor("/locks", "7"), Cursor("/build", "s\n7"), Cursor("/builds", ""), "", "!", "Ly9idWlsZHM", Cursor("/builds", strings.Repeat("x", MaxCursor))} {
		_, err := PageRequest("/builds", url.Values{"cursor": {cursor}}.Encode())
		var bad *flowclient.Invalid
		require.ErrorAs(t, err, &bad, cursor)
		assert.Equal(t, "cursor", bad.Field)
	}
}

// FuzzPage: a page is within its bounds or names what is wrong; a cursor that is taken is the one that its place has.
func FuzzPage(f *testing.F) {
	for _, query := range []string{"", "limit=5", "limit=500", "limit=501", "limit=-1", "limit=1e2", "cursor=", PageQuery(Cursor("/builds", "run-1")), PageQuery(Cursor("/locks", "1")), "cursor=%zz", "limit=1&limit=2", "cursor=L2J1aWxkcwoK"} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		p, err := PageRequest("/builds", query)
		var bad *flowclient.Invalid
		switch {
		case err != nil && (!errors.As(err, &bad) || bad.Why == ""):
			t.Fatalf("%q: %v", query, err)
		case err != nil:
			return
		case p.Limit < 1 || p.Limit > MaxLimit || len(p.After) > MaxCursor:
			t.Fatalf("%q: %+v", query, p)
		}
		if again, err := PageRequest("/builds", PageQuery(Cursor("/builds", p.After))); p.After != "" && (err != nil || again.After != p.After) {
			t.Fatalf("%q: %+v, then %+v: %v", query, p, again, err)
		}
	})
}
