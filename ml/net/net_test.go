package net

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family/familytest"
)

// rings returns two classes of points, one around the other, and noise.
func rings(n int) *familytest.Data {
	r := rand.New(rand.NewPCG(4, 2))
	d := &familytest.Data{Classes: 2}
	for i := range n {
		y := float64(i % 2)
		a, rad := r.Float64()*2*math.Pi, 0.5+y+0.1*r.NormFloat64()
		d.X, d.Y, d.Held = append(d.X, []float64{rad * math.Cos(a), rad * math.Sin(a), r.NormFloat64()}), append(d.Y, y), append(d.Held, i%5 == 0)
	}
	return d
}

// waves returns sin(3x) and two categories that shift and turn it.
func waves(n int) *familytest.Data {
	r := rand.New(rand.NewPCG(1, 8))
	d := &familytest.Data{Cats: []int{3, 2}}
	for i := range n {
		x, c, s := r.Float64()*2-1, r.IntN(3), r.IntN(2)
		y := math.Sin(3*x)*float64(1-2*s) + float64(c)
		d.X, d.Code = append(d.X, []float64{x}), append(d.Code, []int32{int32(c), int32(s)})
		d.Y, d.W, d.Held = append(d.Y, 1000+100*y), append(d.W, 1+float64(i%3)), append(d.Held, i%10 == 3)
	}
	return d
}

// three returns three classes in stripes.
func three(n int) *familytest.Data {
	r := rand.New(rand.NewPCG(7, 7))
	d := &familytest.Data{Classes: 3}
	for range n {
		a, b := r.Float64()*2-1, r.Float64()*2-1
		d.X, d.Y = append(d.X, []float64{a, b}), append(d.Y, math.Floor((a+b+2)*2.999)-3*math.Floor((a+b+2)*2.999/3))
	}
	return d
}

// accuracy is the share of rows held out, or of all if there are none, whose predicted class is
// right.
func accuracy(r *familytest.Result, d *familytest.Data) float64 {
	s := r.Score(d.All(true))
	n, ok := 0, 0
	for i, y := range d.Y {
		if d.Held != nil && !d.Held[i] {
			continue
		}
		if n++; s.Class(i) == int(y) {
			ok++
		}
	}
	return float64(ok) / float64(n)
}

// TestSame: the bytes of the model are the same on any number of nodes and threads, with messages
// as values or bytes, and stopped and resumed after every step.
func TestSame(t *testing.T) {
	for _, c := range []struct {
		name    string
		d       *familytest.Data
		options []any
	}{
		{"rings", rings(1700), []any{"hidden_units", 9, "epochs", 2, "batch_size", 300, "dropout", 0.2, "layer_norm", true, "early_stop", true}},
		{"waves", waves(1500), []any{"hidden_units", 7, "activation", "gelu", "optimizer", "adamw", "learn_rate_schedule", "cosine", "warmup_epochs", 0.5, "clip_norm", 0.5, "epochs", 2, "batch_size", 200}},
		{"three", three(1300), []any{"hidden_units", 5, "activation", "tanh", "optimizer", "momentum", "shuffle", false, "epochs", 2, "batch_size", 8192, "l2", 0.01}},
	} {
		t.Run(c.name, func(t *testing.T) { familytest.Same(t, mlp, c.d, c.options...) })
	}
	d := waves(1200)
	d.Y = nil
	t.Run("autoencoder", func(t *testing.T) {
		r := familytest.Same(t, autoencoder, d, "hidden_units", 4, "epochs", 2, "batch_size", 100, "loss", "mae")
		if len(r.State.Metrics) != 2 || r.State.Metrics[0].Value != r.State.ValidationLoss {
			t.Errorf("metrics %v of a loss of %v", r.State.Metrics, r.State.ValidationLoss)
		}
	})
	// Without a validation set the metrics are those of the last epoch, or of the best one where
	// that is the model.
	d.Held = nil
	t.Run("metrics", func(t *testing.T) {
		r := familytest.Same(t, autoencoder, d, "hidden_units", 4, "epochs", 3, "batch_size", 100, "loss", "mae")
		if m := r.State.Metrics; len(m) != 2 || m[0].Value != r.State.TrainLoss || !(m[1].Value > 0) {
			t.Errorf("metrics %v of a loss of %v", m, r.State.TrainLoss)
		}
		r = familytest.Same(t, autoencoder, d, "hidden_units", 4, "epochs", 8, "batch_size", 50, "loss", "mae", "learning_rate", 2, "early_stop", true)
		if m := r.State.Metrics; len(m) != 2 || !(m[0].Value < r.State.TrainLoss) {
			t.Errorf("metrics %v of a best epoch; the last has a loss of %v", m, r.State.TrainLoss)
		}
	})
}

