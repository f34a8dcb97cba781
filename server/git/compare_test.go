package git

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestChangesCarriedOutOnWhatWasRecordedGiveWhatIsThere(t *testing.T) {
	names := rapid.SampledFrom([]string{"refs/heads/main", "refs/heads/a", "refs/heads/b", "refs/tags/v1", "refs/heads/a-b"})
	shas := rapid.SampledFrom([]string{"1", "2", "3"})
	rapid.Check(t, func(t *rapid.T) {
		recorded := rapid.MapOf(names, shas).Draw(t, "recorded")
		actual := rapid.MapOf(names, shas).Draw(t, "actual")
		changes := compare(recorded, actual, "main")
		got := maps.Clone(recorded)
		for _, c := range changes {
			assert.NotEqual(t, c.before, c.after, "a change changes")
			if before, ok := recorded[c.ref]; ok {
				assert.Equal(t, before, c.before)
			} else {
				assert.True(t, c.created())
			}
			if c.deleted() {
				delete(got, c.ref)
			} else {
				got[c.ref] = c.after
			}
		}
		assert.True(t, maps.Equal(got, actual))
		assert.Empty(t, compare(actual, actual, "main"))
		if i := slices.IndexFunc(changes, func(c change) bool { return c.ref == "refs/heads/main" }); i > 0 {
			t.Fatalf("the default branch is told at place %d", i)
		}
	})
}

func TestARefThatPassesIsNoOptionAndNoExpression(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ref := rapid.StringMatching(`[-a-z0-9/.~^:@{}*?\[\\ \x00-\x1f]{0,12}`).Draw(t, "ref")
		if checkRef("ref", ref) != nil {
			return
		}
		assert.NotEqual(t, byte('-'), ref[0])
		assert.NotRegexp(t, `[~^:?*\[\\ \x00-\x1f]|\.\.|@\{|^/|/$|//`, ref)
	})
}

func TestWhatMovesIsAPrefixThatEndsWhereAPathBegins(t *testing.T) {
	prefixes := map[string]string{"http://127.0.0.1:80": "http://127.0.0.1:90", "http://127.0.0.1:8080/": "http://127.0.0.1:9090/"}
	for from, to := range map[string]string{
		"http://127.0.0.1:80":           "http://127.0.0.1:90",
		"http://127.0.0.1:80/x":         "http://127.0.0.1:90/x",
		"http://127.0.0.1:80?x":         "http://127.0.0.1:90?x",
		"http://127.0.0.1:8080/a/b":     "http://127.0.0.1:9090/a/b",
		"http://127.0.0.1:808/x":        "http://127.0.0.1:808/x",
		"http://127.0.0.1:80.evil.test": "http://127.0.0.1:80.evil.test",
		"":                              "",
	} {
		assert.Equal(t, to, rebased(from, prefixes), from)
	}
}
