package train

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/types"
)

// numbers makes rows of numbers of several types, a few NULL if nulls, with a label of a type and a
// boolean column; each row has so many copies.
func numbers(n, copies int, nulls bool, label types.Type, narrow bool) *table {
	tb := &table{cols: []record.Column{{Name: "a", Type: types.Float4}, {Name: "b", Type: types.Float4}, {Name: "c", Type: types.Float4},
		{Name: "y", Type: label}, {Name: "held", Type: types.Bool}}}
	if !narrow {
		tb.cols[1].Type, tb.cols[2].Type = types.Int4, types.Float8
	}
	r := rand.New(rand.NewPCG(4, uint64(n)))
	for len(tb.rows) < n {
		a, b, c := float32(r.NormFloat64()), float32(r.IntN(9)), float32(r.NormFloat64()*100)
		z := float64(a) + float64(c)/50 + r.NormFloat64()/4
		row := []any{a, b, c, z, any(r.IntN(4) == 0)}
		if !narrow {
			row[1], row[2] = int32(b), float64(c)*1.1
		}
		switch label {
		case types.Text:
			row[3] = fmt.Sprint("class ", z > 0)
		case types.Int4:
			row[3] = int32(min(max(z+1, 0), 2))
		}
		if nulls && r.IntN(300) == 0 {
			row[r.IntN(3)] = nil
		}
		if r.IntN(50) == 0 {
			row[4] = nil
		}
		for range copies {
			tb.rows = append(tb.rows, row)
		}
	}
	return tb
}

// categories adds categorical columns, one value in twenty NULL: of few categories, of more than
// are kept, most of them rare, and of numbers and booleans.
func categories(tb *table) {
	r := rand.New(rand.NewPCG(5, 5))
	for i, row := range tb.rows {
		row = slices.Clone(row[:len(tb.cols)])
		few, many := any(fmt.Sprint("k", r.IntN(7))), any(fmt.Sprint("c", r.IntN(1+r.IntN(1+r.IntN(4000)))))
		if r.IntN(10) == 0 {
			many = ""
		}
		flag := any(r.IntN(2) == 0)
		for _, v := range []*any{&few, &many, &flag} {
			if r.IntN(20) == 0 {
				*v = nil
			}
		}
		tb.rows[i] = append(row, few, many, flag)
	}
	tb.cols = append(slices.Clone(tb.cols), record.Column{Name: "few", Type: types.Text}, record.Column{Name: "many", Type: types.Text},
		record.Column{Name: "flag", Type: types.Bool})
}

