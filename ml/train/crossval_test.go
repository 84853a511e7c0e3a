package train

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// TestCrossValidationLeavesOneOut cross-validates with one fold per row, and trains without each
// row by hand: the metrics are the means of these, so nothing of a fold gets into the model that is
// evaluated on it, nor into its encoders.
func TestCrossValidationLeavesOneOut(t *testing.T) {
	const n = 14
	for _, c := range []struct {
		algorithm string
		k         int
		args      []any
	}{
		{"ridge", 0, []any{"l2_reg", 0.1}},
		{"ridge", 0, []any{"l2_reg", 0.1, "weight", "w"}},
		{"logistic_regression", 2, []any{"max_iterations", int64(5), "l2_reg", 0.1, "class_weights", true}},
		{"logistic_regression", 2, []any{"optimizer", "sgd", "max_iterations", int64(3)}},
		{"gradient_boosted_trees", 0, []any{"n_estimators", int64(3), "min_child_weight", 0.0}},
	} {
		tb := mixed(n, c.k, 11)
		tb.cols = append(tb.cols, record.Column{Name: "held", Type: types.Bool})
		for i := range tb.rows {
			tb.rows[i] = append(tb.rows[i], false)
		}
		want := map[string][]float64{}
		for i := range n {
			tb.rows[i][8] = true
			res, err := trainTable(t, mustJob(t, c.algorithm, "y", tb, append(c.args, "data_split_col", "held")...), tb, setup{workers: 1, threads: 1}, Input{})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range res.Metrics {
				want[m.Name] = append(want[m.Name], m.Value)
			}
			tb.rows[i][8] = false
		}
		tb.cols = tb.cols[:8]
		whole, err := trainTable(t, mustJob(t, c.algorithm, "y", tb, c.args...), tb, setup{workers: 1, threads: 1}, Input{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := trainTable(t, mustJob(t, c.algorithm, "y", tb, append(c.args, "cross_validation", int64(n))...), tb, setup{workers: 1, threads: 1}, Input{})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Model.Encode(), whole.Model.Encode()) || got.Rows != n || got.Held != 0 {
			t.Errorf("%s: the model is not that of all rows", c.algorithm)
		}
		if len(got.Folds) != n {
			t.Fatalf("%s: %d folds are told of", c.algorithm, len(got.Folds))
		}
		for name, values := range want { // the metrics of each fold
			var hand, told []string
			for i, v := range values {
				hand = append(hand, fmt.Sprint(v))
				f := got.Folds[i]
				at := slices.IndexFunc(f.Metrics, func(m family.Metric) bool { return m.Name == name })
				if at < 0 || f.Rows != n-1 || f.Held != 1 || f.Iterations == 0 {
					t.Fatalf("%s: fold %d is %+v", c.algorithm, i, f)
				}
				told = append(told, fmt.Sprint(f.Metrics[at].Value))
			}
			slices.Sort(hand)
			slices.Sort(told)
			if !slices.Equal(hand, told) {
				t.Errorf("%s %v: %s of the folds is %v, not %v", c.algorithm, c.args, name, told, hand)
			}
		}
		for _, m := range got.Metrics {
			name, std := m.Name, false
			if len(name) > 4 && name[len(name)-4:] == "_std" {
				name, std = name[:len(name)-4], true
			}
			var sum, squares float64
			for _, v := range want[name] {
				sum += v
			}
			mean := sum / float64(len(want[name]))
			for _, v := range want[name] {
				squares += (v - mean) * (v - mean)
			}
			if std {
				mean = math.Sqrt(squares / float64(len(want[name])))
			}
			if d := math.Abs(m.Value - mean); !(d <= 1e-12*max(1, math.Abs(mean))) && !(math.IsNaN(mean) && math.IsNaN(m.Value)) && !(math.IsInf(mean, 0) && mean == m.Value) {
				t.Errorf("%s %v: %s is %v, not %v", c.algorithm, c.args, m.Name, m.Value, mean)
			}
		}
	}
}

// TestCrossValidationIsTheSameEverywhere cross-validates over rows of which some have many copies:
// metrics and model are the same wherever rows are, with little memory, and resumed from every
// checkpoint.
func TestCrossValidationIsTheSameEverywhere(t *testing.T) {
	for _, c := range []struct {
		algorithm string
		k         int
		args      []any
	}{
		{"logistic_regression", 3, []any{"max_iterations", int64(4), "checkpoint_every", int64(2)}},
		{"linear_regression", 0, []any{"optimizer", "adam", "max_iterations", int64(2), "checkpoint_every", int64(1)}},
		{"random_forest", 2, []any{"n_estimators", int64(3), "max_depth", int64(4)}},
		{"naive_bayes", 3, []any{"calibration", "isotonic"}},
		{"ridge", 0, []any{"prediction_interval", 0.9, "optimizer", "lbfgs", "max_iterations", int64(4), "checkpoint_every", int64(1)}},
	} {
		t.Run(fmt.Sprint(c.algorithm), func(t *testing.T) {
			t.Parallel()
			tb := mixed(9000, c.k, 5)
			for i := range 3000 {
				tb.rows = append(tb.rows, tb.rows[i%4])
			}
			job := mustJob(t, c.algorithm, "y", tb, append(c.args, "cross_validation", int64(3))...)
			var want *Result
			var saved saver
			setups := []setup{{workers: 1, threads: 1}, {workers: 3, threads: 2, shuffle: 2}, {workers: 1, threads: 2, shuffle: 3, memory: 15 << 18}}
			if c.algorithm == "random_forest" || adjusts(job) {
				setups = setups[:2] // partials do not fit the small memory
			}
			same := func(what string, got *Result, err error) {
				t.Helper()
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				if !bytes.Equal(got.Model.Encode(), want.Model.Encode()) || fmt.Sprint(got.Metrics, got.Rows) != fmt.Sprint(want.Metrics, want.Rows) {
					t.Errorf("%s: another outcome: %v, not %v", what, got.Metrics, want.Metrics)
				}
			}
			for i, s := range setups {
				in := Input{Profile: true}
				if i == 0 {
					in.Save = &saved
				}
				got, err := trainTable(t, job, tb, s, in)
				if i == 0 {
					want = got
				}
				same(fmt.Sprint("setup ", i), got, err)
				if got.Profile == nil && s.memory == 0 || got.Profile != nil && !bytes.Equal(got.Profile.Append(nil), want.Profile.Append(nil)) {
					t.Errorf("setup %d: other statistics of the rows", i)
				}
			}
			if len(saved.states) < 3 {
				t.Fatalf("%d checkpoints", len(saved.states))
			}
			for i, state := range saved.states {
				got, err := trainTable(t, job, tb, setup{workers: 2, threads: 1, shuffle: uint64(i)}, Input{Resume: state})
				same(fmt.Sprint("checkpoint ", i), got, err)
			}
			for _, bad := range [][]byte{{1, 2}, saved.states[0][:9], bytes.Repeat([]byte{255}, 40)} {
				if _, err := trainTable(t, job, tb, setup{workers: 1, threads: 1}, Input{Resume: bad}); pgerr.CodeOf(err) != pgerr.DataCorrupted {
					t.Errorf("a damaged checkpoint gives %v", err)
				}
			}
		})
	}
}

// TestCrossValidationSeesNoFold cross-validates a model that overfits noise: its score on the folds
// must be that of guessing.
func TestCrossValidationSeesNoFold(t *testing.T) {
	tb := &table{cols: []record.Column{{Name: "id", Type: types.Float8}, {Name: "y", Type: types.Bool}}}
	h := uint64(1)
	for i := range 240 {
		h = h*6364136223846793005 + 1442695040888963407
		tb.rows = append(tb.rows, []any{float64(i), h>>63 == 1})
	}
	args := []any{"n_estimators", int64(40), "max_depth", int64(10), "learning_rate", 1.0, "min_child_weight", 0.0}
	accuracy := func(args ...any) float64 {
		res, err := trainTable(t, mustJob(t, "gradient_boosted_trees", "y", tb, args...), tb, setup{workers: 1, threads: 2}, Input{})
		if err != nil {
			t.Fatal(err)
		}
		return res.Metrics[0].Value
	}
	if a := accuracy(args...); a < 0.9 {
		t.Errorf("%v of the rows are learnt by heart", a)
	}
	if a := accuracy(append(args, "cv_folds", int64(5))...); math.Abs(a-0.5) > 0.12 {
		t.Errorf("%v of noise is foretold", a)
	}
}

// TestCrossValidationRefuses lists options that cannot be combined with cross-validation.
func TestCrossValidationRefuses(t *testing.T) {
	tb := mixed(50, 2, 3)
	for _, c := range []struct {
		algorithm string
		code      pgerr.Code
		args      []any
	}{
		{"ridge", pgerr.InvalidParameterValue, []any{"cross_validation", int64(1)}},
		{"ridge", pgerr.InvalidParameterValue, []any{"cross_validation", int64(5), "eval_fraction", 0.2}},
		{"ridge", pgerr.InvalidParameterValue, []any{"cross_validation", int64(5), "data_split_col", "flag"}},
		{"logistic_regression", pgerr.InvalidParameterValue, []any{"cross_validation", int64(5), "early_stop", true}},
		{"gradient_boosted_trees", pgerr.InvalidParameterValue, []any{"cross_validation", int64(5), "early_stopping_rounds", int64(5)}},
		{"logistic_regression", pgerr.InvalidParameterValue, []any{"cross_validation", int64(5), "warm_start", true}},
		{"lstm", pgerr.FeatureNotSupported, []any{"cross_validation", int64(5), "window", int64(3), "order_by", "at"}},
	} {
		if _, err := NewJob(c.algorithm, []string{"y"}, pairs(c.args...), nil, tb.cols); pgerr.CodeOf(err) != c.code {
			t.Errorf("%s %v: %v", c.algorithm, c.args, err)
		}
	}
	if _, err := NewJob("kmeans", nil, pairs("n_clusters", int64(2), "cross_validation", int64(5)), nil, tb.cols); pgerr.CodeOf(err) != pgerr.InvalidParameterValue {
		t.Error(err)
	}
	if _, err := trainTable(t, mustJob(t, "ridge", "y", tb, "cross_validation", int64(51)), tb, setup{workers: 1, threads: 1}, Input{}); pgerr.CodeOf(err) != pgerr.InvalidParameterValue {
		t.Error(err)
	}
}
