package train

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/groups"
	"github.com/tributarydb/tributary/ml/search"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestKeptTrials: the models of all trials that succeed are kept on request, those of prefixes, of folds and after
// each checkpoint too, and are what the same settings give by themselves.
func TestKeptTrials(t *testing.T) {
	for _, c := range []struct {
		name, algorithm string
		args            []any
	}{
		{"encodings", "logistic_regression", []any{"optimizer", of("lbfgs", "newton"), "l1_reg", of(0.0, 0.1), "class_weights", of("balanced", false), "hparam_tuning_algorithm", "grid", "max_iterations", int64(5)}},
		{"prefixes", "gradient_boosted_trees", []any{"n_estimators", of(int64(6), int64(2), int64(4)), "max_depth", of(int64(2), int64(4)), "hparam_tuning_algorithm", "grid", "checkpoint_every", int64(1)}},
		{"halving", "gradient_boosted_trees", []any{"learning_rate", logFrom(0.03, 0.3), "num_trials", int64(6), "n_estimators", int64(6), "hparam_tuning_algorithm", "halving"}},
		{"folds", "gradient_boosted_trees", []any{"max_depth", of(int64(2), int64(3)), "n_estimators", int64(3), "cv", int64(2), "hparam_tuning_algorithm", "grid"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tb := mixed(900, 2, 5)
			job := searchJob(t, c.algorithm, tb, append([]any{"keep_trials", true}, c.args...)...)
			show := func(res *Result) (s string) {
				for _, k := range res.Kept {
					s += fmt.Sprintf("%d %v %x\n", k.Number, k.Metrics, k.Model.Encode())
				}
				return s + told(res)
			}
			var saved saver
			held := int64(0)
			want, _, err := searchTable(t, job, tb, setup{workers: 1, threads: 1}, Input{Save: &saved, Hold: func(n int64) error { held += n; return nil }})
			if err != nil {
				t.Fatal(err)
			}
			models := want.Model.Predictor.Bytes()
			for _, k := range want.Kept {
				models += k.Model.Predictor.Bytes()
			}
			if held < models {
				t.Errorf("%d bytes are charged for models of %d", held, models)
			}
			ok := 0
			for _, x := range want.Trials {
				if x.State == TrialSucceeded {
					ok++
				}
			}
			if len(want.Kept) != ok-1 {
				t.Errorf("%d models are kept beside the best, of %d that succeeded", len(want.Kept), ok)
			}
			points := search.New(job.search.config).Next()
			for _, k := range want.Kept {
				one, err := job.search.job(points[k.Number-1].Point)
				if err != nil {
					t.Fatal(err)
				}
				res, err := trainTable(t, one, tb, setup{workers: 1, threads: 1}, Input{})
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(res.Model.Encode(), k.Model.Encode()) {
					t.Errorf("trial %d has another model than its settings by themselves", k.Number)
				}
			}
			for i := 0; i < len(saved.states); i += max(1, len(saved.states)/5) {
				got, _, err := searchTable(t, job, tb, setup{workers: 2, threads: 1, shuffle: uint64(i)}, Input{Resume: saved.states[i]})
				if err != nil || show(got) != show(want) {
					t.Errorf("checkpoint %d: %v, another outcome", i, err)
				}
			}
		})
	}
}

