package f32

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestCells: both kernels have the bits of the definition in Go, for numbers of cells at and next
// to multiples of the register width, and write nothing behind the end of their slices.
func TestCells(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 50 {
		const beyond = 3
		row := func(k int) []float32 {
			x := randomMatrix(r, 1, k*n+beyond).x
			for i := range x {
				x[i] *= 4
			}
			return x
		}
		check := func(kernel string, f, twin func(z, a, b, c, d, e []float32)) {
			t.Helper()
			numbers := [][]float32{row(4), row(1), row(1), row(1), row(1), row(1)}
			var out [2][][]float32
			for i, f := range []func(z, a, b, c, d, e []float32){f, twin} {
				for _, x := range numbers {
					out[i] = append(out[i], slices.Clone(x))
				}
				x := out[i]
				f(x[0][:4*n], x[1][:n], x[2][:n], x[3][:n], x[4][:n], x[5][:n])
			}
			for i := range numbers {
				for j := range numbers[i] {
					same(t, fmt.Sprintf("%s of %d cells: number %d of array %d", kernel, n, j, i), out[0][i][j], out[1][i][j])
				}
			}
		}
		for _, level := range levels() {
			onLevel(level, func() {
				check(level+" forward", CellForward, cellForwardGo)
				back := func(f func(z, a, b, c, d []float32)) func(z, a, b, c, d, e []float32) {
					return func(z, a, b, c, d, _ []float32) { f(z, a, b, c, d) }
				}
				check(level+" backward", back(CellBackward), back(cellBackwardGo))
			})
		}
	}
}
