package commands

import (
	"slices"
	"strings"
)

// maxNear is how many names Near suggests.
const maxNear = 3

// Near gives those of names that word may have meant, nearest first, at most
// three: names within an edit distance of a third of their length (neighbours
// swapped count once), or that begin with word.
func Near(word string, names []string) []string {
	word = strings.ToLower(word)
	type candidate struct {
		name string
		far  int
	}
	var found []candidate
	for _, n := range names {
		low := strings.ToLower(n)
		far := distance(word, low)
		switch {
		case far <= max(1, len(low)/3):
			found = append(found, candidate{n, far})
		case len(word) >= 2 && strings.HasPrefix(low, word):
			found = append(found, candidate{n, len(low)})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.far - b.far })
	var out []string
	for _, c := range found[:min(len(found), maxNear)] {
		out = append(out, c.name)
	}
	return out
}

// distance is how many characters must be added, removed, changed or swapped
// with their neighbour to make a of b (optimal string alignment).
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > 64 || len(y) > 64 { // nobody mistypes such a name
		return max(len(x), len(y))
	}
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(x)][len(y)]
}
