package flowclient

import (
	"math/bits"
	"slices"
	"strings"
)

// mostTried is the largest set of which every subset is tried.
const mostTried = 14

// shares is what the components of a set ask of each resource that is limited,
// and what is free of each, the margin taken off.
type shares struct {
	free []int64
	asks [][]int64 // by component, then resource
}

// shares lays a set out for trying its subsets.
func (r room) shares(set []candidate) (s shares) {
	s.asks = make([][]int64, len(set))
	for resource := range r.quota.Hard {
		b := r.balance(resource, nil)
		s.free = append(s.free, -b.short)
		for i, c := range set {
			s.asks[i] = append(s.asks[i], c.Need.asks(resource))
		}
	}
	return s
}

// fits tells whether the chosen components could move by themselves.
func (s shares) fits(chosen []int) bool {
	for at, free := range s.free {
		asked, left := false, free
		for _, i := range chosen {
			asked = asked || s.asks[i][at] > 0
			left = minus(left, s.asks[i][at])
		}
		if asked && left < 0 {
			return false
		}
	}
	return true
}

// largest is the largest subset that fits; among equally large ones, the first
// in the order of set. Of more than mostTried components those that ask for
// least are taken one after another: that is the largest subset where one
// resource is short, and one that fits in any case.
func (r room) largest(set []candidate) (subset []candidate) {
	readable := slices.DeleteFunc(slices.Clone(set), func(c candidate) bool { return c.Need.Unread != "" })
	s := r.shares(readable)
	chosen := s.leastFirst(readable)
	if len(readable) <= mostTried {
		chosen = s.tryAll()
	}
	for _, i := range chosen {
		subset = append(subset, readable[i])
	}
	return subset
}

// tryAll tries every subset. Counting down in bits of which the highest stands
// for the first component makes the first of equally large subsets come first.
func (s shares) tryAll() (best []int) {
	n := len(s.asks)
	subset := make([]int, 0, n)
	for mask := uint(1)<<n - 1; mask > 0; mask-- {
		if bits.OnesCount(mask) <= len(best) {
			continue
		}
		subset = subset[:0]
		for i := range n {
			if mask>>(n-1-i)&1 == 1 {
				subset = append(subset, i)
			}
		}
		if s.fits(subset) {
			best = slices.Clone(subset)
		}
	}
	return best
}

// leastFirst takes what asks for the smallest share of what is free, as long as it fits.
func (s shares) leastFirst(set []candidate) (chosen []int) {
	share := func(i int) (greatest float64) {
		for at, free := range s.free {
			greatest = max(greatest, float64(s.asks[i][at])/float64(max(free, 1)))
		}
		return greatest
	}
	order := make([]int, len(set))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch x, y := share(a), share(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return strings.Compare(set[a].Component, set[b].Component)
	})
	for _, i := range order {
		if with := append(slices.Clone(chosen), i); s.fits(with) {
			chosen = with
		}
	}
	slices.Sort(chosen)
	return chosen
}
