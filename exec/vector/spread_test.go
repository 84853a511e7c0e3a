package vector

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/tributarydb/tributary/sql/types"
)

// TestSpreadOfArrays: a constant array is copied out as n rows that each equal it.
func TestSpreadOfArrays(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	texts, _ := types.ArrayOf(types.Text)
	floats, _ := types.ArrayOf(types.Float8)
	for _, n := range []int{1, 2, 15, 16, 17, 31, 33, 255, 256, 257, 273, 1000, 4095, 4097, 8192} {
		for _, typ := range []types.Type{texts, floats} {
			one := types.Array{Elem: types.Float8}
			if typ.OID == texts.OID {
				one.Elem = types.Text
			}
			for range r.Intn(6) {
				switch {
				case r.Intn(4) == 0:
					one.Elems = append(one.Elems, nil)
				case one.Elem.OID == types.TextOID:
					one.Elems = append(one.Elems, "class"[:r.Intn(6)])
				default:
					one.Elems = append(one.Elems, r.NormFloat64())
				}
			}
			v, err := NewConst(typ, one, n)
			if err != nil {
				t.Fatal(err)
			}
			m := NewMeter(nil)
			a := NewArena(&m)
			arr, err := v.Spread(&a).ToArrow(typ)
			if err != nil {
				t.Fatal(err)
			}
			if arr.Len() != n || arr.NullN() != 0 {
				t.Fatalf("%d rows, %d of them NULL, of %d", arr.Len(), arr.NullN(), n)
			}
			want := fmt.Sprint(types.DatumAt(typ, v.Arr, 0))
			for i := range n {
				if got := fmt.Sprint(types.DatumAt(typ, arr, i)); got != want {
					t.Fatalf("row %d of %d is %s, not %s", i, n, got, want)
				}
			}
		}
	}
}
