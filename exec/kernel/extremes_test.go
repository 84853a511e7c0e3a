package kernel_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
)

// slowExtremes compares row by row, in an order in which NaN is the greatest value or the least, as
// less says.
func slowExtremes[T cmp.Ordered](v []T, valid []byte, off int, less func(a, b T) bool) (lo, hi int) {
	lo, hi = -1, -1
	for i := range v {
		if valid != nil && !batch.Bit(valid, off+i) {
			continue
		}
		if lo < 0 || less(v[i], v[lo]) {
			lo = i
		}
		if hi < 0 || less(v[hi], v[i]) {
			hi = i
		}
	}
	return lo, hi
}

func checkExtremes[T cmp.Ordered](t *testing.T, v []T, valid []byte, off int, less func(a, b T) bool, f func([]T, []byte, int) (int, int)) {
	t.Helper()
	lo, hi := f(v, valid, off)
	if wantLo, wantHi := slowExtremes(v, valid, off, less); lo != wantLo || hi != wantHi {
		t.Fatalf("%d rows: %d and %d, not %d and %d", len(v), lo, hi, wantLo, wantHi)
	}
}

// TestExtremes: the first row with the least and the first with the greatest value, of those that
// are not NULL.
func TestExtremes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		n, off, width := r.IntN(1200), r.IntN(9), 1+r.Int64N(1<<r.IntN(40))
		valid := make([]byte, (off+n)/8+1)
		for i := range valid {
			valid[i] = byte(r.Uint32())
			if r.IntN(3) == 0 {
				valid[i] = 0
			}
		}
		if r.IntN(2) == 0 {
			valid = nil
		}
		i64, i32, u32, f := make([]int64, n), make([]int32, n), make([]uint32, n), make([]float64, n)
		for i := range n {
			i64[i] = r.Int64N(width) - width/2
			if r.IntN(50) == 0 {
				i64[i] = []int64{math.MinInt64, math.MaxInt64}[r.IntN(2)]
			}
			i32[i], u32[i], f[i] = int32(i64[i]), uint32(i64[i]), float64(i64[i])
			if r.IntN(50) == 0 {
				f[i] = math.NaN()
			}
		}
		checkExtremes(t, i64, valid, off, cmp.Less, kernel.Extremes)
		checkExtremes(t, i32, valid, off, cmp.Less, kernel.Extremes)
		checkExtremes(t, u32, valid, off, cmp.Less, kernel.Extremes)
		checkExtremes(t, f, valid, off, func(a, b float64) bool { return a < b || a == a && b != b }, kernel.FloatExtremes)
	}
}
