package f64

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestSigmoids compares Sigmoids with Sigmoid1 of each number.
func TestSigmoids(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	z := make([]float64, 1032)
	for i := range z {
		z[i] = math.Ldexp(r.NormFloat64(), r.IntN(20)-10)
	}
	copy(z, []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 800, -800, 1e-300})
	want := make([]float64, len(z))
	for i, v := range z {
		want[i] = Sigmoid1(v)
	}
	Sigmoids(z)
	sameBits(t, "sigmoids", z, want)
}

// scoreBodies are the kernels of one instruction set that score rows and evaluate the scores.
type scoreBodies struct {
	sigmoids     func(z []float64)
	crossEntropy func(loss, p, y []float64)
	labelEntropy func(loss, p []float64, label []uint32, hit uint32)
	tileScaled   func(dst []float32, cols [][]float32, row, tiles int, c, inv []float64) bool
}

// TestScoreBodies compares the kernels of every instruction set of this machine with their Go
// versions.
func TestScoreBodies(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for i, of := range scoreLevels() {
		const n = 4096
		p, label := oddScores(n)
		z, y := make([]float64, n), make([]float64, n)
		for i := range z {
			z[i], y[i] = math.Ldexp(r.NormFloat64(), r.IntN(20)-10), float64(label[i])
		}
		copy(z, []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 800, -800, 1e-300})
		y[3] = math.NaN()
		got, want := append([]float64(nil), z...), append([]float64(nil), z...)
		of.sigmoids(got)
		sigmoidsGo(want)
		sameBits(t, fmt.Sprint("sigmoids of body ", i), got, want)
		of.crossEntropy(got, p, y)
		crossEntropyGo(want, p, y)
		sameBits(t, fmt.Sprint("cross entropy of body ", i), got, want)
		of.labelEntropy(got, p, label, 1)
		labelEntropyGo(want, p, label, 1)
		sameBits(t, fmt.Sprint("cross entropy of labels of body ", i), got, want)
		for d := 1; d < 20; d++ {
			const row, tiles = 3, 5
			cols := make([][]float32, d)
			c, inv := randoms(r, d), randoms(r, d)
			for j := range cols {
				cols[j] = narrowed(randoms(r, row+tiles*Lanes))
				cols[j][row+d] = float32(math.Copysign(0, -1))
			}
			if d%4 == 0 {
				cols[d-1][row+8] = float32(math.Inf(1))
			}
			got, want := make([]float32, tiles*d*Lanes), make([]float32, tiles*d*Lanes)
			finite, is := of.tileScaled(got, cols, row, tiles, c, inv), tileScaledGo(want, cols, row, tiles, c, inv)
			if finite != is || is == (d%4 == 0) {
				t.Errorf("%d columns are finite: %v, want %v", d, finite, is)
			}
			for i, v := range want {
				if math.Float32bits(got[i]) != math.Float32bits(v) && v == v {
					t.Fatalf("body %d, %d columns: value %d is %v, want %v", i, d, i, got[i], v)
				}
			}
		}
	}
}
