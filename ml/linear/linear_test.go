package linear

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
	"github.com/tributarydb/tributary/ml/objective"
	"github.com/tributarydb/tributary/ml/optim"
)

// someBlock makes rows of dense numbers and codes; classes 0 means a number.
func someBlock(r *rand.Rand, rows, dense, codes, slotsEach, classes int, narrow bool) *dataset.Block {
	b := dataset.NewBlock(rows, dense, codes, narrow)
	for i := range rows {
		tile, l := i/f64.Lanes, i%f64.Lanes
		for j := range dense {
			at := (tile*dense+j)*f64.Lanes + l
			if narrow {
				b.X32[at] = float32(r.NormFloat64())
			} else {
				b.X64[at] = r.NormFloat64()
			}
		}
		for c := range codes {
			slot := int32(c*slotsEach + r.IntN(slotsEach))
			if r.IntN(5) == 0 {
				slot = -1
			}
			b.Code[(tile*codes+c)*f64.Lanes+l] = slot
		}
		b.W[i] = 0.5 + r.Float64()
		if b.Y[i] = r.NormFloat64(); classes > 0 {
			b.Y[i] = float64(r.IntN(classes))
		}
	}
	return b
}

// TestGradientAndHessianAgainstCentralDifferences goes through everything: dense
// columns, codes, weights, padding, intercept, mean and penalty.
func TestGradientAndHessianAgainstCentralDifferences(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		obj           objective.Objective
		classes       int
		dense, codes  int
		intercept, nw bool
		hess          bool
	}{
		{objective.Squared{}, 0, 3, 0, true, false, true},
		{objective.Squared{}, 0, 0, 2, true, true, true},
		{objective.Logistic{}, 2, 4, 2, true, false, true},
		{objective.Logistic{}, 2, 2, 1, false, true, true},
		{objective.Softmax{K: 3}, 3, 3, 2, true, false, false},
	} {
		const each = 3
		b := someBlock(r, 333, c.dense, c.codes, each, c.classes, c.nw)
		ones := c.codes * each
		root := &Root{Outputs: c.obj.Outputs(), Params: c.dense + ones, L2: 0.1, Intercept: c.intercept}
		pass := NewPass(c.obj, c.dense, ones)
		at := func(theta []float64, need optim.Need) *optim.Eval {
			s, err := pass.Run(context.Background(), b, theta, need, 0, b.Padded())
			if err != nil {
				t.Fatal(err)
			}
			if s.Rows != 333 {
				t.Fatalf("%d rows", s.Rows)
			}
			e, err := root.Eval(s, theta, need)
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		n := root.Outputs * (root.Params + 1)
		theta := make([]float64, n)
		for i := range theta {
			if theta[i] = r.NormFloat64(); !c.intercept && i%(root.Params+1) == root.Params {
				theta[i] = 0
			}
		}
		need := optim.Loss | optim.Grad
		if c.hess {
			need |= optim.Hessian
		}
		e := at(theta, need)
		const eps = 1e-5
		for i := range theta {
			if !c.intercept && i == n-1 {
				if e.Grad[i] != 0 {
					t.Errorf("an intercept that is not fitted has gradient %v", e.Grad[i])
				}
				continue
			}
			up, down := slices.Clone(theta), slices.Clone(theta)
			up[i] += eps
			down[i] -= eps
			eu, ed := at(up, optim.Loss|optim.Grad), at(down, optim.Loss|optim.Grad)
			if want := (eu.Loss - ed.Loss) / (2 * eps); math.Abs(e.Grad[i]-want) > 1e-7 {
				t.Errorf("%s: gradient[%d] = %v, differences give %v", c.obj.Name(), i, e.Grad[i], want)
			}
			for k := i; c.hess && k < n; k++ {
				if !c.intercept && k == n-1 {
					continue
				}
				if want := (eu.Grad[k] - ed.Grad[k]) / (2 * eps); math.Abs(e.Hess[i*n+k]-want) > 1e-7 {
					t.Errorf("%s: Hessian[%d][%d] = %v, differences give %v", c.obj.Name(), i, k, e.Hess[i*n+k], want)
				}
			}
		}
	}
}

