package net

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// leukemia has weeks of remission of 42 patients (Freireich et al. 1963), event (0: censored), sex,
// log of the white blood cell count, and 1 for the placebo.
const leukemia = `35,0,1,1.45,0 34,0,1,1.47,0 32,0,1,2.2,0 32,0,1,2.53,0 25,0,1,1.78,0 23,1,1,2.57,0 22,1,1,2.32,0 20,0,1,2.01,0
19,0,0,2.05,0 17,0,0,2.16,0 16,1,1,3.6,0 13,1,0,2.88,0 11,0,0,2.6,0 10,0,0,2.7,0 10,1,0,2.96,0 9,0,0,2.8,0 7,1,0,4.43,0 6,0,0,3.2,0
6,1,0,2.31,0 6,1,1,4.06,0 6,1,0,3.28,0 23,1,1,1.97,1 22,1,0,2.73,1 17,1,0,2.95,1 15,1,0,2.3,1 12,1,0,1.5,1 12,1,0,3.06,1 11,1,0,3.49,1
11,1,0,2.12,1 8,1,0,3.52,1 8,1,0,3.05,1 8,1,0,2.32,1 8,1,1,3.26,1 5,1,1,3.49,1 5,1,0,3.97,1 4,1,1,4.36,1 4,1,1,2.42,1 3,1,1,4.01,1
2,1,1,4.91,1 2,1,1,4.48,1 1,1,1,2.8,1 1,1,1,5.0,1`

func patients(t *testing.T) *familytest.Data {
	d := &familytest.Data{}
	for _, line := range strings.Fields(leukemia) {
		var v []float64
		for _, f := range strings.Split(line, ",") {
			x, err := strconv.ParseFloat(f, 64)
			if err != nil {
				t.Fatal(err)
			}
			v = append(v, x)
		}
		if v[1] == 0 {
			v[0] = -v[0]
		}
		d.X, d.Y = append(d.X, v[2:]), append(d.Y, v[0])
	}
	return d
}

// TestCox: coefficients and likelihoods are those of lifelines and statsmodels, the concordance
// that of lifelines.
func TestCox(t *testing.T) {
	d := patients(t)
	for _, c := range []struct {
		ties        string
		want        []float64
		likelihood  float64
		concordance float64
	}{
		{"efron", []float64{0.3146780, 1.6819423, 1.5035912}, -69.5904827, 0.8513324},
		{"breslow", []float64{0.2631706, 1.5936188, 1.3908767}, -72.1090754, 0},
	} {
		r, err := familytest.Train(t, survival{}, d, familytest.Spread{}, "event", "e", "ties", c.ties, "tolerance", 1e-7)
		if err != nil {
			t.Fatal(err)
		}
		p := r.Predictor.(*survivalPredictor)
		for j, want := range c.want {
			if got := float64(p.params[j]); math.Abs(got-want) > 2e-5 {
				t.Errorf("%s: coefficient %d is %v, not %v", c.ties, j, got, want)
			}
		}
		if got := -r.State.TrainLoss * float64(len(d.X)); math.Abs(got-c.likelihood) > 1e-5 {
			t.Errorf("%s: log likelihood %v, not %v", c.ties, got, c.likelihood)
		}
		if got := r.State.Metrics[0].Value; c.concordance > 0 && math.Abs(got-c.concordance) > 1e-7 {
			t.Errorf("concordance %v, not %v", got, c.concordance)
		}
		times, left := p.Curves(d.All(true))
		if len(times) != 17 || times[0] != 1 || times[16] != 23 {
			t.Errorf("times %v", times)
		}
		for k, s := range left {
			for i, v := range s {
				if !(v > 0 && v < 1) || k > 0 && v > left[k-1][i] {
					t.Fatalf("row %d, time %d: survival %v", i, k, v)
				}
			}
		}
	}
}

