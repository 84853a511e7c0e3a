package train

import (
	"context"
	"io"
	"math"

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
	folds := r.job.Folds()
	if r.in.Rows < int64(folds) {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "a cross-validation of %d folds needs as many rows: the training query gives %d", folds, r.in.Rows).
			At(r.job.Options.Pos("cross_validation"))
	}
	first, resume := 1, r.in.Resume
	var done []Fold
	if resume != nil {
		d := canon.Read(resume)
		first, done = decodeFolds(d)
		rest := d.Take(d.Left())
		if err := d.Done("a training checkpoint"); err != nil || first > folds+1 || len(done) != first-1 {
			return nil, pgerr.New(pgerr.DataCorrupted, "the checkpoint belongs to another training")
		}
		if len(rest) == 0 { // between two folds
			resume = nil
		}
	}
	c, err := r.counted(ctx)
	if err != nil {
		return nil, err
	}
	for fold := first; ; fold++ {
		f := &runner{in: r.in, red: r.red, job: r.job, start: r.start, fold: fold, folds: folds + 1, done: done}
		f.in.Resume, resume = resume, nil
		holdout := &holdout.Holdout{}
		if fold <= folds {
			holdout = r.holdouts(c)[fold-1]
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
			return nil, pgerr.New(pgerr.InvalidParameterValue, "a fold of the cross-validation has no rows").At(r.job.Options.Pos("cross_validation")).
				WithHint("Ask for fewer folds.")
		}
		done = append(done, Fold{res.Rows, res.Held, res.Iterations, r.in.Now().Sub(since).Seconds(), res.Metrics})
		if r.in.Save == nil || r.job.Options.Int("checkpoint_every", 10) == 0 {
			continue
		}
		next := &runner{fold: fold + 1, done: done}
		if err := r.in.Save.Save(ctx, 0, func(w io.Writer) error {
			e := canon.To(w)
			next.encodeFolds(e)
			return e.Flush()
		}); err != nil {
			return nil, err
		}
	}
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

// encodeFolds writes the current fold and the metrics of the earlier ones.
func (r *runner) encodeFolds(e *canon.E) {
	e.Int(r.fold)
	e.U32(uint32(len(r.done)))
	for _, f := range r.done {
		e.I64(f.Rows)
		e.I64(f.Held)
		e.Int(f.Iterations)
		e.F64(f.Seconds)
		e.U32(uint32(len(f.Metrics)))
		for _, m := range f.Metrics {
			e.Str(m.Name)
			e.F64(m.Value)
		}
	}
}

func decodeFolds(d *canon.D) (fold int, done []Fold) {
	fold = d.Int()
	for range d.Count(36) {
		f := Fold{Rows: d.I64(), Held: d.I64(), Iterations: d.Int(), Seconds: d.F64()}
		for range d.Count(12) {
			f.Metrics = append(f.Metrics, family.Metric{Name: d.Str(), Value: d.F64()})
		}
		done = append(done, f)
	}
	return fold, done
}
