package train

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/calibration"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// calibrationFolds is how many folds a calibration has where the statement does not say what is held out.
const calibrationFolds = 5

// method is how a job's probabilities are calibrated, "" for not.
func method(j *Job) string {
	if m := j.Options.Text(family.Calibration, "none"); m != "none" {
		return m
	}
	return ""
}

// calibrates reports whether rows that were not trained on say what becomes of scores.
func calibrates(j *Job) bool {
	return method(j) != "" || j.Options.Given(family.PredictionInterval)
}

// adjusts reports whether something becomes of scores before they are predictions.
func adjusts(j *Job) bool { return calibrates(j) || j.Options.Given(family.CostMatrix) }

// adjustedAt is the position of the option that asks for it.
func adjustedAt(j *Job) int {
	return max(j.Options.Pos(family.Calibration), j.Options.Pos(family.PredictionInterval), j.Options.Pos(family.CostMatrix))
}

// mayAdjust returns an error for options that do not fit what is trained.
func mayAdjust(j *Job) error {
	for _, o := range []struct {
		name, needs string
		task        family.Task
		given       bool
	}{
		{family.Calibration, "a classifier", family.Classification, method(j) != ""},
		{family.CostMatrix, "a classifier", family.Classification, j.Options.Given(family.CostMatrix)},
		{family.PredictionInterval, "a regression", family.Regression, j.Options.Given(family.PredictionInterval)},
	} {
		switch {
		case !o.given:
		case j.targets != nil:
			return pgerr.Unsupported("option %q of several targets is not supported", o.name).At(j.Options.Pos(o.name)).WithHint("Train a model for each of them.")
		case j.Plan.Task != o.task:
			e := pgerr.New(pgerr.InvalidParameterValue, "option %q needs %s", o.name, o.needs).At(j.Options.Pos(o.name))
			if o.task == family.Regression && j.Plan.Task == family.Classification {
				e = e.WithHint("The target's values are taken for classes: cast it to float8 in the query, or name a regressor.")
			}
			return e
		}
	}
	return nil
}

// addBounds adds the columns of an interval to those of a prediction.
func addBounds(j *Job) {
	if j.Options.Given(family.PredictionInterval) && j.targets == nil && j.Plan.Task == family.Regression {
		j.Plan.Outputs = append(slices.Clip(j.Plan.Outputs), family.Output{Name: "prediction_interval_lower_bound", Type: types.Float8},
			family.Output{Name: "prediction_interval_upper_bound", Type: types.Float8})
	}
}

// tallyTask counts the rows held out by their scores.
type tallyTask struct{ *evaluateTask }

func (t *tallyTask) kind() uint8 { return kindTally }

func (t *tallyTask) begin(w *Worker, p *Part) (err error) {
	p.whole = true
	p.work = func() (taskPass, error) { return &tallyPass{w: w, t: t.evaluateTask}, nil }
	f, _ := w.job.learns(w.fitted)
	p.threads, err = w.room(family.Scratch(t.predictor), calibration.TallyBytes(len(f.Keys)), len(w.leaves), w.cfg.Threads, true)
	return err
}

func (t *tallyTask) decode(_ *Job, d *canon.D) family.Message { return calibration.DecodeTally(d) }

func (t *tallyTask) merge(_ *Job, left, right family.Message) (family.Message, error) {
	return merged(left, right, (*calibration.Tally).Merge)
}

// tallyPass counts the rows of the leaves that one goroutine takes.
type tallyPass struct {
	w   *Worker
	t   *evaluateTask
	sum calibration.Tally
}

func (h *tallyPass) do(ctx context.Context, it *item) (family.Message, error) {
	return nil, h.t.block(ctx, h.w, it.leaf, func(b *block.Block, _ family.Rows) {
		y, weights := b.Targets()
		w := make([]float64, len(weights))
		for i, v := range weights {
			w[i] = h.t.measured(v, int(y[i]))
		}
		h.sum.Add(y, w, h.t.predictor.Score(b))
	})
}

func (h *tallyPass) rest() family.Message { return &h.sum }

// tally counts the rows held out by their scores.
func tally(ctx context.Context, r *runner, p family.Predictor) (*calibration.Tally, error) {
	return reduceTo[*calibration.Tally](ctx, r.red, &tallyTask{&evaluateTask{held: true, classWeights: r.cw, unit: weightUnit(r.Weight.Value()), predictor: p}})
}

// adjust returns what becomes of the scores of what was learnt; nil where they stay, and in a fold.
func adjust(ctx context.Context, r *runner, p family.Predictor) (a *calibration.Adjustment, err error) {
	j, t := r.job, r.tallied
	switch {
	case !adjusts(j) || r.fold < r.folds:
		return nil, nil
	case calibrates(j) && t == nil:
		if r.Held == 0 {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "no rows are held out, from which to calibrate").At(adjustedAt(j)).
				WithHint("Leave data_split_method out: then folds are held out in turn.")
		}
		if t, err = tally(ctx, r, p); err != nil {
			return nil, err
		}
	}
	a = &calibration.Adjustment{}
	if m := method(j); m != "" {
		a.Curves = t.Fit(m)
	}
	if j.Options.Given(family.PredictionInterval) {
		a.Interval, a.Radius = true, t.Radius(j.Options.Float(family.PredictionInterval, 0))
		if math.IsInf(a.Radius, 1) {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "%d rows are too few for an interval of probability %v", t.Rows, j.Options.Float(family.PredictionInterval, 0)).
				At(j.Options.Pos(family.PredictionInterval))
		}
	}
	a.Costs, err = costsOf(j, r.learns, r.in.Part)
	return a, err
}

// costsOf returns what it costs to predict the second class where the first is true: nothing where they are the same, and 1
// where the statement does not say. Classes that a part of the rows does not have do not matter.
func costsOf(j *Job, f *feature.Fitted, part bool) ([][]float64, error) {
	given := j.Options.Texts(family.CostMatrix, nil)
	if given == nil {
		return nil, nil
	}
	at := map[string]int{}
	out := make([][]float64, len(f.Keys))
	for k, key := range f.Keys {
		at[feature.KeyText(f.Label.Type, key)] = k
		out[k] = slices.Repeat([]float64{1}, len(f.Keys))
		out[k][k] = 0
	}
	for ; len(given) >= 3; given = given[3:] {
		there := true
		for _, name := range given[:2] {
			if _, ok := at[name]; !ok && name != "" {
				if there = false; part {
					continue
				}
				return nil, pgerr.New(pgerr.InvalidParameterValue, "cost_matrix names %q, which is no class of column %q", name, f.Label.Name).At(j.Options.Pos(family.CostMatrix)).
					WithDetail("The classes are %s.", strings.Join(classTexts(f), ", "))
			}
		}
		if !there {
			continue
		}
		cost, _ := strconv.ParseFloat(given[2], 64)
		row := out[at[given[0]]]
		if given[1] != "" {
			row[at[given[1]]] = cost
			continue
		}
		for k := range row {
			if k != at[given[0]] {
				row[k] = cost
			}
		}
	}
	return out, nil
}

func classTexts(f *feature.Fitted) (out []string) {
	for _, key := range f.Keys {
		out = append(out, feature.KeyText(f.Label.Type, key))
	}
	return out
}
