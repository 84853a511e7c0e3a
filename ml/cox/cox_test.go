package cox

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/ml/family/familytest"
)

// patients are durations with tied events, a feature of no effect and one that is the same in all rows,
// an entry time (x3), a stratum (x4).
func patients(seed uint64, n int) *familytest.Data {
	r := rand.New(rand.NewPCG(seed, 2))
	d := &familytest.Data{Cats: []int{3}}
	for range n {
		x := []float64{r.NormFloat64(), r.NormFloat64(), 1, math.Round(3*r.Float64()) / 2, float64(r.IntN(3))}
		c := int32(r.IntN(4)) - 1
		t := math.Ceil(8*r.ExpFloat64()*math.Exp(-0.7*x[0]-0.4*float64(c)-0.3*x[4])) + x[3]
		if r.IntN(3) == 0 {
			t = -t
		}
		d.X, d.Code, d.Y = append(d.X, x), append(d.Code, []int32{c}), append(d.Y, t)
	}
	return d
}

// TestSameModel: on any nodes, from any checkpoint.
func TestSameModel(t *testing.T) {
	for name, options := range map[string][]any{
		"efron": {}, "breslow": {"ties", "breslow"}, "entry": {"entry", "x3"}, "strata": {"strata", "x4"}, "both": {"strata", "c0", "start", "x3", "ties", "breslow"}, "penalty": {"l2_reg", 0.1},
	} {
		t.Run(name, func(t *testing.T) {
			d := patients(1, 400)
			d.Held = make([]bool, len(d.X))
			for i := range d.Held {
				d.Held[i] = i%7 == 0
			}
			if got := familytest.Same(t, Families()[0], d, options...); !got.State.Converged || got.State.Iteration > 9 {
				t.Errorf("%d iterations, %s", got.State.Iteration, got.State.Stopped)
			}
		})
	}
}

// likelihood is the negative logarithm of the partial likelihood by its definition, row against row.
func likelihood(d *familytest.Data, beta []float64, efron bool, entry, strata int) (loss float64) {
	score := make([]float64, len(d.X))
	for i, x := range d.X {
		for j, v := range x {
			if j != entry && j != strata {
				score[i] += beta[j] * v
			}
		}
		if c := d.Code[i][0]; c >= 0 {
			score[i] += beta[len(x)+int(c)]
		}
	}
	type moment struct{ stratum, time float64 }
	stratum := func(i int) float64 {
		if strata < 0 {
			return 0
		}
		return d.X[i][strata]
	}
	tied := map[moment][]int{}
	for i, y := range d.Y {
		if !math.Signbit(y) {
			m := moment{stratum(i), y}
			tied[m] = append(tied[m], i)
		}
	}
	for m, rows := range tied {
		risk, events := 0.0, 0.0
		for i, y := range d.Y {
			if stratum(i) == m.stratum && math.Abs(y) >= m.time && (entry < 0 || d.X[i][entry] < m.time) {
				risk += math.Exp(score[i])
			}
		}
		for _, i := range rows {
			events += math.Exp(score[i])
			loss -= score[i]
		}
		for l := range rows {
			left := risk
			if efron {
				left -= float64(l) / float64(len(rows)) * events
			}
			loss += math.Log(left)
		}
	}
	return loss
}

