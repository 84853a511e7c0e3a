package forecast

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/types"
)

// mostHorizon is the most steps of a forecast.
const mostHorizon = 10_000

// mostPeriod is the longest season.
const mostPeriod = 10_000

// naiveForm is the form of a seasonal naive forecast.
const naiveForm = "naive"

// forecaster is a trained model: where a series ended, and how it goes on.
type forecaster struct {
	Last    int64
	Every   step
	N       int64   // steps of the series
	Horizon int64   // that the statement gave, 0 for none
	Form    string  // naiveForm, or error, trend and season as in AAdM
	Period  int64   // steps of a season
	Sigma2  float64 // the variance of an error one step ahead, relative to the mean where the form says so
	MSE     float64 // of the errors one step ahead within the series
	MAE     float64
	AICc    float64
	Season  []float64 // the next season: seasonal states, or values
	// Of exponential smoothing: the parameters, and the last states.
	Alpha, Beta, Gamma, Phi, Level, Trend float64

	arima *arimaPart // nil for other forms
	time  record.Column
	place int      // of the time among the parameters of the encoders
	names []string // of the other parameters
}

// Encode implements family.Predictor.
func (p *forecaster) Encode(e *canon.E) {
	if canon.Put(e, p); p.arima != nil {
		canon.Put(e, p.arima)
	}
}

// of says how the encoders' columns are used, of which this is the time.
func (p *forecaster) of(f *feature.Fitted, time string) {
	p.names = nil
	for i, s := range f.Slots() {
		if s.Column == time {
			p.place = i
		} else {
			p.names = append(p.names, s.Name)
		}
	}
	for _, c := range f.Cols {
		if c.Name == time {
			p.time = c.Column
		}
	}
}

// regressors reports whether there are any.
func (p *forecaster) regressors() bool { return p.arima != nil && len(p.arima.Weights) > 0 }

// decodeForecaster reads what Encode wrote.
func decodeForecaster(d *canon.D) *forecaster {
	p := canon.Get[forecaster](d)
	f, ok := formOf(p.Form)
	switch {
	case strings.HasPrefix(p.Form, arimaForm):
		p.arima, ok = decodeArima(d, p.Form, p.Period), len(p.Season) == 0
	case p.Form == naiveForm:
		ok = len(p.Season) == int(p.Period)
	case f.season == 'N':
		ok = ok && len(p.Season) == 1
	default:
		ok = ok && len(p.Season) == int(p.Period)
	}
	if !ok || p.Every.N < 1 || p.N < 2 || p.Horizon < 0 || p.Horizon > mostHorizon || p.Period < 1 || p.Period > mostPeriod {
		d.Fail()
	}
	return p
}

// Bytes implements family.Predictor.
func (p *forecaster) Bytes() int64 {
	n := len(p.Season)
	if a := p.arima; a != nil {
		n += len(a.State) + len(a.Tail) + 8*len(a.Weights)
	}
	return 8*int64(n) + 512
}

// Score implements family.Predictor. A row has no prediction: what is known is the series as a whole. It has what the regressors
// add to the value.
func (p *forecaster) Score(b *block.Block) *family.Scores {
	z := make([]float64, b.Padded())
	if p.regressors() {
		w := p.arima.Weights
		b.Margins(z, 0, slices.Concat(w[:p.place], []float64{0}, w[p.place:]), 0)
	} else {
		for i := range z {
			z[i] = math.NaN()
		}
	}
	return &family.Scores{Rows: b.Rows, Value: z[:b.Rows]}
}

// metrics are those of the errors one step ahead.
func (p *forecaster) metrics() []family.Metric {
	out := []family.Metric{{Name: "mean_absolute_error", Value: p.MAE}, {Name: "mean_squared_error", Value: p.MSE}, {Name: "root_mean_squared_error", Value: math.Sqrt(p.MSE)}}
	if p.Form != naiveForm {
		out = append(out, family.Metric{Name: "aicc", Value: p.AICc})
	}
	return out
}

// ahead calls put with the mean and the variance of each of the next values.
func (p *forecaster) ahead(horizon int, put func(mean, variance float64) error) error {
	if p.arima != nil {
		return p.arimaAhead(horizon, put)
	}
	if f, ok := formOf(p.Form); ok {
		return p.smoothedAhead(f, horizon, put)
	}
	m := len(p.Season)
	for h := range horizon {
		if err := put(p.Season[h%m], float64(p.Sigma2*float64(h/m+1))); err != nil {
			return err
		}
	}
	return nil
}

