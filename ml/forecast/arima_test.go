package forecast

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/family/familytest"
)

// simulated returns a series of a process, after as many steps as it takes to forget its beginning.
func simulated(a *arma, m, n int, r *rand.Rand) []float64 {
	ar, ma := a.ar(m), a.ma(m)
	const before = 500
	w, e := make([]float64, n+before), make([]float64, n+before)
	for t := range w {
		e[t] = r.NormFloat64()
		w[t] = e[t]
		for i, k := range ar.at {
			if k <= t {
				w[t] += ar.by[i] * w[t-k]
			}
		}
		for i, k := range ma.at {
			if k <= t {
				w[t] += ma.by[i] * e[t-k]
			}
		}
	}
	return w[before:]
}

// TestConditionalDerivatives: those of the conditional squares are what small changes make of them, with regressors too.
func TestConditionalDerivatives(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, o := range []order{{P: 2}, {Q: 2}, {P: 2, Q: 1, SeasonalP: 1, SeasonalQ: 2}, {P: 5, SeasonalP: 2}, {P: 1, Q: 1, SeasonalP: 1, SeasonalQ: 1, Constant: true}} {
		w := simulated(&arma{AR: []float64{0.5, 0.2}, SeasonalMA: []float64{0.4}}, 4, 90, r)
		reg := &regression{w: w, m: 4}
		if o.Constant {
			x := make([]float64, len(w))
			for i := range x {
				x[i] = r.NormFloat64()
			}
			reg.x = [][]float64{slices.Repeat([]float64{1}, len(w)), x}
		}
		z := make([]float64, o.parameters())
		for i := range z {
			z[i] = 0.5 * r.NormFloat64()
		}
		c := newConditional(reg, &o)
		at := c.evaluate(z)
		for i := range z {
			const h = 1e-5
			near := slices.Clone(z)
			near[i] += h
			up := c.evaluate(near).Loss
			near[i] -= 2 * h
			if slope := (up - c.evaluate(near).Loss) / (2 * h); math.Abs(slope-at.Grad[i]) > 1e-5*math.Max(1, math.Abs(slope)) {
				t.Errorf("%s, number %d: %v, not %v", o.name(4), i, at.Grad[i], slope)
			}
		}
	}
}

// TestExactFilter: the errors and determinants are those of the whole covariance matrix.
func TestExactFilter(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, a := range []*arma{
		{}, {AR: []float64{0.6}}, {MA: []float64{-0.8}}, {AR: []float64{0.5, -0.3}, MA: []float64{0.4}},
		{AR: []float64{0.3}, SeasonalAR: []float64{0.5}, MA: []float64{0.2, 0.3}, SeasonalMA: []float64{-0.6}},
		{AR: []float64{0.4, 0.1, -0.2, 0.05, 0.1}, SeasonalAR: []float64{-0.4, 0.3}},
	} {
		const m, n = 4, 40
		// The covariance by the weights of errors, far enough back.
		psi := make([]float64, 3000)
		ar, ma := a.ar(m), a.ma(m)
		for k := range psi {
			if k == 0 {
				psi[k] = 1
			}
			if i := slices.Index(ma.at, k); i >= 0 {
				psi[k] += ma.by[i]
			}
			for i, at := range ar.at {
				if at <= k {
					psi[k] += ar.by[i] * psi[k-at]
				}
			}
		}
		y := simulated(a, m, n, r)
		l := make([][]float64, n) // Cholesky factor
		want, logDet := make([]float64, n), 0.0
		for i := range n {
			l[i] = make([]float64, n)
			for j := 0; j <= i; j++ {
				v := 0.0
				for k := 0; k+i-j < len(psi); k++ {
					v += psi[k] * psi[k+i-j]
				}
				for k := range j {
					v -= l[i][k] * l[j][k]
				}
				if l[i][j] = v / l[j][j]; i == j {
					l[i][j] = math.Sqrt(v)
				}
			}
			v := y[i]
			for k := range i {
				v -= l[i][k] * want[k]
			}
			want[i] = v / l[i][i]
			logDet += 2 * math.Log(l[i][i])
		}
		got, ok := a.filter(m, [][]float64{y})
		if !ok || math.Abs(got.LogDet-logDet) > 1e-8 {
			t.Fatalf("%+v: determinant %v, not %v", a, got, logDet)
		}
		for i := range want {
			if math.Abs(got.Errors[0][i]-want[i]) > 1e-8 || math.Abs(got.Scale[i]-l[i][i]) > 1e-8 {
				t.Errorf("%+v, step %d: %v ± %v, not %v ± %v", a, i, got.Errors[0][i], got.Scale[i], want[i], l[i][i])
			}
		}
	}
}

