package forecast

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/ml/family/familytest"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/types"
)

// passengers are the monthly totals of international airline passengers, 1949 to 1960, in thousands (Box and Jenkins
// 1976, series G).
var passengers = []float64{112, 118, 132, 129, 121, 135, 148, 148, 136, 119, 104, 118, 115, 126, 141, 135, 125, 149, 170, 170, 158, 133, 114, 140,
	145, 150, 178, 163, 172, 178, 199, 199, 184, 162, 146, 166, 171, 180, 193, 181, 183, 218, 230, 242, 209, 191, 172, 194,
	196, 196, 236, 235, 229, 243, 264, 272, 237, 211, 180, 201, 204, 188, 235, 227, 234, 264, 302, 293, 259, 229, 203, 229,
	242, 233, 267, 269, 270, 315, 364, 347, 312, 274, 237, 278, 284, 277, 317, 313, 318, 374, 413, 405, 355, 306, 271, 306,
	315, 301, 356, 348, 355, 422, 465, 467, 404, 347, 305, 336, 340, 318, 362, 348, 363, 435, 491, 505, 404, 359, 310, 337,
	360, 342, 406, 396, 420, 472, 548, 559, 463, 407, 362, 405, 417, 391, 419, 461, 472, 535, 622, 606, 508, 461, 390, 432}

// TestDerivatives: those of each form's deviance are what small changes make of it.
func TestDerivatives(t *testing.T) {
	y := make([]float64, 48)
	for i := range y {
		y[i] = passengers[i] / 128
	}
	r := rand.New(rand.NewPCG(4, 5))
	for _, x := range forms {
		f := &free{smoother: newSmoother(y).of(x, 12), first: firstStates(y, 12, x), unit: 0.2}
		f.begin(0.1)
		theta := f.theta()
		for i := range theta {
			theta[i] += 0.1 * r.NormFloat64()
		}
		at := f.evaluate(theta)
		for i := range theta {
			const h = 1e-6
			near := slices.Clone(theta)
			near[i] += h
			up := f.evaluate(near).Loss
			near[i] -= 2 * h
			slope := (up - f.evaluate(near).Loss) / (2 * h)
			if math.Abs(slope-at.Grad[i]) > 1e-4*math.Max(1, math.Abs(slope)) {
				t.Errorf("%v, number %d: %v, not %v", x, i, at.Grad[i], slope)
			}
		}
	}
}

