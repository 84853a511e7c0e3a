package forecast

import (
	"context"
	"math"
	"slices"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// method returns the family of a form.
func (p *forecaster) method() *method {
	switch {
	case p.arima != nil:
		return autoregressive
	case p.Form == naiveForm:
		return seasonalNaive
	}
	return smoothing
}

// options reads those of a training that fitting a series asks for.
func (p *forecaster) options(args []family.Arg) (*family.Values, error) {
	m := p.method()
	var own []family.Arg
	for _, a := range args {
		if o := family.Find(m.options, a.Name); o != nil && o != family.OrderBy && o != family.SeriesID {
			own = append(own, a)
		}
	}
	return family.Read(own, m.options)
}

// rows returns those of r up to a time as a series, without what regressors add.
func (p *forecaster) rows(r *family.SeriesRows, until int64, o *family.Values) (*series, error) {
	in := &pairs{}
	for i, t := range r.Times {
		if t > until {
			break
		}
		v := r.Values[i]
		if r.Effects != nil {
			v -= r.Effects[i]
		}
		if v-v != 0 {
			return nil, pgerr.New(pgerr.NullValueNotAllowed, "a row of a series has a value or a regressor that is NULL or not finite").WithHint("Leave such rows out: WHERE … IS NOT NULL.")
		}
		in.Times, in.Values = append(in.Times, t), append(in.Values, v)
	}
	if len(in.Times) == 0 {
		return nil, nil
	}
	return clock{p.time}.seriesOf(in, gapsOf(o), func(int64) error { return nil })
}

// Expect implements family.SeriesReader.
func (p *forecaster) Expect(ctx context.Context, r *family.SeriesRows, horizon int) (mean, deviation []float64, err error) {
	n := len(r.Times)
	mean, deviation = make([]float64, n), make([]float64, n)
	for i := range mean {
		mean[i], deviation[i] = math.NaN(), math.NaN()
	}
	effect := func(i int) float64 {
		if r.Effects == nil {
			return 0
		}
		return r.Effects[i]
	}
	c := clock{p.time}
	if n > 0 && r.Times[0] <= p.Last && r.Values != nil {
		o, err := p.options(r.Options)
		if err != nil {
			return nil, nil, err
		}
		s, err := p.rows(r, p.Last, o)
		if err != nil {
			return nil, nil, err
		}
		means, sds, err := p.within(ctx, s)
		if err != nil {
			return nil, nil, err
		}
		for i, t := range r.Times {
			if t > p.Last {
				break
			}
			k, _ := c.steps(r.Times[0], t, s.Every)
			mean[i], deviation[i] = means[k]+effect(i), sds[k]
		}
	}
	after, _ := slices.BinarySearch(r.Times, p.Last+1)
	at := make([]int64, n)
	most := int64(0)
	for i := after; i < n; i++ {
		k, whole := c.steps(p.Last, r.Times[i], p.Every)
		if !whole {
			return nil, nil, pgerr.New(pgerr.InvalidParameterValue, "%s is no whole step of %s after the end of a series, %s", c.text(r.Times[i]), c.describe(p.Every), c.text(p.Last)).
				WithHint("Bring the times to the steps that the model was trained on.")
		}
		if horizon > 0 && k > int64(horizon) {
			continue
		}
		if at[i], most = k, max(most, k); k > mostHorizon {
			return nil, nil, pgerr.New(pgerr.ProgramLimitExceeded, "%s is more than %d steps after the end of a series, %s", c.text(r.Times[i]), mostHorizon, c.text(p.Last)).
				WithHint("Train the model again: RETRAIN MODEL.")
		}
	}
	var means, variances []float64
	if err := p.ahead(int(most), func(m, v float64) error {
		means, variances = append(means, m), append(variances, v)
		return nil
	}); err != nil {
		return nil, nil, err
	}
	for i := after; i < n; i++ {
		if at[i] == 0 {
			continue
		}
		mean[i], deviation[i] = means[at[i]-1]+effect(i), math.Sqrt(variances[at[i]-1])
	}
	return mean, deviation, nil
}

// within returns what is expected of each step of a series one step ahead.
func (p *forecaster) within(ctx context.Context, s *series) (mean, sd []float64, err error) {
	n := len(s.Y)
	mean, sd = make([]float64, n), make([]float64, n)
	for i := range mean {
		mean[i], sd[i] = math.NaN(), math.NaN()
	}
	sigma := math.Sqrt(p.Sigma2)
	switch {
	case p.arima != nil:
		lead := len(p.arima.Tail)
		if e, ok := p.replayed(s.Y); ok {
			for t, v := range e.Errors[0] {
				mean[lead+t], sd[lead+t] = s.Y[lead+t]-float64(v*e.Scale[t]), float64(sigma*e.Scale[t])
			}
		}
	case p.Form == naiveForm:
		for t := int(p.Period); t < n; t++ {
			mean[t], sd[t] = s.Y[t-int(p.Period)], sigma
		}
	default:
		// The first states are not kept: they are those of the same form, fitted to the rows.
		o, err := p.options([]family.Arg{{Name: modelOption, Value: p.Form}})
		if err != nil {
			return nil, nil, err
		}
		f, err := fitNow(ctx, smoothing, s, int(p.Period), o)
		if err != nil {
			return nil, nil, err
		}
		made := f.result()
		sigma = math.Sqrt(made.Sigma2)
		x, _ := formOf(made.Form)
		fit := f.(*smoothFit)
		for t, v := range fit.fitted {
			if mean[t], sd[t] = float64(v*fit.scale), sigma; x.relative {
				sd[t] = float64(sigma * math.Abs(mean[t]))
			}
		}
	}
	return mean, sd, nil
}

// fitNow fits a series at once.
func fitNow(ctx context.Context, m *method, s *series, period int, o *family.Values) (fit, error) {
	f, err := m.begin(s, period, o)
	for done := false; err == nil && !done; {
		if err = ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		done, err = f.turn()
	}
	return f, err
}

// The sums of a backtest, in the order of Backtest's result.
const (
	sumFolds   = iota
	sumPoints  // how many values were forecast
	sumError   // of absolute errors
	sumSquare  // of squared errors
	sumShare   // of absolute errors as a share of the value, where that is not 0
	sumShares  // how many those are
	sumBoth    // of absolute errors as a share of the mean of value and forecast
	sumScaled  // of absolute errors beside the mean change of the series over a season before
	sumScaleds // how many those are
	sumCovered // how many values are within the interval
	numSums
)

// Backtest implements family.SeriesReader. A fold for which the series is too short is left out.
func (p *forecaster) Backtest(ctx context.Context, r *family.SeriesRows, f family.Folds) ([]float64, error) {
	sums := make([]float64, numSums)
	if len(r.Times) == 0 || r.Values == nil {
		return sums, nil
	}
	if f.Horizon == 0 {
		f.Horizon = p.horizon()
	}
	if f.Step == 0 {
		f.Step = f.Horizon
	}
	o, err := p.options(r.Options)
	if err != nil {
		return nil, err
	}
	last := r.Times[len(r.Times)-1]
	s, err := p.rows(r, last, o)
	if pgerr.Is(err, pgerr.InvalidParameterValue) && len(r.Times) < 2 {
		return sums, nil
	}
	if err != nil {
		return nil, err
	}
	n, m := len(s.Y), int(p.Period)
	known, effects := make([]bool, n), make([]float64, n)
	for i, t := range r.Times {
		k, _ := clock{p.time}.steps(r.Times[0], t, s.Every)
		if known[k] = true; r.Effects != nil {
			effects[k] = r.Effects[i]
		}
	}
	z := float64(math.Sqrt2 * math.Erfinv(f.Confidence))
	for k := range f.Folds {
		from := n - f.Horizon - (f.Folds-1-k)*f.Step
		if from < 2 {
			continue
		}
		before := &series{Y: s.Y[:from], Every: s.Every}
		fit, err := fitNow(ctx, p.method(), before, m, o)
		if pgerr.Is(err, pgerr.InvalidParameterValue) || pgerr.Is(err, pgerr.NumericValueOutOfRange) { // too short, or of values that fit nothing
			continue
		}
		if err != nil {
			return nil, err
		}
		scale, changes := 0.0, 0
		for t := m; t < from; t++ {
			if known[t] && known[t-m] {
				scale += math.Abs(s.Y[t] + effects[t] - s.Y[t-m] - effects[t-m])
				changes++
			}
		}
		scale /= float64(max(changes, 1))
		sums[sumFolds]++
		t := from
		err = fit.result().ahead(f.Horizon, func(mean, variance float64) error {
			if known[t] {
				value := s.Y[t] + effects[t]
				miss := math.Abs(s.Y[t] - mean)
				sums[sumPoints]++
				sums[sumError] += miss
				sums[sumSquare] += float64(miss * miss)
				if value != 0 {
					sums[sumShare] += miss / math.Abs(value)
					sums[sumShares]++
				}
				if both := math.Abs(value) + math.Abs(mean+effects[t]); both > 0 {
					sums[sumBoth] += float64(2*miss) / both
				}
				if scale > 0 {
					sums[sumScaled] += miss / scale
					sums[sumScaleds]++
				}
				if miss <= float64(z*math.Sqrt(variance)) {
					sums[sumCovered]++
				}
			}
			t++
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return sums, nil
}
