package net

import (
	"math"
	"testing"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// TestOptionErrors: a value, or a combination of options, that makes no sense is an error of the
// user, never ignored.
func TestOptionErrors(t *testing.T) {
	number, class := &record.Column{Name: "y", Type: types.Float8}, &record.Column{Name: "y", Type: types.Text}
	for _, c := range []struct {
		f      family.Family
		target *record.Column
		pairs  []any
		good   bool
	}{
		{mlp, number, []any{"hidden_units", 0}, false},
		{mlp, number, []any{"hidden_units", 1 << 20}, false},
		{mlp, number, []any{"activation", "swish"}, false},
		{mlp, number, []any{"dropout", 1.0}, false},
		{mlp, number, []any{"loss", "cross_entropy"}, false},
		{mlp, class, []any{"loss", "mse"}, false},
		{mlp, class, []any{"loss", "log_loss"}, true},
		{mlp, nil, nil, false},
		{autoencoder, nil, []any{"loss", "binary_crossentropy"}, false},
		{autoencoder, nil, []any{"loss", "mean_absolute_error"}, true},
		{mlp, number, []any{"huber_delta", 2.0}, false},
		{mlp, number, []any{"loss", "huber", "delta", 2.0}, true},
		{mlp, number, []any{"momentum", 0.5}, false},
		{mlp, number, []any{"solver", "sgd", "momentum", 0.5}, true},
		{mlp, number, []any{"solver", "sgd", "beta1", 0.5}, false},
		{mlp, number, []any{"decay_rate", 0.5}, false},
		{mlp, number, []any{"lr_schedule", "step", "decay_epochs", 5}, true},
		{mlp, number, []any{"early_stopping", false, "patience", 3}, false},
		{mlp, number, []any{"learning_rate", 0}, false},
		{mlp, number, []any{"epochs", 0}, false},
		{mlp, number, []any{"clipnorm", -1}, false},
		{mlp, number, []any{"optimizer", "lbfgs"}, false},
	} {
		o, err := familytest.Options(c.f, c.pairs...)
		if err == nil {
			_, err = c.f.Plan(&family.Request{Options: o, Target: c.target})
		}
		if c.good && err != nil || !c.good && !pgerr.Is(err, pgerr.InvalidParameterValue) {
			t.Errorf("%v: %v", c.pairs, err)
		}
	}
}

// TestTooLarge: a net too large for a message is refused before it is allocated.
func TestTooLarge(t *testing.T) {
	_, err := familytest.Train(t, mlp, waves(50), familytest.Spread{}, "layers", 65536, "hidden_units", 65536)
	if !pgerr.Is(err, pgerr.InvalidParameterValue) { // an option given twice
		t.Fatal(err)
	}
	a := types.Array{Elem: types.Int8, Elems: []types.Datum{int64(65536), int64(65536)}}
	if _, err := familytest.Train(t, mlp, waves(50), familytest.Spread{}, "hidden_units", a); !pgerr.Is(err, pgerr.ProgramLimitExceeded) {
		t.Fatal(err)
	}
}

// TestMemoryOfTheRoot: the memory of the driver is charged on its node before the first step, and
// released.
func TestMemoryOfTheRoot(t *testing.T) {
	r, err := familytest.Train(t, mlp, waves(50), familytest.Spread{}, "epochs", 1, "early_stop", true)
	if err != nil {
		t.Fatal(err)
	}
	n, _, err := mlp.net(r.Setup)
	if err != nil {
		t.Fatal(err)
	}
	used := int64(0)
	grow := func(b int64) error {
		if used += b; used > 1<<20 {
			return pgerr.New(pgerr.OutOfMemory, "no")
		}
		return nil
	}
	for _, root := range []bool{true, false} {
		w, err := mlp.NewWorker(r.Setup, &family.Node{Root: root, Grow: grow})
		if err != nil {
			t.Fatal(err)
		}
		if want := int64(4 * 4 * n.params()); root && used != want || !root && used != 0 {
			t.Fatalf("%d bytes are charged, root: %v", used, root)
		}
		if w.Close(); used != 0 {
			t.Fatalf("%d bytes are left", used)
		}
	}
	used = 1 << 20
	if _, err := mlp.NewWorker(r.Setup, &family.Node{Root: true, Grow: grow}); !pgerr.Is(err, pgerr.OutOfMemory) {
		t.Fatal(err)
	}
}

// TestSchedules: the learning rate of each schedule follows its formula.
func TestSchedules(t *testing.T) {
	for _, c := range []struct {
		t    training
		want func(x float64) float64
	}{
		{training{schedule: "constant"}, func(float64) float64 { return 1 }},
		{training{schedule: "cosine"}, func(x float64) float64 { return (1 + math.Cos(math.Pi*x/8)) / 2 }},
		{training{schedule: "exponential", factor: 0.3, period: 2.5}, func(x float64) float64 { return math.Pow(0.3, x/2.5) }},
		{training{schedule: "step", factor: 0.3, period: 2.5}, func(x float64) float64 { return math.Pow(0.3, math.Floor(x/2.5)) }},
		{training{schedule: "constant", warmup: 2}, func(x float64) float64 { return min(1, (x+0.25)/2) }},
	} {
		c.t.epochs, c.t.rate = 8, 0.5
		for x := 0.0; x < 8; x += 0.25 {
			if got, want := c.t.rateAt(x, 4), 0.5*c.want(x); math.Abs(got-want) > 1e-12 {
				t.Errorf("%s at %v: %v, want %v", c.t.schedule, x, got, want)
			}
		}
	}
}

// TestEarlyStop: the parameters of the best epoch on the validation set are kept, not those of the
// last one.
func TestEarlyStop(t *testing.T) {
	d := rings(120)
	for i := range d.Y { // noise: a net can overfit it, which does not reduce the validation loss
		if i%3 == 0 {
			d.Y[i] = float64(i / 6 % 2)
		}
	}
	r, err := familytest.Train(t, mlp, d, familytest.Spread{}, "hidden_units", 64, "learning_rate", 0.05, "epochs", 400, "patience", 8)
	if err != nil {
		t.Fatal(err)
	}
	if r.State.Stopped != "early_stop" || r.State.Iteration >= 400 {
		t.Fatalf("it ended after %d epochs: %s", r.State.Iteration, r.State.Stopped)
	}
	best, err := familytest.Train(t, mlp, d, familytest.Spread{}, "hidden_units", 64, "learning_rate", 0.05, "epochs", r.State.Iteration-8)
	if err != nil {
		t.Fatal(err)
	}
	loss := func(r *familytest.Result) (sum float64) {
		s := r.Score(d.All(false))
		for i, y := range d.Y {
			if d.Held[i] {
				sum -= math.Log(s.Probs[int(y)][i])
			}
		}
		return sum
	}
	if a, b := loss(r), loss(best); a > b {
		t.Errorf("what was kept has a loss of %v, the epoch of %d one of %v", a, best.State.Iteration, b)
	}
}
