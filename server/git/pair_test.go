package git

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// written is how git diff-tree -z --raw --numstat writes changed files.
func written(files []changedFile) string {
	var raw, counts strings.Builder
	letters := map[string]string{"added": "A", "deleted": "D", "changed": "M", "renamed": "R087", "copied": "C100"}
	for _, f := range files {
		fmt.Fprintf(&raw, ":100644 100644 %040d %040d %s\x00", 1, 2, letters[f.Status])
		if f.Previous != "" {
			fmt.Fprintf(&raw, "%s\x00%s\x00", f.Previous, f.Name)
			fmt.Fprintf(&counts, "%d\t%d\t\x00%s\x00%s\x00", f.Additions, f.Deletions, f.Previous, f.Name)
			continue
		}
		fmt.Fprintf(&raw, "%s\x00", f.Name)
		fmt.Fprintf(&counts, "%d\t%d\t%s\x00", f.Additions, f.Deletions, f.Name)
	}
	return raw.String() + counts.String()
}

func TestChangedFilesAreReadWhateverTheyAreCalled(t *testing.T) {
	names := rapid.StringMatching(`[a-zü: \t"\n-]{1,8}`)
	rapid.Check(t, func(t *rapid.T) {
		var want []changedFile
		for _, name := range rapid.SliceOfNDistinct(names, 0, 6, rapid.ID).Draw(t, "names") {
			f := changedFile{
				Name: "d/" + name, Status: rapid.SampledFrom([]string{"added", "deleted", "changed", "renamed", "copied"}).Draw(t, "status"),
				Additions: rapid.IntRange(0, 9).Draw(t, "additions"), Deletions: rapid.IntRange(0, 9).Draw(t, "deletions"),
			}
			if f.Status == "renamed" || f.Status == "copied" {
				f.Previous = "was/" + name
			}
			want = append(want, f)
		}
		assert.Equal(t, want, parseChangedFiles(written(want)))
	})
}

func TestOutputThatIsCutOffIsReadAsFarAsItGoes(t *testing.T) {
	whole := written([]changedFile{{Name: "a", Status: "added"}, {Name: "c", Previous: "b", Status: "renamed"}, {Name: "d", Status: "changed"}})
	for n := range len(whole) {
		assert.LessOrEqual(t, len(parseChangedFiles(whole[:n])), 3)
	}
}

func TestPairsAreForgottenRatherThanKeptWithoutEnd(t *testing.T) {
	p := newPairs()
	for i := range 2*pairsKept + 1 {
		p.put(fmt.Sprint(i), pair{files: i})
	}
	assert.LessOrEqual(t, len(p.known), pairsKept)
	last, ok := p.get(fmt.Sprint(2 * pairsKept))
	assert.True(t, ok)
	assert.Equal(t, 2*pairsKept, last.files)
}

func TestEveryStyleOfMergingIsWholeOrNone(t *testing.T) {
	var whole []string
	for name, style := range mergeStyles {
		assert.Equal(t, style.parents == nil, style.title == nil, name)
		assert.Equal(t, style.parents == nil, style.author == nil, name)
		if style.parents != nil {
			whole = append(whole, name)
		}
	}
	slices.Sort(whole)
	assert.Equal(t, []string{"merge", "squash"}, whole)
}