// TestPartials: autoregressions follow from their partial autocorrelations and lead back to them.
func TestPartials(t *testing.T) {
	want := []float64{0.5, -0.3, 0.8, 0.1}
	got, ok := partials(autoregression(want, nil))
	for i := range want {
		if !ok || math.Abs(got[i]-want[i]) > 1e-12 {
			t.Fatalf("%v, not %v", got, want)
		}
	}
	if _, ok := partials([]float64{1.2}); ok {
		t.Error("1.2 is stationary")
	}
	for _, c := range []struct {
		a     arma
		inner bool
	}{{arma{AR: []float64{0.98}}, true}, {arma{AR: []float64{0.995}}, false}, {arma{MA: []float64{-0.995}}, false}, {arma{SeasonalMA: []float64{-0.9}}, false}, {arma{SeasonalMA: []float64{-0.85}}, true}} {
		if c.a.inner(12) != c.inner || c.a.stable(12) != (c.inner || len(c.a.AR) == 0) {
			t.Errorf("%+v", c.a)
		}
	}
}

func arimaOf(t *testing.T, d *familytest.Data, s familytest.Spread, horizon int, options ...any) (f *forecaster, mean, sd []float64, bytes string) {
	t.Helper()
	return continued(t, autoregressive, d, s, horizon, options...)
}

// TestAhead: means and variances of forecasts are those of simulated continuations.
func TestAhead(t *testing.T) {
	const m, horizon, paths = 4, 9, 20000
	for _, part := range []*arimaPart{
		{AR: []float64{0.7}, MA: []float64{0.3}, Constant: true, Mean: 5},
		{Diff: 1, MA: []float64{-0.4}, Constant: true, Mean: 0.5},
		{Diff: 1, SeasonalDiff: 1, MA: []float64{-0.4}, SeasonalMA: []float64{-0.5}},
		{SeasonalDiff: 1, AR: []float64{0.5}, SeasonalAR: []float64{0.3}, Constant: true, Mean: 1},
	} {
		o := part.order()
		r := rand.New(rand.NewPCG(7, 8))
		w := simulated(part.arma(), m, 300, r)
		y := make([]float64, len(w))
		undo := o.undo(m)
		step := func(y []float64, t int, w float64) {
			y[t] = w + part.Mean
			for i, k := range undo.at {
				if k <= t {
					y[t] += undo.by[i] * y[t-k]
				}
			}
		}
		for t, v := range w {
			step(y, t, v)
		}
		p := &forecaster{Form: o.name(m), Period: m, Sigma2: 1, arima: part}
		part.Tail = y[len(y)-o.D-m*o.SeasonalD:]
		e, ok := p.replayed(y)
		if !ok {
			t.Fatal(p.Form)
		}
		part.State = e.State[0]
		var mean, variance []float64
		if err := p.ahead(horizon, func(m, v float64) error { mean, variance = append(mean, m), append(variance, v); return nil }); err != nil {
			t.Fatal(err)
		}
		// Continuations, from the errors and differences of the series.
		diff, errs := o.differenced(y, m), make([]float64, len(e.Errors[0]))
		for i := range errs {
			errs[i] = e.Errors[0][i] * e.Scale[i]
			diff[i] -= part.Mean
		}
		ar, ma := part.arma().ar(m), part.arma().ma(m)
		sum, square := make([]float64, horizon), make([]float64, horizon)
		for range paths {
			d, er, yy := slices.Clone(diff), slices.Clone(errs), slices.Clone(y)
			for h := range horizon {
				n := len(d)
				er = append(er, r.NormFloat64())
				v := er[n]
				for i, k := range ar.at {
					v += ar.by[i] * d[n-k]
				}
				for i, k := range ma.at {
					v += ma.by[i] * er[n-k]
				}
				d, yy = append(d, v), append(yy, 0)
				step(yy, len(yy)-1, v)
				miss := yy[len(yy)-1] - mean[h]
				sum[h], square[h] = sum[h]+miss, square[h]+miss*miss
			}
		}
		for h := range horizon {
			got := square[h] / paths
			if math.Abs(sum[h]/paths) > 4*math.Sqrt(got/paths) || math.Abs(got/variance[h]-1) > 0.05 {
				t.Errorf("%s, step %d: mean off by %.3f, variance %.3f, not %.3f", p.Form, h+1, sum[h]/paths, variance[h], got)
			}
		}
	}
}

