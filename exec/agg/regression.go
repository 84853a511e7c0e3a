package agg

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/exec/metric"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/types"
)

// errorTotals is ml_regression: what errorSums keeps, of the few groups that an evaluation has, in
// sums that add many rows at once.
type errorTotals struct {
	s       []metric.Regression
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

func (e *errorTotals) States(from, to int) (arrow.Array, error) {
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) { return e.s[g].Append(dst), true }), nil
}

func (e *errorTotals) MergeStates(groups []uint32, states *array.Binary) error {
	var one metric.Regression
	for g, state := range stored(groups, states) {
		if !one.Decode(state) {
			return badState()
		}
		e.s[g].Merge(&one)
	}
	return nil
}

func (e *errorTotals) Results(from, to int) (arrow.Array, error) {
	t, _ := types.ArrayOf(types.Float8)
	return datumColumn(t, from, to, func(g int) (types.Datum, error) {
		s := &e.s[g]
		if s.Rows() == 0 {
			return nil, nil
		}
		out := types.Array{Elem: types.Float8}
		for _, name := range fn.RegressionMetrics {
			out.Elems = append(out.Elems, types.FiniteOrNull(s.Metric(name)))
		}
		return out, nil
	})
}

func (e *errorTotals) Bytes() int64 { return int64(cap(e.s)) * (exact.ErrorsBytes + 8) }
