package agg

import (
	"math/rand"
	"testing"
)

// BenchmarkArea counts the pairs of 5,000,000 scores, half of them of either side.
func BenchmarkArea(b *testing.B) {
	r := rand.New(rand.NewSource(1))
	var s [2]scores
	for range 5000000 {
		s[r.Intn(2)].add(scoreKey(r.Float64()))
	}
	for b.Loop() {
		rankSum(&s[0], &s[1], 1)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/5e6, "ns/row")
}