// continued fits a series by a method and forecasts it.
func continued(t *testing.T, m *method, d *familytest.Data, s familytest.Spread, horizon int, options ...any) (f *forecaster, mean, sd []float64, bytes string) {
	t.Helper()
	got, err := familytest.Train(t, m, d, s, append([]any{"order_by", "x0"}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	f = got.Predictor.(*forecaster)
	f.time = record.Column{Name: "t", Type: types.Int8}
	err = f.Forecast(horizon, 0.9, func(r []types.Datum) error {
		mean, sd = append(mean, r[1].(float64)), append(sd, r[2].(float64))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return f, mean, sd, string(got.Bytes)
}

func smooth(t *testing.T, y []float64, s familytest.Spread, horizon int, options ...any) (f *forecaster, mean, sd []float64, bytes string) {
	t.Helper()
	return continued(t, smoothing, rows(y...), s, horizon, options...)
}

// TestPassengers: the likelihoods and the forecasts are those of statsmodels 0.15; the bytes are the same however the
// rows lie and wherever a training goes on.
func TestPassengers(t *testing.T) {
	f, mean, sd, want := smooth(t, passengers, familytest.Spread{}, 24, "seasonal_periods", 12)
	if f.Form != "MAM" || math.Abs(f.AICc-1390.836) > 0.01 || sd[1] <= sd[0] {
		t.Errorf("%s of AICc %v, standard errors %v", f.Form, f.AICc, sd[:2])
	}
	for h, want := range map[int]float64{0: 442.769, 6: 617.459, 11: 457.376} {
		if math.Abs(mean[h]/want-1) > 1e-3 {
			t.Errorf("step %d: %v, not %v", h+1, mean[h], want)
		}
	}
	if f, mean, _, _ := smooth(t, passengers, familytest.Spread{}, 1, "model", "ANN"); math.Abs(f.Alpha-0.9999) > 1e-3 || math.Abs(mean[0]-432) > 0.1 {
		t.Errorf("ANN: α %v, then %v", f.Alpha, mean[0])
	}
	// Forms that do not suit the series have other minima too.
	for form, want := range map[string]float64{"AAA": 1475.83, "ANA": 1512.84, "AAdA": 1483.32, "MNM": 1401.95, "MAdM": 1399.71} {
		if f, _, _, _ := smooth(t, passengers, familytest.Spread{}, 1, "model", form, "seasonal_periods", 12); f.AICc > want {
			t.Errorf("%s: a bad minimum, of AICc %v, not %v", form, f.AICc, want)
		}
	}
	for _, s := range []familytest.Spread{{Nodes: 3, Threads: 2, LeafRows: 16, Shuffle: 5, Bytes: true}, {Resume: true, Bytes: true}} {
		if _, _, _, got := smooth(t, passengers, s, 1, "seasonal_periods", 12); got != want {
			t.Errorf("%+v: another model", s)
		}
	}
}

// TestVariances: those of each form are what simulated paths have.
func TestVariances(t *testing.T) {
	for _, x := range forms {
		p := &forecaster{Form: x.String(), Period: 4, Alpha: 0.3, Beta: 0.05, Gamma: 0.2, Phi: 1, Level: 100, Season: []float64{0}, Sigma2: 25}
		if x.trend == 'N' {
			p.Beta = 0
		} else if p.Trend = 2; x.trend == 'D' {
			p.Phi = 0.9
		}
		switch x.season {
		case 'N':
			p.Gamma = 0
		case 'A':
			p.Season = []float64{10, -5, -15, 10}
		case 'M':
			p.Season = []float64{1.1, 0.9, 0.8, 1.2}
		}
		if x.relative {
			p.Sigma2 = 0.0025
		}
		const horizon, paths = 9, 20000
		var mean, variance []float64
		if err := p.ahead(horizon, func(m, v float64) error { mean, variance = append(mean, m), append(variance, v); return nil }); err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, uint64(x.trend)))
		sum, square := make([]float64, horizon), make([]float64, horizon)
		for range paths {
			l, b, season := p.Level, p.Trend, slices.Clone(p.Season)
			for h := range horizon {
				s := &season[h%len(season)]
				q := l + p.Phi*b
				f := q
				switch x.season {
				case 'A':
					f += *s
				case 'M':
					f *= *s
				}
				e := math.Sqrt(p.Sigma2) * r.NormFloat64()
				if x.relative {
					e *= f
				}
				d := f + e - mean[h]
				sum[h], square[h] = sum[h]+d, square[h]+d*d
				switch x.season {
				case 'M':
					l, b, *s = q + p.Alpha*e / *s, p.Phi*b + p.Beta*e / *s, *s+p.Gamma*e/q
				default:
					l, b, *s = q+p.Alpha*e, p.Phi*b+p.Beta*e, *s+p.Gamma*e
				}
			}
		}
		for h := range horizon {
			got := square[h] / paths
			if math.Abs(sum[h]/paths) > 4*math.Sqrt(got/paths) || math.Abs(got/variance[h]-1) > 0.05 {
				t.Errorf("%v, step %d: mean off by %.3f, variance %.3f, not %.3f", x, h+1, sum[h]/paths, got, variance[h])
			}
		}
	}
}

// TestConstant: a series that never changes goes on so.
func TestConstant(t *testing.T) {
	_, mean, sd, _ := smooth(t, []float64{7, 7, 7, 7, 7, 7, 7, 7}, familytest.Spread{}, 3)
	for h := range mean {
		if math.Abs(mean[h]-7) > 1e-6 || sd[h] > 1e-4 {
			t.Errorf("step %d: %v ± %v", h+1, mean[h], sd[h])
		}
	}
}
