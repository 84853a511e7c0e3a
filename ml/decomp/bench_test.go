package decomp

import (
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
)

// BenchmarkTrain computes ten components of 16,384 rows of 500 float32 columns, on one thread. The
// steps over rows (GFMA/s of the Gram matrix) are reported apart from the eigenvectors, which the
// root computes.
func BenchmarkTrain(b *testing.B) {
	const n, d = 16384, 500
	r := rand.New(rand.NewPCG(1, 1))
	data := &familytest.Data{X: [][]float64{make([]float64, d)}}
	blk := block.New(n, d, 0, true)
	for i := range blk.X32 {
		blk.X32[i] = float32(r.NormFloat64())
	}
	for i := range blk.W {
		blk.W[i] = 1
	}
	for _, solver := range []string{full, randomized} {
		b.Run(solver, func(b *testing.B) {
			o, err := familytest.Options(pca, "n_components", 10, "solver", solver)
			if err != nil {
				b.Fatal(err)
			}
			set := &family.Setup{Options: o, Fitted: data.Fitted(true), Rows: n, Weight: n}
			for b.Loop() {
				drv, err := pca.NewDriver(set, familytest.Home)
				if err != nil {
					b.Fatal(err)
				}
				w, err := pca.NewWorker(set, &family.Node{Threads: 1})
				if err != nil {
					b.Fatal(err)
				}
				for !drv.State().Done {
					p, err := w.NewPass(drv.Next())
					if err != nil {
						b.Fatal(err)
					}
					if err := p.Add(b.Context(), family.Rows{To: n}, blk); err != nil {
						b.Fatal(err)
					}
					if err := drv.Tell(p.Partial()); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func BenchmarkEigen(b *testing.B) {
	const n = 500
	r := rand.New(rand.NewPCG(1, 1))
	a := make([]float64, n*n)
	for i := range n {
		for j := range i + 1 {
			a[i*n+j] = r.NormFloat64()
			a[j*n+i] = a[i*n+j]
		}
	}
	m := make([]float64, n*n)
	for b.Loop() {
		copy(m, a)
		eigen(m, n, 10)
	}
}
