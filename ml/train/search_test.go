package train

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/ml/search"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// from is a range, and of a list of candidates.
func from(lo, hi any) *family.Dimension { return &family.Dimension{Lo: lo, Hi: hi} }

func logFrom(lo, hi any) *family.Dimension { return &family.Dimension{Lo: lo, Hi: hi, Log: true} }

func of(list ...types.Datum) *family.Dimension { return &family.Dimension{Candidates: list} }

// searchTable is trainTable for a search, whose rows are read again for each encoding.
func searchTable(t testing.TB, job *Job, tb *table, s setup, in Input) (res *Result, readings int, err error) {
	readings = 1
	in.Workers = s.workers
	in.Open = func(_ context.Context, job *Job, first int) (*Group, error) {
		readings++
		s := s
		s.first = first
		l, rows, err := tryLocal(t, job, tb, s)
		if err != nil {
			return nil, err
		}
		return &Group{Reducer: l, Rows: rows, Close: func() {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			for _, w := range l.Workers {
				if n := w.cfg.Pool.Used(); n != 0 {
					t.Errorf("%d bytes are still charged to an opened group", n)
				}
			}
		}}, nil
	}
	res, err = trainTable(t, job, tb, s, in)
	return res, readings, err
}

// told shows trials without what differs from run to run.
func told(res *Result) string {
	var b strings.Builder
	for _, t := range res.Trials {
		t.Seconds = 0
		fmt.Fprintf(&b, "%+v\n", t)
	}
	fmt.Fprintf(&b, "best %d by %s: %v, %d rows, %d held out", res.Best, res.Objective, res.Metrics, res.Rows, res.Held)
	return b.String()
}

// searches are statements of all algorithms, with candidates that change the encoding, fail, or are lists.
var searches = []struct {
	name, algorithm string
	classes         int
	readings        int
	args            []any
}{
	{"grid", "logistic_regression", 2, 2, []any{"l2_reg", of(0.001, 1.0), "standardize", of(true, false), "hparam_tuning_algorithm", "grid", "checkpoint_every", int64(3)}},
	{"random", "gradient_boosted_trees", 2, 1, []any{"learning_rate", logFrom(0.03, 0.3), "max_depth", of(int64(2), int64(4)), "num_trials", int64(4), "n_estimators", int64(6)}},
	{"prefixes", "gradient_boosted_trees", 2, 1, []any{"n_estimators", of(int64(6), int64(2), int64(4)), "max_depth", of(int64(2), int64(4)), "subsample", 0.7, "learning_rate", 0.3, "hparam_tuning_algorithm", "grid", "checkpoint_every", int64(1), "scoring", "accuracy"}},
	{"folds", "linear_regression", 0, 1, []any{"l2_reg", logFrom(1e-4, 10.0), "num_trials", int64(3), "cross_validation", int64(3)}},
	{"folds encoded twice", "logistic_regression", 3, 2, []any{"class_weights", of("balanced", false), "l2_reg", of(0.01, 0.1), "cv", int64(2), "hparam_tuning_algorithm", "grid"}},
	{"halving", "gradient_boosted_trees", 2, 1, []any{"learning_rate", logFrom(0.03, 0.3), "max_depth", from(int64(2), int64(5)), "num_trials", int64(9), "n_estimators", int64(9), "hparam_tuning_algorithm", "halving"}},
	{"halving nets", "mlp", 3, 1, []any{"learning_rate", logFrom(1e-3, 0.1), "hidden_units", of(types.Array{Elem: types.Int8, Elems: []types.Datum{int64(8), int64(4)}}, int64(6)), "activation", of("relu", "tanh"), "num_trials", int64(4), "epochs", int64(3),
		"hparam_tuning_algorithm", "halving", "batch_size", int64(1024)}},
	{"halving folds", "logistic_regression", 2, 1, []any{"l2_reg", logFrom(1e-4, 10.0), "num_trials", int64(4), "max_iterations", int64(9), "hparam_tuning_algorithm", "halving", "cv", int64(2)}},
	{"tpe", "ridge", 0, 1, []any{"alpha", logFrom(1e-4, 100.0), "num_trials", int64(14), "max_parallel_trials", int64(2), "hparam_tuning_algorithm", "tpe", "hparam_tuning_objective", "rmse"}},
	{"failing", "logistic_regression", 2, 1, []any{"optimizer", of("lbfgs", "newton"), "l1_reg", of(0.0, 0.1), "hparam_tuning_algorithm", "grid", "max_iterations", int64(5)}},
	{"seeds", "random_forest", 0, 2, []any{"seed", of(int64(1), int64(2)), "n_estimators", int64(3), "max_depth", int64(4), "hparam_tuning_algorithm", "grid"}},
	{"kmeans", "kmeans", 2, 1, []any{"n_clusters", from(int64(2), int64(4)), "num_trials", int64(3), "max_iterations", int64(4)}},
}

