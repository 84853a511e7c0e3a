package net

import (
	"testing"
	"time"

	"github.com/tributarydb/tributary/ml/feature"
)

// BenchmarkLSTM is a micro-batch, forward and backward, of an often cited net: sequences of 50 ×
// 10, an LSTM of 100 units and one of 40 that return sequences, and a dense layer. It reports the
// best of all runs, which a busy machine disturbs least.
func BenchmarkLSTM(b *testing.B) {
	sp := &spec{loss: lossMAE, windows: &recurrent{steps: 50, units: []int{100, 40}, sequences: true, self: true}}
	rows := grainOf(sp.windows)
	n := sp.build(&feature.Fitted{Dense: 10}, 10)
	p, g := n.init(1), make([]float32, n.params())
	tp := newTape(newFeed(n, true).numbers())
	w := make([]float64, rows)
	in := &tensor{rows, n.in, make([]float32, rows*n.in.size())}
	(&rng{key: 1}).fill(in.v, 1)
	for i := range w {
		w[i] = 1
	}
	best := time.Hour
	for b.Loop() {
		start := time.Now()
		tp.reset()
		n.learn(p, g, n.forward(p, in, tp), in, w, tp)
		best = min(best, time.Since(start))
	}
	// Multiplications and additions: one matrix product forward, two backward.
	flops := 3 * 2 * 50 * rows * (400*(10+100) + 160*(100+40) + 40*10)
	b.ReportMetric(float64(flops)/best.Seconds()/1e9, "GFLOP/s")
	b.ReportMetric(best.Seconds()*1e3, "ms")
}
