package profiling

import (
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/ml/block"
)

// BenchmarkNumbers counts 800 rows of 500 normal numbers.
func BenchmarkNumbers(b *testing.B) {
	const rows, cols = 800, 500
	d := &Drafter{scratch: &keyCounts{}, centers: make([]float64, cols)}
	d.draft.Cols = make([]draftCol, cols)
	for k := range cols {
		d.cols, d.tallies = append(d.cols, profiled{dense: k, null: -1}), append(d.tallies, &tally{low: coarse(cols)})
	}
	x := block.New(rows, cols, 0, true)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range x.X32 {
		x.X32[i] = float32(r.NormFloat64())
	}
	b.SetBytes(int64(4 * len(x.X32)))
	for b.Loop() {
		numbers(d, x.X32, x, nil)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(x.X32)), "ns/value")
}
