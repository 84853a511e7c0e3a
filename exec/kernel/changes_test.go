package kernel_test

import (
	"bytes"
	"math/rand"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/sql/types"
)

// TestChanges: a row differs from the one before where their keys do.
func TestChanges(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	for _, typ := range []types.Type{types.Int2, types.Int4, types.Int8, types.Float8, types.Float4, types.Text, types.Bool, types.Date, types.Timestamp, types.IntervalT, types.Numeric, types.Bytea} {
		for _, nulls := range []bool{false, true} {
			b := array.NewBuilder(memory.DefaultAllocator, typ.Arrow())
			var last types.Datum
			for range 500 {
				if r.Intn(2) == 0 {
					if last = optest.Value(r, typ, 4); nulls && r.Intn(3) == 0 {
						last = nil
					}
				}
				if err := types.AppendDatum(b, typ, last); err != nil {
					t.Fatal(err)
				}
			}
			col := array.NewSlice(b.NewArray(), 7, 490)
			spec, keys := kernel.KeySpec{Type: typ}, &kernel.Keys{}
			kernel.NewKeyEncoder([]kernel.KeySpec{spec}).Append(keys, []arrow.Array{col}, col.Len())
			got := make([]bool, col.Len())
			spec.Changes(col, got)
			for i := 1; i < col.Len(); i++ {
				if want := !bytes.Equal(keys.At(i-1), keys.At(i)); got[i] != want {
					t.Fatalf("%s: row %d differs: %v, want %v", typ, i, got[i], want)
				}
			}
		}
	}
}
