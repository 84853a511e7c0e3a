package eval

import (
	"math"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/compare"
	"github.com/tributarydb/tributary/exec/kernel/selection"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/types"
)

// scarce is the share of a batch's rows, one in so many, below which the remaining conditions are
// evaluated row by row and not as a mask of all rows.
const scarce = 32

// interval is a condition that an integer is from lo to hi, or that it is not.
type interval struct {
	kind        vector.Kind
	lo, hi      int64
	not         bool
	least, most int64 // of the kind
}

// intervalOf returns the interval that a comparison of an integer of t with a constant selects; ok
// is false for other types.
func intervalOf(op compare.CmpOp, t types.Type, k *vector.Vec) (r interval, ok bool) {
	r.kind = t.Form()
	var c int64
	switch r.kind {
	case vector.I16:
		c, r.least, r.most = int64(vector.Values[int16](k)[0]), math.MinInt16, math.MaxInt16
	case vector.I32:
		c, r.least, r.most = int64(vector.Values[int32](k)[0]), math.MinInt32, math.MaxInt32
	case vector.I64:
		c, r.least, r.most = vector.Values[int64](k)[0], math.MinInt64, math.MaxInt64
	case vector.U32:
		c, r.least, r.most = int64(vector.Values[uint32](k)[0]), 0, math.MaxUint32
	default:
		return r, false
	}
	r.lo, r.hi = r.least, r.most
	switch op {
	case compare.OpEQ, compare.OpNE:
		r.lo, r.hi, r.not = c, c, op == compare.OpNE
	case compare.OpLT:
		r.hi, r.not = c-1, c == r.least // nothing is below the least integer: the complement of all
		if r.not {
			r.hi = r.most
		}
	case compare.OpLE:
		r.hi = c
	case compare.OpGT:
		r.lo, r.not = c+1, c == r.most
		if r.not {
			r.lo = r.least
		}
	case compare.OpGE:
		r.lo = c
	}
	return r, true
}

// and returns the intersection of two intervals; ok is false where that is no interval.
func (r interval) and(s interval) (both interval, ok bool) {
	if r.kind != s.kind || r.not || s.not {
		return r, false
	}
	r.lo, r.hi = max(r.lo, s.lo), min(r.hi, s.hi)
	if r.lo > r.hi {
		r.lo, r.hi, r.not = r.least, r.most, true
	}
	return r, true
}

func (r interval) asRange() selection.Range {
	return selection.Range{Lo: r.lo, Width: uint64(r.hi) - uint64(r.lo), Not: r.not}
}

// masksFirst moves the conditions that have maskers to the front, as they take the least time and
// cannot fail, and intersects the intervals of one column, as BETWEEN has two.
func (c *compiler) masksFirst(conds []condition) ([]condition, error) {
	type column struct {
		at   int
		kind vector.Kind
	}
	var first, rest []condition
	var parts [][]expr.Expr  // of each of first: what it is the intersection of
	open := map[column]int{} // the interval of a column that others can be intersected with
	for _, x := range conds {
		if x.mask == nil {
			rest = append(rest, x)
			continue
		}
		if x.in != nil {
			k := column{x.col, x.in.kind}
			if i, ok := open[k]; ok {
				if both, ok := first[i].in.and(*x.in); ok {
					first[i].in, parts[i] = &both, append(parts[i], x.e)
					if both.not {
						delete(open, k)
					}
					continue
				}
			} else if !x.in.not {
				open[k] = len(first)
			}
		}
		first, parts = append(first, x), append(parts, []expr.Expr{x.e})
	}
	for i, list := range parts {
		if len(list) == 1 {
			continue
		}
		e, in := &expr.And{Args: list}, first[i].in
		root, err := c.compile(e)
		if err != nil {
			return nil, err
		}
		first[i] = condition{e: e, root: root, col: first[i].col, in: in, fast: hotInterval(*in), mask: in.mask(first[i].col)}
	}
	return append(first, rest...), nil
}

// masker sets a mask to the rows of a batch at which a condition holds, and where and
// is set to those of them that it has; ok is false where it does not read the form
// that a column has.
type masker func(f *Filter, b *batch.Batch, m []uint16, and bool) (k int, ok bool)

