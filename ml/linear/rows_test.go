package linear

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/family/familytest"
)

// fewRows are fewer rows than columns.
func fewRows(seed uint64, rows, cols int) *familytest.Data {
	r := rand.New(rand.NewPCG(seed, 1))
	d := &familytest.Data{Cats: []int{6}}
	for range rows {
		x := make([]float64, cols)
		for j := range x {
			x[j] = r.NormFloat64()
		}
		c := int32(r.IntN(7)) - 1
		d.X, d.Code, d.Y = append(d.X, x), append(d.Code, []int32{c}), append(d.Y, 3*x[0]-x[1]+float64(c)+0.1*r.NormFloat64())
	}
	return d
}

// TestFewRows: the weights by the rows are those by the columns, where a penalty makes them unique, and
// without one the shortest that fit. They are the same on any nodes, and copies are weights.
func TestFewRows(t *testing.T) {
	for name, options := range map[string][]any{
		"penalty": {"l2_reg", 0.3}, "none": {}, "no intercept": {"fit_intercept", false, "l2_reg", 0.1}, "offset": {"offset", "x3", "l2_reg", 0.2},
	} {
		t.Run(name, func(t *testing.T) {
			d := fewRows(1, 24, 60)
			d.Held = make([]bool, len(d.X))
			d.Held[5], d.Held[9] = true, true
			got := familytest.Same(t, linearRegression, d, options...)
			theta := got.Predictor.(*predictor).theta
			if name == "none" {
				columns, err := familytest.Train(t, linearRegression, d, familytest.Spread{Nodes: 1, Threads: 1}, "optimizer", "newton")
				if err != nil {
					t.Fatal(err)
				}
				other := columns.Predictor.(*predictor).theta
				size := func(w []float64) float64 { return math.Sqrt(f64.Dot(w[:len(w)-1], w[:len(w)-1])) }
				if !(size(theta) < 0.99*size(other)) {
					t.Errorf("the weights are %v long, others that fit %v", size(theta), size(other))
				}
				if !(got.State.TrainLoss < 1e-18) {
					t.Errorf("the loss is %v", got.State.TrainLoss)
				}
				return
			}
			columns, err := familytest.Train(t, linearRegression, d, familytest.Spread{Nodes: 1, Threads: 1}, append(options, "optimizer", "newton")...)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range columns.Predictor.(*predictor).theta {
				if math.Abs(theta[i]-want) > 1e-7 {
					t.Errorf("weight %d is %v, by the columns %v", i, theta[i], want)
				}
			}
			if a, b := got.State, columns.State; math.Abs(a.TrainLoss-b.TrainLoss) > 1e-9 || math.Abs(a.ValidationLoss-b.ValidationLoss) > 1e-6 {
				t.Errorf("losses %v and %v, by the columns %v and %v", a.TrainLoss, a.ValidationLoss, b.TrainLoss, b.ValidationLoss)
			}
			heavy, copied := *fewRows(2, 12, 60), *fewRows(2, 12, 60)
			for i := range 12 {
				heavy.W = append(heavy.W, float64(1+i%3))
				for range i % 3 {
					copied.X, copied.Code, copied.Y = append(copied.X, copied.X[i]), append(copied.Code, copied.Code[i]), append(copied.Y, copied.Y[i])
				}
			}
			a, err := familytest.Train(t, linearRegression, &heavy, familytest.Spread{Nodes: 1, Threads: 1}, options...)
			if err != nil {
				t.Fatal(err)
			}
			b, err := familytest.Train(t, linearRegression, &copied, familytest.Spread{Nodes: 3, Threads: 2, Shuffle: 5, LeafRows: 8}, options...)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(a.Bytes, b.Bytes) {
				t.Error("copies make another model than weights")
			}
		})
	}
}

// TestFewRowsThatDisagree: equal rows with other targets, without a penalty: their mean is learnt.
func TestFewRowsThatDisagree(t *testing.T) {
	d := fewRows(3, 10, 40)
	d.X, d.Code, d.Y = append(d.X, d.X[0]), append(d.Code, d.Code[0]), append(d.Y, d.Y[0]+4)
	got, err := familytest.Train(t, linearRegression, d, familytest.Spread{Nodes: 2, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	if want := 8 / 11.0; math.Abs(got.State.TrainLoss-want) > 1e-9 {
		t.Errorf("the loss is %v, that of both rows' mean %v", got.State.TrainLoss, want)
	}
	b := d.Block([]int{0}, false)
	if v := got.Score(b).Value[0]; math.Abs(v-d.Y[0]-2) > 1e-9 {
		t.Errorf("the prediction is %v, the mean of both targets %v", v, d.Y[0]+2)
	}
}
