package net

import (
	"math"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
	"github.com/tributarydb/tributary/sql/types"
)

func mlpOf(t *testing.T, d *familytest.Data, options ...any) *explained {
	t.Helper()
	r, err := familytest.Train(t, mlp, d, familytest.Spread{Nodes: 1, Threads: 1}, append([]any{"epochs", 10}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return r.Predictor.(*explained)
}

// margin is the output that is explained: the value of a regression, or the margin of two classes.
func margin(s *family.Scores, i int) float64 {
	if s.Value != nil {
		return s.Value[i]
	}
	return math.Log(s.Probs[1][i] / s.Probs[0][i])
}

// TestExplanationsAreComplete: baseline and attributions add up to the prediction exactly (the
// integrals by themselves only nearly), and that is the prediction of predict().
func TestExplanationsAreComplete(t *testing.T) {
	for _, c := range []struct {
		name    string
		d       *familytest.Data
		options []any
		lack    float64 // how much the integrals may lack, relative to the sum of magnitudes
	}{
		{"numbers and categories", waves(600), []any{"hidden_units", 12}, 0.02},
		{"two classes", rings(600), []any{"hidden_units", 16, "activation", "gelu"}, 0.005},
		{"three classes", three(600), []any{"hidden_units", 16, "layer_norm", true}, 0.1},
		{"no hidden units", waves(600), []any{"hidden_units", types.Array{Elem: types.Int8}}, 1e-5},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := mlpOf(t, c.d, c.options...)
			b := c.d.All(true)
			s := p.Score(b)
			e := p.Explain(b, s)
			tail, from := p.net.tail()
			feed := newFeed(p.net, false)
			feed.begin()
			in := feed.load(b, 0, 32)
			raw := make([]float64, len(e.Features))
			for i := range 32 {
				k := 0
				if len(s.Probs) > 2 {
					k = s.Class(i)
				}
				low, high := p.integrate(tail, p.params[from:], make([]float32, len(p.params)-from), newTape(tail.scratch(microRows)), p.embedded(feed, in, i), k,
					p.columns(&family.Explanation{}), raw)
				left, size := high-low, 0.0
				for _, v := range raw {
					left, size = left-v, size+math.Abs(v)
				}
				if math.Abs(left) > c.lack*size || low != e.Baseline[i] || high != e.Prediction[i] {
					t.Errorf("row %d: the integrals lack %v of %v", i, left, size)
				}
			}
			if len(e.Features) != len(c.d.X[0])+len(c.d.Cats) {
				t.Fatalf("features %v", e.Features)
			}
			for i := range b.Rows {
				sum, size := e.Baseline[i], 0.0
				for _, part := range e.Parts {
					sum, size = sum+part[i], size+math.Abs(part[i])
				}
				if math.Abs(sum-e.Prediction[i]) > 1e-9*(1+math.Abs(sum)) {
					t.Fatalf("row %d: parts make %v, not %v", i, sum, e.Prediction[i])
				}
				if len(s.Probs) < 3 && math.Abs(margin(s, i)-e.Prediction[i]) > 1e-4*(1+math.Abs(sum)) {
					t.Fatalf("row %d: %v is predicted, %v explained", i, margin(s, i), e.Prediction[i])
				}
			}
		})
	}
}

// TestIntegratedGradients compares with differences of the margin, summed in many small steps along
// the path from the baseline.
func TestIntegratedGradients(t *testing.T) {
	const steps, h = 400, 1e-2
	d := rings(400)
	p := mlpOf(t, d, "hidden_units", 8, "activation", "tanh")
	all := d.All(true)
	e := p.Explain(all, p.Score(all))
	for i := range 10 {
		n := len(d.X[i])
		at := block.New(2*n*steps, n, 0, true)
		for r := range at.Rows {
			k, j, side := r/(2*n), r/2%n, r%2
			for c, x := range d.X[i] {
				x *= (float64(k) + 0.5) / steps
				if c == j {
					x += h * float64(2*side-1)
				}
				at.X32[r/f64.Lanes*f64.Lanes*n+c*f64.Lanes+r%f64.Lanes] = float32(x)
			}
		}
		s := p.Score(at)
		for j := range n {
			want := 0.0
			for k := range steps {
				r := 2 * (k*n + j)
				want += (margin(s, r+1) - margin(s, r)) / (2 * h) / steps
			}
			if want *= d.X[i][j]; math.Abs(want-e.Parts[j][i]) > 0.01*(1+math.Abs(want)) {
				t.Errorf("row %d, x%d: %v, by differences %v", i, j, e.Parts[j][i], want)
			}
		}
	}
}
