package net

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/exec/kernel/pairs"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/optim"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// survivalDriver is the root.
//
//	times of events ─▶ ( risks ─▶ slopes │ hazards ) … ─▶ risks, for the baseline ─▶ pairs
//	                      after an iteration: the loss of the rows held out
type survivalDriver struct {
	set    *family.Setup
	hazard bool
	efron  bool
	spec   *spec
	net    *net
	mini   bool // an optimiser of mini-batches
	l2     float64

	opt   optim.Optimizer
	s     survivalProgress
	pairs family.Charge // of the concordance
}

// survivalProgress is the state of a training beside the optimiser's.
type survivalProgress struct {
	op              uint8
	held            bool         // the step is about the rows held out
	lines           [2]timeline  // of the rows to train on, and of those held out
	ends            []float64    // of intervals
	loss            float64      // of the evaluation whose gradient is being computed
	weight          float64      // likewise
	cumulative, own scaledSums   // of the step asked for, or at the end the baseline
	units           *optim.Units // that L-BFGS works in; nil for those of the rows
	shift           float64      // taken off all scores of the model, so that its baseline is a number
	ended           bool         // the optimiser is done
	state           family.State
	concordance     float64 // NaN: there is none
}

// maxPairs bounds the rows that the concordance is measured on.
const maxPairs = 1 << 20

// NewDriver implements family.Family.
func (survival) NewDriver(s *family.Setup, node *family.Node) (family.Driver, error) {
	o := s.Options
	d := &survivalDriver{set: s, hazard: o.Text("method", methodCox) == methodHazard, efron: efron(o), spec: survivalSpec(o),
		mini: o.Text("optimizer", "lbfgs") != "lbfgs", l2: o.Float("l2_reg", 0), pairs: node.Charge()}
	d.s = survivalProgress{op: opTimes, concordance: math.NaN(), state: family.State{TrainLoss: family.NoLoss(), ValidationLoss: family.NoLoss()}}
	return d, nil
}

// start makes the net and the optimiser, once the times are known.
func (d *survivalDriver) start() error {
	s, o := &d.s, d.set.Options
	line := &s.lines[0]
	if len(line.Times) == 0 {
		return pgerr.New(pgerr.InvalidParameterValue, "the event happened in none of the training rows")
	}
	if d.hazard {
		s.ends = o.Floats("intervals", []float64{0, 10})
		if s.ends[0] == 0 {
			if s.ends = line.quantiles(int(s.ends[1])); len(s.ends) == 0 {
				return pgerr.New(pgerr.InvalidParameterValue, "all events of the training rows happened at time 0")
			}
		}
	}
	if err := d.makeNet(); err != nil {
		return err
	}
	s.units = d.unitsOf(line.Sums)
	params := make([]float64, d.net.params())
	if len(d.spec.hidden) > 0 || d.set.Fitted.Codes > 0 {
		for i, v := range d.net.init(d.set.Seed) {
			params[i] = float64(v)
		}
	}
	d.makeOptimizer(params)
	d.s.op = d.first()
	return nil
}

// maxSurvivalParams bounds the parameters of a net, as L-BFGS keeps many vectors
// of them in float64.
const maxSurvivalParams = 1 << 26

func (d *survivalDriver) makeNet() error {
	d.net = d.spec.build(d.set.Fitted, survivalOutputs(d.hazard, d.s.ends))
	if d.net.params() > maxSurvivalParams {
		return pgerr.New(pgerr.ProgramLimitExceeded, "a net of %d parameters is too large: the most are %d", d.net.params(), maxSurvivalParams).At(d.set.Options.Pos("hidden_units"))
	}
	return nil
}

func (d *survivalDriver) makeOptimizer(params []float64) {
	o := d.set.Options
	stop := optim.Stop{Tolerance: o.Float("tolerance", 1e-5), MaxIter: d.set.Plan.MaxIterations}
	if !d.mini {
		if d.s.units == nil {
			d.opt = optim.NewLBFGS(params, stop, nil)
		} else {
			d.opt = optim.NewInUnits(d.s.units, params, func(x []float64) optim.Optimizer { return optim.NewLBFGS(x, stop, nil) })
		}
		return
	}
	stop.Tolerance = o.Float("tolerance", 0)
	cut := optim.Epoch{Steps: 1}
	if d.hazard {
		cut = d.set.Batches(o.Int("batch_size", 1024))
	}
	rule, rate := optim.Adam, 0.001
	switch o.Text("optimizer", "") {
	case "sgd":
		rule, rate = optim.SGD, 0.01
	case "momentum":
		rule, rate = optim.Momentum, 0.01
	}
	d.opt = optim.NewStochastic(params, stop, rule, o.Float("learn_rate", rate), cut, d.set.Seed)
}

