package net

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
)

// TestLook: an autoencoder of many rows is measured by a part of them, the same on
// any number of nodes, which tells what all would.
func TestLook(t *testing.T) {
	const rows = 3*lookRows + 100
	d := &familytest.Data{X: make([][]float64, rows)}
	r := rand.New(rand.NewPCG(3, 1))
	for i := range d.X {
		d.X[i] = []float64{r.Float64(), r.NormFloat64()}
	}
	var first []family.Metric
	for _, s := range []familytest.Spread{{Threads: 2, Nodes: 1, Narrow: true}, {Threads: 1, Nodes: 3, Narrow: true}} {
		r, err := familytest.Train(t, autoencoder, d, s, "hidden_units", 1, "epochs", 1, "batch_size", 65536)
		if err != nil {
			t.Fatal(err)
		}
		m := r.State.Metrics
		if first == nil {
			first = m
			b := d.All(true)
			scores := r.Score(b)
			var absolute, squares float64
			for i := range d.X {
				for j, x := range d.X[i] {
					e := float64(float32(x)) - scores.Vector[j][i]
					absolute += math.Abs(e)
					squares += e * e
				}
			}
			n := float64(len(d.X) * len(d.X[0]))
			for i, want := range []float64{absolute / n, squares / n} {
				if math.Abs(m[i].Value-want) > 0.01*want || m[i].Value == want {
					t.Errorf("%s is %v, of all rows %v", m[i].Name, m[i].Value, want)
				}
			}
		}
		for i := range m {
			if m[i] != first[i] {
				t.Errorf("%d nodes: %v, want %v", s.Nodes, m[i], first[i])
			}
		}
	}
}

// TestLookAtAll: where none of the rows looked at counts, all are.
func TestLookAtAll(t *testing.T) {
	d := &driver{set: &family.Setup{Rows: 4 * lookRows}, net: &net{in: shape{steps: 1}}}
	d.s.op, d.s.state.Stopped = opLoss, "max_iterations"
	if n := d.every(); n != 4 {
		t.Fatalf("each %d-th is looked at", n)
	}
	if err := d.Tell(&partial{}); err != nil || d.s.state.Done {
		t.Fatalf("done: %v, error %v", d.s.state.Done, err)
	}
	if n := d.Next().Body.(*request).every; n != 1 {
		t.Errorf("each %d-th is looked at then", n)
	}
	if err := d.Tell(&partial{weight: 2, absolute: 6, squares: 4}); err != nil || !d.s.state.Done || d.s.metrics[0] != 3 || d.s.metrics[1] != 2 {
		t.Errorf("metrics %v, error %v", d.s.metrics, err)
	}
}
