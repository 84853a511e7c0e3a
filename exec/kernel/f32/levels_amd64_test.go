//go:build amd64 && !noasm

package f32

import "github.com/tributarydb/tributary/exec/kernel/f64"

// bodies are the matrix products of every instruction set that this machine has.
func bodies() map[string]product {
	of := map[string]product{}
	for _, level := range levels() {
		of[level] = func(transA, transB bool, m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, add bool) {
			onLevel(level, func() { Gemm(transA, transB, m, n, k, a, lda, b, ldb, c, ldc, add) })
		}
	}
	return of
}

// levels are the instruction sets that this machine has.
func levels() []string {
	if f64.Level == "avx512" {
		return []string{"avx2", "avx512"}
	}
	return []string{f64.Level}
}

// onLevel runs f with the kernels of an instruction set.
func onLevel(level string, f func()) {
	was, forward, backward := tiles, cellForward, cellBackward
	tiles = tilesOf(level)
	cellForward, cellBackward = cellsOf(level)
	f()
	tiles, cellForward, cellBackward = was, forward, backward
}