// masked applies conditions that have maskers, all by one mask, and records which in done. It
// returns the rows that are left and, unless all of the batch are, their numbers.
func (f *Filter) masked(b *batch.Batch) (sel []int32, n int) {
	n = b.N
	w := selection.Words(n)
	if len(f.words) < w {
		f.words = make([]uint16, w)
	}
	any := false
	for i := range f.conds {
		c := &f.conds[i]
		if c.mask == nil || n == 0 || any && n*scarce < b.N {
			break
		}
		if k, ok := c.mask(f, b, f.words[:w], any); ok {
			n, any, f.done[i] = k, true, true
		}
	}
	if !any || n == b.N {
		return nil, n
	}
	out := f.buffer(1, b.N)
	return out[:selection.Rows(f.words[:w], out)], n
}

// mask is the masker of an interval of a column.
func (r interval) mask(col int) masker {
	g := r.asRange()
	switch r.kind {
	case vector.I16:
		return maskColumn(col, func(m []uint16, v []int16, and bool) int { return selection.Mask(m, v, g, and) })
	case vector.I32:
		return maskColumn(col, func(m []uint16, v []int32, and bool) int { return selection.Mask32(m, v, g, and) })
	case vector.U32:
		return maskColumn(col, func(m []uint16, v []uint32, and bool) int { return selection.Mask32(m, v, g, and) })
	}
	return maskColumn(col, func(m []uint16, v []int64, and bool) int { return selection.Mask64(m, v, g, and) })
}

func maskColumn[T any](at int, mask func(m []uint16, v []T, and bool) int) masker {
	return func(_ *Filter, b *batch.Batch, m []uint16, and bool) (int, bool) {
		v, ok := raw[T](b.Cols[at])
		if !ok {
			return 0, false
		}
		return notNull(m, b.Cols[at], mask(m, v[:b.N], and)), true
	}
}

// maskPair is the masker of a comparison of two columns of one kind; nil for kinds that
// have none.
func maskPair(op compare.CmpOp, k vector.Kind, left, right int) masker {
	if op == compare.OpGT || op == compare.OpLE { // a > b is b < a
		op, left, right = op.Swap(), right, left
	}
	not := op == compare.OpNE || op == compare.OpGE
	switch equal := op == compare.OpEQ || op == compare.OpNE; {
	case k == vector.I32 && equal:
		return maskColumns(left, right, not, selection.Equal32[int32])
	case k == vector.I32:
		return maskColumns(left, right, not, selection.Less32)
	case k == vector.I64 && equal:
		return maskColumns(left, right, not, selection.Equal64)
	case k == vector.I64:
		return maskColumns(left, right, not, selection.Less64)
	}
	return nil
}

func maskColumns[T any](left, right int, not bool, mask func(m []uint16, x, y []T, not, and bool) int) masker {
	return func(_ *Filter, b *batch.Batch, m []uint16, and bool) (int, bool) {
		x, ok1 := raw[T](b.Cols[left])
		y, ok2 := raw[T](b.Cols[right])
		if !ok1 || !ok2 {
			return 0, false
		}
		k := mask(m, x[:b.N], y[:b.N], not, and)
		return notNull(m, b.Cols[right], notNull(m, b.Cols[left], k)), true
	}
}

// notNull removes the rows at which col is NULL from a mask of k rows.
func notNull(m []uint16, col arrow.Array, k int) int {
	if col.NullN() == 0 {
		return k
	}
	return selection.And(m, col.NullBitmapBytes(), col.Data().Offset(), col.Len())
}

// hotInterval narrows a selection to an interval.
func hotInterval(in interval) selector {
	switch in.kind {
	case vector.I16:
		return hotRange[int16](in.asRange())
	case vector.I32:
		return hotRange[int32](in.asRange())
	case vector.U32:
		return hotRange[uint32](in.asRange())
	}
	return hotRange[int64](in.asRange())
}

func hotRange[T selection.Integer](r selection.Range) selector {
	return func(_ *Filter, col arrow.Array, sel []int32, n int, out []int32) (int, bool) {
		v, ok := raw[T](col)
		if !ok || sel == nil {
			return 0, false
		}
		k := selection.Some(v, r, sel, out)
		if col.NullN() > 0 {
			k = dropNulls(col, out[:k])
		}
		return k, true
	}
}