// inUnits reports whether the optimiser works in units of its own: of a linear model of hazards
// over columns that are not standardised.
func inUnits(s *family.Setup) bool {
	o := s.Options
	if o.Text("method", methodCox) != methodCox || o.Text("optimizer", "lbfgs") != "lbfgs" || len(o.Floats("hidden_units", nil)) > 0 {
		return false
	}
	return s.Fitted.Uneven("")
}

// unitsOf returns the units by the sums of the timeline, nil where those of the rows will do.
func (d *survivalDriver) unitsOf(sums []float64) *optim.Units {
	dense := d.set.Fitted.Dense
	if len(sums) != 1+2*dense {
		return nil
	}
	n := d.net.params() - 1 // all weights, of which those of the dense columns are before those of categories' vectors
	first := n + 1 - len(d.net.of(len(d.net.layers)-1, make([]float32, n+1)))
	u := &optim.Units{Target: 1, Center: make([]float64, n), Scale: make([]float64, n)}
	for j := range u.Scale {
		u.Scale[j] = 1
	}
	far := false
	for j := range dense {
		mean := sums[1+2*j] / sums[0]
		if v := sums[2+2*j]/sums[0] - float64(mean*mean); v > float64(1e-14*float64(mean*mean)) {
			u.Center[first+j], u.Scale[first+j] = mean, math.Sqrt(v)
			far = far || math.Abs(mean) > 16 || v > 16*16 || v < 1.0/(16*16)
		}
	}
	if !far {
		return nil
	}
	return u
}

// first is the step that begins an evaluation.
func (d *survivalDriver) first() uint8 {
	if d.hazard {
		return opHazards
	}
	return opRisks
}

// Next implements family.Driver.
func (d *survivalDriver) Next() *family.Step {
	s := &d.s
	step := &family.Step{Op: s.op, Set: family.Train}
	if s.held {
		step.Set = family.Held
	}
	if s.op == opTimes {
		return step
	}
	r := &survivalRequest{Params: narrowed(d.opt.State().Theta), Times: s.lines[step.Set>>1].Times}
	if d.hazard {
		r.Times = s.ends
	}
	step.Body = r
	if s.op == opSlopes || s.op == opHazards {
		step.Elements = len(r.Params)
	}
	switch {
	case s.op == opPairs:
		r.Every = uint64((d.measured() + maxPairs - 1) / maxPairs)
	case !s.held && !s.ended:
		want := d.opt.Next()
		r.Params = narrowed(want.Theta)
		if d.hazard {
			step.Batch = want.Batch
		}
		if s.op == opSlopes {
			r.Cumulative, r.Own = s.cumulative, s.own
		}
	}
	return step
}

func narrowed(v []float64) []float32 {
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x)
	}
	return out
}

// Tell implements family.Driver.
func (d *survivalDriver) Tell(m family.Message) error {
	s := &d.s
	s.state.Evals++
	switch p := m.(type) {
	case *timeline:
		return d.timed(p)
	case *risks:
		return d.risked(p)
	case *slopes:
		if s.held {
			return d.iterated(mean(p.Loss, p.Weight))
		}
		if d.hazard {
			return d.evaluated(p.Loss, p.Weight, p.Grad)
		}
		return d.evaluated(s.loss, s.weight, p.Grad)
	case *concordanceRows:
		if c, ok := pairs.Concordance(p.Rows); ok {
			s.concordance = c
		}
		s.state.Done = true
		return nil
	}
	return pgerr.Internal("a partial of a model of times is %T", m)
}

func mean(sum, weight float64) float64 {
	if weight > 0 {
		return sum / weight
	}
	return sum
}

