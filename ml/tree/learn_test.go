package tree

import (
	"math"
	"testing"

	"github.com/tributarydb/tributary/ml/family/familytest"
)

// TestLearns compares the loss on unseen rows with that of a constant.
func TestLearns(t *testing.T) {
	one := familytest.Spread{Nodes: 1, Threads: 1}
	for name, isForest := range map[string]bool{"boosted": false, "forest": true} {
		f := boosted
		if isForest {
			f = forest
		}
		for _, classes := range []int{0, 2, 4} {
			all := someRows(20, 4000, 4, []int{6}, classes)
			train, test := *all, *all
			train.X, train.Code, train.Y = all.X[:3000], all.Code[:3000], all.Y[:3000]
			test.X, test.Code, test.Y = all.X[3000:], all.Code[3000:], all.Y[3000:]
			got, err := familytest.Train(t, f, &train, one, "n_estimators", 40)
			if err != nil {
				t.Fatal(err)
			}
			s := got.Score(test.All(false))
			var loss, base, mean float64
			for _, y := range test.Y {
				mean += y / float64(len(test.Y))
			}
			count := map[float64]float64{}
			for i, y := range test.Y {
				if classes == 0 {
					loss += (s.Value[i] - y) * (s.Value[i] - y)
					base += (y - mean) * (y - mean)
					continue
				}
				if s.Class(i) != int(y) {
					loss++
				}
				count[y]++
			}
			if classes > 0 {
				top := 0.0
				for k := range classes {
					top = math.Max(top, count[float64(k)])
				}
				base = float64(len(test.Y)) - top
			}
			t.Logf("%s of %d classes: %.4f of the constant's loss", name, classes, loss/base)
			if loss > 0.6*base {
				t.Errorf("%s of %d classes: loss %v, of a constant %v", name, classes, loss, base)
			}
		}
	}
}