// TestCoxOfAnyUnits: columns in any units, far from 0 too, give the model of ordinary ones, and
// its curves are numbers.
func TestCoxOfAnyUnits(t *testing.T) {
	want, err := familytest.Train(t, survival{}, patients(t), familytest.Spread{}, "event", "e", "tolerance", 1e-7)
	if err != nil {
		t.Fatal(err)
	}
	units := [][2]float64{{2000, 1}, {1e8, 3e6}, {-5e-3, 1e-4}} // where 0 is, and how long 1
	d := patients(t)
	for _, x := range d.X {
		for j, u := range units {
			x[j] = u[0] + u[1]*x[j]
		}
	}
	got := familytest.Same(t, survival{}, d, "event", "e")
	if !got.State.Converged || math.Abs(got.State.TrainLoss-want.State.TrainLoss) > 1e-4 {
		t.Errorf("a loss of %v, not %v (%s)", got.State.TrainLoss, want.State.TrainLoss, got.State.Stopped)
	}
	for j, u := range units {
		if a, b := float64(got.Predictor.(*survivalPredictor).params[j])*u[1], float64(want.Predictor.(*survivalPredictor).params[j]); math.Abs(a-b) > 2e-2*math.Abs(b) {
			t.Errorf("coefficient %d is %v, not %v", j, a, b)
		}
	}
	// Values as close together as float32 tells apart are learnt of as they are when spread out.
	near, spread := patients(t), patients(t)
	for i, x := range near.X {
		x[0] = float64(float32(1 + 1e-6*x[0]))
		spread.X[i][0] = (x[0] - 1) * 1e6
	}
	a, err := familytest.Train(t, survival{}, near, familytest.Spread{}, "event", "e", "tolerance", 1e-7)
	if err != nil {
		t.Fatal(err)
	}
	b, err := familytest.Train(t, survival{}, spread, familytest.Spread{}, "event", "e", "tolerance", 1e-7)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(a.State.TrainLoss-b.State.TrainLoss) > 1e-4 {
		t.Errorf("a loss of %v, not %v", a.State.TrainLoss, b.State.TrainLoss)
	}
	// Scores that overflow in e^score: a step too long, that the rows survive.
	for _, x := range d.X {
		x[0] = 1e5 * x[0]
	}
	wild, err := familytest.Train(t, survival{}, d, familytest.Spread{}, "event", "e", "optimizer", "sgd", "learn_rate", 1e-3, "max_iterations", 2)
	if err != nil {
		t.Fatal(err)
	}
	_, left := wild.Predictor.(*survivalPredictor).Curves(d.All(true))
	for k, s := range left {
		for i, v := range s {
			if !(v >= 0 && v <= 1) {
				t.Fatalf("row %d, time %d: survival %v", i, k, v)
			}
		}
	}
}

// TestLikelihood: sums by bins of time give the partial likelihood as defined over pairs of rows,
// and its gradient.
func TestLikelihood(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for trial := range 40 {
		n := 2 + r.IntN(30)
		y, w, score := make([]float64, n), make([]float64, n), make([]float64, n)
		breslow := trial%2 == 0
		far := []float64{0, 0, 900, -900, 1e5, -1e5}[trial%6] // for all scores, whose differences alone count
		for i := range n {
			y[i], w[i], score[i] = float64(r.IntN(8)), 1, r.NormFloat64()
			if breslow {
				w[i] = float64(r.IntN(4))
			}
			if r.IntN(3) == 0 {
				y[i] = -y[i]
			}
		}
		line := &timeline{}
		var times, weights []float64
		for i := range n {
			if w[i] > 0 && !math.Signbit(y[i]) {
				times, weights = append(times, y[i]), append(weights, w[i])
			}
		}
		line.add(times, weights)
		sums := func() *risks {
			out := &risks{}
			for i := range n { // each row as a separate partial
				one := &risks{Weight: w[i]}
				at, risk := int64(seen(line.Times, math.Abs(y[i]))), expScaled(score[i]+far).times(w[i])
				if !math.Signbit(y[i]) {
					one.Scores = w[i] * (score[i] + far)
					one.push(at, risk, risk)
				} else {
					one.push(at, risk, scaled{})
				}
				out = out.merge(one)
			}
			return out
		}
		slow := func() (loss float64) {
			for _, at := range line.Times {
				var risk, events, tied, weight float64
				for i := range n {
					if e := w[i] * math.Exp(score[i]); math.Abs(y[i]) >= at {
						risk += e
						if y[i] == at && !math.Signbit(y[i]) && w[i] > 0 {
							events, tied, weight = events+e, tied+1, weight+w[i]
							loss -= w[i] * score[i]
						}
					}
				}
				for l := 0.0; l < tied; l++ {
					left := risk
					if !breslow {
						left -= l / tied * events
					}
					loss += weight / tied * math.Log(left)
				}
			}
			return loss
		}
		loss, cumulative, own, err := line.likelihood(sums(), !breslow)
		if err != nil {
			t.Fatal(err)
		}
		if want := slow(); math.Abs(loss-want) > 1e-9*(1+math.Abs(far)) {
			t.Fatalf("loss %v, not %v", loss, want)
		}
		for i := range n {
			const h = 1e-5
			was := score[i]
			score[i] = was + h
			up := slow()
			score[i] = was - h
			want := (up - slow()) / (2 * h)
			score[i] = was
			k := seen(line.Times, math.Abs(y[i]))
			hazard := func(h scaled) float64 {
				e := expScaled(was + far)
				return scaled{e.v * h.v, e.e + h.e}.at(0)
			}
			got := w[i] * hazard(cumulative.get(k))
			if !math.Signbit(y[i]) {
				got -= w[i] * (hazard(own.get(k)) + 1)
			}
			if math.Abs(got-want) > 1e-6 {
				t.Fatalf("row %d: slope %v, by differences %v", i, got, want)
			}
		}
	}
}

