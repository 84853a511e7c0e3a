package block

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/exec/mem"
)

// TestSparse: margins and gradients are those of the same numbers as dense columns, and gradients do not depend on the order
// of rows. A block that was in a file is the same.
func TestSparse(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	const rows, slots = 100, 50
	b := New(rows, 1, 1, false)
	b.Sparse = &Sparse{}
	dense := make([][slots]float64, rows)
	for i := range rows {
		b.Sparse.EndRows(i)
		b.Set(i, 0, r.NormFloat64())
		b.SetCode(i, 0, int32(r.IntN(slots)))
		for k := range slots {
			if r.IntN(5) == 0 {
				v := float32(r.Float64())
				dense[i][k] = float64(v)
				b.Sparse.Slot, b.Sparse.Value = append(b.Sparse.Slot, int32(k)), append(b.Sparse.Value, v)
			}
		}
	}
	b.Sparse.EndRows(b.Padded())
	w := make([]float64, 1+slots)
	for i := range w {
		w[i] = r.NormFloat64()
	}
	z := make([]float64, b.Padded())
	b.Margins(z, 0, w, 2)
	for i := range rows {
		want := 2 + w[0]*b.Value(i, 0) + w[1+b.CodeAt(i, 0)]
		for k, v := range dense[i] {
			want += w[1+k] * v
		}
		if math.Abs(z[i]-want) > 1e-12 {
			t.Fatalf("row %d: margin %v, want %v", i, z[i], want)
		}
	}
	factors := make([]float64, b.Padded())
	for i := range rows {
		factors[i] = r.Float64() - 0.5
	}
	f64.FixAll(factors, 1)
	sums, acc := make([]int64, slots), make([]float64, f64.Lanes)
	f64.Starts(acc, []float64{8})
	b.AddGrad(acc, sums, 0, factors)
	for k, n := range sums {
		want := 0.0
		for i := range rows {
			if want += factors[i] * dense[i][k]; b.CodeAt(i, 0) == int32(k) {
				want += factors[i]
			}
		}
		if got := float64(n) * f64.FixedUnit; math.Abs(got-want) > 1e-11 {
			t.Fatalf("slot %d: gradient %v, want %v", k, got, want)
		}
	}
	set := NewBlocks(Config{Pool: mem.NewPool("t", 0), Temp: t.TempDir()})
	defer set.Close()
	if err := set.Reserve(b.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := set.Put(7, b); err != nil {
		t.Fatal(err)
	}
	if err := set.Evict(); err != nil {
		t.Fatal(err)
	}
	back, release, err := set.Open(7)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back.Sparse, b.Sparse) || !reflect.DeepEqual(back.Code, b.Code) || !reflect.DeepEqual(back.X64, b.X64) {
		t.Error("a block is different after it was in a file")
	}
	release()
	taken, err := set.Take(7)
	if err != nil || !reflect.DeepEqual(taken.Sparse, b.Sparse) {
		t.Errorf("a block that is taken is different: %v", err)
	}
	if err := set.Put(7, taken); err != nil {
		t.Fatal(err)
	}
	set.Drop(7)
	if n := set.Bytes(); n != 0 {
		t.Errorf("%d bytes are left", n)
	}
}
