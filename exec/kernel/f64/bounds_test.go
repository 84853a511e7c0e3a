package f64

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestColumnBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 1))
	for _, d := range []int{1, 2, 9} {
		for tiles := 1; tiles < 11; tiles++ {
			x := randoms(r, d*tiles*Lanes)
			low, high := make([]float64, d*Lanes), make([]float64, d*Lanes)
			for i := range low {
				low[i], high[i] = 0.25, -0.25 // bounds that were there before stay
			}
			low32, high32 := narrowed(low), narrowed(high)
			low2, high2 := slices.Clone(low), slices.Clone(high)
			ColumnBounds(low, high, x, d)
			columnBoundsGo(low2, high2, x, d, tiles)
			sameBits(t, "low", low, low2)
			sameBits(t, "high", high, high2)
			ColumnBounds(low32, high32, narrowed(x), d)
			for i := range low {
				if low32[i] != float32(low[i]) || high32[i] != float32(high[i]) {
					t.Fatalf("bounds of float32 are %v and %v, want %v and %v", low32[i], high32[i], low[i], high[i])
				}
			}
		}
	}
}

func TestAxpy(t *testing.T) {
	r := rand.New(rand.NewPCG(24, 1))
	for n := range 40 {
		y, u, v := randoms(r, n), randoms(r, n), randoms(r, n)
		want := slices.Clone(y)
		for i := range want {
			want[i] = math.FMA(1.5, u[i], math.FMA(-0.7, v[i], y[i]))
		}
		one := slices.Clone(y)
		Axpy2(y, 1.5, u, -0.7, v)
		sameBits(t, "axpy2", y, want)
		for i := range want {
			want[i] = math.FMA(1.5, u[i], one[i])
		}
		Axpy(one, 1.5, u)
		sameBits(t, "axpy", one, want)
	}
}

// BenchmarkTile32 makes tiles, which stay in caches, from columns, which do not, in chunks of rows
// as training reads them.
func BenchmarkTile32(b *testing.B) {
	const cols, rows, some = 20, 1 << 20, 256
	all := make([][]float32, cols)
	for j := range all {
		all[j] = make([]float32, rows)
		for i := range all[j] {
			all[j][i] = float32(i)
		}
	}
	dst := make([]float32, cols*some)
	b.SetBytes(4 * cols * rows)
	for b.Loop() {
		for row := 0; row < rows; row += some {
			if !Tile32(dst, all, row, some/Lanes) {
				b.Fatal("a finite value is not finite")
			}
		}
	}
}
