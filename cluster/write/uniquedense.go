package write

import (
	"cmp"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
)

// bitsPerRow is how many bits of a set of keys a row may take: what sorting or grouping
// it would take at the least.
const bitsPerRow = 64

// distinctWithin reports whether the new rows of a key of one integer have no two that are
// equal, by what their segments' zone maps tell, or else by a set of bits over the range. It is false also where
// that does not tell: for other keys, those far from each other, where memory is short, and
// where some are equal, for duplicatesWithin says which.
func (r *Executor) distinctWithin(k *uniqueKey, fresh *catalog.Manifest, rows int64) (bool, error) {
	if k.Kind == 'e' || len(k.Columns) != 1 || k.NullsNotDistinct || !k.rel.ColumnNum(k.Columns[0]).Type.IsInteger() {
		return false, nil
	}
	if disjointAscending(fresh, k.Columns[0]) {
		return true, nil
	}
	lo, hi, ok := bounds(fresh, k.Columns[0])
	if !ok || uint64(hi)-uint64(lo) >= uint64(rows)*bitsPerRow {
		return false, nil
	}
	acct := r.x.Pool.Account("keys of new rows", false)
	defer acct.Close()
	words := (hi-lo)/64 + 1
	if !acct.Try(8 * words) {
		return false, nil
	}
	in, sc, cols := k.rows(1)
	from, err := r.start(in, cols, map[*plan.Scan]*catalog.Manifest{sc: fresh})
	if err != nil {
		return false, err
	}
	defer from.Close()
	seen := make([]uint64, words)
	for {
		b, err := from.Next(r.x.Ctx)
		if err == io.EOF {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if !addKeys(seen, lo, hi, b) {
			return false, nil
		}
	}
}

// addKeys notes the numbers of a batch's first column in a set of bits from lo on; false
// where one was there, or is not of the range up to hi.
func addKeys(seen []uint64, lo, hi int64, b *batch.Batch) bool {
	switch a := b.Cols[0].(type) {
	case *array.Int64:
		return addInts(seen, lo, hi, a, a.Int64Values(), b)
	case *array.Int32:
		return addInts(seen, lo, hi, a, a.Int32Values(), b)
	case *array.Int16:
		return addInts(seen, lo, hi, a, a.Int16Values(), b)
	}
	return false
}

func addInts[T int16 | int32 | int64](seen []uint64, lo, hi int64, arr arrow.Array, vals []T, b *batch.Batch) bool {
	// The scan leaves NULLs out, so those that a selection names have values.
	if b.Sel == nil {
		if arr.NullN() > 0 {
			return false
		}
		for _, v := range vals[:b.N] {
			if !addInt(seen, lo, hi, int64(v)) {
				return false
			}
		}
		return true
	}
	for _, row := range b.Sel {
		if !addInt(seen, lo, hi, int64(vals[row])) {
			return false
		}
	}
	return true
}

func addInt(seen []uint64, lo, hi, v int64) bool {
	if v < lo || v > hi {
		return false
	}
	at := uint64(v - lo)
	word, bit := &seen[at/64], uint64(1)<<(at%64)
	had := *word&bit != 0
	*word |= bit
	return !had
}

// disjointAscending reports whether the values of an integer column rise in each segment, as a
// sequence's do, and no segment's range meets another's: then no two are equal.
func disjointAscending(m *catalog.Manifest, num int16) bool {
	var ranges [][2]int64
	for _, p := range m.Partitions {
		for _, g := range p {
			i := slices.IndexFunc(g.Zones, func(z catalog.Zone) bool { return z.Column == num })
			if i < 0 || !g.Zones[i].Unique {
				return false
			}
			lo, ok1 := g.Zones[i].Min.(int64)
			hi, ok2 := g.Zones[i].Max.(int64)
			if !ok1 || !ok2 {
				return false
			}
			ranges = append(ranges, [2]int64{lo, hi})
		}
	}
	slices.SortFunc(ranges, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	for i := 1; i < len(ranges); i++ {
		if ranges[i][0] <= ranges[i-1][1] {
			return false
		}
	}
	return true
}

// bounds are the least and the greatest value of an integer column; ok is false where
// zone maps do not tell.
func bounds(m *catalog.Manifest, num int16) (lo, hi int64, ok bool) {
	first := true
	for _, p := range m.Partitions {
		for _, g := range p {
			i := slices.IndexFunc(g.Zones, func(z catalog.Zone) bool { return z.Column == num })
			if i < 0 {
				return 0, 0, false
			}
			a, ok1 := g.Zones[i].Min.(int64)
			b, ok2 := g.Zones[i].Max.(int64)
			if !ok1 || !ok2 {
				return 0, 0, false
			}
			if first || a < lo {
				lo = a
			}
			if first || b > hi {
				hi = b
			}
			first = false
		}
	}
	return lo, hi, !first
}
