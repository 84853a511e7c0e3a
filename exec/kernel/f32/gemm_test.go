package f32

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

type product = func(transA, transB bool, m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, add bool)

// matrix is a matrix inside a larger array: the elements between and behind its rows must not
// change, nor be read where the array ends.
type matrix struct {
	x  []float32
	ld int
}

func randomMatrix(r *rand.Rand, rows, cols int) matrix {
	ld := cols + r.IntN(3)*r.IntN(20)
	n := 0
	if rows > 0 && cols > 0 {
		n = (rows-1)*ld + cols
	}
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
		switch r.IntN(2000) {
		case 0:
			x[i] = float32(math.Inf(1 - 2*r.IntN(2)))
		case 1:
			x[i] = float32(math.NaN())
		case 2:
			x[i] = float32(math.Copysign(0, -1))
		case 3:
			x[i] = 1e-41
		}
	}
	return matrix{x: x, ld: ld}
}

// TestGemm: every kernel has the bits of the definition in Go, with operands transposed or not, for
// shapes at and next to the sizes of tiles and blocks.
func TestGemm(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	check := func(m, n, k int) {
		t.Helper()
		transA, transB, add := r.IntN(2) == 1, r.IntN(2) == 1, r.IntN(2) == 1
		sizes := func(trans bool, rows, cols int) (int, int) {
			if trans {
				return cols, rows
			}
			return rows, cols
		}
		ar, ac := sizes(transA, m, k)
		br, bc := sizes(transB, k, n)
		a, b, c := randomMatrix(r, ar, ac), randomMatrix(r, br, bc), randomMatrix(r, m, n)
		for name, f := range bodies() {
			got, want := append([]float32(nil), c.x...), append([]float32(nil), c.x...)
			x, y := operands(transA, transB, a.x, a.ld, b.x, b.ld)
			gemmGo(x, y, result{want, c.ld, 1, add}, m, n, k)
			f(transA, transB, m, n, k, a.x, a.ld, b.x, b.ld, got, c.ld, add)
			packed := append([]float32(nil), c.x...)
			memory := make([]float32, PackedSize(m, k))
			onLevel(name, func() {
				Pack(transA, m, k, a.x, a.ld, memory).Gemm(transB, n, b.x, b.ld, packed, c.ld, add)
			})
			for i := range want {
				same(t, fmt.Sprintf("%s %d×%d×%d packed %v %v %v, element %d", name, m, n, k, transA, transB, add, i), packed[i], want[i])
				same(t, fmt.Sprintf("%s %d×%d×%d %v %v %v, element %d", name, m, n, k, transA, transB, add, i), got[i], want[i])
				if t.Failed() {
					t.FailNow()
				}
			}
		}
	}
	for m := range 15 {
		for n := range 20 {
			for _, k := range []int{0, 1, 2, 7, 8, 9, 17} {
				check(m, n, k)
			}
		}
	}
	for range 150 {
		check(1+r.IntN(40), 1+r.IntN(70), 1+r.IntN(40))
	}
	for _, s := range [][3]int{{97, 33, 257}, {200, 17, 520}, {5, 300, 300}, {13, 260, 30}, {300, 3, 260}, {300, 1, 40}, {1, 513, 5}, {96, 256, 64}} {
		for range 4 {
			check(s[0], s[1], s[2])
		}
	}
}

// TestGemmOfOneStrip: a matrix B without gaps whose width is that of a tile is read in place
// instead of packed, also for more rows than the kernel copies together at an edge; widths next to
// it are packed.
func TestGemmOfOneStrip(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{5, 8, 15, 16, 17, 24, 31, 32} {
		m, k := 203, 300
		a, b := randomMatrix(r, m, k), make([]float32, k*n)
		for i := range b {
			b[i] = r.Float32() - 0.5
		}
		for name, f := range bodies() {
			got, want := make([]float32, m*n), make([]float32, m*n)
			x, y := operands(false, false, a.x, a.ld, b, n)
			gemmGo(x, y, result{want, n, 1, false}, m, n, k)
			f(false, false, m, n, k, a.x, a.ld, b, n, got, n, false)
			for i := range want {
				same(t, fmt.Sprintf("%s %d columns, element %d", name, n, i), got[i], want[i])
			}
		}
	}
}