// TestSearchIsTheSameEverywhere searches over rows of which some have many copies: the trials and the
// model are the same wherever rows are, in another order of batches, and resumed from checkpoints.
func TestSearchIsTheSameEverywhere(t *testing.T) {
	for _, c := range searches {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tb := mixed(3000, c.classes, 5)
			for i := range 600 {
				tb.rows = append(tb.rows, tb.rows[i%4])
			}
			job := searchJob(t, c.algorithm, tb, c.args...)
			var want *Result
			var saved saver
			same := func(what string, got *Result, err error) {
				t.Helper()
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				if !bytes.Equal(got.Model.Encode(), want.Model.Encode()) || told(got) != told(want) {
					t.Errorf("%s: another outcome:\n%s\nnot\n%s", what, told(got), told(want))
				}
			}
			for i, s := range []setup{{workers: 1, threads: 1}, {workers: 3, threads: 2, shuffle: 2}, {workers: 2, threads: 1, shuffle: 3, records: true}} {
				in := Input{}
				if i == 0 {
					in.Save = &saved
				}
				got, readings, err := searchTable(t, job, tb, s, in)
				if i == 0 {
					want = got
				}
				same(fmt.Sprint("setup ", i), got, err)
				if readings != c.readings {
					t.Errorf("the rows were read %d times, not %d", readings, c.readings)
				}
			}
			if len(saved.states) < len(want.Trials) {
				t.Fatalf("%d checkpoints", len(saved.states))
			}
			step := 1
			if testing.Short() {
				step = len(saved.states)/4 + 1
			}
			for i := 0; i < len(saved.states); i += step {
				got, _, err := searchTable(t, job, tb, setup{workers: 1 + i%3, threads: 1, shuffle: uint64(i)}, Input{Resume: saved.states[i]})
				same(fmt.Sprint("checkpoint ", i), got, err)
			}
			last := saved.states[len(saved.states)-1]
			for _, bad := range [][]byte{{1, 2}, last[:len(last)/2], bytes.Repeat([]byte{255}, 40), append(slices.Clone(last[:8]), bytes.Repeat([]byte{1}, 90)...)} {
				if _, _, err := searchTable(t, job, tb, setup{workers: 1, threads: 1}, Input{Resume: bad}); pgerr.CodeOf(err) != pgerr.DataCorrupted {
					t.Errorf("a damaged checkpoint gives %v", err)
				}
			}
		})
	}
}

