package kmeans

import (
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
)

// BenchmarkTrain is a whole training on one thread: 20 iterations over 200,000 rows of 10 float32
// columns, k = 20. ns/row is per row and iteration.
func BenchmarkTrain(b *testing.B) {
	const n, d, k, iters = 200_000, 10, 20, 20
	for _, c := range []struct {
		name string
		init string
		fill func(r *rand.Rand, i, j int) float64
	}{
		{"blobs", "random", func(r *rand.Rand, i, j int) float64 { return float64(i%20*(j+7)%13) + r.NormFloat64() }},
		{"noise", "random", func(r *rand.Rand, _, _ int) float64 { return r.NormFloat64() }},
		{"noise-parallel", "k-means||", func(r *rand.Rand, _, _ int) float64 { return r.NormFloat64() }},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			data := &familytest.Data{}
			for i := range n {
				x := make([]float64, d)
				for j := range x {
					x[j] = c.fill(r, i, j)
				}
				data.X = append(data.X, x)
			}
			var blocks []*block.Block
			const size = 32768
			for i := 0; i < n; i += size {
				rows := make([]int, 0, size)
				for q := i; q < min(i+size, n); q++ {
					rows = append(rows, q)
				}
				blocks = append(blocks, data.Block(rows, true))
			}
			o, err := familytest.Options(kmeans{}, "k", k, "init", c.init, "max_iterations", iters, "tol", 0.0)
			if err != nil {
				b.Fatal(err)
			}
			set := &family.Setup{Options: o, Fitted: data.Fitted(true), Rows: n, Weight: n}
			steps := 0
			for b.Loop() {
				drv, err := kmeans{}.NewDriver(set, familytest.Home)
				if err != nil {
					b.Fatal(err)
				}
				w, err := kmeans{}.NewWorker(set, &family.Node{Threads: 1, Grow: func(int64) error { return nil }})
				if err != nil {
					b.Fatal(err)
				}
				for !drv.State().Done {
					p, err := w.NewPass(drv.Next())
					if err != nil {
						b.Fatal(err)
					}
					for i, blk := range blocks {
						if err := p.Add(b.Context(), family.Rows{Leaf: i, To: blk.Padded()}, blk); err != nil {
							b.Fatal(err)
						}
					}
					if err := drv.Tell(p.Partial()); err != nil {
						b.Fatal(err)
					}
					steps++
				}
				w.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n/iters, "ns/row")
			b.ReportMetric(float64(steps)/float64(b.N), "steps")
		})
	}
}
