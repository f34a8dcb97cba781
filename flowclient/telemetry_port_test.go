package flowclient

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestATraceparentFollowsFromKindAndName(t *testing.T) {
	got := TraceparentOf(TraceBuild, "shop-web-run-1a2b3c4d")
	assert.Regexp(t, `^00-[0-9a-f]{32}-[0-9a-f]{16}-01$`, got)
	assert.Equal(t, got, TraceparentOf(TraceBuild, "shop-web-run-1a2b3c4d"))
	assert.Equal(t, "00-cfedecf0", got[:11], "links that are stored must lead to what later versions record")
	for _, other := range []string{TraceparentOf(TraceBuild, "shop-web-run-1a2b3c4e"), TraceparentOf(TraceWalkthrough, "shop-web-run-1a2b3c4d")} {
		assert.NotEqual(t, got[3:35], other[3:35])
	}
	assert.True(t, strings.Contains(got, TraceIDOf(TraceBuild, "shop-web-run-1a2b3c4d")))
}
