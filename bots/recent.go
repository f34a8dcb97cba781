package bots

// Recent is a map that forgets its oldest keys beyond a number: what a
// transport remembers of a chat in which there is always more. It is not safe
// for concurrent use.
type Recent[K comparable, V any] struct {
	values map[K]V
	ring   []K
	next   int
}

// NewRecent remembers up to n keys.
func NewRecent[K comparable, V any](n int) *Recent[K, V] {
	return &Recent[K, V]{values: make(map[K]V), ring: make([]K, 0, n)}
}

// Get is the value under a key, when it is still known.
func (r *Recent[K, V]) Get(k K) (V, bool) {
	v, ok := r.values[k]
	return v, ok
}

// Put remembers a value; a known key keeps its age.
func (r *Recent[K, V]) Put(k K, v V) {
	if _, known := r.values[k]; !known {
		if len(r.ring) < cap(r.ring) {
			r.ring = append(r.ring, k)
		} else {
			delete(r.values, r.ring[r.next])
			r.ring[r.next] = k
			r.next = (r.next + 1) % len(r.ring)
		}
	}
	r.values[k] = v
}