// TestGemmSteps: a sum over time steps, as in backpropagation, has the bits of adding the product
// of one step after the other, from the last step on: for steps that fill blocks of k and that do
// not, whole registers and parts, and more rows than are copied together at an edge.
func TestGemmSteps(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 6))
	whole := [][4]int{{111, 43, 16, 20}, {203, 77, 8, 40}, {10, 10, 64, 5}, {7, 32, 16, 16}, {13, 16, 24, 11}, {1, 9, 128, 3}}
	for round := range 120 {
		m, n, k, steps := 1+r.IntN(30), 1+r.IntN(70), 1+r.IntN(20), r.IntN(60)
		if round%10 == 0 {
			m, n, k = 100+r.IntN(100), 250+r.IntN(60), 1+r.IntN(150)
		}
		if m*n*k > 1e5 {
			steps %= 7
		}
		if round < len(whole) {
			m, n, k, steps = whole[round][0], whole[round][1], whole[round][2], whole[round][3]
		}
		a, b, c := dense(r, steps*m*k), dense(r, steps*n*k), dense(r, m*n)
		want := append([]float32(nil), c...)
		for s := steps - 1; s >= 0; s-- {
			x, y := operands(false, true, a[s*m*k:], k, b[s*n*k:], k)
			gemmGo(x, y, result{want, n, 1, true}, m, n, k)
		}
		for _, level := range levels() {
			got := append([]float32(nil), c...)
			onLevel(level, func() { GemmSteps(m, n, k, steps, a, b, got) })
			for i := range want {
				same(t, fmt.Sprintf("%s %d×%d×%d, %d steps, element %d", level, m, n, k, steps, i), got[i], want[i])
				if t.Failed() {
					t.FailNow()
				}
			}
		}
	}
}

// dense returns the elements of a matrix without gaps.
func dense(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func TestGemmAllocatesNothing(t *testing.T) {
	a, b, c := make([]float32, 50*60), make([]float32, 60*70), make([]float32, 50*70)
	Gemm(false, false, 50, 70, 60, a, 60, b, 70, c, 70, false)
	if n := testing.AllocsPerRun(100, func() { Gemm(false, false, 50, 70, 60, a, 60, b, 70, c, 70, true) }); n >= 1 {
		t.Errorf("%v allocations a product", n)
	}
}

// BenchmarkGemm reports the best of all runs, which a busy machine disturbs least.
func BenchmarkGemm(b *testing.B) {
	for _, s := range [][3]int{{512, 512, 512}, {128, 400, 100}, {64, 100, 400}, {400, 16, 110}, {400, 12, 110}, {6400, 110, 400}, {6400, 400, 110}, {128, 16, 32}, {128, 1, 32}, {1, 64, 64}, {8, 50, 10}} {
		for _, trans := range [][2]bool{{false, false}, {true, false}, {false, true}} {
			m, n, k := s[0], s[1], s[2]
			b.Run(fmt.Sprintf("%dx%dx%d/%v", m, n, k, trans), func(b *testing.B) {
				x, y, z := make([]float32, m*k), make([]float32, k*n), make([]float32, m*n)
				lda, ldb := k, n
				if trans[0] {
					lda = m
				}
				if trans[1] {
					ldb = k
				}
				times, best := 1+1000_000/(m*n*k), time.Hour
				for b.Loop() {
					start := time.Now()
					for range times {
						Gemm(trans[0], trans[1], m, n, k, x, lda, y, ldb, z, n, false)
					}
					best = min(best, time.Since(start))
				}
				b.ReportMetric(2*float64(m*n*k*times)/best.Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
