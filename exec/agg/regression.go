package agg

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/types"
)

// errorTotals is ml_regression: what errorSums keeps, of the few groups that an
// evaluation has, in sums that can be taken many rows at once.
type errorTotals struct {
	s      []totals
	splits f64.Splits
	x      []float64
}

// totals are of y, its square, the error y−p, its square, and its size.
type totals [5]exact.Long

func (e *errorTotals) Resize(groups int) { e.s = grown(e.s, groups) }

// totalled is the columns whose parts are added together: y, y−p, |y−p|.
const totalled = 3

func (e *errorTotals) Update(groups []uint32, args []arrow.Array) error {
	y, p := args[0].(*array.Float64), args[1].(*array.Float64)
	from := 0
	if y.NullN() == 0 && p.NullN() == 0 && same(groups) {
		for ; from+f64.Lanes <= len(groups); from += min(f64.SplitRows, (len(groups)-from)&^(f64.Lanes-1)) {
			n := min(f64.SplitRows, (len(groups)-from)&^(f64.Lanes-1))
			e.many(&e.s[groups[0]], y.Float64Values()[from:from+n], p.Float64Values()[from:from+n])
		}
	}
	for i, g := range groups[from:] {
		if i += from; !y.IsNull(i) && !p.IsNull(i) {
			e.s[g].one(y.Value(i), y.Value(i)-p.Value(i))
		}
	}
	return nil
}

// same tells whether all rows are of one group.
func same(groups []uint32) bool {
	for _, g := range groups {
		if g != groups[0] {
			return false
		}
	}
	return true
}

func (t *totals) one(y, d float64) {
	t.truth(y)
	t.error(d)
}

func (t *totals) truth(y float64) {
	t[0].Add(y)
	t[1].AddProduct(y, y)
}

func (t *totals) error(d float64) {
	t[2].Add(d)
	t[3].AddProduct(d, d)
	t[4].Add(math.Abs(d))
}

// many adds rows of whole tiles.
func (e *errorTotals) many(t *totals, y, p []float64) {
	if e.x == nil {
		e.x = make([]float64, totalled*f64.SplitRows)
	}
	x := e.x[:totalled*len(y)]
	for i, v := range y {
		at := i/f64.Lanes*totalled*f64.Lanes + i%f64.Lanes
		d := v - p[i]
		x[at], x[at+f64.Lanes], x[at+2*f64.Lanes] = v, d, math.Abs(d)
	}
	_, _, sums, ok := f64.ColumnSplits(&e.splits, x, totalled)
	n := int64(len(y))
	if ok[0] {
		t[0].AddParts(n, sums[:2]...)
		t[1].AddParts(n, sums[2:6]...)
	} else {
		for _, v := range y {
			t.truth(v)
		}
	}
	if ok[1] && ok[2] {
		t[2].AddParts(n, sums[6:8]...)
		t[3].AddParts(n, sums[8:12]...)
		t[4].AddParts(n, sums[12:14]...)
	} else {
		for i, v := range y {
			t.error(v - p[i])
		}
	}
}

// A state is the sums, each behind its length.
func (e *errorTotals) States(from, to int) (arrow.Array, error) {
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) {
		for i := range e.s[g] {
			b := e.s[g][i].Append(nil)
			dst = append(binary.AppendUvarint(dst, uint64(len(b))), b...)
		}
		return dst, true
	}), nil
}

func (e *errorTotals) MergeStates(groups []uint32, states *array.Binary) error {
	var one exact.Long
	for i, g := range groups {
		b := states.Value(i)
		for k := range e.s[g] {
			n, w := binary.Uvarint(b)
			if w <= 0 || n > uint64(len(b)-w) || !one.Decode(b[w:w+int(n)]) {
				return badState()
			}
			e.s[g][k].Merge(&one)
			b = b[w+int(n):]
		}
		if len(b) > 0 {
			return badState()
		}
	}
	return nil
}

func (e *errorTotals) Results(from, to int) (arrow.Array, error) {
	t, _ := types.ArrayOf(types.Float8)
	return datumColumn(t, from, to, func(g int) (types.Datum, error) {
		s := &e.s[g]
		if s[0].N() == 0 {
			return nil, nil
		}
		out := types.Array{Elem: types.Float8}
		for _, name := range fn.RegressionMeasures {
			out.Elems = append(out.Elems, errorMeasure(name, float64(s[0].N()), s[4].Value(), s[3].Value(), s[2].Value(),
				func() float64 { return exact.LongSpread(&s[1], &s[0], &s[0]) }))
		}
		return out, nil
	})
}

func (e *errorTotals) Bytes() int64 { return int64(cap(e.s))*totalsBytes + int64(cap(e.x))*8 }

const totalsBytes = 5 * 70 * 8

// errorMeasure gives a measure of n rows by Σ|y−p|, Σ(y−p)², Σ(y−p) and Σ(y−ȳ)².
func errorMeasure(name string, n, abs, sq, d float64, total func() float64) float64 {
	left := sq
	switch name {
	case "mean_absolute_error":
		return abs / n
	case "mean_squared_error":
		return left / n
	case "root_mean_squared_error":
		return math.Sqrt(left / n)
	case "explained_variance": // r2_score of what is left without its mean
		left = max(left-d*(d/n), 0)
	}
	switch total := total(); {
	case total > 0:
		return 1 - left/total
	case left == 0:
		return 1
	}
	return 0
}
