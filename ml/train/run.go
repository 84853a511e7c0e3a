package train

import (
	"context"
	"crypto/sha256"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/tributarydb/tributary/exec/profile"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/holdout"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/ml/rows"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Run trains a model.
func Run(ctx context.Context, in Input, red Reducer) (*Result, error) {
	if in.Now == nil {
		in.Now = time.Now
	}
	if in.SliceElements == 0 {
		in.SliceElements = sliceElements
	}
	r := &runner{in: in, red: red, job: in.Job, start: in.Now()}
	switch {
	case in.Job.search != nil:
		return r.search(ctx)
	case in.Cached != nil:
		r.in.Rows = in.Cached.query
		return r.run(ctx, nil)
	case in.Job.Folds() > 0:
		return r.validate(ctx)
	}
	held, err := r.drawAll(ctx)
	if err != nil {
		return nil, err
	}
	return r.run(ctx, held[0])
}

// run trains on the rows that are not held out.
func (r *runner) run(ctx context.Context, holdout *holdout.Holdout) (*Result, error) {
	if err := r.prepare(ctx, holdout); err != nil {
		return nil, err
	}
	if err := r.begin(); err != nil {
		return nil, err
	}
	if err := r.iterate(ctx); err != nil {
		return nil, err
	}
	return r.finish(ctx)
}

// prepare makes blocks of the rows.
func (r *runner) prepare(ctx context.Context, holdout *holdout.Holdout) (err error) {
	if err := r.fit(ctx, holdout); err != nil {
		return err
	}
	if err := r.encodeRows(ctx); err != nil {
		return err
	}
	r.profiled = new(atomic.Pointer[profile.Profile])
	r.by, err = r.targetWeights(ctx)
	return err
}

func (r *runner) fit(ctx context.Context, holdout *holdout.Holdout) error {
	spec := r.job.Spec()
	r.holdout = holdout
	var err error
	if r.short, err = r.shorter(ctx); err != nil {
		return err
	}
	st, err := r.statistics(ctx, holdout)
	if err != nil {
		return err
	}
	if r.seen = st.Rows + st.Held; r.seen == 0 && r.in.Rows > 0 {
		return errNoWindows(r.job.Plan.Windows)
	}
	if r.fitted, r.cw, err = r.encoders(st); err != nil {
		return err
	}
	r.stats = st
	r.learns, _ = r.job.learns(r.fitted)
	if r.job.Plan.Time == "" && r.job.Plan.Pair == nil && !st.Vary(spec) {
		return pgerr.New(pgerr.InvalidParameterValue, "no feature column of the training query varies: there is nothing to learn from").
			WithHint("Add columns in which the rows differ, or more rows.")
	}
	return r.identify()
}

// identify computes what a checkpoint is recognised by.
func (r *runner) identify() error {
	h := sha256.New()
	e := canon.To(h)
	e.Bytes(r.job.Encode())
	r.fitted.Encode(e)
	e.I64(r.in.Rows)
	if r.in.Start != nil {
		r.in.Start.Predictor.Encode(e)
	}
	if err := e.Flush(); err != nil {
		return err
	}
	h.Sum(r.plan[:0])
	return nil
}

// statistics returns those of the rows that are not held out.
func (r *runner) statistics(ctx context.Context, holdout *holdout.Holdout) (*feature.Stats, error) {
	if r.in.Cached != nil {
		return r.in.Cached.stats, nil
	}
	r.phase("fit")
	return reduceTo[*feature.Stats](ctx, r.red, &fitTask{holdout: holdout, fold: r.fold, short: r.short})
}

// encoders fits encoders, and the weights of classes, to statistics.
func (r *runner) encoders(st *feature.Stats) (f *feature.Fitted, classWeights []float64, err error) {
	spec, taken, held := *r.job.Spec(), int64(0), r.red.Home().Charge()
	spec.Charge = func(n int64) error { taken += n; return held.Set(taken) }
	f, err = feature.Fit(&spec, st)
	if end := held.Set(0); err == nil {
		err = end
	}
	if err != nil {
		return nil, nil, err
	}
	if f, err = r.keep(f); err != nil {
		return nil, nil, err
	}
	if r.job.targets == nil && r.job.Plan.Target == family.ClassTarget {
		classWeights, err = r.job.classWeights(f, st, 0, r.in.Part)
	}
	return f, classWeights, err
}

// keep returns the encoders of the model that the training continues from, in place of
// those just fitted.
func (r *runner) keep(f *feature.Fitted) (*feature.Fitted, error) {
	m := r.in.Start
	if m == nil {
		return f, nil
	}
	bad := func(format string, args ...any) error {
		return pgerr.New(pgerr.InvalidParameterValue, format, args...).At(r.job.Options.Pos("warm_start")).WithHint("Leave warm_start out.")
	}
	if name := r.job.Family.Info().Name; m.Algorithm != name {
		return nil, bad("a training of %s cannot go on from a model of %s", name, m.Algorithm)
	}
	if !slices.Equal(m.Targets, r.job.targets) {
		return nil, bad("a training cannot go on from a model of other targets")
	}
	learns, _ := r.job.learns(f)
	if err := m.Fitted.Keeps(learns); err != nil || r.job.targets == nil {
		return m.Fitted, err
	}
	return f.With(r.job.more(), m.Fitted), nil
}

func (r *runner) encodeRows(ctx context.Context) error {
	if r.in.Cached != nil {
		r.Encoded = &r.in.Cached.Encoded
		return nil
	}
	r.phase("encode")
	t := &encodeTask{&rows.Encoding{Fitted: r.fitted, ClassWeights: r.cw, Again: r.fold < r.folds}}
	if err := r.rescan(ctx, t); err != nil {
		return err
	}
	var err error
	r.Encoded, err = reduceTo[*rows.Encoded](ctx, r.red, t)
	return err
}

// begin starts the family's driver, or restores it from a checkpoint.
func (r *runner) begin() (err error) {
	s := &family.Setup{Options: r.job.Options, Plan: r.job.Plan, Fitted: r.learns, Seed: r.job.Seed(), Rows: r.Rows, Held: r.Held, Weight: r.Weight.Value(), Counted: r.stats.Counted}
	if r.by != nil {
		s.Weights = r.by.Sums
	}
	if r.in.Start != nil {
		s.Start = r.in.Start.Predictor
	}
	if s.Given, err = r.given(); err != nil {
		return err
	}
	if r.cw == nil {
		r.ranges = r.job.rows().Ranges(r.learns, r.stats)
	}
	if r.driver, err = r.job.Family.NewDriver(s, r.red.Home()); err == nil && r.follow != nil {
		err = r.follow(r.driver)
	}
	if err != nil || r.in.Resume == nil {
		return err
	}
	return r.restore(r.in.Resume)
}

// checkpoint writes the bytes from which restore continues.
func (r *runner) checkpoint(w io.Writer) error {
	e := canon.To(w)
	if r.head != nil {
		r.head(e)
	}
	if err := r.encodeState(e); err != nil {
		return err
	}
	return e.Flush()
}

// encodeState writes what restore reads.
func (r *runner) encodeState(e *canon.E) error {
	e.B = append(e.B, r.plan[:]...)
	encodeHistory(e, r.hist)
	e.U32(0) // formerly the state's length; now all of the rest is the state
	return r.driver.Encode(e)
}

func encodeHistory(e *canon.E, list []Iteration) {
	e.U32(uint32(len(list)))
	for _, it := range list {
		e.Int(it.Number)
		e.F64(it.TrainLoss)
		e.F64(it.ValidationLoss)
		e.F64(it.Seconds)
	}
}

func decodeHistory(d *canon.D) (list []Iteration) {
	for range d.Count(32) {
		list = append(list, Iteration{d.Int(), d.F64(), d.F64(), d.F64()})
	}
	return list
}

func (r *runner) restore(b []byte) error {
	d := canon.Read(b)
	var plan [32]byte
	for i := range plan {
		plan[i] = d.U8()
	}
	r.hist = decodeHistory(d)
	d.U32()
	if !d.OK() {
		return d.Done("a training checkpoint")
	}
	state := d.Take(d.Left())
	if plan != r.plan {
		return pgerr.New(pgerr.DataCorrupted, "the checkpoint belongs to another training").
			WithDetail("The rows, the options or the statement are not the same.")
	}
	return r.driver.UnmarshalBinary(state)
}

// saveAfter is how much work may be lost: a checkpoint is due after it, in the
// middle of an iteration too. When one is made does not change the model.
const saveAfter = 10 * time.Second

// iterate asks and tells the driver until it is done, or has made as many iterations as
// the runner's most.
func (r *runner) iterate(ctx context.Context) error {
	r.phase("iterate")
	since := r.in.Now()
	saved := since
	st := r.driver.State()
	every := r.job.Options.Int("checkpoint_every", 10)
	for !st.Done && (r.most == 0 || st.Iteration < r.most) {
		if r.cancelled != nil && r.cancelled() {
			return errTrialCancelled
		}
		if err := r.step(ctx); err != nil {
			return err
		}
		last := st.Iteration
		st = r.driver.State()
		now := r.in.Now()
		due := now.Sub(saved) >= saveAfter
		if st.Iteration != last {
			it := Iteration{Number: st.Iteration, TrainLoss: st.TrainLoss, ValidationLoss: st.ValidationLoss, Seconds: now.Sub(since).Seconds()}
			since = now
			r.hist = append(r.hist, it)
			if r.in.Progress != nil && r.fold == r.folds && r.trial == "" { // only the final model's history is reported
				r.in.Progress(Event{Phase: "iterate", Iteration: &it})
			}
			if r.tick != nil {
				r.tick(now, it.Number)
			}
			due = due || every > 0 && st.Iteration%every == 0
		}
		if r.in.Save == nil || every == 0 || !due || st.Done {
			continue
		}
		if err := r.in.Save.Save(ctx, st.Iteration, r.checkpoint); err != nil {
			return err
		}
		saved = r.in.Now()
	}
	return nil
}

// step runs the driver's next step.
func (r *runner) step(ctx context.Context) error {
	if d, ok := r.driver.(family.FromRanges); ok && r.ranges != nil {
		if m := d.FromRanges(r.ranges); m != nil {
			return r.driver.Tell(m)
		}
	}
	t := &stepTask{rows: r.Rows, held: r.Held, weight: r.Weight.Value(), by: r.by, step: r.driver.Next(), per: r.in.SliceElements}
	if b := t.step.Batch; b != nil {
		t.slices = block.BatchSlices(r.Leaves, r.job.Plan.Unit(), b.Step, b.Steps)
	}
	m, err := r.reduce(ctx, t)
	if err != nil {
		return err
	}
	if r.aside == nil {
		return r.driver.Tell(m)
	}
	return r.aside(func() error { return r.driver.Tell(m) })
}

// coarseRows is the number of rows from which rankings (AUC) are by bins.
const coarseRows = 1 << 18

// cuts asks for the cuts of a coarse ranking, where there are two classes and
// many rows.
func (r *runner) cuts(ctx context.Context, t *evaluateTask) error {
	measured := r.Rows
	if t.held {
		measured = r.Held
	}
	of := r.learns.ForTarget(t.target)
	if len(of.Keys) != 2 || measured <= coarseRows {
		return nil
	}
	c, err := reduceTo[*cutsMessage](ctx, r.red, &cutsTask{t})
	if err != nil {
		return err
	}
	t.coarse, t.cuts = true, c.List()
	return nil
}

func (r *runner) finish(ctx context.Context) (*Result, error) {
	r.phase("evaluate")
	p, metrics, err := r.measure(ctx)
	if err != nil {
		return nil, err
	}
	res := r.result(p, metrics)
	if res.Model.Adjustment, err = adjust(ctx, r, p); err != nil {
		return nil, err
	}
	if res.Profile, err = describe(ctx, r); err != nil {
		return nil, err
	}
	if res.Usage, err = r.usage(ctx); err != nil {
		return nil, err
	}
	res.Elapsed = r.in.Now().Sub(r.start)
	return res, nil
}

// measure returns what was learnt so far, and its metrics.
func (r *runner) measure(ctx context.Context) (family.Predictor, []family.Metric, error) {
	p, err := r.driver.Predictor()
	if err != nil {
		return nil, nil, err
	}
	metrics := r.driver.State().Metrics
	if measuredTarget(r.job.Plan) != family.NoTarget && (r.Held > 0 || !r.job.Plan.Recalls) { // else the driver measures
		ms, err := r.evaluate(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		metrics = append(ms, metrics...)
	}
	return p, metrics, nil
}

// result returns the trained model, without what it has used.
func (r *runner) result(p family.Predictor, metrics []family.Metric) *Result {
	st := r.driver.State()
	m := &model.Model{Algorithm: r.job.Family.Info().Name, Task: r.job.Plan.Task, Outputs: r.job.Plan.Outputs, Windows: modelWindows(r.job), Targets: r.job.targets, Fitted: r.learns, Predictor: p}
	return &Result{Model: m, Rows: r.Rows, Held: r.Held, Iterations: st.Iteration, Evals: st.Evals, TrainLoss: st.TrainLoss,
		Metrics: metrics, History: r.hist, Stopped: st.Stopped, Converged: st.Converged, Warnings: r.warnings(r.stats, p), Encoded: r.leave()}
}

// evaluate evaluates the predictor, target by target, with the targets' names where
// there are several.
func (r *runner) evaluate(ctx context.Context, p family.Predictor) (out []family.Metric, err error) {
	for k, name := range r.job.Targets() {
		t := &evaluateTask{target: k, held: r.Held > 0, classWeights: r.cw, unit: weightUnit(r.Weight.Value()), predictor: p}
		if r.job.targets != nil {
			t.predictor = p.(family.TargetsPredictor).Part(k)
		}
		if err := r.cuts(ctx, t); err != nil {
			return nil, err
		}
		ms, err := reduceTo[*evaluation](ctx, r.red, t)
		if err != nil {
			return nil, err
		}
		r.measured = ms.weight()
		for _, x := range ms.list() {
			if r.job.targets != nil {
				x.Name = name + "." + x.Name
			}
			out = append(out, x)
		}
	}
	return out, nil
}
