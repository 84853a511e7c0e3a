package cox

import (
	"math"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/exec/kernel/pairs"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/optim"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// mostPairs bounds the rows that the concordance is measured on: of more there is none.
const mostPairs = 1 << 20

// mostHalvings is how often a step of Newton's that does not lower the loss is halved.
const mostHalvings = 30

// driver implements family.Driver by Newton's method.
type driver struct {
	set    *family.Setup
	p      *problem
	charge family.Charge
	progress
}

// progress is the state of a training.
type progress struct {
	Op     uint8
	Events []event
	Theta  []float64   // evaluated next
	From   []float64   // the last that was accepted
	Step   []float64   // of Newton's from there
	Halved int         // how often
	At     *evaluation // of From; nil before the first
	Last   bool        // a last evaluation, for the standard errors
	Errors []float64   // by weight, NaN for none; nil with a penalty

	state       family.State
	concordance float64
}

func newDriver(s *family.Setup, n *family.Node) (family.Driver, error) {
	d := &driver{set: s, p: newProblem(s), charge: n.Charge()}
	d.Op, d.concordance = opTimes, math.NaN()
	d.state = family.State{TrainLoss: family.NoLoss(), ValidationLoss: family.NoLoss()}
	return d, nil
}

// Next implements family.Driver.
func (d *driver) Next() *family.Step {
	s := &family.Step{Op: d.Op, Set: family.Train}
	switch d.Op {
	case opTimes:
		return s
	case opPairs:
		if d.set.Held > 0 {
			s.Set = family.Held
		}
		s.Body = &request{Theta: d.From}
		return s
	}
	r := &request{Theta: d.Theta, Events: d.Events}
	if d.Op == opCurvature {
		r.Hazard, r.Own = d.At.Hazard, d.At.Own
	}
	s.Body = r
	return s
}

// Tell implements family.Driver.
func (d *driver) Tell(m family.Message) error {
	d.state.Evals++
	switch v := m.(type) {
	case *events:
		return d.begin(v.List)
	case *sums:
		if d.Op == opCurvature {
			return d.curved(v.V)
		}
		if len(v.V) != d.p.sumsLen(len(d.Events)) {
			return pgerr.Internal("the sums of a Cox model do not fit")
		}
		return d.evaluated(d.p.evaluate(d.Events, v.V))
	case *durations:
		if c, ok := pairs.Concordance(v.Rows); ok {
			d.concordance = c
		}
		d.state.Done = true
		return nil
	}
	return pgerr.Internal("a partial of a Cox model is %T", m)
}

// begin begins with weights of 0.
func (d *driver) begin(list []event) error {
	if len(list) == 0 {
		return pgerr.New(pgerr.InvalidParameterValue, "the event happened in none of the training rows")
	}
	if int64(d.p.sumsLen(len(list))) > mostSums {
		return errTooMany()
	}
	d.Events, d.Theta, d.Op = list, make([]float64, d.p.n), opRisks
	return d.charge.Set(8 * int64(3*d.p.sumsLen(len(list))+5*d.p.n*d.p.n))
}

// evaluated takes an evaluation at Theta.
func (d *driver) evaluated(ev *evaluation) error {
	ev.Loss += float64(0.5 * float64(d.p.l2*d.p.weight) * f64.Dot(d.Theta, d.Theta))
	f64.Axpy(ev.Grad, float64(d.p.l2*d.p.weight), d.Theta)
	switch {
	case d.At != nil && !(ev.Loss <= d.At.Loss+float64(1e-12*math.Abs(d.At.Loss))) && !d.Last && d.Halved < mostHalvings:
		d.Halved++
		for j := range d.Theta {
			d.Theta[j] = d.From[j] + float64(math.Ldexp(1, -d.Halved)*d.Step[j])
		}
		return nil
	case math.IsInf(ev.Loss, 0):
		return optim.Diverged(d.state.Iteration)
	case d.At != nil:
		d.state.Iteration++
	}
	d.At, d.From, d.Halved, d.Op = ev, d.Theta, 0, opCurvature
	d.state.TrainLoss = (ev.Loss - float64(0.5*float64(d.p.l2*d.p.weight)*f64.Dot(d.From, d.From))) / d.p.weight
	return nil
}

// curved takes the rest of the Hessian.
func (d *driver) curved(h []float64) error {
	n := d.p.n
	if len(h) != n*n {
		return pgerr.Internal("the Hessian of a Cox model does not fit")
	}
	size := make([]float64, n)
	for j := range n {
		size[j] = h[j*n+j]
		f64.Axpy(h[j*n:][:n], -1, d.At.Less[j*n:][:n])
		// What the subtraction leaves of a column that is the same in all rows at risk is rounding.
		if h[j*n+j] <= float64(1e-12*size[j]) {
			for k := range n {
				h[j*n+k], h[k*n+j] = 0, 0
			}
		}
		h[j*n+j] += float64(d.p.l2 * d.p.weight)
		if d.p.silent[j] {
			h[j*n+j] = 0
		}
	}
	c := optim.Factor(h, n)
	d.Step = make([]float64, n)
	minus := make([]float64, n)
	f64.Axpy(minus, -1, d.At.Grad)
	for j := range minus {
		if d.p.silent[j] {
			minus[j] = 0
		}
	}
	c.Solve(d.Step, minus)
	if d.Last || d.state.Iteration >= d.set.Plan.MaxIterations {
		d.infer(c)
		return d.end()
	}
	d.Theta = slices.Clone(d.From)
	f64.Axpy(d.Theta, 1, d.Step)
	// Near the minimum a step squares its distance: one more, and it is as near as numbers are.
	d.Last = 0.5*f64.Dot(d.Step, minus) <= d.set.Options.Float("tolerance", 1e-10)*math.Max(1, math.Abs(d.At.Loss))
	d.Op = opRisks
	return nil
}

// infer computes standard errors from the inverse of the observed information.
func (d *driver) infer(c *optim.Cholesky) {
	if d.p.l2 > 0 {
		return
	}
	d.Errors = make([]float64, d.p.n)
	unit, column := make([]float64, d.p.n), make([]float64, d.p.n)
	for j := range d.Errors {
		if d.Errors[j] = math.NaN(); c.Dead(j) {
			continue
		}
		clear(unit)
		unit[j] = 1
		c.Solve(column, unit)
		d.Errors[j] = math.Sqrt(math.Max(column[j], 0))
	}
}

// end ends the training, or measures the concordance first.
func (d *driver) end() error {
	st := &d.state
	if st.Stopped, st.Converged = optim.Exhausted.String(), d.Last; d.Last {
		st.Stopped = optim.Converged.String()
	}
	rows := d.set.Rows
	if d.set.Held > 0 {
		rows = d.set.Held
	}
	if d.p.entry >= 0 || d.p.stratum >= 0 || d.p.stratumOf >= 0 || rows > mostPairs {
		st.Done = true // of rows that are at risk for a part of the time, or of strata, there is no such index
		return nil
	}
	d.Op = opPairs
	return nil
}

// State implements family.Driver.
func (d *driver) State() family.State {
	st := d.state
	if c := d.concordance; c == c {
		st.Metrics = []family.Metric{{Name: "concordance", Value: c}}
	}
	return st
}

// Predictor implements family.Driver.
func (d *driver) Predictor() (family.Predictor, error) {
	return &predictor{problem: d.p, f: d.set.Fitted, theta: d.From, errors: d.Errors, events: d.Events, hazard: d.At.Hazard}, nil
}

// Encode implements family.Driver.
func (d *driver) Encode(e *canon.E) error {
	d.state.Encode(e)
	e.F64(d.concordance)
	canon.Put(e, &d.progress)
	return nil
}

// UnmarshalBinary implements family.Driver.
func (d *driver) UnmarshalBinary(b []byte) error {
	r := canon.Read(b)
	state, concordance := family.DecodeState(r), r.F64()
	p := canon.Get[progress](r)
	fits := func(v []float64) bool { return v == nil || len(v) == d.p.n }
	if p.Op < opTimes || p.Op > opPairs || !fits(p.Theta) || !fits(p.From) || !fits(p.Step) || !fits(p.Errors) ||
		p.Op != opTimes && (len(p.Theta) != d.p.n || len(p.Events) == 0 || int64(d.p.sumsLen(len(p.Events))) > mostSums) || p.Op > opRisks && p.At == nil ||
		p.At != nil && (len(p.At.Grad) != d.p.n || len(p.At.Less) != d.p.n*d.p.n || len(p.At.Hazard) != len(p.Events) || len(p.At.Own) != len(p.Events) || len(p.From) != d.p.n) ||
		!slices.IsSortedFunc(p.Events, event.compare) {
		r.Fail()
	}
	if err := r.Done("a training checkpoint"); err != nil {
		return err
	}
	d.progress, d.state, d.concordance = *p, state, concordance
	d.progress.state, d.progress.concordance = state, concordance
	return nil
}
