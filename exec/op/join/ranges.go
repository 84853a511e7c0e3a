package join

import (
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel"
)

// Range is a comparison in the residual of a join, of a right column with a left one: the right value is at least, or at
// most, the left one. Both are integers, dates, times, floats, or numerics of one scale in fixed point.
type Range struct {
	Left, Right int // columns of the inputs
	AtLeast     bool
}

// ranges are those of a join by which it finds candidates: of a right column that the rows are sorted by, and of another
// one, all in the same direction. Columns are stored ones.
type ranges struct {
	by, other   int   // right; other is -1 for none
	low, high   []int // left: by is at least these, and at most those
	others      []int // left
	otherAtMost bool
}

// rangesOf chooses: the column with bounds of both directions, if there is one, is what rows are sorted by.
func rangesOf(list []Range, left, right func(col int) int) *ranges {
	if len(list) == 0 {
		return nil
	}
	directions := func(col int) (n int) {
		for _, up := range []bool{false, true} {
			if slices.ContainsFunc(list, func(r Range) bool { return r.Right == col && r.AtLeast == up }) {
				n++
			}
		}
		return n
	}
	by := list[0].Right
	for _, r := range list {
		if directions(r.Right) > directions(by) {
			by = r.Right
		}
	}
	out := &ranges{by: right(by), other: -1}
	for _, r := range list {
		switch {
		case r.Right == by && r.AtLeast:
			out.low = append(out.low, left(r.Left))
		case r.Right == by:
			out.high = append(out.high, left(r.Left))
		case out.other < 0:
			out.other, out.otherAtMost = right(r.Right), !r.AtLeast
			fallthrough
		case out.other == right(r.Right) && out.otherAtMost == !r.AtLeast:
			out.others = append(out.others, left(r.Left))
		}
	}
	return out
}

// order has the rows of each list of a table, or of all of a table without keys, by the value of a column, so that those
// between two bounds follow each other, and of another column the greatest values of each so many, by which those below a
// third are skipped. So the intervals that a point is in are found without looking at all that begin before it, however
// long some are.
//
//	lists    ├ of a key ──────────────────┤├ of another …
//	by       1   2   4   4   7   8   9  │ 12  3  …     to: the first beyond the point
//	other    3   9   5   6   8  20  10  │ 13  4  …
//	levels     9       6      20        │              skipped where all end before the point
//
// Rows with a NULL in either are not there: they match nothing.
type order struct {
	lists  []extent
	keys   []int64   // ascending in each list
	levels [][]int64 // of the other column: its values in that order, then the greatest of each fan of the level before
}

// extent is where a list's rows are in an order.
type extent struct{ from, to uint32 }

const fanBits = 4

// raise makes the levels above the first.
func (o *order) raise() {
	for level := o.levels[0]; len(level) > 1<<fanBits; {
		next := make([]int64, (len(level)+1<<fanBits-1)>>fanBits)
		for i := range next {
			next[i] = slices.Max(level[i<<fanBits : min(len(level), (i+1)<<fanBits)])
		}
		level = next
		o.levels = append(o.levels, level)
	}
}

// orderBytes is what the order of a row takes, beside its id, and what else it takes while it is made.
func (c *ranges) orderBytes() (kept, making int64) {
	kept, making = 8+8, 16+8+1
	if c.other >= 0 {
		kept, making = kept+9, making+8
	}
	return kept, making
}

// turned returns a value of the other column, or a bound of it, such that values that match are not below the bound.
func (c *ranges) turned(v int64) int64 {
	if c.otherAtMost {
		return ^v
	}
	return v
}

// span is where a left row's candidates end, and what their other value is at least.
type span struct {
	to    int
	floor int64
}

// next returns the first place from one on that a span has; its end if there is none.
func (o *order) next(at int, s span) int {
	if o.levels == nil {
		return at
	}
	for at < s.to {
		skip := 0
		for l := 1; l < len(o.levels) && at&(1<<(fanBits*l)-1) == 0 && o.levels[l][at>>(fanBits*l)] < s.floor; l++ {
			skip = 1 << (fanBits * l)
		}
		switch {
		case skip > 0:
			at += skip
		case o.levels[0][at] >= s.floor:
			return at
		default:
			at++
		}
	}
	return s.to
}

// from returns the first place of [lo, hi) whose key is at least v; hi if there is none.
func (o *order) from(lo, hi int, v int64) int {
	for n := hi - lo; n > 0; {
		half := n >> 1
		if o.keys[lo+half] < v {
			lo, n = lo+half+1, n-half-1
		} else {
			n = half
		}
	}
	return lo
}

// beyond returns the first place of [lo, hi) whose key is above v; hi if there is none. It looks near lo first if few
// keys are expected to be at most v.
func (o *order) beyond(lo, hi int, v int64, few bool) int {
	for step := 1; few && lo+step <= hi; step *= 2 {
		if o.keys[lo+step-1] > v {
			hi = lo + step - 1
			break
		}
		lo += step
	}
	if v == math.MaxInt64 {
		return hi
	}
	return o.from(lo, hi, v+1)
}

// ordered returns integers in the order of the values of a column; where that is NULL, anything.
func ordered(arr arrow.Array, out []int64) []int64 {
	n := arr.Len()
	if cap(out) < n {
		out = make([]int64, n)
	}
	out = out[:n]
	switch a := arr.(type) {
	case *array.Int16:
		widen(out, a.Int16Values())
	case *array.Int32:
		widen(out, a.Int32Values())
	case *array.Int64:
		widen(out, a.Int64Values())
	case *array.Date32:
		widen(out, a.Date32Values())
	case *array.Timestamp:
		widen(out, a.TimestampValues())
	case *array.Time64:
		widen(out, a.Time64Values())
	case *array.Float32:
		orderFloats(out, a.Float32Values())
	case *array.Float64:
		orderFloats(out, a.Float64Values())
	default: // a column of NULLs
		clear(out)
	}
	return out
}

func widen[T kernel.Integer](out []int64, vals []T) {
	for i, v := range vals {
		out[i] = int64(v)
	}
}

// orderFloats has both zeros equal, and NaN above all.
func orderFloats[T float32 | float64](out []int64, vals []T) {
	for i, v := range vals {
		x := float64(v)
		switch {
		case x != x:
			out[i] = math.MaxInt64
		case x == 0:
			out[i] = 0
		default:
			b := int64(math.Float64bits(x))
			out[i] = b ^ int64(uint64(b>>63)>>1)
		}
	}
}