// TestRegressors: the weights of columns beside the time are found beside errors that hang together, and a category is a column for
// each of its values.
func TestRegressors(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	u := simulated(&arma{AR: []float64{0.8}}, 1, 400, r)
	d := &familytest.Data{Cats: []int{2}}
	for i, v := range u {
		x, c := r.NormFloat64(), int32(r.IntN(2))
		d.X = append(d.X, []float64{float64(i), x})
		d.Code = append(d.Code, []int32{c})
		d.Y = append(d.Y, 10+3*x+2*float64(c)+0.5*v)
	}
	f, _, _, want := arimaOf(t, d, familytest.Spread{}, 1, "non_seasonal_order", "(1,0,0)")
	w := f.arima.Weights
	if len(w) != 3 || math.Abs(w[0]-3) > 0.1 || math.Abs(w[2]-w[1]-2) > 0.15 || math.Abs(f.arima.AR[0]-0.8) > 0.1 {
		t.Errorf("weights %v, %v", w, f.arima.AR)
	}
	for _, s := range []familytest.Spread{{Nodes: 3, Threads: 2, LeafRows: 16, Shuffle: 5, Bytes: true}, {Resume: true, Bytes: true}} {
		if _, _, _, got := arimaOf(t, d, s, 1, "non_seasonal_order", "(1,0,0)"); got != want {
			t.Errorf("%+v: another model", s)
		}
	}
}

// TestSolve: weights of columns that make each other up are found, and a column of zeros has none.
func TestSolve(t *testing.T) {
	cols := [][]float64{{1, 1, 1, 1}, {0, 0, 0, 0}, {1, 2, 3, 4}, {2, 3, 4, 5}}
	y := []float64{3, 5, 7, 9}
	got := solve(slices.Clone(y), [][]float64{slices.Clone(cols[0]), slices.Clone(cols[1]), slices.Clone(cols[2]), slices.Clone(cols[3])})
	for i, v := range y {
		for j, c := range cols {
			v -= got[j] * c[i]
		}
		if math.Abs(v) > 1e-9 || got[1] != 0 || got[3] != 0 {
			t.Fatalf("%v", got)
		}
	}
}

// TestArimaConstant: a series that never changes goes on so.
func TestArimaConstant(t *testing.T) {
	_, mean, sd, _ := arimaOf(t, rows(7, 7, 7, 7, 7, 7, 7, 7), familytest.Spread{}, 3)
	for h := range mean {
		if math.Abs(mean[h]-7) > 1e-6 || sd[h] > 1e-4 {
			t.Errorf("step %d: %v ± %v", h+1, mean[h], sd[h])
		}
	}
}

// TestDifferences: random walks need one difference, and a season that moves a seasonal one.
func TestDifferences(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	noise := simulated(&arma{AR: []float64{0.3}}, 1, 400, r)
	walk, twice, season := make([]float64, 400), make([]float64, 400), make([]float64, 400)
	for i, v := range noise {
		season[i] = v + 3*math.Sin(2*math.Pi*float64(i)/12)
		if walk[i] = v; i > 0 {
			walk[i] += walk[i-1]
			twice[i] = twice[i-1] + walk[i]
		}
	}
	if a, b, c := differences(noise), differences(walk), differences(twice); a != 0 || b != 1 || c != 2 {
		t.Errorf("differences %d, %d, %d", a, b, c)
	}
	if a, b := seasonalDifferences(noise, 12), seasonalDifferences(season, 12); a != 0 || b != 1 {
		t.Errorf("seasonal differences %d, %d; strengths %v, %v", a, b, strength(noise, 12), strength(season, 12))
	}
	if !constant(noise[:1]) || f64.Dot(noise, noise) == 0 {
		t.Error("no noise")
	}
}

