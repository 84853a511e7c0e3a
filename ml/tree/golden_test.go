package tree

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
)

// TestGoldenBits pins the bytes of models: they are the same on every machine, and a change of them
// is noticed.
func TestGoldenBits(t *testing.T) {
	for name, c := range map[string]struct {
		f       family.Family
		classes int
		options []any
		want    string
	}{
		"means":     {boosted, 0, []any{"n_estimators", 4, "subsample", 0.7}, "1e2a11db3c7c2da0"},
		"two":       {boosted, 2, []any{"n_estimators", 4, "max_leaves", 12, "l1", 0.1}, "4e09443eb0ec87e7"},
		"three":     {boosted, 3, []any{"n_estimators", 3, "max_depth", 3}, "339066f0f98a3236"},
		"forest":    {forest, 2, []any{"n_estimators", 4, "max_depth", 6}, "a2562e26b6e4f0df"},
		"of votes":  {forest, 4, []any{"n_estimators", 3, "max_depth", 5}, "3f23f0c0a0fa0ca5"},
		"counts":    {boosted, 0, []any{"n_estimators", 4, "max_depth", 4, "objective", "tweedie"}, "94bb6a672c009719"},
		"medians":   {boosted, 0, []any{"n_estimators", 4, "max_depth", 4, "objective", "quantile", "quantile_alpha", floats(0.2, 0.5)}, "9e2ef015396e7dea"},
		"of floats": {forest, 0, []any{"n_estimators", 3, "max_depth", 5, "max_features", 2}, "5114c9061c8c1c37"},
	} {
		r := rand.New(rand.NewPCG(60, 1))
		d := &familytest.Data{Cats: []int{9}, Classes: c.classes, Seed: 7}
		for range 700 {
			a, b, k := r.IntN(1000), r.IntN(20), r.IntN(10)-1
			y := a*b%977 + 100*(k%3)
			if d.Y = append(d.Y, float64(y)/8); name == "counts" {
				d.Y[len(d.Y)-1] += 100
			} else if c.classes > 0 {
				d.Y[len(d.Y)-1] = float64((y + 200) * c.classes / 1400 % c.classes)
			}
			d.X, d.Code = append(d.X, []float64{float64(a) / 16, float64(b)}), append(d.Code, []int32{int32(k)})
		}
		got, err := familytest.Train(t, c.f, d, one, c.options...)
		if err != nil {
			t.Fatal(err)
		}
		if h := fmt.Sprintf("%x", sha256.Sum256(got.Bytes))[:16]; h != c.want {
			t.Errorf("%s: the model is %s, want %s", name, h, c.want)
		}
	}
}
