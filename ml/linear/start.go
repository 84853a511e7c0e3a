package linear

import (
	"math"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/gram"
	"github.com/tributarydb/tributary/ml/objective"
	"github.com/tributarydb/tributary/ml/optim"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// How a loss with kinks is smoothed: first over a fraction of the target's spread,
// then, stage by stage, over less, until that is a small fraction of the mean loss.
const (
	stages     = 20
	stageStep  = 8
	firstWidth = 1.0 / 8
	narrow     = 1e-7
)

// bounded records the bounds of columns and target, and chooses the grids of all sums.
func (d *driver) bounded(b *bounds) error {
	if err := d.checkTarget(b); err != nil {
		return err
	}
	center := d.how == byGram && d.root.intercept
	var ok bool
	if d.columns, ok = gram.Fit(b.Bounds, d.root.oneHot, center); !ok || !(math.Abs(b.YLow) < 1e140 && math.Abs(b.YHigh) < 1e140) {
		return pgerr.New(pgerr.NumericValueOutOfRange, "values of the features, the target or the weights are too large to train on")
	}
	for j, low := range b.Low {
		d.bound = append(d.bound, most2(math.Max(math.Abs(low), math.Abs(b.High[j]))))
	}
	d.spread = b.YHigh - b.YLow
	if center {
		d.shift = b.YLow + float64(0.5*d.spread)
	}
	d.factor = gram.Half(math.Max(math.Abs(b.YLow-d.shift), math.Abs(b.YHigh-d.shift)))
	w := most2(b.MaxWeight)
	d.train, d.held = most{w, w, w, w}, w
	if d.how == byRows {
		d.phase = toRows
		return nil
	}
	if d.how == byGram || d.preconditions() {
		d.phase = toGram
		return nil
	}
	d.middle = b.YLow + float64(0.5*d.spread)
	if d.spread == 0 {
		d.spread = 1
	}
	if d.inUnits() {
		d.setUnits(b)
		if d.uneven() && !d.sparse && d.root.per <= gramParams {
			d.phase = toGram
			return nil
		}
	}
	return d.startCold()
}

// startCold begins, once the columns are known.
func (d *driver) startCold() error {
	obj := d.root.objective(1)
	if _, ok := obj.(objective.Tweedie); ok && d.root.offset < 0 && d.root.intercept && !stochastic(d.s.Options) {
		d.phase = toMean
		return nil
	}
	switch obj.(type) {
	case objective.Huber:
		d.width = most2(d.spread)
		return d.start(d.middle)
	case objective.Quantile:
		d.width = float64(d.spread * firstWidth)
		return d.start(d.middle)
	}
	return d.start(0)
}

// checkTarget returns an error for targets outside the loss's domain.
func (d *driver) checkTarget(b *bounds) error {
	if t, ok := d.root.objective(1).(objective.Tweedie); ok {
		return t.Check(d.s.Fitted.Label.Name, d.g.info.Name, b.YLow, b.YHigh)
	}
	return nil
}

// goOn returns the parameters of the model that the training continues from, nil for
// none.
func (r *root) goOn(start family.Predictor) ([]float64, error) {
	m, ok := start.(*predictor)
	if !ok {
		return nil, nil
	}
	if len(m.theta) != r.size() || m.offset != r.offset {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "a training cannot go on from a model with another offset").At(r.o.Pos("warm_start")).
			WithHint("Leave warm_start out.")
	}
	theta := append([]float64{}, m.theta...)
	for k := range r.slopes {
		if !r.intercept {
			theta[(k+1)*r.per-1] = 0
		}
	}
	return theta, nil
}

// measures reports whether the tolerance is relative to a gradient that must be
// computed first.
func (d *driver) measures() bool { return !d.g.bends && !stochastic(d.s.Options) }

// start begins with weights of 0 and this intercept, or with the parameters of the
// model that the training continues from.
func (d *driver) start(middle float64) error {
	p := d.root.problem
	if d.from != nil && !d.measures() {
		return d.begin(d.from)
	}
	theta := make([]float64, p.size())
	for k := range p.slopes {
		if d.root.intercept {
			theta[(k+1)*p.per-1] = middle
		}
		if p.offset >= 0 {
			theta[k*p.per+p.offset] = 1
		}
	}
	for i := p.slopes * p.per; i < len(theta); i++ { // the logarithm of a scale
		theta[i] = math.Round(math.Log2(most2(d.spread))-3) * math.Ln2
	}
	return d.begin(theta)
}

// begin makes the optimiser, which starts at theta.
func (d *driver) begin(theta []float64) (err error) {
	d.phase, d.ended = toTrain, false
	d.opt, err = d.optimizer(theta)
	return err
}

// optimizer makes the optimiser that the statement asks for.
func (d *driver) optimizer(theta []float64) (optim.Optimizer, error) {
	o, s := d.s.Options, d.s
	stop := optim.Stop{Tolerance: o.Float("tolerance", 1e-6), MaxIter: s.Plan.MaxIterations - d.before}
	if d.cold > 0 {
		stop.From = d.cold
	}
	if d.g.bends { // its derivatives are about 1 almost everywhere
		stop.From = 1
	}
	if stochastic(o) {
		stop.Tolerance = o.Float("tolerance", 0)
	}
	cut := s.Batches(o.Int("batch_size", 1024))
	rate := func(def float64) float64 { return o.Float("learn_rate", def) }
	switch d.how {
	case lbfgs:
		l1s := d.root.l1s()
		minimiser := func(theta []float64) optim.Optimizer {
			if d.root.l1 > 0 {
				return optim.NewOWLQN(theta, l1s, stop)
			}
			return optim.NewLBFGS(theta, stop, d.first)
		}
		if d.units == nil {
			return minimiser(theta), nil
		}
		for i := range l1s { // a penalty on a weight in the rows' units
			if j := d.root.column(i); l1s[i] > 0 {
				l1s[i] /= d.units.Scale[j]
			}
		}
		return optim.NewInUnits(d.units, theta, minimiser), nil
	case newton:
		return optim.NewNewton(theta, stop), nil
	case newtonCG:
		return optim.NewNewtonCG(theta, stop), nil
	case gd:
		def := 0.0
		if o.Text("learn_rate_strategy", "") == "constant" {
			def = 0.1
		}
		return optim.NewGD(theta, stop, rate(def)), nil
	case "sgd":
		return optim.NewStochastic(theta, stop, optim.SGD, rate(0.01), cut, s.Seed), nil
	case "momentum":
		return optim.NewStochastic(theta, stop, optim.Momentum, rate(0.01), cut, s.Seed), nil
	case "adam":
		return optim.NewStochastic(theta, stop, optim.Adam, rate(0.001), cut, s.Seed), nil
	}
	return nil, pgerr.Internal("unknown optimizer %s", d.how)
}