func searchJob(t testing.TB, algorithm string, tb *table, args ...any) *Job {
	t.Helper()
	targets := []string{"y"}
	if algorithm == "kmeans" {
		targets = nil
	}
	j, err := NewJob(algorithm, targets, pairs(args...), nil, tb.cols)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestTrialsAreTrainings trains each trial's settings by hand: what is told of the trial is what that
// training measures, and the model is the best one's.
func TestTrialsAreTrainings(t *testing.T) {
	for _, c := range searches {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tb := mixed(1500, c.classes, 7)
			job := searchJob(t, c.algorithm, tb, c.args...)
			got, _, err := searchTable(t, job, tb, setup{workers: 2, threads: 1}, Input{})
			if err != nil {
				t.Fatal(err)
			}
			best, at := math.Inf(1), 0
			alg := search.New(job.search.config)
			for batch := alg.Next(); len(batch) > 0; batch = alg.Next() {
				var losses []float64
				for _, b := range batch {
					losses = append(losses, math.NaN())
					told := got.Trials[b.Number-1]
					one, err := job.search.job(b.Point)
					var res *Result
					if err == nil {
						res, err = trainTable(t, one, tb, setup{workers: 1, threads: 1}, Input{})
					}
					if err != nil {
						if told.State != TrialFailed || told.Code != string(pgerr.CodeOf(err)) {
							t.Errorf("trial %+v fails by hand: %v", told, err)
						}
						continue
					}
					if told.State == TrialStopped {
						if told.Iterations >= res.Iterations*max(job.Folds(), 1) {
							t.Errorf("trial %d was stopped after all of %d iterations", b.Number, told.Iterations)
						}
						continue // it was measured before its end
					}
					_, onPath := one.Family.(family.Path)
					near := func(a, b family.Metric) bool { return a.Name == b.Name && math.Abs(a.Value-b.Value) <= 2e-3 } // trials of a path end near the same minimum
					if told.State != TrialSucceeded || !onPath && fmt.Sprint(told.Metrics) != fmt.Sprint(res.Metrics) || !slices.EqualFunc(told.Metrics, res.Metrics, near) {
						t.Errorf("trial %+v has %v by hand", told, res.Metrics)
					}
					loss := told.Objective
					if !job.search.lowerIs(got.Objective) {
						loss = -loss
					}
					losses[len(losses)-1] = loss
					if loss < best {
						best, at = loss, b.Number
						if got.Best == at && !onPath && !bytes.Equal(got.Model.Encode(), res.Model.Encode()) {
							t.Errorf("the model is not that of trial %d", at)
						}
					}
				}
				if job.search.config.Algorithm != search.Halving {
					alg.Tell(losses)
					continue
				}
				// The rungs are what the reference of ml/search says; here the winner is one of the last.
				at = got.Best
				break
			}
			if at != got.Best {
				t.Errorf("trial %d is the best, not %d\n%s", at, got.Best, told(got))
			}
		})
	}
}

// lowerIs reports whether lower values of an objective are better.
func (s *Search) lowerIs(name string) bool {
	i := slices.IndexFunc(objectives, func(o objective) bool { return o.names[0] == name })
	return objectives[i].lower
}

// TestPathOfPenalties: trials that differ in their penalty alone go down a path. They find the minima
// that trainings for themselves find, in far fewer steps over the rows.
func TestPathOfPenalties(t *testing.T) {
	for _, classes := range []int{2, 3} {
		tb := mixed(4000, classes, 3)
		var penalties []types.Datum
		for i := range 15 {
			penalties = append(penalties, math.Pow(10, -4+float64(i)*0.3))
		}
		job := searchJob(t, "logistic_regression", tb, "l2_reg", of(penalties...), "hparam_tuning_algorithm", "grid", "data_split_method", "no_split", "scoring", "log_loss", "tolerance", 1e-8)
		count := func(job *Job) (res *Result, steps int) {
			l, rows := newLocal(t, job, tb, setup{workers: 2, threads: 1})
			defer l.Close()
			c := &counting{Reducer: l}
			res, err := Run(context.Background(), Input{Job: job, Rows: rows}, c)
			if err != nil {
				t.Fatal(err)
			}
			return res, c.steps
		}
		got, steps := count(job)
		alone := 0
		for i, x := range got.Trials {
			one, n := count(mustJob(t, "logistic_regression", "y", tb, "l2_reg", penalties[i], "tolerance", 1e-8))
			alone += n
			for _, m := range one.Metrics {
				if m.Name == "log_loss" && math.Abs(m.Value-x.Objective) > 1e-7 {
					t.Errorf("with l2_reg = %v log_loss is %v on the path and %v by itself", penalties[i], x.Objective, m.Value)
				}
			}
		}
		t.Logf("%d classes: %d steps over the rows, %d for trainings by themselves", classes, steps, alone)
		if steps*4 > alone*3 || classes == 2 && steps*2 > alone { // of two, the Hessian goes along
			t.Errorf("%d classes: %d steps over the rows, and %d for trainings by themselves", classes, steps, alone)
		}
	}
}

