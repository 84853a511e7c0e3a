package forecast

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Names of options.
const (
	autoOption     = "auto_arima"
	orderOption    = "non_seasonal_order"
	seasonalOption = "seasonal_order"
	driftOption    = "include_drift"
)

// The largest orders that a statement may name.
const (
	mostNamed         = 12
	mostNamedSeasonal = 4
)

// autoregressive is ARIMA.
var autoregressive = &method{
	info: family.Info{Name: "arima", Synonyms: []string{"auto_arima", "sarimax", "arima_plus", "arima_plus_xreg"}, Task: family.Forecasting, Regressed: "arima",
		Doc: "Values and errors before, of the last steps and seasons, in differences and beside regressors; the order of least AICc, or the one that is named."},
	options: append(slices.Clip(shared),
		&family.Option{Names: []string{autoOption}, Type: "boolean", Default: "true without `non_seasonal_order`",
			Doc: "Whether the order is searched.", Read: family.Boolean},
		&family.Option{Names: []string{orderOption, "order"}, Type: "integers", Default: "searched",
			Doc: "The order `'(p, d, q)'`: how many values before, differences and errors before.", Read: readOrder(mostNamed)},
		&family.Option{Names: []string{seasonalOption}, Type: "integers", Default: "`'(0, 0, 0)'` with `non_seasonal_order`, else searched",
			Doc: "The same in steps of a season, `'(P, D, Q)'`. It needs `non_seasonal_order`.", Read: readOrder(mostNamedSeasonal)},
		&family.Option{Names: []string{driftOption}, Type: "boolean", Default: "false with `non_seasonal_order`, else as AICc has it",
			Doc: "Whether a series of one difference has a drift. It needs `non_seasonal_order`.", Read: family.Boolean},
		family.Holidays,
		&family.Option{Names: []string{"holiday_region"}, Type: "text", Doc: "Not supported: there is no calendar of regions here. Name a relation of days: `holidays`."},
		&family.Option{Names: []string{"clean_spikes_and_dips", "adjust_step_changes", "decompose_time_series"}, Type: "boolean",
			Doc: "Not supported: values are taken as they are. `ml.detect_anomalies` finds unusual ones."}),
	begin:      beginArima,
	check:      checkOrders,
	regressors: true,
	workBytes:  40 * 8,
}

// readOrder returns a reader of three integers, as an array or as a text in parentheses.
func readOrder(most int64) func(family.Value) (any, error) {
	integers := family.Integers(0, most)
	return func(v family.Value) (any, error) {
		as := v
		if text, ok := v.Value.(string); ok {
			a := types.Array{Elem: types.Int8}
			for _, part := range strings.Split(strings.Trim(text, "()[] "), ",") {
				if n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 64); err == nil {
					a.Elems = append(a.Elems, n)
				} else {
					a.Elems = append(a.Elems, part)
				}
			}
			as.Value = a
		}
		got, err := integers(as)
		if list, ok := got.([]float64); err != nil || !ok || len(list) != 3 || list[1] > mostD {
			return nil, v.Bad("three integers, such as '(1, 1, 1)', from 0 to " + strconv.FormatInt(most, 10) + ", the second at most 2")
		}
		return got, nil
	}
}

// checkOrders checks options against each other.
func checkOrders(o *family.Values) error {
	named := o.Given(orderOption)
	if !named && !o.Bool(autoOption, true) {
		return pgerr.New(pgerr.InvalidParameterValue, "no order is named, and none is to be searched").At(o.Pos(autoOption)).WithHint("Name it: non_seasonal_order = '(1, 1, 1)'.")
	}
	if err := o.Fit(
		family.Unfit{Option: autoOption, Why: "The order is named.", If: named && o.Bool(autoOption, false)},
		family.Unfit{Option: seasonalOption, Why: "It needs non_seasonal_order: without it the order is searched.", If: !named},
		family.Unfit{Option: driftOption, Why: "It needs non_seasonal_order: without it the order is searched.", If: !named},
	); err != nil || !named {
		return err
	}
	x := namedOrder(o)
	return o.Fit(family.Unfit{Option: driftOption, Why: "A drift is of a series of one difference.", If: o.Bool(driftOption, false) && x.D+x.SeasonalD != 1})
}

