package aft

import (
	"math"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/optim"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// mostHalvings is how often a step of Newton's that does not lower the loss is halved.
const mostHalvings = 60

// mostParameters bounds the Hessian.
const mostParameters = 1 << 12

// driver implements family.Driver by Newton's method.
type driver struct {
	set    *family.Setup
	p      *problem
	charge family.Charge
	progress
	state family.State
}

// progress is the state of a training.
type progress struct {
	Op     uint8
	Theta  []float64 // evaluated next
	From   []float64 // the last that was accepted
	Step   []float64 // of Newton's from there
	Halved int       // how often
	Loss   float64   // of From
	Last   bool      // a last step: near the minimum it squares the distance
	Final  bool      // the last evaluation, for the standard errors
	Errors []float64 // of the weights, the intercept and the logarithm of the scale; nil with a penalty
}

func newDriver(s *family.Setup, n *family.Node) (family.Driver, error) {
	d := &driver{set: s, p: newProblem(s), charge: n.Charge()}
	if d.p.size() > mostParameters {
		return nil, pgerr.Unsupported("AFT models of more than %d parameters are not supported", mostParameters).WithHint("Use fewer features, or max_categories.")
	}
	d.Op = opMoments
	d.state = family.State{TrainLoss: family.NoLoss(), ValidationLoss: family.NoLoss()}
	size := int64(d.p.size())
	return d, d.charge.Set(8 * (4*size*size + 8*size))
}

// Next implements family.Driver.
func (d *driver) Next() *family.Step {
	s := &family.Step{Op: d.Op, Set: family.Train}
	if d.Op != opMoments {
		s.Body = &point{d.Theta}
	}
	if d.Final && d.Op == opLoss { // of the rows held out
		s.Set = family.Held
	}
	return s
}

// Tell implements family.Driver.
func (d *driver) Tell(m family.Message) error {
	d.state.Evals++
	v, ok := m.(*sums)
	if !ok || len(v.V) != d.p.sumsLen(d.Op) {
		return pgerr.Internal("the sums of an AFT model do not fit")
	}
	switch {
	case d.Op == opMoments:
		return d.begin(v.V)
	case d.Op == opLoss:
		d.state.ValidationLoss, d.state.Done = v.V[0]/v.V[1], true
		return nil
	}
	return d.evaluated(v.V)
}

// begin begins with the mean and the spread of the logarithms of durations.
func (d *driver) begin(m []float64) error {
	if !(m[3] > 0) {
		return pgerr.New(pgerr.InvalidParameterValue, "the event happened in none of the training rows")
	}
	mean := m[1] / m[0]
	tau := 1.0
	if v := m[2]/m[0] - float64(mean*mean); v > 1e-12 {
		tau = 1 / math.Sqrt(v)
	}
	d.Theta, d.Op = make([]float64, d.p.size()), opNewton
	d.Theta[d.p.n], d.Theta[d.p.n+1] = float64(mean*tau), tau
	return nil
}

// penalty is that of parameters: of the features' alone.
func (d *driver) penalty(theta []float64) float64 {
	return float64(0.5 * float64(d.p.l2*d.p.weight) * f64.Dot(theta[:d.p.n], theta[:d.p.n]))
}

// evaluated takes an evaluation at Theta, and goes on from there unless the loss is higher.
func (d *driver) evaluated(v []float64) error {
	size, n := d.p.size(), d.p.n
	loss := v[0] + d.penalty(d.Theta)
	switch {
	case d.From != nil && !d.Final && !(loss <= d.Loss+float64(1e-13*math.Abs(d.Loss))):
		if d.Halved++; d.Halved > mostHalvings {
			// No step lowers the loss any more: the last accepted parameters are evaluated again, to end there.
			d.Theta, d.Last, d.Final = d.From, true, true
			return nil
		}
		d.halve()
		return nil
	case math.IsInf(loss, 0) || math.IsNaN(loss):
		return optim.Diverged(d.state.Iteration)
	case d.From != nil && !d.Final:
		d.state.Iteration++
	}
	d.From, d.Loss, d.Halved = d.Theta, loss, 0
	d.state.TrainLoss = v[0] / v[1]
	grad, h := v[2:2+size], v[2+size:]
	penalty := float64(d.p.l2 * d.p.weight)
	for j := range n {
		grad[j] += float64(penalty * d.From[j])
		h[j*size+j] += penalty
	}
	c := optim.Factor(h, size)
	if d.Final || d.Last || d.state.Iteration >= d.set.Plan.MaxIterations {
		return d.end(c)
	}
	d.Step = make([]float64, size)
	minus := make([]float64, size)
	f64.Axpy(minus, -1, grad)
	c.Solve(d.Step, minus)
	d.Last = float64(0.5*f64.Dot(d.Step, minus)) <= float64(d.set.Options.Float("tolerance", 1e-10)*math.Max(1, math.Abs(d.Loss)))
	d.Theta = slices.Clone(d.From)
	f64.Axpy(d.Theta, 1, d.Step)
	for d.Theta[n+1] <= 0 && d.Halved < mostHalvings { // the inverse of the scale is above 0
		d.Halved++
		d.halve()
	}
	return nil
}

// halve makes the step half as long.
func (d *driver) halve() {
	for j := range d.Theta {
		d.Theta[j] = d.From[j] + float64(math.Ldexp(1, -d.Halved)*d.Step[j])
	}
}

// end computes standard errors from the inverse of the observed information, by the rule for functions of estimates.
func (d *driver) end(c *optim.Cholesky) error {
	if d.p.l2 == 0 {
		n, tau := d.p.n, d.From[d.p.n+1]
		of, col := make([]float64, d.p.size()), make([]float64, d.p.size())
		d.Errors = make([]float64, d.p.size())
		for j := range d.Errors {
			if d.Errors[j] = math.NaN(); c.Dead(j) || c.Dead(n+1) {
				continue
			}
			clear(of)
			if j <= n {
				of[j], of[n+1] = 1/tau, -d.From[j]/float64(tau*tau)
			} else {
				of[n+1] = -1 / tau
			}
			c.Solve(col, of)
			d.Errors[j] = math.Sqrt(math.Max(f64.Dot(of, col), 0))
		}
	}
	st := &d.state
	if st.Stopped, st.Converged = optim.Exhausted.String(), d.Last; d.Last {
		st.Stopped = optim.Converged.String()
	}
	d.Final, d.Theta, d.Op = true, d.From, opLoss
	st.Done = d.set.Held == 0
	return nil
}

// State implements family.Driver.
func (d *driver) State() family.State {
	st := d.state
	if st.Done {
		st.Metrics = []family.Metric{{Name: "log_likelihood", Value: -d.Loss + d.penalty(d.From)}, {Name: "scale", Value: 1 / d.From[d.p.n+1]}}
	}
	return st
}

// Predictor implements family.Driver.
func (d *driver) Predictor() (family.Predictor, error) {
	p := &predictor{problem: d.p, f: d.set.Fitted, shares: shares(d.set.Options), scale: 1 / d.From[d.p.n+1], errors: d.Errors}
	for _, v := range d.From[:d.p.n+1] {
		p.theta = append(p.theta, v/d.From[d.p.n+1])
	}
	return p, nil
}

// Encode implements family.Driver.
func (d *driver) Encode(e *canon.E) error {
	d.state.Encode(e)
	canon.Put(e, &d.progress)
	return nil
}

// UnmarshalBinary implements family.Driver.
func (d *driver) UnmarshalBinary(b []byte) error {
	r := canon.Read(b)
	state := family.DecodeState(r)
	p := canon.Get[progress](r)
	fits := func(v []float64) bool { return v == nil || len(v) == d.p.size() }
	if p.Op > opNewton || !fits(p.Theta) || !fits(p.From) || !fits(p.Step) || !fits(p.Errors) || p.Op != opMoments && p.Theta == nil || p.Halved < 0 || p.Halved > mostHalvings+1 ||
		(p.Halved > 0 && (p.From == nil || p.Step == nil)) || (p.Final && p.From == nil) {
		r.Fail()
	}
	if err := r.Done("a training checkpoint"); err != nil {
		return err
	}
	d.progress, d.state = *p, state
	return nil
}
