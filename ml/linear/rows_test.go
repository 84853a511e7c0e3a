package linear

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/family"
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

// TestFewDependentRows: of rows that span fewer dimensions than they are, with targets that no weights fit, the errors
// are orthogonal to all columns, and the weights lie in the span of the rows: there is one such solution.
func TestFewDependentRows(t *testing.T) {
	for _, intercept := range []bool{true, false} {
		const rows, cols, rank = 90, 120, 7
		r := rand.New(rand.NewPCG(4, 2))
		factors := make([][]float64, rank)
		for k := range factors {
			for range cols {
				factors[k] = append(factors[k], r.NormFloat64())
			}
		}
		d := &familytest.Data{}
		for range rows {
			x := make([]float64, cols)
			for _, f := range factors {
				f64.Axpy(x, r.NormFloat64(), f)
			}
			d.X, d.Y = append(d.X, x), append(d.Y, 5+r.NormFloat64())
		}
		got := familytest.Same(t, linearRegression, d, "fit_intercept", intercept)
		if got.State.Iteration != 1 || !got.State.Converged {
			t.Errorf("intercept %v: %+v", intercept, got.State)
		}
		theta := got.Predictor.(*predictor).theta
		sums, square, total := make([]float64, cols), 0.0, 0.0
		for i, x := range d.X {
			e := d.Y[i] - theta[cols] - f64.Dot(x, theta[:cols])
			f64.Axpy(sums, e, x)
			square += e * e
			total += e
		}
		for j, v := range sums {
			if math.Abs(v) > 1e-9 {
				t.Errorf("intercept %v: the errors times column %d are %v", intercept, j, v)
			}
		}
		if intercept && math.Abs(total) > 1e-9 {
			t.Errorf("the errors' sum is %v", total)
		}
		if square /= rows; !(square > 0.5) || math.Abs(got.State.TrainLoss-square) > 1e-12 {
			t.Errorf("intercept %v: the loss is %v, by hand %v", intercept, got.State.TrainLoss, square)
		}
		var basis [][]float64
		left := append([]float64{}, theta[:cols]...)
		for _, f := range append(factors, left) {
			for range 2 {
				for _, b := range basis {
					f64.Axpy(f, -f64.Dot(f, b), b)
				}
			}
			if &f[0] != &left[0] {
				f64.Scale(f, 1/norm2(f))
				basis = append(basis, f)
			}
		}
		if norm2(left) > 1e-10*norm2(theta[:cols]) {
			t.Errorf("intercept %v: %v of the weights is outside of the rows' span", intercept, norm2(left))
		}
	}
}

// TestDualFallsBack: where the rows do not suffice for rounding, the columns decide, from the beginning.
func TestDualFallsBack(t *testing.T) {
	d := fewRows(5, 12, 20)
	for i := range d.X { // a column that is another one, but for less than the products' digits
		d.X[i][3] = d.X[i][2] * (1 + 1e-9*float64(i%2))
		for j := 4; j < len(d.X[i]); j++ {
			d.X[i][j] = d.X[i][2]
		}
	}
	got := familytest.Same(t, linearRegression, d, "l2_reg", 1e-17)
	if loss := got.State.TrainLoss; !(loss >= 0) || !got.State.Converged {
		t.Errorf("%+v", got.State)
	}
}

// TestRowProducts compares with chains of single products, for sizes that are no multiples of what is multiplied at
// once, in any order.
func TestRowProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for _, size := range [][2]int{{1, 1}, {7, 300}, {8, 256}, {130, 257}, {265, 520}} {
		a := make([][]float64, size[0])
		for i := range a {
			for range size[1] {
				a[i] = append(a[i], r.NormFloat64())
			}
		}
		d := &threads{node: &family.Node{Threads: 3}}
		got := rowProducts(a, d.each)
		if d.broken != nil {
			t.Fatal(d.broken)
		}
		for i, x := range a {
			for j, y := range a {
				want := 0.0
				for k := range x {
					want = f64.FMA(x[k], y[k], want)
				}
				if got[i*len(a)+j] != want {
					t.Fatalf("%v: product of %d and %d is %v, want %v", size, i, j, got[i*len(a)+j], want)
				}
			}
		}
	}
}
