package flowclient

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestEvidenceShowsTheNewestWithinItsBounds(t *testing.T) {
	size := func(n int) int { return n }
	small := make([]int, 130)
	assert.Len(t, shown(small, size), maxShown)
	assert.Equal(t, []int{2, 3}, shown([]int{maxShownBytes, 2, 3}, size))
	assert.Equal(t, []int{maxShownBytes + 1}, shown([]int{1, maxShownBytes + 1}, size), "one at least")
	assert.Empty(t, shown(nil, size))
}
