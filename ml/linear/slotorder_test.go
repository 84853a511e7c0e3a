package linear

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
	"github.com/tributarydb/tributary/ml/optim"
)

// TestBlocksBySlot: a block of many one-hot features is read slot by slot from the second step on,
// if there is memory for that order, with the same bytes as row by row.
func TestBlocksBySlot(t *testing.T) {
	for _, c := range []struct {
		classes int
		memory  int64
		sorted  bool
	}{{2, 0, true}, {3, 1 << 40, true}, {2, 1 << 20, false}} {
		const rows, dense = block.SpanRows + 1111, 2
		r := rand.New(rand.NewPCG(1, 1))
		d := &familytest.Data{X: [][]float64{make([]float64, dense)}, Y: []float64{0}, Classes: c.classes}
		s := &family.Setup{Fitted: d.Fitted(false), Rows: rows, Plan: &family.Plan{}}
		s.Fitted.OneHot, s.Fitted.Codes = manySlots+77, 3
		var err error
		if s.Options, err = familytest.Options(logisticRegression); err != nil {
			t.Fatal(err)
		}
		b := block.New(rows, dense, s.Fitted.Codes, false)
		for i := range b.Code {
			b.Code[i] = int32(r.IntN(s.Fitted.OneHot+1000)) - 1000
			b.Code[i] = max(b.Code[i], -1)
		}
		for i := range rows {
			b.Set(i, 0, r.Float64())
			b.Y[i], b.W[i] = float64(r.IntN(c.classes)), float64(r.IntN(3))
		}
		w, err := logisticRegression.NewWorker(s, &family.Node{Threads: 1, Space: familytest.Space, Memory: c.memory})
		if err != nil {
			t.Fatal(err)
		}
		p := w.(*worker).p
		theta := make([]float64, p.size())
		for i := range theta {
			theta[i] = r.NormFloat64()
		}
		body := &request{Need: optim.Loss | optim.Grad, Theta: theta, Width: 1, Bound: []float64{1, 1}, most: most{Resid: 8, Loss: 256}}
		var first []byte
		for i := range 3 {
			a, err := w.NewPass(&family.Step{Op: opEvaluate, Set: family.Train, Body: body})
			if err != nil {
				t.Fatal(err)
			}
			for leaf := range 4 { // more spans than are added at once
				if err := a.Add(t.Context(), family.Rows{Leaf: leaf, To: b.End()}, b); err != nil {
					t.Fatal(err)
				}
			}
			if n := len(a.(*pass).pending); (n > 0) != (c.sorted && i > 0) {
				t.Errorf("%+v: step %d has %d spans read by slots", c, i, n)
			}
			var e canon.E
			a.Partial().Encode(&e)
			if i == 0 {
				first = e.B
			} else if !bytes.Equal(first, e.B) {
				t.Errorf("%+v: step %d gives another partial", c, i)
			}
		}
	}
}
