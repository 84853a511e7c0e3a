//go:build amd64 && !noasm

package f32

import "github.com/tributarydb/tributary/exec/kernel/f64"

// bodies are the products of every level that this machine has.
func bodies() map[string]product {
	if f64.Level != "avx512" {
		return map[string]product{f64.Level: Gemm}
	}
	of := func(level string) product {
		return func(transA, transB bool, m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, add bool) {
			onLevel(level, func() { Gemm(transA, transB, m, n, k, a, lda, b, ldb, c, ldc, add) })
		}
	}
	return map[string]product{"avx2": of("avx2"), "avx512": of("avx512")}
}

// onLevel runs f with the tiles of a level.
func onLevel(level string, f func()) {
	was := tiles
	tiles = tilesOf(level)
	f()
	tiles = was
}
