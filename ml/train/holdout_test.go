package train

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/types"
)

// TestHoldoutOfFewDistinctRows trains on ten distinct rows with many copies each: the share asked
// for is held out of the copies of each, and the model is the same wherever the copies are.
func TestHoldoutOfFewDistinctRows(t *testing.T) {
	tb := &table{cols: []record.Column{{Name: "a", Type: types.Text}, {Name: "b", Type: types.Int4}, {Name: "y", Type: types.Int4}}}
	for i := range 30000 {
		k := i % 10
		tb.rows = append(tb.rows, []any{string(rune('a' + k%5)), int32(k / 2), int32(k * 7 % 3 % 2)})
	}
	for _, c := range []struct {
		algorithm string
		args      []any
	}{
		{"gradient_boosted_trees", []any{"n_estimators", int64(3)}},
		{"kmeans", []any{"n_clusters", int64(3), "max_iterations", int64(3)}},
		{"logistic_regression", []any{"max_iterations", int64(5)}},
	} {
		predict := []string{"y"}
		if c.algorithm == "kmeans" {
			predict = nil
		}
		for _, share := range []float64{0.2, 0.35} {
			job, err := NewJob(c.algorithm, predict, pairs(append(c.args, "eval_fraction", share)...), nil, tb.cols)
			if err != nil {
				t.Fatal(err)
			}
			var want *Result
			for i, s := range []setup{{workers: 1, threads: 1}, {workers: 1, threads: 3, shuffle: 1}, {workers: 3, threads: 2, shuffle: 2}, {workers: 5, threads: 1, shuffle: 3}} {
				got, err := trainTable(t, job, tb, s, Input{})
				if err != nil {
					t.Fatal(err)
				}
				if got.Held != int64(share*30000+0.5) || got.Rows+got.Held != 30000 {
					t.Errorf("%s: %d rows of 30000 held out, not %v", c.algorithm, got.Held, share)
				}
				if want == nil {
					want = got
				} else if !bytes.Equal(got.Model.Encode(), want.Model.Encode()) || fmt.Sprint(got.Metrics, got.TrainLoss) != fmt.Sprint(want.Metrics, want.TrainLoss) {
					t.Errorf("%s, setup %d: another model", c.algorithm, i)
				}
			}
		}
	}
}

// TestFewDistinctRows: mini-batches over few distinct rows with many copies have leaves of equal
// size, and models and holdouts that depend on the rows alone.
func TestFewDistinctRows(t *testing.T) {
	tb := &table{cols: []record.Column{{Name: "a", Type: types.Float8}, {Name: "y", Type: types.Int4}}}
	for i := range 150000 {
		tb.rows = append(tb.rows, []any{float64(i % 10), int32(i % 10 * 3 % 7 % 2)})
	}
	for _, args := range [][]any{{"optimizer", "sgd", "max_iterations", int64(2)}, {"optimizer", "sgd", "max_iterations", int64(2), "eval_fraction", 0.2}} {
		job := mustJob(t, "logistic_regression", "y", tb, args...)
		var want *Result
		for i, s := range []setup{{workers: 1, threads: 2}, {workers: 2, threads: 1, shuffle: 3}, {workers: 3, threads: 2, shuffle: 4}, {workers: 5, threads: 1, shuffle: 5},
			{workers: 1, threads: 2, shuffle: 6, memory: 6 << 20}} {
			got, err := trainTable(t, job, tb, s, Input{})
			if err != nil {
				t.Fatal(i, err)
			}
			if want == nil {
				want = got
			}
			if !bytes.Equal(got.Model.Encode(), want.Model.Encode()) || got.Rows != want.Rows {
				t.Errorf("setup %d: another model", i)
			}
			if len(args) > 4 && got.Held != 30000 {
				t.Errorf("setup %d: %d rows are held out", i, got.Held)
			}
			most := int64(0)
			for _, u := range got.Usage {
				most = max(most, u.Block)
			}
			if all := Total(got.Usage).Block; s.workers == 2 && most > all*6/10 {
				t.Errorf("one worker has %d bytes of %d", most, all)
			}
		}
	}
}
