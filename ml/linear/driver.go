package linear

import (
	"math"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/gram"
	"github.com/tributarydb/tributary/ml/objective"
	"github.com/tributarydb/tributary/ml/optim"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// driver implements family.Driver.
type driver struct {
	g       *glm
	s       *family.Setup
	root    root
	how     string
	primal  string // how, where there were not few rows
	errors  bool   // standard errors are wanted
	sparse  bool   // features are, and no products of columns are computed
	stop    bool   // early_stop
	least   float64
	kept    family.Charge
	threads threads
	from    []float64 // start of a training that continues from a model; nil for others

	progress
	first     *optim.Preconditioner // what L-BFGS begins with; nil for nothing
	products0 []float64             // what that is made of, without the penalty; nil where a checkpoint began
	follows   bool                  // it has begun where another training ended
	opt       optim.Optimizer       // in phases train and held; nil where the Gram matrix suffices
	next      *family.Step
	grad      []float64 // memory for the next step's gradient
}

// phase is the purpose of the next step.
type phase uint8

const (
	toBound     phase = iota // bounds of the columns
	toGram                   // the Gram matrix: all of least squares, and the preconditioner of L-BFGS
	toMean                   // the mean, where Tweedie's family starts
	toTrain                  // the optimiser's request
	toHeld                   // the loss of the rows held out
	toErrors                 // the Hessian at the end
	toRows                   // the rows, where there are few
	toCurvature              // the Hessian at the end, for the next penalty of a path
	numPhases
)

// progress is the state of a training, but for its optimiser.
type progress struct {
	phase   phase
	state   family.State
	bound   []float64 // of the dense columns, powers of two
	columns gram.Columns
	shift   float64 // of the target
	factor  float64
	spread  float64 // of the target
	middle  float64 // likewise
	train   most    // the bounds that sums are scaled for
	held    float64 // the same for losses of held-out rows
	width   float64
	units   *optim.Units // of L-BFGS; nil for those of the rows
	cold    float64      // for a training that continues from a model: the gradient norm at the usual start, which the tolerance is relative to
	stage   int          // of widths
	before  int          // iterations of the stages before

	ended    bool // the optimiser is done
	lastTr   float64
	lastVal  float64
	bestLoss float64
	best     []float64 // parameters of the best iteration, with early_stop
	theta    []float64 // the result, once the optimiser is done
	inference
}

// NewDriver implements family.Family.
func (g *glm) NewDriver(s *family.Setup, n *family.Node) (family.Driver, error) {
	o := s.Options
	d := &driver{g: g, s: s, kept: n.Charge(), threads: threads{node: n}, stop: o.Bool("early_stop", o.Given("min_rel_progress")), least: o.Float("min_rel_progress", 0.01)}
	d.state = family.State{TrainLoss: math.NaN(), ValidationLoss: math.NaN()}
	d.bestLoss, d.lastVal, d.lastTr, d.width = math.Inf(1), math.NaN(), math.NaN(), 1
	p := g.problem(s)
	d.root = root{problem: p, intercept: o.Bool("fit_intercept", true)}
	d.root.l1, d.root.l2 = g.penalty(o, s.Weight)
	var err error
	if d.how, err = g.method(o, d.root.l1, p.outputs, p.per-1); err != nil {
		return nil, err
	}
	if d.sparse = s.Fitted.Sparse(); d.sparse && (d.how == byGram || d.how == newton) { // these multiply columns
		if o.Text("optimizer", "auto") != "auto" {
			return nil, pgerr.Unsupported("optimizer %s does not take sparse features, such as the terms of texts", o.Text("optimizer", "")).At(o.Pos("optimizer")).WithHint("Use lbfgs.")
		}
		d.how = lbfgs
	}
	if err := g.fit(o, d.how); err != nil {
		return nil, err
	}
	if d.from, err = d.root.goOn(s.Start); err != nil {
		return nil, err
	}
	if d.errors = o.Bool("calculate_p_values", false); d.errors {
		switch {
		case stochastic(o):
			return nil, pgerr.Unsupported("p-values are of the minimum, which optimizer %s does not find", d.how).At(o.Pos("calculate_p_values"))
		case d.sparse:
			return nil, pgerr.Unsupported("p-values of sparse features are not supported").At(o.Pos("calculate_p_values"))
		case p.outputs > 1:
			return nil, pgerr.Unsupported("p-values of more than two classes are not supported").At(o.Pos("calculate_p_values"))
		case p.per > newtonParams:
			return nil, pgerr.New(pgerr.ProgramLimitExceeded, "p-values of at most %d parameters are supported, not %d", newtonParams, p.per)
		}
	}
	if !d.sparse && few(d) {
		d.primal, d.how = d.how, byRows
	}
	return d, d.kept.Set(d.bytes())
}

// Next implements family.Driver.
func (d *driver) Next() *family.Step {
	if d.next == nil {
		d.next = d.ask()
	}
	return d.next
}

func (d *driver) ask() *family.Step {
	step := &family.Step{Op: opEvaluate, Set: family.Train}
	switch r := (&request{Width: d.width, Bound: d.bound, most: d.train}); d.phase {
	case toBound:
		step.Op = opBounds
	case toRows:
		step.Op = opRows
	case toGram:
		step.Op, step.Body = opGram, &request{Columns: d.columns, Shift: d.shift, Factor: d.factor}
	case toHeld:
		r.Need, r.Theta, r.Loss = optim.Loss, d.at(), d.held
		step.Set, step.Body = family.Held, r
	case toErrors:
		r.Need, r.Theta, r.Columns = optim.Loss|optim.Grad|optim.Hessian|errorsNeed, d.at(), d.columns
		step.Body = r
	case toCurvature:
		r.Need, r.Theta, r.Columns = optim.Hessian, d.at(), d.columns
		step.Body = r
	case toMean:
		r.Need, r.Theta = optim.Loss|optim.Grad, make([]float64, d.root.size())
		step.Body = r
	default:
		q := d.opt.Next()
		r.Need, r.Theta = q.Need, q.Theta
		if q.Need&optim.Product != 0 {
			r.Along = unit(q.Along)
		}
		if q.Need&optim.Hessian != 0 {
			r.Columns = d.columns
		}
		step.Batch, step.Body = q.Batch, r
	}
	if r, ok := step.Body.(*request); ok {
		step.Elements = d.root.elements(step.Op, r)
	}
	return step
}

// at returns the current parameters.
func (d *driver) at() []float64 {
	if d.theta == nil && d.opt != nil {
		return d.opt.State().Theta
	}
	return d.theta
}

// Tell implements family.Driver.
func (d *driver) Tell(m family.Message) error {
	p, ok := m.(*partial)
	if !ok {
		return pgerr.Internal("a partial of a linear model is %T", m)
	}
	defer p.Free()
	step := d.Next()
	d.next = nil
	d.state.Evals++
	switch d.phase {
	case toBound:
		return d.bounded(p.bounds)
	case toRows:
		return d.solveRows(p.Rows)
	case toGram:
		if d.how == byGram {
			return d.solve(p)
		}
		if d.units != nil {
			d.refineUnits(p)
			return d.startCold()
		}
		d.first = d.precondition(p)
		return d.start(0)
	}
	r := step.Body.(*request)
	if d.repeat(r, p) {
		return nil
	}
	switch d.phase {
	case toHeld:
		loss := p.Sums.At(d.root.size(), gram.Half(r.Loss))
		if w := p.weight(); w > 0 {
			loss /= w
		}
		if p.Loss > r.Loss {
			loss = math.Inf(1)
		}
		d.phase = toTrain
		return d.iterated(float64(loss * d.g.scale))
	case toErrors:
		d.infer(r, p)
		d.state.Done = true
		return nil
	case toCurvature:
		d.products0 = bend(r, p, d.s.Weight)
		d.state.Done = true
		return nil
	case toMean:
		grad, _ := d.root.gradient(r, &p.Sums, nil)
		mean := 1 - grad[d.root.per-1]/d.s.Weight // the derivative at 0 is 1-y
		return d.start(objective.Tweedie{}.Mean(mean))
	}
	return d.tell(r, p)
}

// FromRanges implements family.FromRanges.
func (d *driver) FromRanges(r *feature.Ranges) family.Message {
	if d.phase != toBound {
		return nil
	}
	return &partial{bounds: &bounds{gram.BoundsOf(r), r.YLow, r.YHigh}}
}

// slack is the assumed bound of the next evaluation's values, as a multiple of the last
// ones: larger for losses, since one row's may grow much while others shrink.
const (
	slackResid = 2
	slackLoss  = 16
	tooWide    = 1 << 14 // sums scaled for values larger by this factor have lost digits
)

// most2 returns the smallest power of two that is at least v.
func most2(v float64) float64 { return 0.5 / gram.Half(v) }

// repeat reports whether a step must be repeated, because a value was greater than its
// sums were scaled for, or so much smaller that they have too few digits; it sets the
// bounds for the next sums.
func (d *driver) repeat(r *request, p *partial) bool {
	if d.phase == toHeld {
		over := p.Loss > r.Loss && !math.IsInf(p.Loss, 1)
		if p.Loss > 0 && !math.IsInf(p.Loss, 1) {
			d.held = most2(slackLoss * p.Loss)
		}
		return over
	}
	repeat := false
	expect := func(now *float64, was, slack float64) {
		switch {
		case was-was != 0: // infinite or NaN: it diverged here
			return
		case was > *now:
			repeat = true
		case was*tooWide < *now && was > 0x1p-400:
			repeat = true
		case was == 0:
			return
		}
		*now = most2(slack * was)
	}
	next := d.train
	if r.Need&optim.Product != 0 {
		expect(&next.Bend, p.Bend, slackResid)
		d.train = next
		return repeat && p.Bend-p.Bend == 0
	}
	if r.Need&optim.Loss != 0 {
		expect(&next.Loss, p.Loss, slackLoss)
	}
	if r.Need&(optim.Grad|optim.Hessian) != 0 {
		expect(&next.Resid, p.Resid, slackResid)
	}
	if r.Need&optim.Hessian != 0 {
		expect(&next.Curv, p.Curv, slackResid)
	}
	d.train = next
	wild := p.Loss-p.Loss != 0 || p.Resid-p.Resid != 0 || p.Curv-p.Curv != 0
	return repeat && !wild
}

// evaluation returns the objective of a partial; an infinite one where something is not
// finite.
func (d *driver) evaluation(r *request, p *partial) *optim.Eval {
	if r.Need&optim.Product != 0 {
		return &optim.Eval{Product: d.product(r, p)}
	}
	if p.Loss-p.Loss != 0 || p.Resid-p.Resid != 0 || p.Curv-p.Curv != 0 {
		return &optim.Eval{Loss: math.Inf(1), Grad: make([]float64, d.root.size()), Hess: make([]float64, len(p.Hess.Low))}
	}
	grad, loss := d.root.gradient(r, &p.Sums, d.grad)
	if stochastic(d.s.Options) { // its optimiser does not retain gradients
		d.grad = grad
	}
	var hess []float64
	if r.Need&optim.Hessian != 0 {
		hess = matrix(&p.Hess, append(append([]float64{}, r.Columns.Scale...), 0.5), 2*gram.Half(r.Curv))
	}
	weight := d.s.Weight
	if stochastic(d.s.Options) {
		if weight = p.weight(); weight == 0 { // a mini-batch of rows of weight 0
			weight = 1
		}
	}
	return d.root.eval(r.Theta, grad, loss, weight, hess)
}

// tell passes an evaluation to the optimiser.
func (d *driver) tell(r *request, p *partial) error {
	e := d.evaluation(r, p)
	if stochastic(d.s.Options) && d.root.l1+d.root.l2 != 0 { // an optimiser of mini-batches only reports the loss: without the penalty
		e.Loss -= d.root.penalty(r.Theta)
	}
	iteration := d.opt.State().Iteration
	var err error
	if d.ended, err = d.opt.Tell(e); err != nil {
		return err
	}
	st := d.opt.State()
	if d.from != nil && d.cold == 0 && d.measures() {
		d.cold = math.Max(st.GradNorm, math.SmallestNonzeroFloat64)
		return d.begin(d.from)
	}
	if st.Iteration > iteration {
		if d.s.Held > 0 {
			d.phase = toHeld
			return nil
		}
		return d.iterated(math.NaN())
	}
	if d.ended { // it converged where it was
		if d.state.Iteration == 0 {
			d.state.TrainLoss = d.trainLoss()
		}
		return d.finish()
	}
	return nil
}

// trainLoss returns the mean loss at the accepted point.
func (d *driver) trainLoss() float64 {
	st := d.opt.State()
	loss := st.Loss
	if !stochastic(d.s.Options) {
		loss -= d.root.penalty(st.Theta)
	}
	return float64(loss * d.g.scale)
}

// iterated ends an iteration, whose loss of the rows held out is given.
func (d *driver) iterated(validation float64) error {
	if d.opt == nil { // least squares, solved directly
		d.state.ValidationLoss = validation
		return d.finish()
	}
	st := d.opt.State()
	d.state.Iteration, d.state.TrainLoss, d.state.ValidationLoss = d.before+st.Iteration, d.trainLoss(), validation
	if d.stop && !d.g.bends {
		was, is := d.lastTr, d.state.TrainLoss
		if d.s.Held > 0 {
			was, is = d.lastVal, validation
		}
		if is < d.bestLoss {
			d.bestLoss, d.best = is, append(d.best[:0], st.Theta...)
		}
		if was-is < float64(d.least*math.Abs(was)) && !d.ended {
			d.state.Converged, d.state.Stopped = true, "early_stop"
			return d.conclude()
		}
		d.lastTr, d.lastVal = d.state.TrainLoss, validation
	}
	if d.ended {
		return d.finish()
	}
	return nil
}

// finish ends an optimisation: the whole one, or a stage of a smoothed loss.
func (d *driver) finish() error {
	if d.opt != nil {
		st := d.opt.State()
		loss := d.trainLoss()
		wide := d.g.bends && d.stage < stages && d.width > float64(narrow*loss)
		if wide && d.before+st.Iteration < d.s.Plan.MaxIterations {
			d.stage++
			d.before += st.Iteration
			d.width = float64(d.width / stageStep)
			if loss > 0 { // the mean absolute loss is not dominated by a few outliers
				d.width = math.Min(d.width, float64(stageStep*loss))
			}
			return d.begin(st.Theta)
		}
		if wide { // the minimum of a loss that is smoothed too much is not what was asked for
			st.Reason = optim.Exhausted
		}
		d.state.TrainLoss = loss // a last stage that begins at its minimum has no iteration
		d.state.Stopped = st.Reason.String()
		d.state.Converged = st.Reason != optim.Exhausted || stochastic(d.s.Options) // whose iterations are epochs, all of which are wanted
	}
	return d.conclude()
}

// conclude ends the training, except for standard errors.
func (d *driver) conclude() error {
	if d.errors {
		d.theta, d.phase = d.answer(), toErrors
		return nil
	}
	if bends(d) {
		d.phase = toCurvature
		return nil
	}
	d.state.Done = true
	return nil
}

func (d *driver) answer() []float64 {
	if d.best != nil {
		return d.best
	}
	return d.at()
}

// State implements family.Driver.
func (d *driver) State() family.State { return d.state }

// Predictor implements family.Driver.
func (d *driver) Predictor() (family.Predictor, error) {
	from := d.answer()
	theta := make([]float64, len(from))
	for i, v := range from {
		if v-v != 0 {
			return nil, pgerr.New(pgerr.NumericValueOutOfRange, "training diverged: a weight is not finite").
				WithHint("Lower learn_rate, standardize the features, or add a penalty with l2_reg.")
		}
		theta[i] = v + 0 // no negative zeros in the bytes
	}
	p := d.g.predictor(d.s.Fitted, theta)
	p.offset, p.inference = d.root.offset, d.inference
	return p, nil
}
