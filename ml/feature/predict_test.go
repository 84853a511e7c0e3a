package feature

import (
	"math"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// TestArraysOfAnotherLength: an array to predict has the length of those of training.
func TestArraysOfAnotherLength(t *testing.T) {
	typ, _ := types.ArrayOf(types.Float8)
	f := &Fitted{Cols: []FitCol{{Column: record.Column{Name: "v", Type: typ}, Encoder: PlainArray, Dim: 2}}, Dense: 2}
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

// TestNumbersOfAnotherType: a number to predict may be of another type than in training: it is the same
// number, and the same category.
func TestNumbersOfAnotherType(t *testing.T) {
	vals := []float64{1, 2, math.NaN(), 1e300, 2.25}
	b := array.NewFloat64Builder(memory.DefaultAllocator)
	b.AppendValues(vals, nil)
	arr := b.NewArray()
	for typ, keys := range map[types.Type][]string{
		types.Int4:                       {"\x01\x00\x00\x00", "\x02\x00\x00\x00"},
		types.FixedNumeric(6, 1, true):   {"\x0a\x00\x00\x00\x00\x00\x00\x00", "\x14\x00\x00\x00\x00\x00\x00\x00"},
		{OID: types.NumericOID, Mod: -1}: {string(number.DecimalFromInt64(1, 0).AppendBinary(nil)), string(number.DecimalFromInt64(2, 0).AppendBinary(nil))},
	} {
		col := record.Column{Name: "n", Type: typ}
		f := &Fitted{Cols: []FitCol{{Column: col, Encoder: Plain, Fill: 7}, {Column: col, Encoder: OneHot, Cats: keys}}, Dense: 1, Codes: 1, OneHot: 2}
		got, err := f.EncodeColumns([]arrow.Array{arr, arr}, len(vals))
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []float64{1, 2, 7, 1e300, 2.25} {
			if got.Value(i, 0) != want {
				t.Errorf("%v: number %d is %v", typ, i, got.Value(i, 0))
			}
		}
		for i, want := range []int32{0, 1, -1, -1} {
			if got.CodeAt(i, 0) != want {
				t.Errorf("%v: category %d is %v", typ, i, got.CodeAt(i, 0))
			}
		}
	}
}