// TestArimaFixedSeason: a season that never changes is a seasonal moving average near −1, which conditional squares put too near or
// not near enough: the search judges it by the likelihood, and does not take far longer memories instead.
func TestArimaFixedSeason(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var y []float64
	for i := range 300 {
		y = append(y, 0.05*float64(i)+[]float64{0, 9, -7, 4, -3, 8, -5}[i%7]+r.NormFloat64())
	}
	f, mean, _, want := arimaOf(t, rows(y...), familytest.Spread{}, 7, "seasonal_periods", 7)
	if _, _, _, got := arimaOf(t, rows(y...), familytest.Spread{Resume: true, Bytes: true}, 7, "seasonal_periods", 7); got != want {
		t.Error("another model after it went on")
	}
	if len(f.arima.SeasonalMA) == 0 || f.Sigma2 > 1.2 {
		t.Errorf("%s, errors of variance %v", f.Form, f.Sigma2)
	}
	for h, v := range mean {
		if want := 0.05*float64(300+h) + []float64{0, 9, -7, 4, -3, 8, -5}[(300+h)%7]; math.Abs(v-want) > 0.6 {
			t.Errorf("step %d: %v, not %v", h+1, v, want)
		}
	}
}

// TestArimaPassengers: likelihoods, coefficients and forecasts are those of statsmodels 0.15 over the same differences; the order is that
// of the R package (forecast 8.21, auto.arima); the bytes are the same however the rows lie and wherever a training goes on.
func TestArimaPassengers(t *testing.T) {
	d := rows(passengers...)
	for _, c := range []struct {
		order, seasonal string
		drift           bool
		aicc            float64
		at              map[int]float64 // forecasts
	}{
		{"(2,1,1)", "(0,1,0)", false, 1018.1655, map[int]float64{0: 445.635, 6: 654.260, 11: 465.507, 23: 499.858}},
		{"(0,1,1)", "(0,1,1)", false, 1021.1919, map[int]float64{0: 447.053, 6: 649.795, 11: 464.753, 23: 497.282}},
		{"(1,0,0)", "(1,1,0)", true, 1027.0257, map[int]float64{0: 445.362, 6: 646.723, 11: 463.949, 23: 495.059}},
	} {
		f, mean, _, _ := arimaOf(t, d, familytest.Spread{}, 24, "seasonal_periods", 12, "non_seasonal_order", c.order, "seasonal_order", c.seasonal, "include_drift", c.drift)
		if math.Abs(f.AICc-c.aicc) > 0.001 {
			t.Errorf("%s: AICc %v, not %v", f.Form, f.AICc, c.aicc)
		}
		for h, want := range c.at {
			if math.Abs(mean[h]/want-1) > 1e-3 {
				t.Errorf("%s, step %d: %v, not %v", f.Form, h+1, mean[h], want)
			}
		}
	}
	f, _, sd, want := arimaOf(t, d, familytest.Spread{}, 24, "seasonal_periods", 12)
	if f.Form != "ARIMA(2,1,1)(0,1,0)[12]" || sd[1] <= sd[0] {
		t.Errorf("%s of AICc %v, standard errors %v", f.Form, f.AICc, sd[:2])
	}
	for _, s := range []familytest.Spread{{Nodes: 3, Threads: 2, LeafRows: 16, Shuffle: 5, Bytes: true}, {Resume: true, Bytes: true}} {
		if _, _, _, got := arimaOf(t, d, s, 1, "seasonal_periods", 12); got != want {
			t.Errorf("%+v: another model", s)
		}
	}
	if got := fmt.Sprintf("%x", sha256.Sum256([]byte(want)))[:16]; got != arimaBits {
		t.Errorf("the model is %s, want %s", got, arimaBits)
	}
}

const arimaBits = "5f335621fad82f3f"
