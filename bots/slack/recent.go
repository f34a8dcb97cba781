package slack

// recent is a map that forgets its oldest keys beyond a number. It is not safe
// for concurrent use.
type recent[K comparable, V any] struct {
	values map[K]V
	ring   []K
	next   int
}

// newRecent remembers up to n keys.
func newRecent[K comparable, V any](n int) *recent[K, V] {
	return &recent[K, V]{values: make(map[K]V), ring: make([]K, 0, n)}
}

// get is the value under a key, when it is still known.
func (r *recent[K, V]) get(k K) (V, bool) {
	v, ok := r.values[k]
	return v, ok
}

// put remembers a value; a known key keeps its age.
func (r *recent[K, V]) put(k K, v V) {
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