// namedOrder is the order that the options name.
func namedOrder(o *family.Values) order {
	a, b := o.Floats(orderOption, make([]float64, 3)), o.Floats(seasonalOption, make([]float64, 3))
	x := order{P: int(a[0]), D: int(a[1]), Q: int(a[2]), SeasonalP: int(b[0]), SeasonalD: int(b[1]), SeasonalQ: int(b[2])}
	x.Constant = x.D+x.SeasonalD == 0 || o.Bool(driftOption, false)
	return x
}

// tried is an order that a search has fitted, with its criterion.
type tried struct {
	Order order
	AICc  float64
}

// arimaFit implements fit.
type arimaFit struct {
	s       *series
	y       []float64 // the series, divided by scale
	scale   float64   // a power of two
	m       int
	first   order // its differences, of a search
	named   *order
	exactly bool    // fits of the search are by the likelihood
	tried   []tried // in the order of the search
	reg     *regression
	of      order // whose differences reg has
	best    *arimaFitted
	made    *forecaster
}

// As in the R package, orders of long series are compared by quick fits.
const (
	fewSteps    = 150
	shortSeason = 12
)

// beginArima is the method's begin.
func beginArima(s *series, m int, o *family.Values) (fit, error) {
	f := &arimaFit{s: s, m: m, scale: scaleOf(s.Y)}
	f.y = make([]float64, len(s.Y))
	for i, v := range s.Y {
		f.y[i] = v / f.scale
	}
	f.exactly = len(f.y) <= fewSteps && m <= shortSeason
	if o.Given(orderOption) {
		x := namedOrder(o)
		if x.SeasonalP+x.SeasonalD+x.SeasonalQ > 0 && m == 1 {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "a seasonal order is given, and it is not known how long a season is").WithHint("Give the option seasonal_periods.")
		}
		f.named = &x
		return f, nil
	}
	if len(f.y) < 2*m {
		f.m = 1
	}
	f.first.SeasonalD = seasonalDifferences(f.y, f.m)
	f.first.D = differences(f.first.differenced(f.y, f.m))
	return f, nil
}

// regression returns the series and the regressors in the differences of an order.
func (f *arimaFit) regression(o order) *regression {
	if f.reg != nil && f.of == o {
		return f.reg
	}
	r := &regression{m: f.m, w: o.differenced(f.y, f.m)}
	if o.Constant {
		ones := make([]float64, len(r.w))
		for i := range ones {
			ones[i] = 1
		}
		r.x = append(r.x, ones)
	}
	for _, x := range f.s.x {
		r.x = append(r.x, o.differenced(x, f.m))
	}
	f.reg, f.of = r, o
	return r
}

