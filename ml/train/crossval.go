package train

import (
	"context"
	"io"
	"math"

	"github.com/tributarydb/tributary/ml/calibration"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/holdout"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Fold is a fold of a cross-validation: the metrics on it of a model trained on the
// other rows.
type Fold struct {
	Rows, Held int64 // number of rows trained on; and in the fold
	Iterations int
	Seconds    float64
	Metrics    []family.Metric
}

// validate trains once for each fold without it, and then the model, of all rows. The
// rows stay with the workers until then: they are read and distributed once. Where they
// do not fit they are read once for the statistics, which are taken apart by what folds
// may hold out, and once more for each training; statistics of such a reading serve the
// next training. Encoders are fitted for each fold again.
func (r *runner) validate(ctx context.Context) (*Result, error) {
	if err := r.mayDivide(); err != nil {
		return nil, err
	}
	folds := r.job.Folds()
	first, resume := 1, r.in.Resume
	var done []Fold
	var tallied *calibration.Tally
	if calibrates(r.job) {
		tallied = &calibration.Tally{}
	}
	if resume != nil {
		d := canon.Read(resume)
		first, done = decodeFolds(d)
		if tallied != nil {
			tallied = calibration.DecodeTally(d)
		}
		resume = d.Take(d.Left())
		if err := d.Done("a training checkpoint"); err != nil || first > folds+1 || len(done) != first-1 {
			return nil, pgerr.New(pgerr.DataCorrupted, "the checkpoint belongs to another training")
		}
		if len(resume) == 0 { // between two folds
			resume = nil
		}
	}
	held, err := r.drawAll(ctx)
	if err != nil {
		return nil, err
	}
	for fold := first; ; fold++ {
		f := &runner{in: r.in, red: r.red, job: r.job, start: r.start, fold: fold, folds: folds + 1, head: foldsHead(fold, done, tallied), tallied: tallied}
		f.in.Resume, resume = resume, nil
		holdout := &holdout.Holdout{}
		if fold <= folds {
			holdout = held[fold-1]
		}
		since := r.in.Now()
		res, err := f.run(ctx, holdout)
		if err != nil {
			return nil, err
		}
		if fold > folds {
			res.Metrics, res.Folds = summary(done), done
			return res, nil
		}
		if res.Held == 0 {
			return nil, errEmptyFold(r.job)
		}
		if tallied != nil {
			t, err := tally(ctx, f, res.Model.Predictor)
			if err != nil {
				return nil, err
			}
			tallied.Merge(t)
		}
		done = append(done, Fold{res.Rows, res.Held, res.Iterations, r.in.Now().Sub(since).Seconds(), res.Metrics})
		if err := r.saveHead(ctx, 0, foldsHead(fold+1, done, tallied)); err != nil {
			return nil, err
		}
	}
}

// mayDivide returns an error where there are fewer rows than folds.
func (r *runner) mayDivide() error {
	if n := r.job.Folds(); r.in.Rows < int64(n) {
		return pgerr.New(pgerr.InvalidParameterValue, "a cross-validation of %d folds needs as many rows: the training query gives %d", n, r.in.Rows).
			At(r.job.Options.Pos("cross_validation"))
	}
	return nil
}

func errEmptyFold(j *Job) error {
	return pgerr.New(pgerr.InvalidParameterValue, "a fold of the cross-validation has no rows").At(j.Options.Pos("cross_validation")).
		WithHint("Ask for fewer folds.")
}

// summary returns the mean of each metric over the folds that have it, and its standard
// deviation, with divisor n as numpy's std.
func summary(folds []Fold) (out []family.Metric) {
	for _, m := range folds[0].Metrics {
		var n, sum, squares float64
		each := func(f func(v float64)) {
			for _, s := range folds {
				for _, o := range s.Metrics {
					if o.Name == m.Name {
						f(o.Value)
					}
				}
			}
		}
		each(func(v float64) { n, sum = n+1, sum+v })
		mean := sum / n
		each(func(v float64) { squares += float64((v - mean) * (v - mean)) })
		out = append(out, family.Metric{Name: m.Name, Value: mean}, family.Metric{Name: m.Name + "_std", Value: math.Sqrt(squares / n)})
	}
	return out
}

// saveHead saves a checkpoint between two trainings of the job.
func (r *runner) saveHead(ctx context.Context, iteration int, head func(*canon.E)) error {
	if r.in.Save == nil || r.job.Options.Int("checkpoint_every", 10) == 0 {
		return nil
	}
	return r.in.Save.Save(ctx, iteration, func(w io.Writer) error {
		e := canon.To(w)
		head(e)
		return e.Flush()
	})
}

// foldsHead writes the current fold and the metrics of the earlier ones, and, of a calibration, what was tallied there.
func foldsHead(fold int, done []Fold, tallied *calibration.Tally) func(*canon.E) {
	return func(e *canon.E) {
		e.Int(fold)
		e.U32(uint32(len(done)))
		for _, f := range done {
			e.I64(f.Rows)
			e.I64(f.Held)
			e.Int(f.Iterations)
			e.F64(f.Seconds)
			encodeMetrics(e, f.Metrics)
		}
		if tallied != nil {
			tallied.Encode(e)
		}
	}
}

func encodeMetrics(e *canon.E, list []family.Metric) {
	e.U32(uint32(len(list)))
	for _, m := range list {
		e.Str(m.Name)
		e.F64(m.Value)
	}
}

func decodeMetrics(d *canon.D) (list []family.Metric) {
	for range d.Count(12) {
		list = append(list, family.Metric{Name: d.Str(), Value: d.F64()})
	}
	return list
}

func decodeFolds(d *canon.D) (fold int, done []Fold) {
	fold = d.Int()
	for range d.Count(36) {
		done = append(done, Fold{d.I64(), d.I64(), d.Int(), d.F64(), decodeMetrics(d)})
	}
	return fold, done
}