func TestSpans(t *testing.T) {
	ends := []float64{1, 3, 10}
	for _, c := range []struct {
		y               float64
		outlived, event int
	}{
		{0, 0, 0}, {1, 0, 0}, {1.5, 1, 1}, {3, 1, 1}, {10, 2, 2}, {11, 3, -1},
		{math.Copysign(0, -1), 0, -1}, {-0.4, 0, -1}, {-0.5, 1, -1}, {-1, 1, -1}, {-1.9, 1, -1}, {-2, 2, -1}, {-9, 3, -1}, {-99, 3, -1},
	} {
		if o, e := spans(ends, c.y); o != c.outlived || e != c.event {
			t.Errorf("%v: %d, %d, not %d, %d", c.y, o, e, c.outlived, c.event)
		}
	}
	z, d := []float32{0.3, -1, 0.7}, make([]float32, 3)
	for _, y := range []float64{0.5, 2, 7, 12, -0.7, -5, -20} {
		hazardLoss(z, ends, y, 1.5, d)
		got := append([]float32{}, d...)
		for i := range z {
			near(t, "log-odds", float64(got[i]), numeric(z, i, func() float64 { return hazardLoss(z, ends, y, 1.5, nil) }))
		}
	}
}

// lives returns rows whose hazard grows with x0 and the square of x1, with ten groups of times, and
// censoring.
func lives(n int, weights bool) *familytest.Data {
	r := rand.New(rand.NewPCG(6, 1))
	d := &familytest.Data{Cats: []int{3}}
	for i := range n {
		x, c := []float64{r.NormFloat64(), r.NormFloat64()}, r.IntN(3)
		at := math.Ceil(20 * r.ExpFloat64() / math.Exp(x[0]+x[1]*x[1]-1+0.5*float64(c)))
		if until := float64(1 + r.IntN(60)); at > until {
			at = -until
		}
		d.X, d.Code, d.Y, d.Held = append(d.X, x), append(d.Code, []int32{int32(c)}), append(d.Y, at), append(d.Held, i%4 == 1)
		if weights {
			d.W = append(d.W, float64(i%3))
		}
	}
	return d
}

// TestSurvivalSame: models are the same on any number of nodes and when resumed after every step,
// and rank rows that they have not seen.
func TestSurvivalSame(t *testing.T) {
	hidden := types.Array{Elem: types.Int8, Elems: []types.Datum{int64(8)}}
	edges := types.Array{Elem: types.Float8, Elems: []types.Datum{1.0, 3.0, 8.0, 20.0, 60.0}}
	for name, c := range map[string]struct {
		weights bool
		least   float64 // the least concordance on the rows held out
		options []any
	}{
		"cox":         {false, 0.69, []any{"max_iterations", 20}},
		"cox weights": {true, 0.69, []any{"weight", "w", "l2_reg", 0.01}},
		"cox net":     {false, 0.76, []any{"hidden_units", hidden, "max_iterations", 40, "activation", "tanh"}},
		"cox adam":    {false, 0.69, []any{"optimizer", "adam", "learn_rate", 0.1, "max_iterations", 15}},
		"hazard":      {false, 0.69, []any{"method", "hazard", "intervals", 6, "max_iterations", 20}},
		"hazard net":  {true, 0.75, []any{"method", "hazard", "hidden_units", hidden, "intervals", edges, "optimizer", "adam", "learn_rate", 0.02, "batch_size", 64, "max_iterations", 12}},
	} {
		t.Run(name, func(t *testing.T) {
			d := lives(2000, c.weights)
			r := familytest.Same(t, survival{}, d, append(c.options, "event", "e")...)
			m := r.State.Metrics
			if len(m) != 1 || m[0].Name != "concordance" || m[0].Value < c.least {
				t.Errorf("metrics %v", m)
			}
			if l := r.State.ValidationLoss; !(l > 0) {
				t.Errorf("validation loss %v", l)
			}
			_, left := r.Predictor.(*survivalPredictor).Curves(d.All(true))
			s := r.Score(d.All(true))
			last := left[len(left)-1]
			for i, b := range last[1:] {
				if a := last[i]; (s.Value[i] > s.Value[i+1]) != (a < b) && a != b && s.Value[i] != s.Value[i+1] {
					t.Fatalf("rows %d and %d: risks %v and %v, left %v and %v", i, i+1, s.Value[i], s.Value[i+1], a, b)
				}
			}
		})
	}
}

