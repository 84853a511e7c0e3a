//go:build amd64 && !noasm

package f32

import "github.com/tributarydb/tributary/exec/kernel/f64"

//go:generate go run ../internal/gen -out kernels_amd64.s -stubs stubs_amd64.go -pkg f32

// The kernels in use, chosen once at start.
var (
	tiles      = tilesOf(f64.Level)
	gemm       = choose(gemmGo, gemmBlocks)
	packed     = choose(packedNot, packedBlocks)
	expAll     = choose(expGo, eights(expAVX2))
	tanhAll    = choose(tanhGo, eights(tanhAVX2))
	sigmoidAll = choose(sigmoidGo, eights(sigmoidAVX2))

	cellForward  = choose(cellForwardGo, cellForwardEights)
	cellBackward = choose(cellBackwardGo, cellBackwardEights)
)

// tileBodies make groups of tiles of C, of width columns; the index is the number
// of their rows.
type tileBodies struct {
	width int
	body  [tileRows + 1]tileBody
}

type tileBody = func(c *float32, ldc int, a *float32, arow, ak int, b *float32, bk int, k, groups int, add bool)

func tilesOf(level string) *tileBodies {
	if level == "avx512" {
		return &tileBodies{32, [...]tileBody{nil, gemm1AVX512, gemm2AVX512, gemm3AVX512, gemm4AVX512, gemm5AVX512, gemm6AVX512}}
	}
	return &tileBodies{16, [...]tileBody{nil, gemm1AVX2, gemm2AVX2, gemm3AVX2, gemm4AVX2, gemm5AVX2, gemm6AVX2}}
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

func cellForwardEights(z, was, c, th, h []float32) {
	n := len(c)
	cellForwardAVX2(&z[0], &was[0], &c[0], &th[0], &h[0], n, (*[8]int32)(masks[16-n%4:]))
}

func cellBackwardEights(z, was, th, dh, dc []float32) {
	n := len(dc)
	cellBackwardAVX2(&z[0], &was[0], &th[0], &dh[0], &dc[0], n, (*[8]int32)(masks[16-n%4:]))
}
