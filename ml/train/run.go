package train

import (
	"context"
	"crypto/sha256"
	"math"
	"time"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/linear"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/ml/optim"
	"github.com/tributarydb/tributary/ml/reduce"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Reducer runs a task on every leaf of the job and gives the partials merged in
// the tree's order. An error of a task ends the job.
type Reducer interface {
	Reduce(ctx context.Context, t Task) ([]byte, error)
}

// Checkpointer keeps what a job needs to go on after its coordinator died.
type Checkpointer interface {
	Save(ctx context.Context, iteration int, state []byte) error
}

// Iteration is a finished iteration. Losses are means over rows without the
// penalty; a regression's is the mean squared error. ValidationLoss is NaN
// where no rows are held out.
type Iteration struct {
	Number         int
	TrainLoss      float64
	ValidationLoss float64
	Seconds        float64 // that it took
}

// Event tells an observer what a job is doing.
type Event struct {
	Phase     string // "fit", "seal", "iterate", "measure"
	Iteration *Iteration
}

// Input is what Run needs besides the reducer.
type Input struct {
	Job      *Job
	Rows     int64        // of the query, over all nodes
	Resume   []byte       // a checkpoint, or nil
	Save     Checkpointer // may be nil
	Progress func(Event)  // may be nil; called by Run's goroutine
	Now      func() time.Time
}

// Result is a trained model and what is to be told of it.
type Result struct {
	Model      *model.Model
	Bytes      []byte
	SHA256     [32]byte
	Rows       int64 // trained on
	Held       int64 // held out
	Iterations int
	Evals      int
	TrainLoss  float64
	Metrics    []Metric // of the held out rows, or of the training rows if there are none
	History    []Iteration
	Stopped    string // why
	Seconds    float64
}

// Run trains a model.
func Run(ctx context.Context, in Input, red Reducer) (*Result, error) {
	if in.Now == nil {
		in.Now = time.Now
	}
	r := &runner{in: in, red: red, o: in.Job.Options, start: in.Now()}
	return r.run(ctx)
}

type runner struct {
	in     Input
	red    Reducer
	o      *Options
	start  time.Time
	tasks  int
	fitted *feature.Fitted
	cw     []float64
	rows   int64
	held   int64
	weight float64
	// positives is the rows of the second of two classes, those held out too.
	positives int64
	root      linear.Root
	scale     float64 // of reported losses
	opt       optim.Optimizer
	hist      []Iteration
	plan      [32]byte
}

func (r *runner) phase(p string) {
	if r.in.Progress != nil {
		r.in.Progress(Event{Phase: p})
	}
}

func (r *runner) reduce(ctx context.Context, k TaskKind, payload []byte) ([]byte, error) {
	r.tasks++
	return r.red.Reduce(ctx, Task{Kind: k, Iter: r.tasks, Payload: payload})
}

func (r *runner) run(ctx context.Context) (*Result, error) {
	if err := r.fit(ctx); err != nil {
		return nil, err
	}
	if err := r.seal(ctx); err != nil {
		return nil, err
	}
	if err := r.begin(); err != nil {
		return nil, err
	}
	stopped, err := r.iterate(ctx)
	if err != nil {
		return nil, err
	}
	return r.finish(ctx, stopped)
}

func (r *runner) fit(ctx context.Context) error {
	r.phase("fit")
	spec := r.in.Job.Spec(r.in.Rows)
	b, err := r.reduce(ctx, TaskFit, fitPayload(spec))
	if err != nil {
		return err
	}
	st, err := decodeStats(b, len(spec.Cols))
	if err != nil {
		return err
	}
	if r.fitted, err = feature.Fit(spec, st); err != nil {
		return err
	}
	if !st.Vary(spec) {
		return pgerr.New(pgerr.InvalidParameterValue, "no feature column of the training query varies: there is nothing to learn from").
			WithHint("Add columns in which the rows differ, or more rows.")
	}
	if len(r.fitted.Keys) == 2 {
		for _, c := range st.Cols[spec.LabelCol()].Cats {
			if c.Key == r.fitted.Keys[1] {
				r.positives = c.N
			}
		}
	}
	if r.o.Balanced {
		r.cw = balancedWeights(r.fitted, &st.Cols[spec.LabelCol()])
	}
	var e canon.E
	e.Bytes(r.in.Job.Encode())
	r.fitted.Encode(&e)
	e.I64(r.in.Rows)
	r.plan = sha256.Sum256(e.B)
	return nil
}

func (r *runner) seal(ctx context.Context) error {
	r.phase("seal")
	b, err := r.reduce(ctx, TaskSeal, (&sealPayload{r.fitted, r.cw}).encode())
	if err != nil {
		return err
	}
	s, err := reduce.DecodeSums(b)
	if err != nil {
		return err
	}
	r.rows, r.weight, r.held = s.Rows, s.Weight, int64(s.Vec[0])
	return nil
}

// newtonParams is the most parameters for which linear regression solves the
// normal equations unasked.
const newtonParams = 2048

// maxNewtonParams bounds the Hessian to 512 MB.
const maxNewtonParams = 8192

// begin chooses the optimiser and starts it, or restores it from a checkpoint.
func (r *runner) begin() error {
	o, f := r.o, r.fitted
	outputs := model.Outputs(o.Algorithm, f)
	params := f.Params()
	r.root = linear.Root{Outputs: outputs, Params: params, L2: o.l2(r.weight), Intercept: o.Intercept}
	r.scale = 1
	if o.Algorithm == model.LinearRegression {
		r.scale = 2
	}
	how := o.Optimizer
	if how == AutoOptimizer {
		how = LBFGS
		if o.Algorithm == model.LinearRegression && params <= newtonParams {
			how = Newton
		}
	}
	switch {
	case how == Newton && outputs > 1:
		return pgerr.Unsupported("optimizer newton does not support more than two classes").WithHint("Use lbfgs.")
	case how == Newton && params > maxNewtonParams:
		return pgerr.New(pgerr.ProgramLimitExceeded, "optimizer newton supports at most %d parameters, not %d", maxNewtonParams, params).WithHint("Use lbfgs.")
	}
	stop := optim.Stop{Tolerance: o.Tolerance, MaxIter: r.in.Job.MaxIterations()}
	if stop.Tolerance != stop.Tolerance {
		stop.Tolerance = 1e-6
		if how.stochastic() {
			stop.Tolerance = 0
		}
	}
	theta := make([]float64, outputs*(params+1))
	rate := func(def float64) float64 {
		if o.LearnRate > 0 {
			return o.LearnRate
		}
		return def
	}
	steps := int(max(1, (r.rows+int64(o.BatchSize)/2)/int64(o.BatchSize)))
	switch how {
	case LBFGS:
		r.opt = optim.NewLBFGS(theta, stop)
	case Newton:
		r.opt = optim.NewNewton(theta, stop)
	case GradientDescent:
		def := 0.0
		if o.ConstantRate {
			def = 0.1
		}
		r.opt = optim.NewGD(theta, stop, rate(def))
	case SGD:
		r.opt = optim.NewStochastic(theta, stop, optim.SGD, rate(0.01), steps, o.Seed)
	case Momentum:
		r.opt = optim.NewStochastic(theta, stop, optim.Momentum, rate(0.01), steps, o.Seed)
	case Adam:
		r.opt = optim.NewStochastic(theta, stop, optim.Adam, rate(0.001), steps, o.Seed)
	}
	if r.in.Resume == nil {
		return nil
	}
	return r.restore(r.in.Resume)
}

// checkpoint gives the bytes from which restore goes on.
func (r *runner) checkpoint() ([]byte, error) {
	b, err := r.opt.MarshalBinary()
	if err != nil {
		return nil, err
	}
	var e canon.E
	e.B = append(e.B, r.plan[:]...)
	e.U32(uint32(len(r.hist)))
	for _, it := range r.hist {
		e.Int(it.Number)
		e.F64(it.TrainLoss)
		e.F64(it.ValidationLoss)
		e.F64(it.Seconds)
	}
	e.Bytes(b)
	return e.B, nil
}

func (r *runner) restore(b []byte) error {
	d := canon.Read(b)
	var plan [32]byte
	for i := range plan {
		plan[i] = d.U8()
	}
	for range d.Count(32) {
		r.hist = append(r.hist, Iteration{d.Int(), d.F64(), d.F64(), d.F64()})
	}
	state := d.Bytes()
	if err := d.Done("a training checkpoint"); err != nil {
		return err
	}
	if plan != r.plan {
		return pgerr.New(pgerr.DataCorrupted, "the checkpoint belongs to another training").
			WithDetail("The rows, the options or the statement are not the same.")
	}
	return r.opt.UnmarshalBinary(state)
}

// iterate asks and tells the optimiser until it is done.
func (r *runner) iterate(ctx context.Context) (stopped string, err error) {
	r.phase("iterate")
	since := r.in.Now()
	last := r.opt.State().Iteration
	for {
		req := r.opt.Next()
		e, err := r.eval(ctx, req, false)
		if err != nil {
			return "", err
		}
		done, err := r.opt.Tell(e)
		if err != nil {
			return "", err
		}
		st := r.opt.State()
		if st.Iteration > last {
			last = st.Iteration
			now := r.in.Now()
			stop, err := r.iteration(ctx, st, now.Sub(since).Seconds())
			if err != nil {
				return "", err
			}
			since = now
			if stop && !done {
				return "early_stop", nil
			}
			if every := r.o.CheckpointEvery; r.in.Save != nil && every > 0 && last%every == 0 && !done {
				b, err := r.checkpoint()
				if err != nil {
					return "", err
				}
				if err := r.in.Save.Save(ctx, last, b); err != nil {
					return "", err
				}
			}
		}
		if done {
			return st.Reason.String(), nil
		}
	}
}

// eval has the objective evaluated. A mini-batch's loss is without the penalty,
// which an optimiser of mini-batches only reports.
func (r *runner) eval(ctx context.Context, req optim.Request, held bool) (*optim.Eval, error) {
	b, err := r.reduce(ctx, TaskEval, (&evalPayload{req.Need, held, req.Batch, req.Theta}).encode())
	if err != nil {
		return nil, err
	}
	s, err := reduce.DecodeSums(b)
	if err != nil {
		return nil, err
	}
	if s.Weight == 0 { // a mini-batch of rows that do not count
		s.Weight = 1
	}
	loss := s.Loss / s.Weight
	e, err := r.root.Eval(s, req.Theta, req.Need)
	if err == nil && req.Batch != nil {
		e.Loss = loss
	}
	return e, err
}

// iteration records a finished iteration and tells whether progress has become
// too small.
func (r *runner) iteration(ctx context.Context, st optim.State, seconds float64) (stop bool, err error) {
	it := Iteration{Number: st.Iteration, TrainLoss: st.Loss, ValidationLoss: math.NaN(), Seconds: seconds}
	if !r.stochastic() {
		it.TrainLoss -= r.penalty(st.Theta)
	}
	it.TrainLoss = float64(it.TrainLoss * r.scale)
	if r.held > 0 {
		e, err := r.eval(ctx, optim.Request{Theta: st.Theta, Need: optim.Loss}, true)
		if err != nil {
			return false, err
		}
		it.ValidationLoss = float64((e.Loss - r.penalty(st.Theta)) * r.scale)
	}
	if n := len(r.hist); n > 0 && r.o.EarlyStop {
		was, is := r.hist[n-1].TrainLoss, it.TrainLoss
		if r.held > 0 {
			was, is = r.hist[n-1].ValidationLoss, it.ValidationLoss
		}
		stop = was-is < float64(r.o.MinRelProgress*math.Abs(was))
	}
	r.hist = append(r.hist, it)
	if r.in.Progress != nil {
		r.in.Progress(Event{Phase: "iterate", Iteration: &it})
	}
	return stop, nil
}

func (r *runner) stochastic() bool { _, ok := r.opt.(*optim.Stochastic); return ok }

func (r *runner) penalty(theta []float64) float64 {
	per, p := r.root.Params+1, 0.0
	for k := range r.root.Outputs {
		w := theta[k*per:][:per-1]
		p += f64.Dot(w, w)
	}
	return float64(float64(0.5*r.root.L2) * p)
}

// cuts asks for the cuts of a coarse ranking, where there are two classes and
// many rows.
func (r *runner) cuts(ctx context.Context, p *measurePayload) error {
	measured := r.rows
	if p.held {
		measured = r.held
	}
	if len(r.fitted.Keys) != 2 || measured <= coarseRows {
		return nil
	}
	p.every = cutEvery(r.positives * measured / (r.rows + r.held)) // about
	b, err := r.reduce(ctx, TaskCuts, p.encode())
	if err != nil {
		return err
	}
	p.every = 0
	p.cuts, err = decodeCuts(b)
	return err
}

func (r *runner) finish(ctx context.Context, stopped string) (*Result, error) {
	r.phase("measure")
	st := r.opt.State()
	m := &model.Model{Kind: r.o.Algorithm, Fitted: r.fitted, Theta: append([]float64(nil), st.Theta...)}
	for i, v := range m.Theta {
		if v-v != 0 {
			return nil, pgerr.New(pgerr.NumericValueOutOfRange, "training diverged: a weight is not finite").
				WithHint("Lower learn_rate, standardize the features, or add a penalty with l2_reg.")
		}
		m.Theta[i] = v + 0 // no negative zeros in the bytes
	}
	p := &measurePayload{held: r.held > 0, every: 1, theta: m.Theta, classWeights: r.cw}
	if err := r.cuts(ctx, p); err != nil {
		return nil, err
	}
	b, err := r.reduce(ctx, TaskMeasure, p.encode())
	if err != nil {
		return nil, err
	}
	ms, err := decodeMeasures(b)
	if err != nil {
		return nil, err
	}
	res := &Result{Model: m, Bytes: m.Encode(), Rows: r.rows, Held: r.held, Iterations: st.Iteration, Evals: st.Evals,
		Metrics: ms.list(), History: r.hist, Stopped: stopped, Seconds: r.in.Now().Sub(r.start).Seconds()}
	res.SHA256 = model.SHA256(res.Bytes)
	if n := len(r.hist); n > 0 {
		res.TrainLoss = r.hist[n-1].TrainLoss
	} else { // converged where it started
		res.TrainLoss = float64((st.Loss - r.penalty(st.Theta)) * r.scale)
	}
	return res, nil
}