// TestHalvingByLoss: families that measure themselves, at their end, are halved by their loss.
func TestHalvingByLoss(t *testing.T) {
	tb := &table{cols: []record.Column{{Name: "x", Type: types.Float8}, {Name: "z", Type: types.Float8}, {Name: "y", Type: types.Float8}, {Name: "e", Type: types.Bool}}}
	for i := range 600 {
		x, z := float64(i*37%101)/50-1, float64(i*53%97)/50-1
		tb.rows = append(tb.rows, []any{x, z, 1 + math.Exp(x)*float64(1+i*29%89)/30, i%3 > 0})
	}
	for _, args := range [][]any{
		{"time_to_event", "event", "e", "l2_reg", logFrom(1e-3, 1.0), "max_iterations", int64(9), "hidden_units", int64(4)},
		{"time_to_event", "event", "e", "l2_reg", logFrom(1e-3, 1.0), "max_iterations", int64(9)},
		{"kmeans", "n_clusters", from(int64(2), int64(9)), "max_iterations", int64(9)},
	} {
		var want string
		for workers := range 3 {
			res, _, err := searchTable(t, searchJob(t, args[0].(string), tb, append(args[1:], "num_trials", int64(6), "hparam_tuning_algorithm", "halving")...), tb, setup{workers: workers + 1, threads: 1, shuffle: uint64(workers)}, Input{})
			if err != nil {
				t.Fatal(args, err)
			}
			if res.Objective != "loss" || !slices.ContainsFunc(res.Trials, func(x Trial) bool { return x.Rung > 0 }) {
				t.Errorf("%v: by %s: %+v", args, res.Objective, res.Trials)
			}
			if got := told(res); want == "" {
				want = got
			} else if got != want {
				t.Errorf("%v on %d workers:\n%s\nnot\n%s", args, workers+1, got, want)
			}
		}
	}
}

// TestReadingFails: an error of the query when it is read again is the statement's, not a trial's.
func TestReadingFails(t *testing.T) {
	tb := mixed(300, 2, 3)
	job := searchJob(t, "logistic_regression", tb, "standardize", of(true, false), "hparam_tuning_algorithm", "grid")
	zero := pgerr.New(pgerr.DivisionByZero, "division by zero")
	_, err := trainTable(t, job, tb, setup{workers: 1, threads: 1}, Input{Open: func(context.Context, *Job, int) (*Group, error) { return nil, zero }})
	if err != error(zero) {
		t.Errorf("a search whose second reading fails gives %v", err)
	}
}

// TestPrefixesAreOneTraining: trials that differ in their number of trees alone cost what the longest
// costs.
func TestPrefixesAreOneTraining(t *testing.T) {
	tb := mixed(2000, 2, 3)
	count := func(n *family.Dimension) int {
		job := searchJob(t, "gradient_boosted_trees", tb, "n_estimators", n, "max_depth", int64(3))
		l, rows := newLocal(t, job, tb, setup{workers: 2, threads: 1})
		defer l.Close()
		c := &counting{Reducer: l}
		if _, err := Run(context.Background(), Input{Job: job, Rows: rows}, c); err != nil {
			t.Fatal(err)
		}
		return c.steps
	}
	if one, all := count(of(int64(12))), count(of(int64(3), int64(12), int64(6), int64(9))); all != one {
		t.Errorf("four trials of at most 12 trees took %d steps, and the longest alone %d", all, one)
	}
}

// counting counts the steps of families.
type counting struct {
	Reducer
	steps int
}

func (c *counting) Reduce(ctx context.Context, t Task) (family.Message, error) {
	if t.Step() {
		c.steps++
	}
	return c.Reducer.Reduce(ctx, t)
}

// TestSearchCountsWeights: weights of 2 and rows that are there twice give the same trials.
func TestSearchCountsWeights(t *testing.T) {
	cols := []record.Column{{Name: "a", Type: types.Float8}, {Name: "y", Type: types.Float8}, {Name: "held", Type: types.Bool}}
	weighted, copied := &table{cols: append(slices.Clone(cols), record.Column{Name: "w", Type: types.Float8})}, &table{cols: cols}
	for i := range 400 {
		a := float64(i*37%101) / 10
		row := []any{a, 2*a + float64(i*53%7), i%5 == 0}
		weighted.rows = append(weighted.rows, append(slices.Clone(row), float64(1+i%2)))
		for range 1 + i%2 {
			copied.rows = append(copied.rows, row)
		}
	}
	args := []any{"alpha", logFrom(1e-3, 10.0), "num_trials", int64(5), "data_split_col", "held"}
	one, _, err := searchTable(t, searchJob(t, "ridge", weighted, append(args, "weight", "w")...), weighted, setup{workers: 2, threads: 1}, Input{})
	if err != nil {
		t.Fatal(err)
	}
	two, _, err := searchTable(t, searchJob(t, "ridge", copied, args...), copied, setup{workers: 2, threads: 1}, Input{})
	if err != nil {
		t.Fatal(err)
	}
	if one.Best != two.Best {
		t.Errorf("trial %d, not %d", one.Best, two.Best)
	}
	for i, x := range one.Trials {
		if y := two.Trials[i]; math.Abs(x.Objective-y.Objective) > 1e-9 {
			t.Errorf("trial %d has %v with weights and %v with copies", i+1, x.Objective, y.Objective)
		}
	}
}