// turn implements fit.
func (f *arimaFit) turn() (bool, error) {
	if f.named != nil {
		if f.best, _ = f.regression(*f.named).fit(*f.named, true); f.best == nil {
			return false, pgerr.New(pgerr.InvalidParameterValue, "%s does not fit a series of %d steps", f.named.name(f.m), len(f.y)).
				WithHint("Name a lower order, or none, or take more rows.")
		}
		return true, nil
	}
	left := mostModels
	if len(f.y) >= manySteps {
		left = 1
	}
	done := true
	try := func(o order) (float64, bool) {
		if i := slices.IndexFunc(f.tried, func(t tried) bool { return t.Order == o }); i >= 0 {
			return f.tried[i].AICc, true
		}
		if left--; left < 0 {
			done = false
			return 0, false
		}
		t := tried{o, math.Inf(1)}
		got, ok := f.regression(o).fit(o, f.exactly)
		if ok && !f.exactly && !got.ARMA.inner(f.m) {
			got, ok = f.regression(o).fit(o, true)
		}
		if ok && got.ARMA.stable(f.m) {
			t.AICc = got.AICc
		}
		f.tried = append(f.tried, t)
		return t.AICc, true
	}
	if w := f.first.differenced(f.y, f.m); len(f.s.x) == 0 && constant(w) {
		o := f.first
		o.Constant = o.D+o.SeasonalD <= 1
		try(o)
	} else {
		f.first.stepwise(f.m, len(f.y), try)
	}
	if !done {
		return false, nil
	}
	best := slices.Clone(f.tried)
	slices.SortStableFunc(best, func(a, b tried) int { return cmp.Compare(a.AICc, b.AICc) })
	for _, t := range best {
		if math.IsInf(t.AICc, 1) {
			break
		}
		if got, ok := f.regression(t.Order).fit(t.Order, true); ok && got.ARMA.stable(f.m) {
			f.best = got
			return true, nil
		}
	}
	return false, pgerr.New(pgerr.InvalidParameterValue, "no ARIMA model fits a series of %d steps", len(f.y)).WithHint("Take more rows, or seasonal_naive.")
}

// result implements fit.
func (f *arimaFit) result() *forecaster {
	if f.made != nil {
		return f.made
	}
	b := f.best
	o, r := b.Order, f.regression(b.Order)
	n := float64(len(r.w))
	part := &arimaPart{Diff: int64(o.D), SeasonalDiff: int64(o.SeasonalD), Constant: o.Constant, AR: b.ARMA.AR, SeasonalAR: b.ARMA.SeasonalAR, MA: b.ARMA.MA, SeasonalMA: b.ARMA.SeasonalMA}
	weights := b.Weights
	if o.Constant {
		part.Mean, weights = float64(weights[0]*f.scale), weights[1:]
	}
	for _, w := range weights {
		part.Weights = append(part.Weights, float64(w*f.scale))
	}
	p := &forecaster{Form: o.name(f.m), Period: int64(f.m), AICc: b.AICc + float64(2*n*f64.Log1(f.scale)), arima: part,
		Sigma2: float64(b.squares / math.Max(n-float64(o.parameters()+len(r.x)), 1) * float64(f.scale*f.scale))}
	level := slices.Clone(f.s.Y)
	for j, w := range part.Weights {
		f64.Axpy(level, -w, f.s.x[j])
	}
	tail := int(part.Diff) + f.m*int(part.SeasonalDiff)
	part.Tail = level[len(level)-tail:]
	if e, ok := p.replayed(level); ok {
		part.State = e.State[0]
		for t, v := range e.Errors[0] {
			v = float64(v * e.Scale[t])
			p.MSE += float64(v * v)
			p.MAE += math.Abs(v)
		}
	}
	p.MSE, p.MAE = p.MSE/n, p.MAE/n
	f.made = p
	return p
}

func (f *arimaFit) encode(e *canon.E) {
	e.Int(len(f.tried))
	for i := range f.tried {
		canon.Put(e, &f.tried[i])
	}
}

func (f *arimaFit) decode(d *canon.D) {
	f.tried = nil
	for range d.Int() {
		if !d.OK() || len(f.tried) > mostModels {
			d.Fail()
			return
		}
		f.tried = append(f.tried, *canon.Get[tried](d))
	}
}

// arimaPart is what a forecaster of an ARIMA model has beside the others.
type arimaPart struct {
	Diff, SeasonalDiff             int64
	Constant                       bool
	Mean                           float64 // of the differences
	AR, SeasonalAR, MA, SeasonalMA []float64
	Weights                        []float64 // of regressors: by parameter of the encoders, without the time
	State                          []float64 // what is expected of the next differences, beside their mean
	Tail                           []float64 // the last values, without what the regressors add
}

func (a *arimaPart) order() order {
	return order{P: len(a.AR), D: int(a.Diff), Q: len(a.MA), SeasonalP: len(a.SeasonalAR), SeasonalD: int(a.SeasonalDiff), SeasonalQ: len(a.SeasonalMA), Constant: a.Constant}
}

