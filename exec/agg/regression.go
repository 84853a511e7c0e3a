package agg

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/types"
)

// errorTotals is ml_regression: what errorSums keeps, of the few groups that an evaluation has, in
// sums that add many rows at once.
type errorTotals struct {
	s       []exact.Errors
	scratch exact.ErrorsScratch
}

func (e *errorTotals) Resize(groups int) { e.s = grown(e.s, groups) }

func (e *errorTotals) Update(groups []uint32, args []arrow.Array) error {
	if len(groups) > 0 && same(groups) {
		return e.UpdateList(groups[0], nil, len(groups), args)
	}
	y, p := args[0].(*array.Float64), args[1].(*array.Float64)
	for i, g := range groups {
		if !y.IsNull(i) && !p.IsNull(i) {
			e.s[g].Add(y.Value(i), p.Value(i))
		}
	}
	return nil
}

// UpdateList implements Lister.
func (e *errorTotals) UpdateList(g uint32, rows []int32, n int, args []arrow.Array) error {
	args = listed(rows, args)
	y, p := args[0].(*array.Float64), args[1].(*array.Float64)
	if y.NullN()+p.NullN() == 0 {
		e.s[g].AddAll(y.Float64Values(), p.Float64Values(), &e.scratch)
		return nil
	}
	for i := range y.Len() {
		if !y.IsNull(i) && !p.IsNull(i) {
			e.s[g].Add(y.Value(i), p.Value(i))
		}
	}
	return nil
}

// same reports whether all rows are of one group.
func same(groups []uint32) bool {
	for _, g := range groups {
		if g != groups[0] {
			return false
		}
	}
	return true
}

// A state is the sums, each behind its length.
func (e *errorTotals) States(from, to int) (arrow.Array, error) {
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) {
		for _, p := range e.s[g].Parts() {
			b := p.Append(nil)
			dst = append(binary.AppendUvarint(dst, uint64(len(b))), b...)
		}
		return dst, true
	}), nil
}

func (e *errorTotals) MergeStates(groups []uint32, states *array.Binary) error {
	var one exact.Long
	for i, g := range groups {
		if states.IsNull(i) {
			continue
		}
		b := states.Value(i)
		for _, p := range e.s[g].Parts() {
			n, w := binary.Uvarint(b)
			if w <= 0 || n > uint64(len(b)-w) || !one.Decode(b[w:w+int(n)]) {
				return badState()
			}
			p.Merge(&one)
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
		if s.Y.N() == 0 {
			return nil, nil
		}
		out := types.Array{Elem: types.Float8}
		for _, name := range fn.RegressionMetrics {
			v := errorMetric(name, float64(s.Y.N()), s.Abs.Value(), s.DD.Value(), s.D.Value(), func() float64 { return exact.LongSpread(&s.YY, &s.Y, &s.Y) })
			out.Elems = append(out.Elems, types.FiniteOrNull(v))
		}
		return out, nil
	})
}

func (e *errorTotals) Bytes() int64 { return int64(cap(e.s)) * exact.ErrorsBytes }

// errorMetric returns a metric of n rows by Σ|y−p|, Σ(y−p)², Σ(y−p) and Σ(y−ȳ)².
func errorMetric(name string, n, abs, sq, d float64, total func() float64) float64 {
	left := sq
	switch name {
	case "mean_absolute_error":
		return abs / n
	case "mean_squared_error":
		return left / n
	case "root_mean_squared_error":
		return math.Sqrt(left / n)
	case "explained_variance": // r2_score of the residuals less their mean
		left = max(left-d*(d/n), 0)
	}
	switch total := total(); {
	case left-left != 0 || total-total != 0: // infinities among the values, or too large ones: the quotient says nothing
		return math.NaN()
	case total > 0:
		return 1 - left/total
	case left == 0:
		return 1
	}
	return 0
}
