package linear

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/ml/family/familytest"
)

// TestUnitsOfRowsDoNotMatter: columns and targets in any units give the same predictions, and all
// spreads the same bytes.
func TestUnitsOfRowsDoNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 2))
	const n = 600
	rows := func(target float64, raw bool) *familytest.Data {
		r = rand.New(rand.NewPCG(9, 2))
		d := &familytest.Data{}
		for range n {
			a, b, c := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
			e := 0.3 * r.NormFloat64() / (0.05 + r.Float64())
			x := []float64{a, b, c}
			if raw { // a year, an amount, a small rate
				x = []float64{2000 + 7*a, 1e6 + 3e5*b, 1e-4 * c}
			}
			d.X = append(d.X, x)
			d.Y = append(d.Y, target*(5+a-2*b+0.5*c+e))
		}
		return d
	}
	for _, c := range []struct {
		f       *glm
		options []any
		most    float64 // difference of predictions
	}{
		{huberRegression, nil, 1e-4},
		{quantileRegression, nil, 1e-4},
		{quantileRegression, []any{"quantile", 0.9}, 1e-4},
		{linearRegression, []any{"optimizer", "lbfgs"}, 1e-4},
	} {
		t.Run(fmt.Sprint(c.f.info.Name, c.options), func(t *testing.T) {
			base := rows(1, false)
			want, err := familytest.Train(t, c.f, base, familytest.Spread{}, c.options...)
			if err != nil {
				t.Fatal(err)
			}
			truth := want.Score(base.All(false)).Value
			for _, target := range []float64{1, 1e7, 1e14, 1e-6} {
				for _, raw := range []bool{false, true} {
					d := rows(target, raw)
					if target == 1e7 && raw {
						familytest.Same(t, c.f, d, c.options...)
					}
					got, err := familytest.Train(t, c.f, d, familytest.Spread{}, c.options...)
					if err != nil {
						t.Fatal(err)
					}
					worst := 0.0
					for i, v := range got.Score(d.All(false)).Value {
						worst = math.Max(worst, math.Abs(v/target-truth[i]))
					}
					if !got.State.Converged || worst > c.most {
						t.Errorf("targets times %v, columns as they are %v: converged %v (%s), predictions differ by %v", target, raw, got.State.Converged, got.State.Stopped, worst)
					}
				}
			}
		})
	}
}
