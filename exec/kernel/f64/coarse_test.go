package f64

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestCoarse compares the packed bytes, and the sums of products of them, with plain loops and with
// the Go version.
func TestCoarse(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 1))
	for _, d := range []int{1, 4, 7, 31, 32, 40, 70} {
		for _, rows := range []int{1, 8, 61, FixedRows} {
			tiles := Tiles(rows)
			x, shift, scale := make([]float64, d*tiles*Lanes), make([]float64, d), make([]float64, d)
			for j := range d {
				shift[j], scale[j] = float64(j), 126/math.Ldexp(1, j%5)
			}
			for i := range x {
				j, row := i/Lanes%d, i/(d*Lanes)*Lanes+i%Lanes
				if x[i] = 1e30; row < rows { // lanes behind the last row may have any value
					x[i] = float64(float32(float64(j) + (r.Float64()-0.5)*math.Ldexp(1, j%5)))
				}
				if row%9 == 0 && row < rows { // a tie
					x[i] = shift[j] + (float64(r.IntN(126)-63)+0.5)/scale[j]
				}
			}
			panels := d/CoarseCols + 1
			got := make([]byte, panels*CoarsePanel)
			CoarsePack(got, x, shift, scale, rows)
			want := func(j, i int) int32 {
				switch {
				case i >= rows:
					return 0
				case j == d:
					return 1
				}
				return int32(math.RoundToEven((x[(i/Lanes*d+j)*Lanes+i%Lanes]-shift[j])*scale[j])) + CoarseMiddle
			}
			for j := range d + 1 {
				for i := range tiles * Lanes {
					if v := int32(got[coarseAt(j, i)]); v != want(j, i) {
						t.Fatalf("%d columns: row %d of column %d is %d, want %d", d, i, j, v, want(j, i))
					}
				}
			}
			x32 := narrowed(x)
			packed := func(body func(dst []byte, x []float32, shift, scale []float64, d, tiles int)) []byte {
				p := make([]byte, len(got))
				for j := 0; j < d; j += CoarseCols {
					n := min(CoarseCols, d-j)
					body(p[j/CoarseCols*CoarsePanel:], x32[j*Lanes:], shift[j:j+n], scale[j:j+n], d, tiles)
				}
				return p
			}
			twin := packed(packCoarseGo[float32])
			for level, body := range packCoarseLevels() {
				got32 := packed(body)
				for j := range panels * CoarseCols {
					for i := range tiles * Lanes {
						if at := coarseAt(j, i); i < rows && got32[at] != twin[at] || j >= d && got32[at] != 0 {
							t.Fatalf("body %d, %d columns of float32: row %d of column %d is %d, the twin's %d", level, d, i, j, got32[at], twin[at])
						}
					}
				}
			}

			stride := panels * CoarseCols
			for _, body := range append(coarseLevels(), addCoarseGo) {
				m := make([]int32, stride*stride)
				for i := range m {
					m[i] = int32(i)
				}
				was := slices.Clone(m)
				addCoarseBy(body, m, stride, got, d+1, tiles*Lanes)
				for i := range d + 1 {
					for k := i; k < d+1; k++ {
						sum := was[i*stride+k]
						for row := range rows {
							sum += want(i, row) * want(k, row)
						}
						if m[i*stride+k] != sum {
							t.Fatalf("%d columns, %d rows: product of %d and %d is %d, want %d", d, rows, i, k, m[i*stride+k], sum)
						}
					}
				}
			}
		}
	}
}

// TestCoarseSumsFit: the sums do not overflow for the largest number of rows with the largest
// bytes.
func TestCoarseSumsFit(t *testing.T) {
	p, m := make([]byte, CoarsePanel), make([]int32, CoarseCols*CoarseCols)
	for i := range p {
		p[i] = CoarseMiddle + CoarseMost
	}
	for range CoarseRows / FixedRows {
		AddCoarse(m, CoarseCols, p, CoarseCols, FixedRows)
	}
	if want := int32(CoarseRows * 127 * 127); m[0] != want || m[len(m)-1] != want {
		t.Errorf("%d and %d, want %d", m[0], m[len(m)-1], want)
	}
}

func TestAddSquares(t *testing.T) {
	r := rand.New(rand.NewPCG(32, 1))
	for n := range 40 {
		v, got := randoms(r, n), randoms(r, n)
		want := slices.Clone(got)
		AddSquares(got, v, 0.25)
		addSquaresGo(want, v, 0.25)
		sameBits(t, "squares", got, want)
	}
}

// TestMarginsOf: the margins for several weight vectors have the bits of computing one vector at a
// time.
func TestMarginsOf(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 1))
	for _, d := range []int{1, 2, 9, 40} {
		for _, n := range []int{8, 24, 32, 40, 72} {
			for of := range 11 {
				const stride = 80
				x, w, z := randoms(r, n*d), randoms(r, of*d), randoms(r, max(1, of)*stride)
				x32 := narrowed(x)
				got, want, got32, want32 := slices.Clone(z), slices.Clone(z), slices.Clone(z), slices.Clone(z)
				MarginsOf(got, stride, n, x, w, d)
				MarginsOf(got32, stride, n, x32, w, d)
				for k := range of {
					marginsGo(want[k*stride:][:n], x, w[k*d:(k+1)*d])
					marginsGo(want32[k*stride:][:n], x32, w[k*d:(k+1)*d])
				}
				sameBits(t, "margins", got, want)
				sameBits(t, "margins of float32", got32, want32)
			}
		}
	}
}

func BenchmarkCoarsePack(b *testing.B) {
	const d = 500
	r := rand.New(rand.NewPCG(34, 1))
	x, shift, scale := make([]float32, d*FixedRows), make([]float64, d), make([]float64, d)
	for i := range x {
		x[i] = float32(r.Float64() - 0.5)
	}
	for j := range scale {
		scale[j] = 2 * CoarseMost
	}
	p := make([]byte, (d/CoarseCols+1)*CoarsePanel)
	for b.Loop() {
		CoarsePack(p, x, shift, scale, FixedRows)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(x)), "ns/value")
}

func BenchmarkAddCoarse(b *testing.B) {
	const d = 512
	p, m := make([]byte, d/CoarseCols*CoarsePanel), make([]int32, d*d)
	for b.Loop() {
		AddCoarse(m, d, p, d, FixedRows)
	}
	b.ReportMetric(float64(b.N)*d*d/2*FixedRows/float64(b.Elapsed().Nanoseconds()), "GMAC/s")
}

func BenchmarkMarginsOf(b *testing.B) {
	const d = 500
	r := rand.New(rand.NewPCG(35, 1))
	for _, of := range []int{4, 2, 14} {
		b.Run(fmt.Sprint(of), func(b *testing.B) {
			x, w, z := narrowed(randoms(r, d*FixedRows)), randoms(r, of*d), make([]float64, of*FixedStride)
			for b.Loop() {
				MarginsOf(z, FixedStride, FixedRows, x, w, d)
			}
			b.ReportMetric(float64(b.N)*float64(of*len(x))/float64(b.Elapsed().Nanoseconds()), "GFMA/s")
		})
	}
}
