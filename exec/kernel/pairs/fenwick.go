package pairs

// fenwick is a binary indexed tree of prefix sums (Fenwick 1994), for one element less than its
// length.
type fenwick[T uint64 | float64] []T

func (s fenwick[T]) add(i int, v T) {
	for i++; i < len(s); i += i & -i {
		s[i] += v
	}
}

// below returns the sum of the first n.
func (s fenwick[T]) below(n int) (v T) {
	for ; n > 0; n -= n & -n {
		v += s[n]
	}
	return v
}