// TestMinimum: the weights are those of least loss by the definition, the loss is that, and standard
// errors are those of its second derivatives.
func TestMinimum(t *testing.T) {
	for name, c := range map[string]struct {
		efron         bool
		entry, strata int
		options       []any
	}{
		"efron": {true, -1, -1, nil}, "breslow": {false, -1, -1, []any{"ties", "breslow"}},
		"entry": {true, 3, -1, []any{"entry", "x3"}}, "strata": {true, -1, 4, []any{"strata", "x4"}},
		"both": {false, 3, 4, []any{"entry", "x3", "strata", "x4", "ties", "breslow"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := patients(2, 300)
			got, err := familytest.Train(t, Families()[0], d, familytest.Spread{Nodes: 2, Threads: 2}, c.options...)
			if err != nil {
				t.Fatal(err)
			}
			p := got.Predictor.(*predictor)
			at := func(change func(beta []float64)) float64 {
				beta := append([]float64{}, p.theta...)
				change(beta)
				return likelihood(d, beta, c.efron, c.entry, c.strata)
			}
			best := at(func([]float64) {})
			if loss := best / float64(len(d.X)); math.Abs(got.State.TrainLoss-loss) > 1e-9*math.Abs(loss) {
				t.Errorf("the loss is %v, by the definition %v", got.State.TrainLoss, loss)
			}
			const eps = 1e-4
			var free []int
			for j := range p.theta {
				if p.errors[j] > 0 {
					free = append(free, j)
				}
				up, down := at(func(b []float64) { b[j] += eps }), at(func(b []float64) { b[j] -= eps })
				if slope := (up - down) / (2 * eps); math.Abs(slope) > 1e-5 {
					t.Errorf("the slope of weight %d is %v", j, slope)
				}
			}
			n := len(free)
			if want := 7 - min(1, c.entry+1) - min(1, c.strata+1); n != want { // without the constant column
				t.Fatalf("%d weights have errors, want %d", n, want)
			}
			h := make([][]float64, n)
			for a := range h {
				h[a] = make([]float64, 2*n)
				h[a][n+a] = 1
				for b := range n {
					sum := 0.0
					for _, s := range [4][3]float64{{1, 1, 1}, {-1, -1, 1}, {1, -1, -1}, {-1, 1, -1}} {
						sum += s[2] * at(func(beta []float64) { beta[free[a]] += s[0] * 1e-3; beta[free[b]] += s[1] * 1e-3 })
					}
					h[a][b] = sum / 4e-6
				}
			}
			for a := range n { // Gauss and Jordan
				by := h[a][a]
				for k := range h[a] {
					h[a][k] /= by
				}
				for b := range n {
					if f := h[b][a]; b != a {
						for k := range h[b] {
							h[b][k] -= f * h[a][k]
						}
					}
				}
			}
			for a, j := range free {
				if want := math.Sqrt(h[a][n+a]); math.Abs(p.errors[j]-want) > 1e-4*want {
					t.Errorf("the standard error of weight %d is %v, by second differences %v", j, p.errors[j], want)
				}
			}
		})
	}
}

// TestSplitRows: a row that is cut at a time, its second part at risk from there on, is the same row.
func TestSplitRows(t *testing.T) {
	whole := patients(3, 200)
	cut := *whole
	cut.X, cut.Code, cut.Y = nil, nil, nil
	for i, y := range whole.Y {
		whole.X[i][3] = -1
		mid := math.Floor(math.Abs(y) / 2)
		x := append([]float64{}, whole.X[i]...)
		cut.X, cut.Code, cut.Y = append(cut.X, x), append(cut.Code, whole.Code[i]), append(cut.Y, y)
		if mid > 0 {
			x[3] = mid
			cut.X, cut.Code, cut.Y = append(cut.X, append([]float64{}, whole.X[i]...)), append(cut.Code, whole.Code[i]), append(cut.Y, -mid)
		}
	}
	a, err := familytest.Train(t, Families()[0], whole, familytest.Spread{Nodes: 1, Threads: 1}, "entry", "x3")
	if err != nil {
		t.Fatal(err)
	}
	b, err := familytest.Train(t, Families()[0], &cut, familytest.Spread{Nodes: 1, Threads: 1}, "entry", "x3")
	if err != nil {
		t.Fatal(err)
	}
	p, q := a.Predictor.(*predictor), b.Predictor.(*predictor)
	for j := range p.theta {
		if math.Abs(p.theta[j]-q.theta[j]) > 1e-9 || math.Abs(p.errors[j]-q.errors[j]) > 1e-9 {
			t.Errorf("weight %d is %v ± %v, of rows that are cut %v ± %v", j, p.theta[j], p.errors[j], q.theta[j], q.errors[j])
		}
	}
	for i := range p.hazard {
		if math.Abs(p.hazard[i]-q.hazard[i]) > 1e-9*p.hazard[i] {
			t.Errorf("the hazard up to event %d is %v, of rows that are cut %v", i, p.hazard[i], q.hazard[i])
		}
	}
}

// TestRefuses: rows that end before they begin, rows without events.
func TestRefuses(t *testing.T) {
	d := patients(4, 50)
	d.X[9][3] = 1000
	if _, err := familytest.Train(t, Families()[0], d, familytest.Spread{Nodes: 1, Threads: 1}, "entry", "x3"); err == nil {
		t.Error("a row that ends before it begins is trained on")
	}
	for i := range d.Y {
		d.Y[i] = -math.Abs(d.Y[i])
	}
	if _, err := familytest.Train(t, Families()[0], d, familytest.Spread{Nodes: 1, Threads: 1}); err == nil {
		t.Error("rows without events are trained on")
	}
}
