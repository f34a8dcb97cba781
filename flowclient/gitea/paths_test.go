package gitea

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestAPathThatMayBeWrittenLiesInsideTheRepository(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`([./\\a]|\.\.|\.git|\.GIT|\n|b c){0,6}`).Draw(t, "name")
		if pathFault(name) != "" {
			return
		}
		assert.True(t, filepath.IsLocal(name), "%q", name)
		assert.Equal(t, name, filepath.Clean(name))
		for _, part := range strings.Split(name, "/") {
			assert.False(t, strings.EqualFold(part, ".git"), "%q", name)
		}
	})
}

func TestABranchThatPassesIsNoOptionAndNoRefspec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[-a-z/.:^~@{*+ \x00-\x1f]{0,10}`).Draw(t, "name")
		if !branchOK(name) {
			return
		}
		assert.NotRegexp(t, `^-|[:^~* \x00-\x1f]|\.\.|@\{|^/|/$`, name)
	})
}

func TestAnAddressIsMadeOfANameWhateverTheName(t *testing.T) {
	for name, want := range map[string]string{
		"Dev Developer": "dev-developer@noreply.localhost", "Zoë <x@y>": "zo---x-y@noreply.localhost", " ": "somebody@noreply.localhost",
	} {
		assert.Equal(t, want, address(name))
	}
}
