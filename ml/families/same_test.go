package families

import (
	"math"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
)

// TestSameModels: each family makes the same bytes on any number of nodes and threads, of rows in any order, and from the state after
// any step.
func TestSameModels(t *testing.T) {
	for _, f := range All {
		t.Run(f.Info().Name, func(t *testing.T) {
			t.Parallel()
			d := sweepRows(f)
			if f.Info().Task == family.Forecasting {
				d.X, d.Y = d.X[:70], d.Y[:70] // what an order is chosen by takes long
			}
			familytest.Same(t, f, d, base(f)...)
		})
	}
}

// TestWeightTwoIsTheRowTwice: a row of weight 2 gives the model of two such rows, to rounding. Not where rows have a place, in a series or
// a window; nor in mini-batches, which are of so many rows. Ties of events are Breslow's, as Efron's tell two events from one.
func TestWeightTwoIsTheRowTwice(t *testing.T) {
	places := []string{"seasonal_naive", "exponential_smoothing", "arima", "lstm", "lstm_autoencoder"}
	batches := []string{"mlp", "autoencoder"}
	options := map[string][]any{"cox_regression": {"ties", "breslow"}, "time_to_event": {"ties", "breslow", "max_iterations", 4}}
	for _, f := range All {
		name := f.Info().Name
		if slices.Contains(slices.Concat(places, batches), name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			once := sweepRows(f)
			once.Held = nil
			twice := *once
			twice.X, twice.Code, twice.Y = nil, nil, nil
			for i := range once.X {
				once.W = append(once.W, float64(1+i%2))
				for range 1 + i%2 {
					twice.X = append(twice.X, once.X[i])
					if once.Code != nil {
						twice.Code = append(twice.Code, once.Code[i])
					}
					if once.Y != nil {
						twice.Y = append(twice.Y, once.Y[i])
					}
				}
			}
			var of [2]*familytest.Result
			for k, d := range []*familytest.Data{once, &twice} {
				var err error
				if of[k], err = familytest.Train(t, f, d, familytest.Spread{}, with(base(f), options[name])...); err != nil {
					t.Fatal(err)
				}
			}
			want, got := scored(of[0].Predictor, once), scored(of[1].Predictor, once)
			if len(want) < len(once.X) || len(got) != len(want) {
				t.Fatalf("%d and %d numbers of %d rows", len(want), len(got), len(once.X))
			}
			near := 1e-10
			if of[0].Plan.Narrow {
				near = 1e-4
			}
			for i, x := range want {
				if !(math.Abs(got[i]-x) <= near*math.Max(1, math.Abs(x))) {
					t.Fatalf("%v with weights, %v with copies", x, got[i])
				}
			}
		})
	}
}

// scored are all numbers that a model says of rows.
func scored(p family.Predictor, d *familytest.Data) (out []float64) {
	s := p.Score(d.All(false))
	out = slices.Clone(s.Value)
	for _, l := range s.Label {
		out = append(out, float64(l))
	}
	for k := range s.Probs {
		out = append(out, s.ClassProbs(k)...)
	}
	for _, list := range slices.Concat(s.Extra, s.Vector) {
		out = append(out, list...)
	}
	return out
}