// smoothedAhead is ahead of a form of exponential smoothing. The variances are those of Hyndman et al. (2008), chapter 6:
// class 1, added errors; class 2, relative errors. Of a season that multiplies they are those of class 2 without the season,
// times its square: an error counts in the level and, a season later, in the season too, which is taken to add.
func (p *forecaster) smoothedAhead(f form, horizon int, put func(mean, variance float64) error) error {
	m := len(p.Season)
	var damped, power float64 = 0, 1 // φ + … + φ^h, and φ^h
	var counts, squares []float64    // c, what an error j steps ago counts; θ, the mean squares without the error of the step itself
	var levels []float64             // q, of a season that multiplies
	sum := 1.0                       // of c²
	for h := 1; h <= horizon; h++ {
		if f.trend != 'N' {
			power = float64(power * p.Phi)
			damped += power
		}
		q := p.Level + float64(p.Trend*damped)
		s := p.Season[(h-1)%m]
		mean := q
		switch f.season {
		case 'A':
			mean = q + s
		case 'M':
			mean = float64(q * s)
		}
		v := float64(p.Sigma2 * sum)
		if f.relative {
			mu := mean
			if f.season == 'M' {
				mu = q
				levels = append(levels, q)
			}
			theta := float64(mu * mu)
			for j, c := range counts { // of an error j+1 steps ago
				if f.season == 'M' && (j+1)%m == 0 {
					c += float64(p.Gamma * (q / levels[h-2-j]))
				}
				theta += float64(float64(p.Sigma2*float64(c*c)) * squares[h-2-j])
			}
			squares = append(squares, theta)
			if v = float64((1+p.Sigma2)*theta) - float64(mu*mu); f.season == 'M' {
				v = float64(float64(s*s) * v)
			}
		}
		if err := put(mean, math.Max(v, 0)); err != nil {
			return err
		}
		c := p.Alpha + float64(p.Beta*damped)
		if f.season == 'A' && h%m == 0 {
			c += p.Gamma
		}
		sum += float64(c * c)
		counts = append(counts, c)
	}
	return nil
}

// horizon is that of a forecast that is not told one.
func (p *forecaster) horizon() int {
	switch {
	case p.Horizon > 0:
		return int(p.Horizon)
	case p.Period > 1:
		return int(p.Period)
	}
	return 10
}

// Forecast implements family.Forecaster.
func (p *forecaster) Forecast(horizon int, confidence float64, put func(row []types.Datum) error) error {
	if horizon == 0 {
		horizon = p.horizon()
	}
	c, z, h := clock{p.time}, float64(math.Sqrt2*math.Erfinv(confidence)), int64(0)
	return p.ahead(horizon, func(mean, variance float64) error {
		h++
		t, err := c.after(p.Last, p.Every, h)
		if err != nil {
			return err
		}
		sd := math.Sqrt(variance)
		width := float64(z * sd)
		return put([]types.Datum{t, mean, sd, confidence, mean - width, mean + width})
	})
}

// Describe implements family.Describer: the parameters and the last states, with the form as their class.
func (p *forecaster) Describe(relation string) (rows [][]types.Datum, ok bool) {
	if relation != "weights" {
		return nil, false
	}
	add := func(name string, v float64) {
		rows = append(rows, append([]types.Datum{p.Form, name, v}, make([]types.Datum, 5)...))
	}
	if p.arima != nil {
		p.arima.describe(p.Period, p.names, add)
		return rows, true
	}
	f, smoothed := formOf(p.Form)
	if smoothed {
		add("alpha", p.Alpha)
		if f.trend != 'N' {
			add("beta", p.Beta)
		}
		if f.season != 'N' {
			add("gamma", p.Gamma)
		}
		if f.trend == 'D' {
			add("phi", p.Phi)
		}
		add("level", p.Level)
		if f.trend != 'N' {
			add("trend", p.Trend)
		}
	}
	if !smoothed || f.season != 'N' {
		for j, v := range p.Season {
			add("season_"+strconv.Itoa(j+1), v)
		}
	}
	return rows, true
}

// Interfaces.
var (
	_ family.Predictor    = (*forecaster)(nil)
	_ family.Forecaster   = (*forecaster)(nil)
	_ family.SeriesReader = (*forecaster)(nil)
	_ family.Describer    = (*forecaster)(nil)
)