func TestScratchSpaceLeavesNoTrace(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	a, b := someBlock(r, 1000, 5, 1, 4, 2, true), someBlock(r, 777, 5, 1, 4, 2, true)
	theta := make([]float64, 10)
	p := NewPass(objective.Logistic{}, 5, 4)
	run := func(p *Pass, b *dataset.Block) []byte {
		s, err := p.Run(context.Background(), b, theta, optim.Loss|optim.Grad|optim.Hessian, 0, b.Padded())
		if err != nil {
			t.Fatal(err)
		}
		var e canon.E
		s.Encode(&e)
		return e.B
	}
	first := run(p, a)
	run(p, b)
	if !bytes.Equal(run(p, a), first) || !bytes.Equal(run(NewPass(objective.Logistic{}, 5, 4), a), first) {
		t.Error("a pass gives other bytes when it is used again")
	}
}

// TestTheContract trains by every optimiser on any spread of the rows.
func TestTheContract(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	some := func(n, classes int) *familytest.Data {
		d := &familytest.Data{Cats: []int{3}, Classes: classes, Seed: 5}
		for range n {
			x := []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
			c := int32(r.IntN(4)) - 1
			y := x[0] - 2*x[1] + float64(c) + r.NormFloat64()
			if classes > 0 {
				y = min(max(math.Floor(y)+float64(classes/2), 0), float64(classes-1))
			}
			d.X, d.Code, d.Y = append(d.X, x), append(d.Code, []int32{c}), append(d.Y, y)
			d.W, d.Held = append(d.W, 0.5+r.Float64()), append(d.Held, r.IntN(5) == 0)
		}
		return d
	}
	for _, c := range []struct {
		f       *glm
		classes int
		options []any
	}{
		{linearRegression, 0, nil},
		{ridge, 0, []any{"optimizer", "gd", "max_iterations", 7}},
		{logisticRegression, 2, []any{"c", 2.0}},
		{logisticRegression, 2, []any{"optimizer", "adam", "batch_size", 100, "max_iterations", 3, "early_stop", true, "min_rel_progress", 1e-9}},
		{logisticRegression, 4, []any{"l2_reg", 1e-3, "early_stop", true}},
	} {
		got := familytest.Same(t, c.f, some(1500, c.classes), c.options...)
		if !got.State.Done || got.State.TrainLoss != got.State.TrainLoss || got.State.ValidationLoss != got.State.ValidationLoss {
			t.Errorf("%s %v ended in %+v", c.f.info.Name, c.options, got.State)
		}
	}
}

// TestEarlyStopKeepsTheBest trains by steps so long that the loss goes up again.
func TestEarlyStopKeepsTheBest(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	d := &familytest.Data{Classes: 2}
	for i := range 600 {
		x := r.NormFloat64()
		y := 0.0
		if x+r.NormFloat64() > 0 {
			y = 1
		}
		d.X, d.Y, d.Held = append(d.X, []float64{x}), append(d.Y, y), append(d.Held, i%3 == 0)
	}
	got, err := familytest.Train(t, logisticRegression, d, familytest.Spread{}, "optimizer", "sgd", "learn_rate", 30.0, "batch_size", 16, "max_iterations", 40,
		"early_stop", true, "min_rel_progress", 0.0)
	if err != nil {
		t.Fatal(err)
	}
	loss := func(p family.Predictor) (sum float64) {
		s := p.Score(d.All(false))
		for i, held := range d.Held {
			if held {
				sum -= math.Log(s.Probs[int(d.Y[i])][i]) / 200
			}
		}
		return sum
	}
	if got.State.Stopped != "early_stop" || !(loss(got.Predictor) < got.State.ValidationLoss) {
		t.Errorf("%s: the model's loss is %v, the last iteration's %v", got.State.Stopped, loss(got.Predictor), got.State.ValidationLoss)
	}
}
