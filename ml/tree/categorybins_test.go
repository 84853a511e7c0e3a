package tree

import (
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/ml/family/familytest"
)

// manyCategories are rows whose target is mostly what their category of 900 says.
func manyCategories(classes int) *familytest.Data {
	r := rand.New(rand.NewPCG(6, 6))
	const n = 900
	effect := make([]float64, n)
	for i := range effect {
		effect[i] = r.NormFloat64()
	}
	d := &familytest.Data{Cats: []int{n}, Classes: classes, Seed: 5}
	for i := range 12000 {
		c, x := r.IntN(n), r.NormFloat64()
		y := effect[c] + 0.3*x + 0.3*r.NormFloat64()
		switch {
		case classes == 2 && y > 0:
			y = 1
		case classes == 3 && y > 0.5:
			y = 2
		case classes == 3 && y > -0.5:
			y = 1
		case classes > 0:
			y = 0
		}
		d.X, d.Code, d.Y, d.Held = append(d.X, []float64{x}), append(d.Code, []int32{int32(c)}), append(d.Y, y), append(d.Held, i%5 == 0)
	}
	return d
}

// TestMoreCategoriesThanBins: categories that share a bin are those that are alike in the target, so
// that hardly any of what they say is lost.
func TestMoreCategoriesThanBins(t *testing.T) {
	for classes, most := range map[int]float64{0: 0.2, 2: 0.35, 3: 0.65} { // with the rare ones in one bin 0.81, 0.57 and 0.92
		got, err := familytest.Train(t, boosted, manyCategories(classes), familytest.Spread{Nodes: 2}, "n_estimators", 30, "max_depth", 8)
		if err != nil {
			t.Fatal(err)
		}
		if v := got.State.ValidationLoss; !(v < most) {
			t.Errorf("%d classes: the loss of rows held out is %v", classes, v)
		}
	}
}

// TestManyCategoriesOnAnyNodes: and the model is the same wherever its rows are, also from the state
// between the passes.
func TestManyCategoriesOnAnyNodes(t *testing.T) {
	for _, classes := range []int{0, 2, 3} {
		d := manyCategories(classes)
		d.X, d.Code, d.Y, d.Held = d.X[:2000], d.Code[:2000], d.Y[:2000], d.Held[:2000]
		d.W = make([]float64, len(d.X))
		for i := range d.W {
			d.W[i] = float64(i%4) / 2
		}
		familytest.Same(t, boosted, d, "n_estimators", 2, "max_depth", 4)
	}
}
