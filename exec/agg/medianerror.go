package agg

import (
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/planner/expr"
)

// medianError is median_absolute_error: the percentile_cont of a half of each row's |y−p|.
type medianError struct{ *percentile }

func newMedianError() Agg {
	return medianError{&percentile{call: expr.AggCall{OrderBy: make([]expr.Order, 1)}}}
}

func (m medianError) Update(groups []uint32, args []arrow.Array) error {
	y, p := args[0].(*array.Float64), args[1].(*array.Float64)
	half, diff := make([]float64, len(groups)), make([]float64, len(groups))
	for i := range diff {
		half[i], diff[i] = 0.5, math.Abs(y.Value(i)-p.Value(i))
	}
	var valid []byte
	if y.NullN()+p.NullN() > 0 {
		valid = make([]byte, batch.BitmapBytes(len(groups)))
		for i := range diff {
			if !y.IsNull(i) && !p.IsNull(i) {
				batch.SetBit(valid, i)
			}
		}
	}
	of := func(v []float64, valid []byte) arrow.Array {
		return batch.FromSlice(arrow.PrimitiveTypes.Float64, v, valid)
	}
	return m.percentile.Update(groups, []arrow.Array{of(half, nil), of(diff, valid)})
}

// MergeFrom implements Merger.
func (m medianError) MergeFrom(groups []uint32, from Agg, ids []uint32) error {
	return m.percentile.MergeFrom(groups, from.(medianError).percentile, ids)
}
