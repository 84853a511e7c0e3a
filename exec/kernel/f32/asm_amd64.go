//go:build amd64 && !noasm

package f32

import "github.com/tributarydb/tributary/exec/kernel/f64"

//go:generate go run ../internal/gen -out kernels_amd64.s -stubs stubs_amd64.go -pkg f32

// The kernels in use, chosen once at start.
var (
	tiles      = tilesOf(f64.Level)
	gemm       = choose(gemmGo, gemmBlocks)
	gemmSteps  = choose(gemmStepsGo, gemmStepBlocks)
	packed     = choose(packedNot, packedRows)
	tanhAll    = choose(tanhGo, eights(tanhAVX2))
	sigmoidAll = choose(sigmoidGo, eights(sigmoidAVX2))
	reluAll    = choose(reluGo, eights(reluAVX2))
	reluBack   = choose(reluBackGo, eights(reluBackAVX2))
	addAll     = choose(addGo, eights(addAVX2))
	adam       = choose(adamGo, adamFours)

	cellForward, cellBackward = cellsOf(f64.Level)
)

// tileKind are tiles of C of width columns and up to rows rows. The functions make
// groups of tiles below each other; the index is the number of a tile's rows.
type tileKind struct {
	width, rows int
	body        [maxRows + 1]tileBody
}

type tileBody = func(c *float32, ldc int, a *float32, arow, ak int, b *float32, bk int, k, steps, apart, groups int, add bool)

// tilesOf are the kinds of a level, the widest first.
func tilesOf(level string) []tileKind {
	kinds := []tileKind{
		{16, 6, [...]tileBody{1: gemm1x2AVX2, gemm2x2AVX2, gemm3x2AVX2, gemm4x2AVX2, gemm5x2AVX2, gemm6x2AVX2, 12: nil}},
		{8, 12, [...]tileBody{1: gemm1x1AVX2, gemm2x1AVX2, gemm3x1AVX2, gemm4x1AVX2, gemm5x1AVX2, gemm6x1AVX2, 12: gemm12x1AVX2}},
	}
	if level == "avx512" {
		wide := tileKind{32, 6, [...]tileBody{1: gemm1x2AVX512, gemm2x2AVX512, gemm3x2AVX512, gemm4x2AVX512, gemm5x2AVX512, gemm6x2AVX512, 12: nil}}
		kinds = append([]tileKind{wide}, kinds...)
	}
	return kinds
}

func choose[F any](goBody, asm F) F {
	if f64.Level == "go" {
		return goBody
	}
	return asm
}

// eights lets what is left after the last eight values through a mask.
func eights(all func(dst, src *float32, n int, tail *[8]int32)) func(dst, src []float32) {
	return func(dst, src []float32) {
		if n := len(src); n > 0 {
			all(&dst[0], &src[0], n, (*[8]int32)(masks[16-n%8:]))
		}
	}
}

// adamFours leaves what is left after the last four to the twin.
func adamFours(x, g, m, v []float32, s *AdamStep) {
	n := len(x) &^ 3
	if n > 0 {
		adamAVX2(&x[0], &g[0], &m[0], &v[0], n, (*[8]float64)(s))
	}
	adamGo(x[n:], g[n:], m[n:], v[n:], s)
}

// cellsOf are the loops over cells of a level.
func cellsOf(level string) (forward func(z, was, c, th, h, out []float32), backward func(z, was, th, dh, dc []float32)) {
	switch level {
	case "go":
		return cellForwardGo, cellBackwardGo
	case "avx512":
		return func(z, was, c, th, h, out []float32) {
				n := len(c)
				cellForwardAVX512(&z[0], &was[0], &c[0], &th[0], &h[0], &out[0], n, sixteenTail(n))
			}, func(z, was, th, dh, dc []float32) {
				n := len(dc)
				cellBackwardAVX512(&z[0], &was[0], &th[0], &dh[0], &dc[0], n, sixteenTail(n))
			}
	}
	return func(z, was, c, th, h, out []float32) {
			n := len(c)
			cellForwardAVX2(&z[0], &was[0], &c[0], &th[0], &h[0], &out[0], n, fourTail(n))
		}, func(z, was, th, dh, dc []float32) {
			n := len(dc)
			cellBackwardAVX2(&z[0], &was[0], &th[0], &dh[0], &dc[0], n, fourTail(n))
		}
}

// fourTail is the mask of what is left of n cells after the last four, sixteenTail that after
// the last sixteen.
func fourTail(n int) *[8]int32 { return (*[8]int32)(masks[16-n%4:]) }

func sixteenTail(n int) uint64 { return 1<<(n%16) - 1 }
