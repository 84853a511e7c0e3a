package f64

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestNearest(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	for _, d := range []int{0, 1, 2, 3, 10, 17} {
		for _, k := range []int{1, 2, 3, 4, 5, 8, 20, 33} {
			for _, tiles := range []int{1, 2, 7} {
				n := tiles * Lanes
				x, c := make([]float64, n*d), NewCenters(k, d)
				for i := range x {
					x[i] = float64(r.IntN(5)) / 4 // ties
				}
				cs := make([][]float64, k)
				for i := range cs {
					cs[i] = make([]float64, d)
					for j := range cs[i] {
						cs[i][j] = float64(r.IntN(5)) / 4
					}
					c.Set(i, cs[i])
				}
				z := c.Starts()
				if tiles > 2 { // other starting values for each tile
					var all []float64
					for range tiles {
						all = append(all, c.Starts()...)
					}
					for i := range all {
						all[i] += r.Float64()
					}
					z = all
				}
				best, second, at := make([]float64, n), make([]float64, n), make([]int64, n)
				Nearest(best, second, at, x, c, z)
				for i := range n {
					b, s, who := math.Inf(1), math.Inf(1), int64(0)
					for q := range k {
						v := z[(i/Lanes*c.Padded()*Lanes)%len(z)+q*Lanes+i%Lanes]
						for j := range d {
							e := x[(i/Lanes*d+j)*Lanes+i%Lanes] - cs[q][j]
							v = math.FMA(e, e, v)
						}
						if v < b {
							s, b, who = b, v, int64(q)
						} else if v < s {
							s = v
						}
					}
					if best[i] != b || second[i] != s || at[i] != who {
						t.Fatalf("d=%d k=%d row %d: %v %v at %d, want %v %v at %d", d, k, i, best[i], second[i], at[i], b, s, who)
					}
				}
				b2, s2, a2 := slices.Clone(best), slices.Clone(second), make([]int64, n)
				zstep := 0
				if tiles > 2 {
					zstep = c.Padded() * Lanes
				}
				nearestGo(b2, s2, a2, x, c, z, zstep)
				what := fmt.Sprintf("d=%d k=%d tiles=%d", d, k, tiles)
				sameBits(t, what+" best", best, b2)
				sameBits(t, what+" second", second, s2)
				if !slices.Equal(at, a2) {
					t.Fatal(what + ": other numbers")
				}
			}
		}
	}
}

func TestWiden(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 2))
	for tiles := range 9 {
		x := narrowed(randoms(r, tiles*Lanes))
		got, want := make([]float64, len(x)), make([]float64, len(x))
		Widen(got, x)
		for i, v := range x {
			want[i] = float64(v)
		}
		sameBits(t, "widen", got, want)
	}
}

func BenchmarkNearest(b *testing.B) {
	const d, k, n = 10, 20, 64
	r := rand.New(rand.NewPCG(9, 1))
	x, c := randoms(r, n*d), NewCenters(k, d)
	for i := range k {
		c.Set(i, randoms(r, d))
	}
	z := c.Starts()
	best, second, at := make([]float64, n), make([]float64, n), make([]int64, n)
	for b.Loop() {
		Nearest(best, second, at, x, c, z)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
}
