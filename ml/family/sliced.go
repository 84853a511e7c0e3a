package family

import (
	"slices"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Sliced is a partial that is essentially a vector, which Merge merges element by
// element. A long one goes up the tree in slices, each with its own homes.
type Sliced interface {
	Message
	// Slice returns elements [from, to), as far as there are any, which may share memory
	// with the partial. The slice from 0 also has the other fields, which are zero in the
	// others.
	Slice(from, to int) Message
	// Join returns the partial made of these slices, in order; the receiver is the first
	// of them.
	Join(slices []Message) (Message, error)
}

// Cut returns the elements [from, to) of v, as far as there are any.
func Cut[T any](v []T, from, to int) []T {
	from = min(max(from, 0), len(v))
	to = max(from, min(to, len(v)))
	return v[from:to:to]
}

// Join concatenates the vectors that of returns for each slice.
func Join[M Message, T any](list []Message, of func(M) []T) ([]T, error) {
	parts := make([][]T, len(list))
	for i, m := range list {
		p, ok := m.(M)
		if !ok {
			return nil, pgerr.New(pgerr.DataCorrupted, "slices of different partials do not belong together")
		}
		parts[i] = of(p)
	}
	return slices.Concat(parts...), nil
}
