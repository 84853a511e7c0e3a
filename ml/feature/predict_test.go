package feature

import (
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// TestArraysOfAnotherLength: an array to predict has the length of those of training.
func TestArraysOfAnotherLength(t *testing.T) {
	typ, _ := types.ArrayOf(types.Float8)
	f := &Fitted{Cols: []FitCol{{Column: dataset.Column{Name: "v", Type: typ}, Encoder: PlainArray, Dim: 2}}, Dense: 2}
	for _, c := range []struct {
		length int
		code   pgerr.Code
	}{{2, ""}, {1, pgerr.ArraySubscriptError}, {3, pgerr.ArraySubscriptError}, {0, pgerr.ArraySubscriptError}, {-1, ""}} {
		b := array.NewListBuilder(memory.DefaultAllocator, arrow.PrimitiveTypes.Float64)
		b.Append(true)
		b.ValueBuilder().(*array.Float64Builder).AppendValues([]float64{1, 2}, nil)
		if b.Append(c.length >= 0); c.length > 0 {
			b.ValueBuilder().(*array.Float64Builder).AppendValues(make([]float64, c.length), nil)
		}
		if _, err := f.EncodeColumns([]arrow.Array{b.NewArray()}, 2); pgerr.CodeOf(err) != c.code && (err != nil || c.code != "") {
			t.Errorf("length %d: %v", c.length, err)
		}
	}
}
