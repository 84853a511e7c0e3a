package train

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/groups"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// sharedOver runs a search of one trial for some groups of rows as a driver does; from is a checkpoint, and save gets
// those after each batch.
func sharedOver(t *testing.T, job *Job, tables []*table, from []byte, save func([]byte)) (*SharedSearch, int, *Job, error) {
	t.Helper()
	s := NewSharedSearch(job)
	if from != nil {
		if err := s.Restore(from); err != nil {
			t.Fatal(err)
		}
	}
	for now := s.Next(); now != nil; now = s.Next() {
		g, err := NewGroupTrainer(now.EncodeWhole(), 0, mem.NewPool("node", 0), t.TempDir(), 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, tb := range tables {
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
			if err == nil {
				err = s.Add(made.Group)
			}
			if err != nil {
				return s, 0, nil, err
			}
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if err := s.Tell(func(int) bool { return false }); err != nil {
			t.Fatal(err)
		}
		if save != nil {
			save(s.Encode())
		}
	}
	best, chosen, err := s.Best()
	return s, best, chosen, err
}

// shown shows the trials of a shared search, but the seconds.
func shown(s *SharedSearch) (out string) {
	for _, x := range s.Trials {
		x.Seconds = 0
		out += fmt.Sprintf("%+v\n", x)
	}
	return out
}

// TestSharedSearch: the objective of a trial is the mean of those of trainings of each group by hand, by the rows held
// out; groups that cannot be trained do not count; and a search that goes on from a checkpoint has the same trials.
func TestSharedSearch(t *testing.T) {
	for _, c := range []struct {
		name, algorithm string
		classes         int
		args            []any
	}{
		{"grid", "logistic_regression", 2, []any{"l2_reg", of(0.001, 1.0), "standardize", of(true, false), "hparam_tuning_algorithm", "grid"}},
		{"trees", "gradient_boosted_trees", 2, []any{"n_estimators", of(int64(6), int64(2), int64(4)), "max_depth", of(int64(2), int64(4)), "hparam_tuning_algorithm", "grid", "scoring", "roc_auc"}},
		{"failing", "logistic_regression", 2, []any{"optimizer", of("lbfgs", "newton"), "l1_reg", of(0.0, 0.1), "hparam_tuning_algorithm", "grid", "max_iterations", int64(5)}},
		{"folds", "gradient_boosted_trees", 0, []any{"max_depth", of(int64(2), int64(3)), "n_estimators", int64(3), "cv", int64(2), "hparam_tuning_algorithm", "grid"}},
		{"halving", "gradient_boosted_trees", 2, []any{"learning_rate", logFrom(0.03, 0.3), "max_depth", from(int64(2), int64(5)), "num_trials", int64(9), "n_estimators", int64(9), "hparam_tuning_algorithm", "halving"}},
		{"tpe", "ridge", 0, []any{"alpha", logFrom(1e-4, 100.0), "num_trials", int64(13), "max_parallel_trials", int64(2), "hparam_tuning_algorithm", "tpe", "scoring", "rmse"}},
		{"kmeans", "kmeans", 2, []any{"n_clusters", from(int64(2), int64(4)), "num_trials", int64(3), "max_iterations", int64(4)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tables := []*table{mixed(300, c.classes, 5), mixed(900, c.classes, 6), mixed(120, c.classes, 7)}
			single := &table{cols: tables[0].cols}
			for _, r := range tables[0].rows[:60] {
				r = slices.Clone(r)
				if c.algorithm != "kmeans" { // of one class, or one number
					r[7] = int32(1)
				}
				single.rows = append(single.rows, r)
			}
			if c.classes == 2 {
				tables = append(tables, single)
			}
			job := searchJob(t, c.algorithm, tables[0], append([]any{TuningScope, "all"}, c.args...)...)
			var saved [][]byte
			s, best, chosen, err := sharedOver(t, job, tables, nil, func(b []byte) { saved = append(saved, b) })
			if err != nil {
				t.Fatal(err)
			}
			for i, from := range saved {
				again, of, _, err := sharedOver(t, job, tables, from, nil)
				if err != nil || of != best || shown(again) != shown(s) {
					t.Errorf("from checkpoint %d: %v, trial %d\n%s\nnot %d\n%s", i, err, of, shown(again), best, shown(s))
				}
			}
			want, lowest := 0, math.Inf(1)
			for _, x := range s.Trials {
				one, err := job.search.job(s.points[x.Number-1])
				if err != nil {
					if x.State != TrialFailed || x.Code != string(pgerr.CodeOf(err)) {
						t.Errorf("trial %+v fails by hand: %v", x, err)
					}
					continue
				}
				sum, weight, failed := 0.0, 0.0, 0
				for _, tb := range tables {
					res, err := trainTable(t, one, tb, setup{workers: 1, threads: 1}, Input{})
					if err != nil {
						failed++
						continue
					}
					w := float64(res.Held)
					if one.Plan.Target == family.NoTarget || one.Folds() > 0 {
						w = float64(res.Rows)
					}
					for _, m := range res.Metrics {
						if m.Name == s.Objective {
							sum, weight = sum+w*m.Value, weight+w
						}
					}
				}
				if x.State == TrialStopped || weight == 0 {
					if weight == 0 && x.State != TrialFailed {
						t.Errorf("trial %+v fails by hand", x)
					}
					continue
				}
				_, onPath := one.Family.(family.Path)
				near := 1e-12
				if onPath {
					near = 2e-3 // trials of a path end near the same minimum
				}
				if v := sum / weight; x.State != TrialSucceeded || !(math.Abs(v-x.Objective) <= near*math.Max(1, math.Abs(v))) || (failed > 0) != (x.Error != "") {
					t.Errorf("trial %+v has %v by hand, and %d groups fail", x, v, failed)
				}
				loss := x.Objective
				if !job.search.lowerIs(s.Objective) {
					loss = -loss
				}
				if loss < lowest {
					want, lowest = x.Number, loss
				}
			}
			if best != want {
				t.Errorf("the best is trial %d, not %d", best, want)
			}
			if one, err := job.search.job(s.points[best-1]); err != nil || !bytes.Equal(one.Encode(), chosen.Encode()) || chosen.search != nil {
				t.Errorf("the groups are trained with other settings: %v", err)
			}
		})
	}
}

// TestSharedSearchFails: where no group can be trained by any trial there is the first one's error, a cancelled trial
// is not the best one, and bytes that are no checkpoint are an error.
func TestSharedSearchFails(t *testing.T) {
	tb := mixed(60, 2, 3)
	for i := range tb.rows {
		tb.rows[i][7] = int32(1)
	}
	job := searchJob(t, "logistic_regression", tb, TuningScope, "all", "l2_reg", of(0.1, 1.0))
	if _, _, _, err := sharedOver(t, job, []*table{tb, tb}, nil, nil); err == nil || pgerr.CodeOf(err)[:2] != "22" || pgerr.From(err).Detail == "" {
		t.Errorf("one class in all groups: %v", err)
	}
	s := NewSharedSearch(job)
	s.Next()
	if err := s.Tell(func(n int) bool { return n == 1 }); err != nil || s.Trials[0].State != TrialCancelled || s.Trials[1].State != TrialFailed {
		t.Errorf("%v %+v", err, s.Trials)
	}
	for _, bad := range [][]byte{{1, 2}, bytes.Repeat([]byte{255}, 40)} {
		if err := NewSharedSearch(job).Restore(bad); err == nil {
			t.Errorf("%v is a checkpoint", bad)
		}
	}
	for _, bad := range [][]byte{{}, {7}, bytes.Repeat([]byte{255}, 40)} {
		if err := NewSharedSearch(job).Add(bad); err == nil {
			t.Errorf("%v is a group", bad)
		}
	}
}

// TestSharedSearchCountsWeights: a row of weight 2 counts as two in the mean over groups.
func TestSharedSearchCountsWeights(t *testing.T) {
	cols := []record.Column{{Name: "a", Type: types.Float8}, {Name: "y", Type: types.Float8}, {Name: "held", Type: types.Bool}}
	var weighted, copied []*table
	for g := range 3 {
		w, c := &table{cols: append(slices.Clone(cols), record.Column{Name: "w", Type: types.Float8})}, &table{cols: cols}
		for i := range 100 + 50*g {
			a := float64(i*37%101) / 10
			row := []any{a, float64(g)*a + float64(i*53%(7+g)), i%(4+g) == 0}
			w.rows = append(w.rows, append(slices.Clone(row), float64(1+i*g%3)))
			for range 1 + i*g%3 {
				c.rows = append(c.rows, row)
			}
		}
		weighted, copied = append(weighted, w), append(copied, c)
	}
	args := []any{TuningScope, "all", "alpha", logFrom(1e-3, 1000.0), "num_trials", int64(5), "data_split_col", "held"}
	one, bestOne, _, err := sharedOver(t, searchJob(t, "ridge", weighted[0], append(args, "weight", "w")...), weighted, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	two, bestTwo, _, err := sharedOver(t, searchJob(t, "ridge", copied[0], args...), copied, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range one.Trials {
		if y := two.Trials[i]; math.Abs(x.Objective-y.Objective) > 1e-9 {
			t.Errorf("trial %d has %v with weights and %v with copies", i+1, x.Objective, y.Objective)
		}
	}
	if bestOne != bestTwo {
		t.Errorf("trial %d, not %d", bestOne, bestTwo)
	}
}
