package family

import (
	"slices"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Sliced is a partial that is a vector and little else, of which Merge makes the
// same element by element as of the whole. Where it is long it goes up the tree in
// slices, each merged at homes of its own.
type Sliced interface {
	Message
	// Slice returns elements [from, to), as far as there are any, which may share
	// memory with the partial. The slice from 0 has besides what is not of the
	// vector, the others have zeros for it.
	Slice(from, to int) Message
	// Join returns the partial of which these are the slices, in their order, the
	// receiver the first of them.
	Join(slices []Message) (Message, error)
}

// Cut is the elements [from, to) of v, as far as there are any.
func Cut[T any](v []T, from, to int) []T {
	from = min(max(from, 0), len(v))
	to = max(from, min(to, len(v)))
	return v[from:to:to]
}

// Join puts vectors of slices together again: the one that of gives of each.
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
