package linear

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/optim"
	"github.com/tributarydb/tributary/ml/reduce"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// driver asks the optimiser what to evaluate, and after each of its iterations
// for the loss of the rows held out.
type driver struct {
	g     *glm
	s     *family.Setup
	root  Root
	opt   optim.Optimizer
	state family.State
	stop  bool // early_stop
	least float64

	held    bool // the loss of the rows held out is wanted now
	ended   bool // the optimiser is done
	lastVal float64
	lastTr  float64
	// The best iteration, kept where early_stop is on.
	bestLoss float64
	best     []float64
}

// NewDriver implements family.Family.
func (g *glm) NewDriver(s *family.Setup) (family.Driver, error) {
	o := s.Options
	d := &driver{g: g, s: s, stop: o.Bool("early_stop", o.Given("min_rel_progress")), least: o.Float("min_rel_progress", 0.01),
		bestLoss: math.Inf(1), lastVal: math.NaN(), lastTr: math.NaN()}
	d.state = family.State{TrainLoss: math.NaN(), ValidationLoss: math.NaN()}
	d.root = Root{Outputs: g.objective(s.Classes()).Outputs(), Params: s.Fitted.Params(), L2: g.penalised(s), Intercept: o.Bool("fit_intercept", true)}
	var err error
	d.opt, err = g.optimizer(s, d.root.Outputs)
	return d, err
}

// Next implements family.Driver.
func (d *driver) Next() *family.Step {
	if d.held {
		return &family.Step{Op: evaluate, Set: family.Held, Body: &request{optim.Loss, d.opt.State().Theta}}
	}
	r := d.opt.Next()
	return &family.Step{Op: evaluate, Set: family.Train, Batch: r.Batch, Body: &request{r.Need, r.Theta}}
}

// Tell implements family.Driver.
func (d *driver) Tell(p family.Message) error {
	s, ok := p.(*reduce.Sums)
	if !ok {
		return pgerr.Internal("a partial of a linear model is %T", p)
	}
	if d.held {
		d.held = false
		loss := s.Loss
		if s.Weight > 0 {
			loss /= s.Weight
		}
		return d.iterated(float64(loss * d.g.scale))
	}
	req := d.opt.Next()
	e, err := d.eval(s, req)
	if err != nil {
		return err
	}
	d.ended, err = d.opt.Tell(e)
	if err != nil {
		return err
	}
	st := d.opt.State()
	d.state.Evals = st.Evals
	if st.Iteration > d.state.Iteration {
		if d.s.Held > 0 {
			d.held = true
			return nil
		}
		return d.iterated(math.NaN())
	}
	if d.ended { // it converged where it was
		if st.Iteration == 0 {
			d.state.TrainLoss = d.trainLoss()
		}
		d.done()
	}
	return nil
}

// eval gives the objective. A mini-batch's loss is without the penalty, which an
// optimiser of mini-batches only reports.
func (d *driver) eval(s *reduce.Sums, req optim.Request) (*optim.Eval, error) {
	if s.Weight == 0 { // a mini-batch of rows that do not count
		s.Weight = 1
	}
	loss := s.Loss / s.Weight
	e, err := d.root.Eval(s, req.Theta, req.Need)
	if err == nil && req.Batch != nil {
		e.Loss = loss
	}
	return e, err
}

// trainLoss is the mean loss at the accepted point.
func (d *driver) trainLoss() float64 {
	st := d.opt.State()
	loss := st.Loss
	if !stochastic(d.s.Options) {
		loss -= d.penalty(st.Theta)
	}
	return float64(loss * d.g.scale)
}

func (d *driver) penalty(theta []float64) float64 {
	per, p := d.root.Params+1, 0.0
	for k := range d.root.Outputs {
		w := theta[k*per:][:per-1]
		p += f64.Dot(w, w)
	}
	return float64(float64(0.5*d.root.L2) * p)
}

// iterated ends an iteration, whose loss of the rows held out is given.
func (d *driver) iterated(validation float64) error {
	st := d.opt.State()
	d.state.Iteration, d.state.TrainLoss, d.state.ValidationLoss = st.Iteration, d.trainLoss(), validation
	if d.stop {
		was, is := d.lastTr, d.state.TrainLoss
		if d.s.Held > 0 {
			was, is = d.lastVal, validation
		}
		if is < d.bestLoss {
			d.bestLoss, d.best = is, append(d.best[:0], st.Theta...)
		}
		if was-is < float64(d.least*math.Abs(was)) && !d.ended {
			d.state.Done, d.state.Converged, d.state.Stopped = true, true, "early_stop"
		}
		d.lastTr, d.lastVal = d.state.TrainLoss, validation
	}
	if d.ended {
		d.done()
	}
	return nil
}

func (d *driver) done() {
	st := d.opt.State()
	d.state.Done, d.state.Stopped = true, st.Reason.String()
	d.state.Converged = st.Reason != optim.Exhausted || stochastic(d.s.Options) // whose iterations are epochs, all of which are wanted
}

// State implements family.Driver.
func (d *driver) State() family.State { return d.state }

// Predictor implements family.Driver.
func (d *driver) Predictor() (family.Predictor, error) {
	from := d.opt.State().Theta
	if d.best != nil {
		from = d.best
	}
	theta := make([]float64, len(from))
	for i, v := range from {
		if v-v != 0 {
			return nil, pgerr.New(pgerr.NumericValueOutOfRange, "training diverged: a weight is not finite").
				WithHint("Lower learn_rate, standardize the features, or add a penalty with l2_reg.")
		}
		theta[i] = v + 0 // no negative zeros in the bytes
	}
	return d.g.predictor(d.s.Fitted, theta), nil
}

// MarshalBinary implements family.Driver.
func (d *driver) MarshalBinary() ([]byte, error) {
	b, err := d.opt.MarshalBinary()
	if err != nil {
		return nil, err
	}
	var e canon.E
	e.Bytes(b)
	d.state.Encode(&e)
	e.Bool(d.held)
	e.Bool(d.ended)
	e.F64(d.lastTr)
	e.F64(d.lastVal)
	e.F64(d.bestLoss)
	e.F64s(d.best)
	return e.B, nil
}

// UnmarshalBinary implements family.Driver.
func (d *driver) UnmarshalBinary(b []byte) error {
	r := canon.Read(b)
	opt := r.Bytes()
	d.state = family.DecodeState(r)
	d.held, d.ended, d.lastTr, d.lastVal, d.bestLoss, d.best = r.Bool(), r.Bool(), r.F64(), r.F64(), r.F64(), r.F64s()
	if err := r.Done("a training checkpoint"); err != nil {
		return err
	}
	return d.opt.UnmarshalBinary(opt)
}
