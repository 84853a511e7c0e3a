package isolation

import (
	"cmp"
	"slices"
)

// row is a row with its copies.
type row struct {
	Hash   uint64
	X      []float64
	Code   []int32
	Weight int64
	Times  int // that it was drawn
}

func (r *row) compare(o *row) int {
	if c := cmp.Compare(r.Hash, o.Hash); c != 0 {
		return c
	}
	if c := slices.Compare(r.X, o.X); c != 0 {
		return c
	}
	return slices.Compare(r.Code, o.Code)
}

// compact brings rows into order, and copies of a row together.
func compact(rows []row) []row {
	slices.SortFunc(rows, func(a, b row) int { return a.compare(&b) })
	out := rows[:0]
	for _, r := range rows {
		if n := len(out); n > 0 && out[n-1].compare(&r) == 0 {
			out[n-1].Weight += r.Weight
		} else {
			out = append(out, r)
		}
	}
	return out
}
