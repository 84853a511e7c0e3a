package types_test

import (
	"math"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/sql/types"
)

// TestArrayOf1 compares columns of one row with those that Arrow builders make.
func TestArrayOf1(t *testing.T) {
	for _, c := range []struct {
		of types.Type
		d  types.Datum
	}{
		{types.Int8, int64(-5)}, {types.Int4, int64(7)}, {types.Int2, int64(-1)}, {types.Float8, math.Copysign(0, -1)}, {types.Float8, math.Inf(1)}, {types.Float4, 1.5},
		{types.Text, ""}, {types.Text, "some text, longer than a word"}, {types.Bool, true}, {types.Date, int64(12)}, {types.Text, nil}, {types.Int8, nil},
	} {
		b := array.NewBuilder(memory.DefaultAllocator, c.of.Arrow())
		if err := types.AppendDatum(b, c.of, c.d); err != nil {
			t.Fatal(err)
		}
		got, err := types.ArrayOf1(c.of, c.d, 1)
		if err != nil || !array.Equal(got, b.NewArray()) || types.DatumAt(c.of, got, 0) != c.d {
			t.Error(c.of, c.d, got, err)
		}
	}
}