// TestSearchRefuses lists statements that cannot be searched.
func TestSearchRefuses(t *testing.T) {
	tb := mixed(50, 2, 3)
	for _, c := range []struct {
		algorithm string
		code      pgerr.Code
		says      string
		args      []any
	}{
		{"logistic_regression", pgerr.InvalidParameterValue, `option "cross_validation" cannot be searched`, []any{"cross_validation", of(int64(2), int64(3))}},
		{"logistic_regression", pgerr.InvalidParameterValue, `option "weight" cannot be searched`, []any{"weight", of("w")}},
		{"logistic_regression", pgerr.InvalidParameterValue, `option "checkpoint_every" cannot be searched`, []any{"checkpoint_every", from(int64(1), int64(3))}},
		{"logistic_regression", pgerr.InvalidParameterValue, `option "optimizer" has no range`, []any{"optimizer", from(int64(1), int64(3))}},
		{"logistic_regression", pgerr.InvalidParameterValue, `invalid value for option "optimizer"`, []any{"optimizer", of("lbfgs", "best")}},
		{"logistic_regression", pgerr.InvalidParameterValue, `invalid value for option "l2_reg"`, []any{"l2_reg", from(-1.0, 3.0)}},
		{"logistic_regression", pgerr.InvalidParameterValue, `ends before it begins`, []any{"l2_reg", from(3.0, 1.0)}},
		{"logistic_regression", pgerr.InvalidParameterValue, `begins above 0`, []any{"l2_reg", logFrom(0.0, 1.0)}},
		{"logistic_regression", pgerr.InvalidParameterValue, `unrecognized training option`, []any{"l3_reg", from(0.0, 1.0)}},
		{"logistic_regression", pgerr.InvalidParameterValue, `is not one of logistic_regression`, []any{"max_depth", from(int64(1), int64(3))}},
		{"logistic_regression", pgerr.InvalidParameterValue, `is for a search`, []any{"num_trials", int64(3)}},
		{"logistic_regression", pgerr.InvalidParameterValue, `is given twice`, []any{"l2_reg", from(0.0, 1.0), "l2", 0.1}},
		{"logistic_regression", pgerr.InvalidParameterValue, `"r2_score" is not measured`, []any{"l2_reg", from(0.0, 1.0), "scoring", "r2_score"}},
		{"logistic_regression", pgerr.InvalidParameterValue, `the grid has 4 points`, []any{"l2_reg", of(0.0, 1.0), "l1_reg", of(0.0, 1.0), "num_trials", int64(3), "hparam_tuning_algorithm", "grid"}},
		{"logistic_regression", pgerr.InvalidParameterValue, `has no room for two values`, []any{"l2_reg", from(0.0, 1.0), "l1_reg", from(0.0, 1.0), "num_trials", int64(3), "hparam_tuning_algorithm", "grid"}},
		{"logistic_regression", pgerr.InvalidParameterValue, `does not go on from a model`, []any{"l2_reg", from(0.0, 1.0), "warm_start", true}},
		{"logistic_regression", pgerr.InvalidParameterValue, `names two algorithms`, []any{"l2_reg", from(0.0, 1.0), "model_type", "ridge"}},
	} {
		_, err := NewJob(c.algorithm, []string{"y"}, pairs(c.args...), nil, tb.cols)
		if e := pgerr.From(err); err == nil || e.Code != c.code || !strings.Contains(e.Message, c.says) || e.Position == 0 {
			t.Errorf("%v: %v", c.args, err)
		}
	}
	// All trials fail: the error of the first one.
	for _, in := range []*table{mixed(50, 2, 3), {cols: tb.cols, rows: mixed(50, 2, 3).rows}} {
		for i := range in.rows {
			in.rows[i][7] = int32(1)
		}
		_, _, err := searchTable(t, searchJob(t, "logistic_regression", in, "l2_reg", of(0.1, 1.0)), in, setup{workers: 1, threads: 1}, Input{})
		if e := pgerr.From(err); pgerr.CodeOf(err)[:2] != "22" || !strings.Contains(e.Detail, "trial 1") {
			t.Errorf("one class: %v, %s", err, e.Detail)
		}
	}
}