// TestSurvivalWeights: a row of weight 2 counts like two rows.
func TestSurvivalWeights(t *testing.T) {
	d := lives(600, true)
	d.Held, d.Cats, d.Code = nil, nil, nil
	twice := &familytest.Data{}
	for i, w := range d.W {
		for range int(w) {
			twice.X, twice.Y = append(twice.X, d.X[i]), append(twice.Y, d.Y[i])
		}
	}
	for _, method := range []string{"cox", "hazard"} {
		options := []any{"event", "e", "method", method}
		a, err := familytest.Train(t, survival{}, d, familytest.Spread{}, append(options, "weight", "w")...)
		if err != nil {
			t.Fatal(err)
		}
		if method == "cox" {
			options = append(options, "ties", "breslow")
		}
		b, err := familytest.Train(t, survival{}, twice, familytest.Spread{}, options...)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range a.Predictor.(*survivalPredictor).params {
			if w := b.Predictor.(*survivalPredictor).params[i]; math.Abs(float64(v-w)) > 1e-3 {
				t.Errorf("%s: parameter %d is %v, of two rows %v", method, i, v, w)
			}
		}
	}
}

func TestSurvivalErrors(t *testing.T) {
	none := &familytest.Data{X: [][]float64{{1}, {2}}, Y: []float64{-1, -2}}
	for _, c := range []struct {
		d       *familytest.Data
		options []any
		want    string
	}{
		{none, []any{"event", "e"}, "none of the training rows"},
		{none, nil, "must not be negative"},
		{none, []any{"intervals", 3}, `"intervals" does not fit`},
		{none, []any{"method", "hazard", "ties", "efron"}, `"ties" does not fit`},
		{none, []any{"weight", "w", "ties", "efron"}, "efron"},
		{none, []any{"method", "hazard", "intervals", types.Array{Elem: types.Float8, Elems: []types.Datum{3.0, 2.0}}}, "invalid value"},
	} {
		if _, err := familytest.Train(t, survival{}, c.d, familytest.Spread{}, c.options...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.options, err)
		}
	}
}

// TestSurvivalBytes: bytes that are not a model, truncated or changed, are refused.
func TestSurvivalBytes(t *testing.T) {
	d := patients(t)
	for _, method := range []string{"cox", "hazard"} {
		r, err := familytest.Train(t, survival{}, d, familytest.Spread{}, "event", "e", "method", method)
		if err != nil {
			t.Fatal(err)
		}
		fit := d.Fitted(true)
		for n := range r.Bytes {
			c := canon.Read(r.Bytes[:n])
			if _, err := (survival{}).Decode(fit, c); err == nil && c.Done("a model") == nil {
				t.Fatalf("a model cut at %d was read", n)
			}
			b := append([]byte{}, r.Bytes...)
			b[n] ^= 0x81
			if p, err := (survival{}).Decode(fit, canon.Read(b)); err == nil {
				p.Score(block.New(9, 3, 0, true))
			}
		}
	}
}

// TestCurveOfManyTimes: of very many distinct times the baseline survival curve keeps some, the
// last among them.
func TestCurveOfManyTimes(t *testing.T) {
	d := &familytest.Data{}
	for i := range 1203 {
		d.X, d.Y = append(d.X, []float64{float64(i % 7)}), append(d.Y, float64(i))
	}
	r, err := familytest.Train(t, survival{}, d, familytest.Spread{}, "event", "e", "max_iterations", 3)
	if err != nil {
		t.Fatal(err)
	}
	times, left := r.Predictor.(*survivalPredictor).Curves(d.All(true))
	if len(times) != maxCurve || len(left) != maxCurve || times[maxCurve-1] != 1202 || times[0] != 1 {
		t.Errorf("%d times, %v to %v", len(times), times[0], times[len(times)-1])
	}
}

// TestConcordanceIsCharged: memory for the rows to rank is charged before they arrive; without
// enough of it the training fails with a clear error.
func TestConcordanceIsCharged(t *testing.T) {
	charged, room := int64(0), int64(1<<40)
	node := &family.Node{Grow: func(n int64) error {
		if charged += n; charged > room {
			return pgerr.New(pgerr.OutOfMemory, "no room")
		}
		return nil
	}}
	for _, c := range []struct{ rows, held, want int64 }{{1000, 0, 1000}, {5000, 70, 70}, {3 * maxPairs, 0, maxPairs}} {
		charged = 0
		d := &survivalDriver{set: &family.Setup{Rows: c.rows, Held: c.held}, pairs: node.Charge()}
		if err := d.measure(); err != nil || charged < 40*c.want || charged > 64*c.want {
			t.Errorf("%d rows: %d bytes, %v", c.want, charged, err)
		}
	}
	charged, room = 0, 1<<20
	d := &survivalDriver{set: &family.Setup{Rows: maxPairs}, pairs: node.Charge()}
	if err := d.measure(); pgerr.CodeOf(err) != pgerr.OutOfMemory {
		t.Errorf("without room: %v", err)
	}
}
