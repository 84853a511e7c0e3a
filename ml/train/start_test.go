package train

import (
	"bytes"
	"testing"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestWarmStart continues from a model over other rows: it starts at its parameters, with its
// encoders, and is the same on any setup and resumed from every checkpoint.
func TestWarmStart(t *testing.T) {
	for _, c := range []struct {
		algorithm, target string
		classes           int
		args              []any
	}{
		{"logistic_regression", "y", 3, []any{"max_iterations", int64(8), "l2_reg", 1e-3, "weight", "w"}},
		{"logistic_regression", "y", 2, []any{"optimizer", "momentum", "max_iterations", int64(2), "fit_intercept", false}},
		{"poisson_regression", "b", 0, []any{"max_iterations", int64(4), "optimizer", "lbfgs"}},
		{"quantile_regression", "y", 0, []any{"max_iterations", int64(60)}},
		{"huber_regression", "y", 0, []any{"max_iterations", int64(5)}},
		{"lasso", "y", 0, []any{"alpha", 0.01, "optimizer", "lbfgs", "max_iterations", int64(4)}},
		{"kmeans", "", 0, []any{"k", int64(6), "max_iterations", int64(3)}},
		{"kmeans", "", 0, []any{"k", int64(6), "max_iterations", int64(2), "batch_size", int64(512)}},
		{"mlp", "y", 0, []any{"epochs", int64(2), "hidden_units", int64(6), "eval_fraction", 0.2}},
		{"autoencoder", "", 0, []any{"epochs", int64(2), "hidden_units", int64(3)}},
	} {
		t.Run(c.algorithm, func(t *testing.T) {
			t.Parallel()
			old, tb := mixed(5000, c.classes, 3), mixed(6000, c.classes, 4)
			job := func(tb *table) *Job {
				var predict []string
				if c.target != "" {
					predict = []string{c.target}
				}
				j, err := NewJob(c.algorithm, predict, pairs(append(c.args, "checkpoint_every", int64(1), "warm_start", true)...), nil, tb.cols)
				if err != nil {
					t.Fatal(err)
				}
				return j
			}
			first, err := trainTable(t, job(old), old, setup{workers: 1, threads: 2}, Input{})
			if err != nil {
				t.Fatal(err)
			}
			cold, err := trainTable(t, job(tb), tb, setup{workers: 1, threads: 2}, Input{})
			if err != nil {
				t.Fatal(err)
			}
			var s saver
			warm, err := trainTable(t, job(tb), tb, setup{workers: 1, threads: 2}, Input{Start: first.Model, Save: &s})
			if err != nil {
				t.Fatal(err)
			}
			if warm.Model.Fitted != first.Model.Fitted {
				t.Error("it has encoders of its own")
			}
			if begun, was := warm.History[0].TrainLoss, cold.History[0].TrainLoss; !(begun < was) {
				t.Errorf("its first loss is %v, without a model %v", begun, was)
			}
			other, err := trainTable(t, job(tb), tb, setup{workers: 3, threads: 1, shuffle: 6}, Input{Start: first.Model})
			if err != nil || !bytes.Equal(other.Model.Encode(), warm.Model.Encode()) {
				t.Errorf("another model on three workers, %v", err)
			}
			for _, state := range s.states {
				again, err := trainTable(t, job(tb), tb, setup{workers: 2, threads: 1, shuffle: 7}, Input{Start: first.Model, Resume: state})
				if err != nil || !bytes.Equal(again.Model.Encode(), warm.Model.Encode()) {
					t.Errorf("another model after a checkpoint, %v", err)
				}
			}
			if len(s.states) == 0 {
				t.Error("there was no checkpoint")
			}
			if _, err := trainTable(t, job(tb), tb, setup{workers: 1}, Input{Resume: s.states[0]}); !pgerr.Is(err, pgerr.DataCorrupted) {
				t.Errorf("a checkpoint of a training that began elsewhere: %v", err)
			}
		})
	}
}

// TestWarmStartSeveral: each of several targets starts from its model, as if trained alone; a model
// of other targets is refused.
func TestWarmStartSeveral(t *testing.T) {
	for _, c := range []struct {
		algorithm string
		alone     bool
		args      []any
	}{
		{"huber_regression", true, []any{"max_iterations", int64(3)}},
		{"lasso", true, []any{"alpha", 0.01, "optimizer", "lbfgs", "max_iterations", int64(3)}},
		{"mlp", false, []any{"epochs", int64(2), "hidden_units", int64(4), "eval_fraction", 0.2}},
	} {
		t.Run(c.algorithm, func(t *testing.T) {
			t.Parallel()
			both := []string{"y2", "y"} // not in the columns' order
			train := func(tb *table, predict []string, s setup, in Input) (*Result, error) {
				job, err := NewJob(c.algorithm, predict, pairs(append(c.args, "checkpoint_every", int64(1), "warm_start", true)...), nil, tb.cols)
				if err != nil {
					t.Fatal(err)
				}
				return trainTable(t, job, tb, s, in)
			}
			old, tb := twice(3000, 5), twice(4000, 6)
			first, err := train(old, both, setup{workers: 1, threads: 2}, Input{})
			if err != nil {
				t.Fatal(err)
			}
			cold, err := train(tb, both, setup{workers: 1, threads: 2}, Input{})
			if err != nil {
				t.Fatal(err)
			}
			var s saver
			warm, err := train(tb, both, setup{workers: 1, threads: 2}, Input{Start: first.Model, Save: &s})
			if err != nil {
				t.Fatal(err)
			}
			var kept, had canon.E
			warm.Model.Fitted.Encode(&kept)
			first.Model.Fitted.Encode(&had)
			if !bytes.Equal(kept.B, had.B) {
				t.Error("it has encoders of its own")
			}
			if begun, was := warm.History[0].TrainLoss, cold.History[0].TrainLoss; !(begun < was) {
				t.Errorf("its first loss is %v, without a model %v", begun, was)
			}
			if other, err := train(tb, both, setup{workers: 3, threads: 1, shuffle: 6}, Input{Start: first.Model}); err != nil || !bytes.Equal(other.Model.Encode(), warm.Model.Encode()) {
				t.Errorf("another model on three workers, %v", err)
			}
			for _, state := range s.states {
				again, err := train(tb, both, setup{workers: 2, threads: 1, shuffle: 7}, Input{Start: first.Model, Resume: state})
				if err != nil || !bytes.Equal(again.Model.Encode(), warm.Model.Encode()) {
					t.Errorf("another model after a checkpoint, %v", err)
				}
			}
			for k, name := range both {
				before, err := train(old.without(both[1-k]), []string{name}, setup{workers: 1, threads: 2}, Input{})
				if err != nil {
					t.Fatal(err)
				}
				one, err := train(tb.without(both[1-k]), []string{name}, setup{workers: 1, threads: 2}, Input{Start: before.Model})
				if err != nil {
					t.Fatal(err)
				}
				var all, alone canon.E
				warm.Model.Predictor.Encode(&all)
				one.Model.Predictor.Encode(&alone)
				if c.alone && !bytes.Contains(all.B, alone.B) {
					t.Errorf("%s alone goes on to another model", name)
				}
				for _, from := range []struct {
					tb      *table
					predict []string
					model   *Result
				}{{tb, both, before}, {tb.without(both[1-k]), []string{name}, first}, {tb, []string{"y", "y2"}, first}} {
					if _, err := train(from.tb, from.predict, setup{workers: 1, threads: 1}, Input{Start: from.model.Model}); !pgerr.Is(err, pgerr.InvalidParameterValue) {
						t.Errorf("targets %v from a model of %v: %v", from.predict, from.model.Model.Targets, err)
					}
				}
			}
		})
	}
}

// TestWarmStartConverged: from the minimum there is nothing to do, since the tolerance is relative
// to the gradient where a training without a start model begins.
func TestWarmStartConverged(t *testing.T) {
	tb := mixed(3000, 2, 5)
	for _, optimizer := range []string{"lbfgs", "newton", "gd"} {
		job := mustJob(t, "logistic_regression", "y", tb, "l2_reg", 1e-3, "optimizer", optimizer, "max_iterations", int64(3000), "tolerance", 1e-4, "warm_start", true)
		first, err := trainTable(t, job, tb, setup{workers: 1, threads: 2}, Input{})
		if err != nil {
			t.Fatal(err)
		}
		again, err := trainTable(t, job, tb, setup{workers: 1, threads: 2}, Input{Start: first.Model})
		if err != nil || again.Iterations != 0 || !again.Converged || !bytes.Equal(again.Model.Encode(), first.Model.Encode()) {
			t.Errorf("%s: %d iterations after %d, %v", optimizer, again.Iterations, first.Iterations, err)
		}
	}
}

// TestWarmStartClasses: the rows may lack a class of the start model, but may not have a new one.
func TestWarmStartClasses(t *testing.T) {
	three, two := mixed(2000, 3, 5), mixed(2000, 3, 6)
	rows := two.rows
	two.rows = nil
	for _, r := range rows {
		if r[7] != int32(0) {
			two.rows = append(two.rows, r)
		}
	}
	train := func(tb *table, in Input) (*Result, error) {
		job := mustJob(t, "logistic_regression", "y", tb, "class_weights", "balanced", "max_iterations", int64(3), "warm_start", true)
		return trainTable(t, job, tb, setup{workers: 1, threads: 1}, in)
	}
	all, err := train(three, Input{})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := train(two, Input{Start: all.Model}); err != nil || len(m.Model.Classes()) != 3 {
		t.Errorf("without a class: %v", err)
	}
	some, err := train(two, Input{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := train(three, Input{Start: some.Model}); !pgerr.Is(err, pgerr.InvalidParameterValue) {
		t.Errorf("with a new class: %v", err)
	}
}

// TestGivenCentroids: k-means starts from given rows, encoded as the others are, in whatever order
// they arrive.
func TestGivenCentroids(t *testing.T) {
	tb := mixed(4000, 0, 5)
	tb.cols[7].Name, tb.cols[6].Name = "z", "u"
	job, err := NewJob("kmeans", nil, pairs("init", "seeds", "max_iterations", int64(2)), nil, tb.cols)
	if err != nil {
		t.Fatal(err)
	}
	if g := job.Plan.Given; g == nil || g.Relation != "seeds" {
		t.Fatalf("given %v", g)
	}
	var seeds [][]any
	for _, r := range tb.rows {
		if full := r[0] != nil && r[2] != nil; full && len(seeds) < 5 {
			seeds = append(seeds, r)
		}
	}
	var s saver
	want, err := trainTable(t, job, tb, setup{workers: 1, threads: 1}, Input{Given: []*batch.Batch{tb.batch(seeds)}, Save: &s})
	if err != nil {
		t.Fatal(err)
	}
	got, err := trainTable(t, job, tb, setup{workers: 3, threads: 2, shuffle: 5}, Input{Given: []*batch.Batch{tb.batch(seeds[:2]), tb.batch(seeds[2:])}})
	if err != nil || !bytes.Equal(got.Model.Encode(), want.Model.Encode()) {
		t.Errorf("another model, %v", err)
	}
	for _, state := range s.states {
		if got, err = trainTable(t, job, tb, setup{workers: 1, threads: 1}, Input{Resume: state}); err != nil || !bytes.Equal(got.Model.Encode(), want.Model.Encode()) {
			t.Errorf("another model after a checkpoint, %v", err)
		}
	}
	// A row with a NULL, and no row at all.
	for code, given := range map[pgerr.Code][]*batch.Batch{
		pgerr.NullValueNotAllowed:   {tb.batch([][]any{append([]any{nil}, seeds[0][1:]...)})},
		pgerr.InvalidParameterValue: nil,
	} {
		if _, err := trainTable(t, job, tb, setup{workers: 1}, Input{Given: given}); !pgerr.Is(err, code) {
			t.Errorf("%s: %v", code, err)
		}
	}
	if f := want.Model.Fitted; f.Cols[2].Encoder != feature.OneHot {
		t.Errorf("the texts are encoded by %d", f.Cols[2].Encoder)
	}
}
