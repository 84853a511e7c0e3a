package vector

import (
	"math/rand"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/types"
)

// TestChoose: rows chosen from two columns are those that a loop over the rows chooses, whatever their form and wherever
// NULLs and single values are, and the columns are as before.
func TestChoose(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 3000 {
		typ := []types.Type{types.Bool, types.Int2, types.Int4, types.Int8, types.Float8}[r.Intn(5)]
		n := 1 + r.Intn(70)
		a := NewArena(nil)
		column := func() *Vec {
			value := func() types.Datum {
				switch {
				case r.Intn(4) == 0:
					return nil
				case typ.OID == types.BoolOID:
					return r.Intn(2) == 0
				case typ.OID == types.Float8OID:
					return r.NormFloat64()
				}
				return int64(r.Intn(2000) - 1000)
			}
			if r.Intn(3) == 0 {
				v, err := NewConst(typ, value(), n)
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			b := array.NewBuilder(memory.DefaultAllocator, typ.Arrow())
			for range n {
				d := value()
				if r.Intn(2) == 0 && d == nil {
					d = value()
				}
				types.AppendDatum(b, typ, d)
			}
			return FromArrow(&a, b.NewArray())
		}
		x, y := column(), column()
		cond := make([]uint8, n)
		want := make([]types.Datum, n)
		for i := range cond {
			cond[i] = uint8(r.Intn(2))
			want[i] = y.Datum(typ, i)
			if cond[i] == 1 {
				want[i] = x.Datum(typ, i)
			}
		}
		arr, err := Choose(&a, typ.Form(), cond, x, y).ToArrow(typ)
		if err != nil {
			t.Fatal(err)
		}
		nulls := 0
		for i, w := range want {
			if got := types.DatumAt(typ, arr, i); got != w {
				t.Fatalf("%v: row %d of %d is %v, not %v", typ, i, n, got, w)
			}
			if w == nil {
				nulls++
			}
		}
		if arr.NullN() != nulls {
			t.Fatalf("%d NULLs, not %d", arr.NullN(), nulls)
		}
	}
}

// TestBytesAndBits: bytes 0 and 1 are counted and packed as one by one.
func TestBytesAndBits(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	for n := range 200 {
		v, want := make([]uint8, n), 0
		for i := range v {
			v[i] = uint8(r.Intn(2))
			want += int(v[i])
		}
		bits := packBits(v)
		if CountBytes(v) != want || batch.CountBits(bits, n) != want {
			t.Fatalf("%d and %d ones of %d, not %d", CountBytes(v), batch.CountBits(bits, n), n, want)
		}
		for i, x := range v {
			if batch.Bit(bits, i) != (x == 1) {
				t.Fatalf("bit %d of %d", i, n)
			}
		}
	}
}