// TestTrialIsCancelled: a trial that is cancelled alone is a row that says so, wherever it is, and the others end as
// they would if it had failed.
func TestTrialIsCancelled(t *testing.T) {
	tb := mixed(900, 2, 5)
	for _, c := range []struct {
		name, algorithm string
		args            []any
	}{
		{"random", "gradient_boosted_trees", []any{"learning_rate", logFrom(0.03, 0.3), "num_trials", int64(4), "n_estimators", int64(5)}},
		{"prefixes", "gradient_boosted_trees", []any{"n_estimators", of(int64(2), int64(4), int64(6), int64(8)), "hparam_tuning_algorithm", "grid"}},
		{"folds", "ridge", []any{"l2_reg", logFrom(1e-4, 10.0), "num_trials", int64(4), "cross_validation", int64(2)}},
		{"halving", "gradient_boosted_trees", []any{"learning_rate", logFrom(0.03, 0.3), "num_trials", int64(4), "n_estimators", int64(9), "hparam_tuning_algorithm", "halving"}},
	} {
		table := tb
		if c.algorithm == "ridge" {
			table = mixed(900, 0, 5)
		}
		job := searchJob(t, c.algorithm, table, c.args...)
		whole, _, err := searchTable(t, job, table, setup{workers: 1, threads: 1}, Input{})
		if err != nil {
			t.Fatal(err)
		}
		for _, after := range []int{0, 3} { // before it begins, and after some steps of it
			asked := 0
			var saved saver
			in := Input{Save: &saved, Cancelled: func(trial int) bool {
				if trial != 2 {
					return false
				}
				asked++
				return asked > after
			}}
			got, _, err := searchTable(t, job, table, setup{workers: 2, threads: 1}, in)
			if err != nil {
				t.Fatal(c.name, err)
			}
			for i, x := range got.Trials {
				switch {
				case i == 1:
					if x.State != TrialCancelled || x.Code != "57014" || x.Error == "" {
						t.Errorf("%s: the trial is %+v", c.name, x)
					}
				case c.name != "halving" && fmt.Sprint(x.Metrics, x.Objective, x.State) != fmt.Sprint(whole.Trials[i].Metrics, whole.Trials[i].Objective, whole.Trials[i].State):
					t.Errorf("%s: trial %d is %+v, not %+v", c.name, i+1, x, whole.Trials[i])
				}
			}
			last := saved.states[len(saved.states)-1]
			again, _, err := searchTable(t, job, table, setup{workers: 1, threads: 1}, Input{Resume: last})
			if err != nil || told(again) != told(got) {
				t.Errorf("%s: resumed it gives %v\n%s\nnot\n%s", c.name, err, told(again), told(got))
			}
		}
	}
	all := searchJob(t, "gradient_boosted_trees", tb, "max_depth", of(int64(2), int64(3)), "n_estimators", int64(2))
	if _, _, err := searchTable(t, all, tb, setup{workers: 1, threads: 1}, Input{Cancelled: func(int) bool { return true }}); pgerr.CodeOf(err) != pgerr.QueryCanceled {
		t.Errorf("a search whose trials are all cancelled gives %v", err)
	}
}

// TestGroupsAreSearched: each group has the best trial of its own rows, that a search over them alone finds, whose
// trials say how their rows were encoded.
func TestGroupsAreSearched(t *testing.T) {
	for _, c := range searches {
		if slices.Contains([]string{"failing", "kmeans"}, c.name) { // of which these rows show nothing more
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tb := mixed(400, c.classes, 5)
			job := searchJob(t, c.algorithm, tb, c.args...)
			want, _, err := searchTable(t, job, tb, setup{workers: 1, threads: 1}, Input{})
			if err != nil {
				t.Fatal(err)
			}
			g, err := NewGroupTrainer(job.EncodeWhole(), 0, mem.NewPool("node", 0), t.TempDir(), 1)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				b := tb.batch(tb.rows)
				for at := 0; at < b.N; at += 100 {
					if err := g.Add(context.Background(), b, at, min(at+100, b.N)); err != nil {
						t.Fatal(err)
					}
				}
				enc, err := g.End(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				made, err := groups.DecodeOutcome(enc)
				if err != nil {
					t.Fatal(err)
				}
				got, err := groups.Decode(made.Group)
				if err != nil || got.Failed() {
					t.Fatal(err, got)
				}
				if !bytes.Equal(got.Model, want.Model.Encode()) {
					t.Error("another model")
				}
				s, err := codec.Unmarshal[catalog.ModelSearch](got.Search)
				if err != nil || s.Best != want.Best || s.Objective != want.Objective || len(s.Trials) != len(want.Trials) {
					t.Fatal(err, s)
				}
				for i, x := range s.Trials {
					if x.Seconds == x.Seconds || fmt.Sprint(x.Metrics, x.Objective, x.State, x.Args) != fmt.Sprint(want.Trials[i].Record().Metrics, want.Trials[i].Objective, want.Trials[i].State, want.Trials[i].Record().Args) {
						t.Errorf("trial %+v is not %+v", x, want.Trials[i])
					}
				}
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