// timed handles the event times of the training rows or of the held-out ones.
func (d *survivalDriver) timed(t *timeline) error {
	s := &d.s
	if s.held {
		s.lines[1], s.held = *t, false
		return d.start()
	}
	s.lines[0] = *t
	if len(t.Times) > maxTimes {
		_, err := t.merge(&timeline{})
		return err
	}
	if d.set.Held > 0 {
		s.held = true
		return nil
	}
	return d.start()
}

// risked handles the sums over rows at risk: of an evaluation, of the held-out
// rows, or at the end for the baseline hazard.
func (d *survivalDriver) risked(r *risks) error {
	s := &d.s
	line := &s.lines[0]
	if s.held {
		line = &s.lines[1]
	}
	loss, cumulative, own, err := line.likelihood(r, d.efron)
	switch {
	case err != nil:
		return err
	case s.held:
		return d.iterated(mean(loss, r.Weight))
	}
	s.loss, s.weight, s.cumulative, s.own = loss, r.Weight, cumulative, own
	if !s.ended {
		if loss-loss != 0 { // the optimiser refuses the step, whose gradient would be nonsense
			return d.evaluated(loss, r.Weight, make([]float64, d.net.params()))
		}
		s.op = opSlopes
		return nil
	}
	if !s.rebase() || loss-loss != 0 {
		return optim.Diverged(s.state.Iteration)
	}
	return d.measure()
}

// rebase makes the baseline plain numbers: where the scores are so great that it is none, they
// are all shifted. It reports whether there is one.
func (s *survivalProgress) rebase() bool {
	c := &s.cumulative
	if len(c.E) > 0 {
		s.shift = float64(float32(-c.get(len(c.V) - 1).log())) // hazards of about 1
		by := expScaled(s.shift)
		for k := range c.V {
			x := c.get(k)
			c.V[k] = scaled{float64(x.v * by.v), x.e + by.e}.at(0)
		}
		c.E = nil
	}
	for _, h := range c.V {
		if h-h != 0 {
			return false
		}
	}
	return true
}

// evaluated passes the requested evaluation to the optimiser.
func (d *survivalDriver) evaluated(loss, weight float64, grad []float64) (err error) {
	s := &d.s
	theta := d.opt.Next().Theta
	if len(grad) != len(theta) || !(weight > 0) && !d.mini {
		return pgerr.Internal("a model of %d parameters has a gradient of %d", len(theta), len(grad))
	}
	e := &optim.Eval{Loss: mean(loss, weight), Grad: grad}
	for i, g := range grad {
		grad[i] = mean(g, weight)
	}
	if !d.hazard { // the partial likelihood does not depend on the intercept, whose gradient is rounding errors alone
		if last := len(grad) - 1; d.s.units != nil {
			f64.Axpy(grad[:last], -grad[last], d.s.units.Center)
		}
		grad[len(grad)-1] = 0
	}
	if d.l2 > 0 {
		d.net.weights(func(from, to int) {
			for i := from; i < to; i++ {
				if !d.mini { // an optimiser of mini-batches only reports the loss
					e.Loss += float64(float64(0.5*d.l2) * float64(theta[i]*theta[i]))
				}
				e.Grad[i] += float64(d.l2 * theta[i])
			}
		})
	}
	if s.ended, err = d.opt.Tell(e); err != nil {
		return err
	}
	s.op = d.first()
	if d.opt.State().Iteration > s.state.Iteration {
		if d.set.Held > 0 {
			s.held = true
			if d.hazard {
				s.op = opHazardLoss
			}
			return nil
		}
		return d.iterated(math.NaN())
	}
	if s.ended {
		return d.iterated(s.state.ValidationLoss)
	}
	return nil
}

// iterated ends an iteration, whose loss of the rows held out is given.
func (d *survivalDriver) iterated(validation float64) error {
	s, st := &d.s, d.opt.State()
	s.held, s.op = false, d.first()
	s.state.Iteration, s.state.TrainLoss, s.state.ValidationLoss = st.Iteration, st.Loss, validation
	if d.l2 > 0 && !d.mini {
		d.net.weights(func(from, to int) {
			for _, v := range st.Theta[from:to] {
				s.state.TrainLoss -= float64(float64(0.5*d.l2) * float64(v*v))
			}
		})
	}
	if !s.ended {
		return nil
	}
	s.state.Stopped, s.state.Converged = st.Reason.String(), st.Reason != optim.Exhausted || d.mini
	if d.hazard {
		return d.measure()
	}
	return nil // the risks at the final parameters, for the baseline
}