// TestLearns: functions that only a net with a hidden layer can learn.
func TestLearns(t *testing.T) {
	d := rings(2000)
	r, err := familytest.Train(t, mlp, d, familytest.Spread{Threads: 2, Nodes: 1, Narrow: true}, "hidden_units", 32, "epochs", 60, "learning_rate", 0.01)
	if err != nil {
		t.Fatal(err)
	}
	if got := accuracy(r, d); got < 0.98 {
		t.Errorf("rings: accuracy %v", got)
	}
	d = three(3000)
	if r, err = familytest.Train(t, mlp, d, familytest.Spread{Narrow: true}, "hidden_units", 64, "epochs", 100, "learning_rate", 0.01); err != nil {
		t.Fatal(err)
	}
	if got := accuracy(r, d); got < 0.95 {
		t.Errorf("stripes: accuracy %v", got)
	}
	xor := &familytest.Data{Classes: 2}
	for i := range 400 {
		a, b := float64(i&1), float64(i>>1&1)
		xor.X, xor.Y = append(xor.X, []float64{a*2 - 1, b*2 - 1}), append(xor.Y, float64(i&1^i>>1&1))
	}
	if r, err = familytest.Train(t, mlp, xor, familytest.Spread{}, "hidden_units", 8, "learning_rate", 0.02); err != nil {
		t.Fatal(err)
	}
	if got := accuracy(r, xor); got != 1 {
		t.Errorf("xor: accuracy %v", got)
	}
	// A target of large values far from 0, with the defaults except for the learning rate.
	w := waves(3000)
	if r, err = familytest.Train(t, mlp, w, familytest.Spread{}, "learning_rate", 0.01); err != nil {
		t.Fatal(err)
	}
	if loss := r.State.ValidationLoss; !(loss < 100) { // the variance is about 11000
		t.Errorf("waves: the mean squared error is %v", loss)
	}
	sum, s := 0.0, r.Score(w.All(true))
	held := 0.0
	for i, y := range w.Y {
		if w.Held[i] {
			sum, held = sum+w.W[i]*(y-s.Value[i])*(y-s.Value[i]), held+w.W[i]
		}
	}
	if got := sum / held; math.Abs(got-r.State.ValidationLoss) > 1e-3*got {
		t.Errorf("the loss is said to be %v, and is %v", r.State.ValidationLoss, got)
	}
}

// TestAutoencoder: rows like the training rows are reconstructed, and a different one has the
// greatest error.
func TestAutoencoder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	d := &familytest.Data{}
	for range 2000 {
		a, b := r.NormFloat64(), r.NormFloat64()
		d.X = append(d.X, []float64{a, b, a + b, a - b, 2 * a})
	}
	m, err := familytest.Train(t, autoencoder, d, familytest.Spread{Narrow: true}, "hidden_units", 2, "activation", "linear", "epochs", 100, "learning_rate", 0.01)
	if err != nil {
		t.Fatal(err)
	}
	d.X[7] = []float64{1, 1, -2, 3, 0}
	s := m.Score(d.All(true))
	for i := range d.X {
		if e := s.Extra[0][i]; (e > 0.5) != (i == 7) {
			t.Fatalf("row %d has an error of %v", i, e)
		}
		if got := s.Vector[4][i]; i != 7 && math.Abs(got-d.X[i][4]) > 0.3 {
			t.Fatalf("row %d: %v comes back as %v", i, d.X[i][4], got)
		}
	}
}

// TestWeights: a row of weight 2 counts like two copies. If all rows are one mini-batch the
// gradients are the same sums except for rounding in float32, since micro-batches have other rows;
// so are the models.
func TestWeights(t *testing.T) {
	d := waves(300)
	twice := &familytest.Data{Cats: d.Cats}
	for i := range d.X {
		d.W[i] = float64(1 + i%2)
		for range 1 + i%2 {
			twice.X, twice.Code, twice.Y = append(twice.X, d.X[i]), append(twice.Code, d.Code[i]), append(twice.Y, d.Y[i])
		}
	}
	d.Held = nil
	var got [2][]float64
	for i, data := range []*familytest.Data{d, twice} {
		r, err := familytest.Train(t, mlp, data, familytest.Spread{Narrow: true}, "optimizer", "sgd", "batch_size", 100000, "epochs", 30, "learning_rate", 0.1)
		if err != nil {
			t.Fatal(err)
		}
		got[i] = r.Score(d.All(true)).Value
	}
	for i, v := range got[0] {
		if w := got[1][i]; math.Abs(v-w) > 1e-3 { // the values are 900 to 1300
			t.Fatalf("row %d: %v by weights, %v by rows", i, v, w)
		}
	}
}

// TestDiverges: divergence is error 22003 and not a model of NaNs.
func TestDiverges(t *testing.T) {
	_, err := familytest.Train(t, mlp, waves(500), familytest.Spread{}, "optimizer", "sgd", "learning_rate", 1e9)
	if err == nil || err.Error() == "" {
		t.Fatal("a training that diverges gives a model")
	}
}

// TestScoresAnyBlock: the scores of a row depend neither on the other rows of its block nor on
// whether the block has float32 or float64.
func TestScoresAnyBlock(t *testing.T) {
	d := waves(200)
	for i := range d.X {
		d.X[i][0] = float64(float32(d.X[i][0]))
	}
	r, err := familytest.Train(t, mlp, d, familytest.Spread{}, "epochs", 2)
	if err != nil {
		t.Fatal(err)
	}
	all := r.Score(d.All(true)).Value
	for _, b := range []*block.Block{d.All(false), d.Block([]int{0, 1, 2}, true)} {
		for i, v := range r.Score(b).Value {
			if v != all[i] {
				t.Fatalf("row %d: %v and %v", i, v, all[i])
			}
		}
	}
}
