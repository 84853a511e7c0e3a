package tree

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/ml/block"
)

// lambdasReference computes gradients and curvatures of one query by their definition, pair by pair.
func lambdasReference(labels, scores []float64, truncation int, norm bool) (g, h []float64) {
	n := len(labels)
	place := make([]int, n)
	for i := range place {
		for k := range scores {
			if scores[k] > scores[i] {
				place[i]++
			}
		}
	}
	gain := func(l float64) float64 { return math.Exp2(l) - 1 }
	sorted := slices.Clone(labels)
	slices.Sort(sorted)
	best := 0.0
	for i := range min(n, truncation) {
		best += gain(sorted[n-1-i]) / math.Log2(float64(i+2))
	}
	g, h = make([]float64, n), make([]float64, n)
	sum := 0.0
	for i := range n {
		for j := range n {
			if labels[i] <= labels[j] || min(place[i], place[j]) >= truncation {
				continue
			}
			w := (gain(labels[i]) - gain(labels[j])) * math.Abs(1/math.Log2(float64(place[i]+2))-1/math.Log2(float64(place[j]+2))) / best
			if norm {
				w /= 0.01 + math.Abs(scores[i]-scores[j])
			}
			p := 1 / (1 + math.Exp(scores[i]-scores[j]))
			g[i] -= p * w
			g[j] += p * w
			h[i] += p * (1 - p) * w
			h[j] += p * (1 - p) * w
			sum += 2 * p * w
		}
	}
	if norm && sum > 0 {
		for i := range g {
			g[i] *= math.Log2(1+sum) / sum
			h[i] *= math.Log2(1+sum) / sum
		}
	}
	return g, h
}

// TestLambdas: gradients of a block of queries are those of the definition, query by query, and within their bound.
func TestLambdas(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	for trial := range 50 {
		loss := &ranking{truncation: 1 + r.IntN(12), norm: trial%2 == 0}
		b := &block.Block{}
		k := &rows{}
		for range 1 + r.IntN(4) {
			b.Groups = append(b.Groups, int32(b.Rows))
			for range 1 + r.IntN(20) {
				b.Y = append(b.Y, float64(r.IntN(5)))
				k.margins, k.hash = append(k.margins, 2*r.NormFloat64()), append(k.hash, r.Uint64())
				b.Rows++
			}
		}
		g, h := make([]float64, b.Rows), make([]float64, b.Rows)
		var s ranks
		for q := range b.Groups {
			from, to := b.Group(q)
			if err := s.query(k, b, from, to); err != nil {
				t.Fatal(err)
			}
			s.lambdas(loss, g, h)
			wantG, wantH := lambdasReference(b.Y[from:to], k.margins[from:to], loss.truncation, loss.norm)
			for i := range wantG {
				if math.Abs(g[from+i]-wantG[i]) > 1e-9 || math.Abs(h[from+i]-wantH[i]) > 1e-9 {
					t.Fatalf("trial %d, query %d, row %d: %v %v, want %v %v", trial, q, i, g[from+i], h[from+i], wantG[i], wantH[i])
				}
				if math.Abs(g[from+i])+h[from+i] > loss.bound() {
					t.Fatalf("trial %d: %v and %v are not within the bound", trial, g[from+i], h[from+i])
				}
			}
		}
	}
}

// TestLabelsOfRelevance: what is no degree of relevance is an error.
func TestLabelsOfRelevance(t *testing.T) {
	for _, y := range []float64{-1, 0.5, 31, math.NaN()} {
		b := &block.Block{Rows: 2, Y: []float64{1, y}, Groups: []int32{0}}
		var s ranks
		if err := s.query(&rows{margins: make([]float64, 2), hash: make([]uint64, 2)}, b, 0, 2); err == nil {
			t.Errorf("a label of %v has no error", y)
		}
	}
}