func (a *arimaPart) arma() *arma { return &arma{a.AR, a.SeasonalAR, a.MA, a.SeasonalMA} }

// decodeArima reads a part, and fails d where it is not one of seasons of m steps.
func decodeArima(d *canon.D, form string, m int64) *arimaPart {
	a := canon.Get[arimaPart](d)
	fits := a.Diff >= 0 && a.Diff <= mostD && a.SeasonalDiff >= 0 && a.SeasonalDiff <= mostD && m >= 1 && m <= mostPeriod &&
		max(len(a.AR), len(a.MA)) <= mostNamed && max(len(a.SeasonalAR), len(a.SeasonalMA)) <= mostNamedSeasonal && len(a.Weights) <= mostRegressors
	if fits {
		o := a.order()
		r := max(o.P+int(m)*o.SeasonalP, o.Q+int(m)*o.SeasonalQ+1)
		fits = o.name(int(m)) == form && len(a.State) <= r && len(a.State) > 0 && len(a.Tail) == o.D+int(m)*o.SeasonalD
	}
	if !fits {
		d.Fail()
	}
	return a
}

// replayed returns the errors one step ahead of a series without what regressors add.
func (p *forecaster) replayed(level []float64) (*exact, bool) {
	o, m := p.arima.order(), int(p.Period)
	w := o.differenced(level, m)
	if len(w) == 0 {
		return nil, false
	}
	rest := make([]float64, len(w))
	for i, v := range w {
		rest[i] = v - p.arima.Mean
	}
	return p.arima.arma().filter(m, [][]float64{rest})
}

// arimaAhead is ahead of an ARIMA model: the mean by the recursions of the process and of its differences, the variance by the
// sum of the squares of the weights that they give to errors (ψ).
func (p *forecaster) arimaAhead(horizon int, put func(mean, variance float64) error) error {
	a, m := p.arima, int(p.Period)
	o := a.order()
	ar, ma, undo := a.arma().ar(m), a.arma().ma(m), o.undo(m)
	all := ar.with(undo)
	expected := slices.Clone(a.State) // of the differences
	level := slices.Clone(a.Tail)
	psi := make([]float64, 0, horizon)
	at, sum := 0, 0.0 // of the moving average
	for h := range horizon {
		if h >= len(expected) {
			v := 0.0
			for i, k := range ar.at {
				if k <= h {
					v += float64(ar.by[i] * expected[h-k])
				}
			}
			expected = append(expected, v)
		}
		mean := expected[h] + a.Mean
		for i, k := range undo.at {
			mean += float64(undo.by[i] * level[len(level)-k])
		}
		level = append(level, mean)
		w := 0.0
		if h == 0 {
			w = 1
		} else if at < len(ma.at) && ma.at[at] == h {
			w = ma.by[at]
			at++
		}
		for i, k := range all.at {
			if k <= h {
				w += float64(all.by[i] * psi[h-k])
			}
		}
		psi = append(psi, w)
		sum += float64(w * w)
		if err := put(mean, float64(p.Sigma2*sum)); err != nil {
			return err
		}
	}
	return nil
}

// describe calls add with the coefficients, and with the weights of regressors by these names.
func (a *arimaPart) describe(m int64, names []string, add func(name string, v float64)) {
	for _, p := range []struct {
		name string
		by   []float64
	}{{"ar", a.AR}, {"ma", a.MA}, {"sar", a.SeasonalAR}, {"sma", a.SeasonalMA}} {
		for i, v := range p.by {
			add(p.name+strconv.Itoa(i+1), v)
		}
	}
	switch {
	case a.Constant && a.Diff+a.SeasonalDiff == 0:
		add("intercept", a.Mean)
	case a.Constant && a.Diff == 0:
		add("drift", a.Mean/float64(m))
	case a.Constant:
		add("drift", a.Mean)
	}
	for i, w := range a.Weights {
		if i < len(names) {
			add(names[i], w)
		}
	}
}
