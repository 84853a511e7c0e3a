package net

import (
	"fmt"
	"math"
	"testing"

	"github.com/tributarydb/tributary/ml/family/familytest"
	"github.com/tributarydb/tributary/sql/types"
)

// TestSurvivalDescribe: the weights shown for a linear model, and those for unscaled columns, add
// up to the output of the net, with numbers and categories.
func TestSurvivalDescribe(t *testing.T) {
	d := lives(300, false)
	for _, method := range []string{"cox", "hazard"} {
		r, err := familytest.Train(t, survival{}, d, familytest.Spread{}, "event", "e", "method", method)
		if err != nil {
			t.Fatal(err)
		}
		p := r.Predictor.(*survivalPredictor)
		const center, scale = 3.5, 0.25 // the scaling of the first column
		p.fit.Cols[0].Center, p.fit.Cols[0].Scale = []float64{center}, []float64{scale}
		for _, relation := range []string{"weights", "original_weights"} {
			rows, ok := p.Describe(relation)
			if !ok {
				t.Fatalf("no %s", relation)
			}
			weight := map[string]float64{}
			for _, row := range rows {
				weight[fmt.Sprint(row[0], " ", row[1])] = row[2].(float64)
			}
			shift := math.NaN() // the constant that all rows have in addition
			p.each(d.All(true), func(i int, z []float32) {
				for k := range z {
					class := "<nil>"
					if p.hazard {
						class = fmt.Sprint(p.times[k])
					}
					at := func(name string) float64 {
						w, ok := weight[class+" "+name]
						if !ok {
							t.Fatalf("%s: no weight of %s %s among %v", method, class, name, weight)
						}
						return w
					}
					x := d.X[i][0]
					if relation == "original_weights" {
						x = float64(x*scale) + center
					}
					got := float64(at("x0")*x) + float64(at("x1")*d.X[i][1]) + at(fmt.Sprintf("c0 = %04d", d.Code[i][0]))
					if p.hazard {
						got += at("(intercept)")
					} else {
						if math.IsNaN(shift) {
							shift = float64(z[k]) - got
						}
						got += shift
					}
					if math.Abs(got-float64(z[k])) > 1e-4 {
						t.Fatalf("%s of %s: row %d has %v in interval %d, the net gives %v", relation, method, i, got, k, z[k])
					}
				}
			})
		}
		if _, ok := p.Describe("feature_importance"); ok {
			t.Error("importance of features")
		}
	}
	hidden := types.Array{Elem: types.Int8, Elems: []types.Datum{int64(4)}}
	r, err := familytest.Train(t, survival{}, d, familytest.Spread{}, "event", "e", "hidden_units", hidden)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := r.Predictor.(*survivalPredictor).Describe("weights"); ok {
		t.Error("a net with hidden units has weights")
	}
}