// TestRowsTakenIn: rows that are encoded into blocks as they arrive, in one place or distributed,
// in any order and with little memory, give the model and metrics that rows kept as records give.
func TestRowsTakenIn(t *testing.T) {
	setups := []setup{
		{workers: 1, threads: 1, records: true},
		{workers: 1, threads: 1},
		{workers: 1, threads: 3, shuffle: 5},
		{workers: 3, threads: 2, shuffle: 6},
		{workers: 1, threads: 2, shuffle: 7, memory: 900 << 10},
	}
	for _, c := range []struct {
		algorithm string
		label     types.Type
		copies    int
		nulls     bool
		args      []any
		cats      bool
	}{
		{"linear_regression", types.Float8, 1, false, nil, false},
		{"ridge", types.Float8, 1, true, []any{"eval_fraction", 0.2}, false},
		{"lasso", types.Float8, 6000, false, []any{"alpha", 0.1, "eval_fraction", 0.3}, false},
		{"logistic_regression", types.Text, 1, true, []any{"max_iterations", int64(10), "class_weights", true}, false},
		{"logistic_regression", types.Int4, 3, false, []any{"max_iterations", int64(10), "eval_fraction", 0.1}, false},
		{"logistic_regression", types.Text, 1, false, []any{"max_iterations", int64(10), "data_split_col", "held"}, false},
		{"kmeans", types.Float8, 1, true, []any{"n_clusters", int64(4), "max_iterations", int64(6)}, false},
		{"kmeans", types.Float8, 1, false, []any{"n_clusters", int64(4), "max_iterations", int64(6)}, false},
		{"pca", types.Float8, 1, false, []any{"n_components", int64(2)}, false},
		{"gradient_boosted_trees", types.Int4, 1, true, []any{"n_estimators", int64(3), "eval_fraction", 0.2}, false},
		{"gradient_boosted_trees", types.Int4, 1, true, []any{"n_estimators", int64(3)}, true},
		{"gradient_boosted_trees", types.Text, 1, true, []any{"n_estimators", int64(3), "eval_fraction", 0.2}, true},
		{"ridge", types.Float8, 1, true, nil, true},
		{"ridge", types.Float8, 1, false, []any{"data_split_col", "held"}, true},
		{"logistic_regression", types.Int4, 2, true, []any{"max_iterations", int64(4), "max_categories", int64(1000), "class_weights", true, "eval_fraction", 0.1}, true},
		{"kmeans", types.Float8, 1, true, []any{"n_clusters", int64(3), "max_iterations", int64(3)}, true},
	} {
		for _, narrow := range []bool{true, false} {
			if testing.Short() && narrow != c.nulls {
				continue
			}
			t.Run(fmt.Sprint(c.algorithm, narrow, c.nulls, c.cats), func(t *testing.T) {
				t.Parallel()
				tb := numbers(32000, c.copies, c.nulls, c.label, narrow)
				split := false
				for _, a := range c.args {
					split = split || a == "data_split_col"
				}
				if !split {
					tb.cols = tb.cols[:4]
				}
				if c.cats {
					categories(tb)
				}
				predict := []string{"y"}
				if c.algorithm == "kmeans" || c.algorithm == "pca" {
					predict = nil
				}
				job, err := NewJob(c.algorithm, predict, pairs(c.args...), nil, tb.cols)
				if err != nil {
					t.Fatal(err)
				}
				if !job.InPlace() || !job.spec.TakesIn() {
					t.Fatal("the rows are made records")
				}
				var want *Result
				for i, s := range setups {
					if s.memory > 0 && (c.algorithm == "gradient_boosted_trees" || c.cats && c.algorithm != "logistic_regression") {
						continue // their partials are larger
					}
					if c.cats {
						s.memory *= 2 // the dictionaries of categories are kept in memory
					}
					got, err := trainTable(t, job, tb, s, Input{})
					if err != nil {
						t.Fatalf("setup %d: %v", i, err)
					}
					if i == 0 {
						want = got
						if (want.Held > 0) != (job.split() != "no_split") {
							t.Errorf("%d rows are held out", want.Held)
						}
						continue
					}
					if !bytes.Equal(got.Model.Encode(), want.Model.Encode()) || fmt.Sprint(got.Metrics, got.TrainLoss, got.Rows, got.Held) != fmt.Sprint(want.Metrics, want.TrainLoss, want.Rows, want.Held) {
						t.Errorf("setup %d: another model: %v %v %v %v, not %v %v %v %v", i, got.Metrics, got.TrainLoss, got.Rows, got.Held, want.Metrics, want.TrainLoss, want.Rows, want.Held)
					}
				}
			})
		}
	}
}

const leastTaken = 256 << 10 // package rows: the size of the first blocks

// TestAlmostFullBlock trains on rows that fill their only block except for less than a tile: the
// padding must not count as rows.
func TestAlmostFullBlock(t *testing.T) {
	tb := numbers(14000, 1, false, types.Float8, true)
	tb.cols = tb.cols[:4]
	job, err := NewJob("ridge", []string{"y"}, pairs("alpha", 1e3), nil, tb.cols)
	if err != nil {
		t.Fatal(err)
	}
	full := leastTaken / int(job.spec.UnfittedBytes(record.ViewRows, 0)/record.ViewRows) &^ (record.ViewRows - 1)
	all := tb.rows
	for rows := full - 8; rows <= full; rows += 4 {
		tb.rows = all[:rows]
		var want *Result
		for _, s := range []setup{{workers: 1, threads: 1, records: true}, {workers: 1, threads: 1}} {
			got, err := trainTable(t, job, tb, s, Input{})
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			} else if !bytes.Equal(got.Model.Encode(), want.Model.Encode()) || fmt.Sprint(got.Metrics) != fmt.Sprint(want.Metrics) {
				t.Errorf("%d rows: another model: %v %v, not %v %v", rows, got.Metrics, got.TrainLoss, want.Metrics, want.TrainLoss)
			}
		}
	}
}