// measure starts the step that computes the concordance.
func (d *survivalDriver) measure() error {
	d.s.op, d.s.held = opPairs, d.set.Held > 0
	return d.chargePairs()
}

// chargePairs charges the rows that the concordance is measured on.
func (d *survivalDriver) chargePairs() error {
	return d.pairs.Set(pairs.ConcordanceBytes(min(d.measured(), maxPairs)))
}

// measured is the number of rows that the concordance is of, before sampling one in every.
func (d *survivalDriver) measured() int64 {
	if d.s.held {
		return d.set.Held
	}
	return d.set.Rows
}

// State implements family.Driver.
func (d *survivalDriver) State() family.State {
	st := d.s.state
	if c := d.s.concordance; c == c {
		st.Metrics = []family.Metric{{Name: "concordance", Value: c}}
	}
	return st
}

// Predictor implements family.Driver.
func (d *survivalDriver) Predictor() (family.Predictor, error) {
	s := &d.s
	params := narrowed(d.opt.State().Theta)
	for i, v := range params {
		if v-v != 0 {
			return nil, optim.Diverged(s.state.Iteration)
		}
		params[i] = v + 0 // no negative zeros in the bytes
	}
	if s.shift != 0 {
		params[len(params)-1] -= float32(s.shift)
	}
	if d.hazard {
		return newSurvivalPredictor(d.net, d.spec, d.set.Fitted, true, s.ends, nil, params), nil
	}
	return newSurvivalPredictor(d.net, d.spec, d.set.Fitted, false, s.lines[0].Times, s.cumulative.V[1:], params), nil
}

// Encode implements family.Driver.
func (d *survivalDriver) Encode(e *canon.E) error {
	s := &d.s
	e.U8(s.op)
	e.Bool(s.held)
	for i := range s.lines {
		s.lines[i].Encode(e)
	}
	e.F64s(s.ends)
	canon.Put(e, &s.cumulative)
	canon.Put(e, &s.own)
	e.F64(s.shift)
	s.units.Encode(e)
	e.F64(s.loss)
	e.F64(s.weight)
	e.Bool(s.ended)
	s.state.Encode(e)
	e.F64(s.concordance)
	if d.opt != nil {
		d.opt.Encode(e)
	}
	return nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (d *survivalDriver) UnmarshalBinary(b []byte) error {
	r := canon.Read(b)
	s := survivalProgress{op: r.U8(), held: r.Bool()}
	for i := range s.lines {
		s.lines[i] = *decodeTimeline(r)
	}
	s.ends, s.cumulative, s.own, s.shift = r.F64s(), *canon.Get[scaledSums](r), *canon.Get[scaledSums](r), r.F64()
	s.units = optim.DecodeUnits(r)
	s.loss, s.weight, s.ended, s.state, s.concordance = r.F64(), r.F64(), r.Bool(), family.DecodeState(r), r.F64()
	opt := r.Take(r.Left())
	m := len(s.lines[0].Times)
	if s.op < opTimes || s.op > opPairs || d.hazard && s.op != opTimes && !validEnds(s.ends) ||
		!d.hazard && (s.op == opSlopes || s.op == opPairs) && (!s.cumulative.fits(m+1) || !s.own.fits(m+1)) {
		r.Fail()
	}
	if err := r.Done("the training of a model of times"); err != nil {
		return err
	}
	d.s = s
	if s.op == opTimes {
		return nil
	}
	if err := d.makeNet(); err != nil {
		return err
	}
	if !s.units.Fits(d.net.params() - 1) {
		return pgerr.New(pgerr.DataCorrupted, "the training of a model of times is of other columns")
	}
	d.makeOptimizer(make([]float64, d.net.params()))
	if err := d.opt.UnmarshalBinary(opt); err != nil {
		return err
	}
	if len(d.opt.State().Theta) != d.net.params() {
		return pgerr.New(pgerr.DataCorrupted, "the training of a model of times has %d parameters, not %d", len(d.opt.State().Theta), d.net.params())
	}
	if s.op == opPairs {
		return d.chargePairs()
	}
	return nil
}
