package train

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/ml/family"
)

// TestRowsInPlace trains the families that need no order on other numbers of
// workers, threads, arrivals and memory: the rows stay where they came, and the
// model and its metrics are the same.
func TestRowsInPlace(t *testing.T) {
	setups := []setup{
		{workers: 1, threads: 1},
		{workers: 1, threads: 3, shuffle: 5},
		{workers: 3, threads: 2, shuffle: 6},
		{workers: 5, threads: 1, shuffle: 7},
	}
	little := setup{workers: 2, threads: 2, shuffle: 8, memory: 4 << 20} // what trees add up is larger
	for _, c := range []struct {
		algorithm, target string
		classes           int
		args              []any
		dealt             bool
	}{
		{"gradient_boosted_trees", "y", 2, []any{"n_estimators", int64(5), "eval_fraction", 0.2}, false},
		{"gradient_boosted_trees", "y", 0, []any{"n_estimators", int64(4), "subsample", 0.7, "max_leaves", int64(12)}, false},
		{"gradient_boosted_trees", "y", 4, []any{"n_estimators", int64(2), "weight", "w"}, true},
		{"random_forest", "y", 3, []any{"n_estimators", int64(3), "max_depth", int64(6)}, false},
		{"kmeans", "", 2, []any{"n_clusters", int64(4), "max_iterations", int64(6)}, false},
		{"pca", "", 2, []any{"n_components", int64(2)}, false},
		{"linear_regression", "y", 0, []any{"calculate_p_values", true, "offset", "a"}, false},
		{"ridge", "y", 0, []any{"eval_fraction", 0.2}, false},
		{"lasso", "y", 0, []any{"alpha", 0.1}, false},
		{"elastic_net", "y", 0, []any{"alpha", 0.1, "precision", "float32"}, false},
		{"huber_regression", "y", 0, []any{"max_iterations", int64(20)}, false},
		{"quantile_regression", "y", 0, []any{"quantile", 0.9, "max_iterations", int64(20)}, false},
		{"poisson_regression", "b", 0, []any{"offset", "w"}, false},
		{"gamma_regression", "w", 0, []any{"l1_reg", 0.01, "max_iterations", int64(20)}, false},
		{"tweedie_regression", "b", 0, []any{"eval_fraction", 0.2, "early_stop", true}, false},
		{"tweedie_regression", "b", 0, []any{"weight", "w"}, true},
		{"logistic_regression", "y", 2, []any{"eval_fraction", 0.2, "max_iterations", int64(20)}, false},
		{"logistic_regression", "y", 4, []any{"l1_reg", 0.01, "max_iterations", int64(8)}, false},
		{"logistic_regression", "y", 2, []any{"optimizer", "sgd", "max_iterations", int64(2)}, true},
		{"linear_svm", "y", 2, []any{"c", 0.01, "max_iterations", int64(20)}, false},
	} {
		t.Run(c.algorithm, func(t *testing.T) {
			t.Parallel()
			tb := mixed(20000, c.classes, 3)
			predict := []string{c.target}
			if c.target == "" {
				tb, predict = mixed(40000, c.classes, 3), nil // more than little memory holds
			}
			job, err := NewJob(c.algorithm, predict, pairs(c.args...), nil, tb.cols)
			if err != nil {
				t.Fatal(err)
			}
			if c.algorithm != "pca" && job.InPlace() == c.dealt {
				t.Fatalf("in place: %v", job.InPlace())
			}
			var want *Result
			setups := setups
			if job.Plan.Target == family.NoTarget {
				setups = append(slices.Clone(setups), little)
			}
			for i, s := range setups {
				got, err := trainTable(t, job, tb, s, Input{})
				if err != nil {
					t.Fatalf("setup %d: %v", i, err)
				}
				if i == 0 {
					want = got
				} else if !bytes.Equal(got.Model.Encode(), want.Model.Encode()) || fmt.Sprint(got.Metrics, got.TrainLoss, got.Rows, got.Held) != fmt.Sprint(want.Metrics, want.TrainLoss, want.Rows, want.Held) {
					t.Errorf("setup %d: another model: %v %v, not %v %v", i, got.Metrics, got.TrainLoss, want.Metrics, want.TrainLoss)
				}
			}
			if _, ok := want.Model.Predictor.(family.Describer); !ok {
				t.Error("nothing to describe")
			}
		})
	}
}
