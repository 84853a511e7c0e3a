package decomp

import (
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/ml/family/familytest"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestShareOfVariance: with a share there are as few components as explain more than it, and they are those of that number.
func TestShareOfVariance(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 1))
	d := &familytest.Data{}
	for range 400 {
		row := make([]float64, 6)
		for j := range row {
			row[j] = r.NormFloat64() / float64(1+j)
		}
		d.X = append(d.X, row)
	}
	of := func(options ...any) *predictor {
		t.Helper()
		res, err := familytest.Train(t, pca, d, familytest.Spread{}, options...)
		if err != nil {
			t.Fatal(err)
		}
		return res.Predictor.(*predictor)
	}
	all := of("standardize", false)
	for _, solver := range []string{full, tsqr} {
		for _, share := range []float64{0.01, 0.5, 0.9, 0.999} {
			want, sum := 0, 0.0
			for sum <= share {
				sum += all.ratio[want]
				want++
			}
			if got := of("standardize", false, "n_components", share, "solver", solver); got.k != want || len(got.variance) != want || len(got.comp) != want*6 {
				t.Errorf("%s: %v of the variance are explained by %d components, not %d", solver, share, got.k, want)
			}
		}
	}
	familytest.Same(t, pca, d, "n_components", 0.9)
	if _, err := familytest.Train(t, pca, d, familytest.Spread{}, "n_components", 0.9, "solver", randomized); !pgerr.Is(err, pgerr.InvalidParameterValue) {
		t.Errorf("randomized: %v", err)
	}
}
