package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/types"
)

// source is a query: it returns the rows of a table to workers, and a second time to other workers.
type source struct {
	rows, other []*batch.Batch // other is returned the second time, if set
	l           *Local
	at          int // the worker that gets the first batch
}

func batches(tb *table) (out []*batch.Batch) {
	for rows := tb.rows; len(rows) > 0; {
		n := min(1500, len(rows))
		out, rows = append(out, tb.batch(rows[:n])), rows[n:]
	}
	return out
}

func (s *source) read(ctx context.Context) error {
	s.at++
	for i, b := range s.rows {
		if err := s.l.Workers[(s.at+i)%len(s.l.Workers)].Add(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// pick returns some columns of a table and its batches.
func pick(tb *table, all []*batch.Batch, cols []int) (*table, []*batch.Batch) {
	some := &table{}
	for _, c := range cols {
		some.cols = append(some.cols, tb.cols[c])
	}
	var out []*batch.Batch
	for _, b := range all {
		var arrs []arrow.Array
		for _, c := range cols {
			arrs = append(arrs, b.Cols[c])
		}
		out = append(out, batch.New(arrs, b.N))
	}
	return some, out
}

// trainRescanned trains on rows that are read a second time if they do not fit in memory.
func trainRescanned(t *testing.T, job *Job, s *source, workers int, limit int64) (*Result, error) {
	t.Helper()
	s.l = &Local{}
	for i := range workers {
		threads := 2
		if limit > 0 && len(job.Targets()) > 1 {
			threads = 1 // two threads might need more than the memory
		}
		w, err := NewWorker(job, WorkerConfig{Pool: mem.NewPool(fmt.Sprint("node", i), limit), Temp: t.TempDir(), Threads: threads, Workers: workers, Self: i, Rescan: true,
			Send: s.l.sender})
		if err != nil {
			t.Fatal(err)
		}
		s.l.Workers = append(s.l.Workers, w)
	}
	defer func() {
		if err := s.l.Close(); err != nil {
			t.Error(err)
		}
		for _, w := range s.l.Workers {
			if n := w.cfg.Pool.Used(); n != 0 {
				t.Errorf("%d bytes are still charged", n)
			}
		}
	}()
	if err := s.read(context.Background()); err != nil {
		return nil, err
	}
	rows, err := s.l.Distribute(context.Background())
	if err != nil {
		return nil, err
	}
	in := Input{Job: job, Rows: rows}
	if s.l.Rescan {
		in.Rescan = func(ctx context.Context) error {
			err := s.read(ctx)
			if err == nil {
				err = s.l.AfterReading(ctx)
			}
			return err
		}
		if s.other != nil {
			s.rows = s.other
		}
	}
	return Run(context.Background(), in, s.l)
}

// TestRowsRescanned: in-place rows several times as large as memory are read twice. The rows are
// not written to disk, only their blocks, once. The model is that with ample memory.
func TestRowsRescanned(t *testing.T) {
	tb := mixed(110000, 2, 3)
	all := batches(tb)
	for _, c := range []struct {
		algorithm, target string
		cols              []int // columns of mixed; nil: all
		args              []any
	}{
		{"linear_regression", "y", nil, nil},
		{"logistic_regression", "y", nil, []any{"max_iterations", int64(5)}},
		{"kmeans", "", nil, []any{"n_clusters", int64(3), "max_iterations", int64(4)}},
		{"pca", "", nil, []any{"n_components", int64(2)}},
		{"ridge", "y", []int{0, 1, 6, 7}, nil}, // numbers, with NULLs
		{"logistic_regression", "y", []int{1, 6, 7}, []any{"max_iterations", int64(5)}},
		{"kmeans", "", []int{1, 6, 7}, []any{"n_clusters", int64(3), "max_iterations", int64(4)}},
		{"linear_regression", "y", nil, []any{"eval_fraction", 0.2}}, // rows held out at random
		{"logistic_regression", "y", []int{1, 6, 7}, []any{"max_iterations", int64(3), "eval_fraction", 0.1}},
		{"kmeans", "", []int{1, 6, 7}, []any{"n_clusters", int64(3), "max_iterations", int64(4), "data_split_eval_fraction", 0.03}},
		{"ridge", "y", []int{0, 2, 3, 6, 7}, []any{"data_split_col", "flag"}},
		{"logistic_regression", "y", nil, []any{"max_iterations", int64(5), "weight", "w", "eval_fraction", 0.2}}, // weights
		{"ridge", "y", []int{0, 1, 2, 6, 7}, []any{"weight", "w", "quantiles", true}},
		{"linear_regression", "y", nil, []any{"quantiles", true}},
		{"mlp", "y", nil, []any{"hidden_units", int64(3), "max_iterations", int64(1), "batch_size", int64(5000), "weight", "w", "data_split_col", "flag"}},
		{"linear_regression", "y, w", []int{0, 1, 2, 6, 7}, []any{"optimizer", "sgd", "max_iterations", int64(1), "batch_size", int64(5000), "eval_fraction", 0.1}},
		{"logistic_regression", "y, flag", []int{1, 2, 3, 6, 7}, []any{"max_iterations", int64(3), "eval_fraction", 0.1}}, // several classes
		{"logistic_regression", "flag, y", []int{1, 2, 3, 6, 7}, []any{"optimizer", "sgd", "max_iterations", int64(1), "batch_size", int64(5000), "eval_fraction", 0.1}},
		{"logistic_regression", "y", nil, []any{"max_iterations", int64(3), "cross_validation", int64(2), "weight", "w"}}, // folds
		{"mlp", "y", nil, []any{"hidden_units", int64(3), "max_iterations", int64(1), "batch_size", int64(5000), "cross_validation", int64(3)}},
		{"mlp", "y", nil, []any{"hidden_units", int64(3), "max_iterations", int64(1), "batch_size", int64(5000), "eval_fraction", 0.3}},
		{"mlp", "y", nil, []any{"hidden_units", int64(3), "max_iterations", int64(2), "batch_size", int64(5000)}}, // shuffled
		{"logistic_regression", "y", []int{1, 6, 7}, []any{"optimizer", "sgd", "max_iterations", int64(2), "batch_size", int64(20000)}},
		// The other families that learn from one row at a time, but trees (TestTreesRescanned).
		{"lasso", "w", nil, []any{"alpha", 0.01, "max_iterations", int64(4)}},
		{"elastic_net", "w", []int{0, 1, 2, 6, 7}, []any{"alpha", 0.01, "max_iterations", int64(4)}},
		{"huber_regression", "w", nil, []any{"max_iterations", int64(2)}},
		{"quantile_regression", "w", nil, []any{"max_iterations", int64(2)}},
		{"poisson_regression", "b", []int{0, 1, 2, 6, 7}, []any{"max_iterations", int64(2)}},
		{"gamma_regression", "w", nil, []any{"max_iterations", int64(2)}},
		{"tweedie_regression", "w", []int{0, 1, 2, 6, 7}, []any{"max_iterations", int64(2), "weight", "y"}},
		{"linear_svm", "y", []int{0, 1, 2, 6, 7}, []any{"max_iterations", int64(2)}},
		{"svd", "", nil, []any{"n_components", int64(2)}},
	} {
		t.Run(c.algorithm, func(t *testing.T) {
			tb, rows, limit := tb, all, int64(3<<20)
			if c.cols != nil {
				tb, rows = pick(tb, all, c.cols)
				limit = 2 << 20
			}
			if c.algorithm == "mlp" || slices.Contains(c.args, any("sgd")) {
				limit = 5 << 20 // for leaves of 32,768 rows
			}
			predict := strings.Split(c.target, ", ")
			if len(predict) > 1 && limit > 3<<20 {
				limit = 6 << 20 // a block is in memory twice while it is divided by target
			}
			if c.target == "" {
				predict = nil
			}
			var transforms []feature.Transform
			if i := slices.Index(c.args, any("quantiles")); i >= 0 {
				c.args = slices.Delete(slices.Clone(c.args), i, i+2)
				transforms = []feature.Transform{{Column: "a", Func: "imputer", Args: []types.Datum{"median"}}, {Column: "b", Func: "quantile_bucketize", Args: []types.Datum{int64(4)}}}
			}
			job, err := NewJob(c.algorithm, predict, pairs(c.args...), transforms, tb.cols)
			if err != nil {
				t.Fatal(err)
			}
			want, err := trainRescanned(t, job, &source{rows: rows}, 1, 0)
			if err != nil {
				t.Fatal(err)
			}
			if u := Total(want.Usage); u.Reads != 1 || u.Written != 0 {
				t.Fatalf("with ample memory: %+v", u)
			}
			for workers := 1; workers <= 2; workers++ {
				got, err := trainRescanned(t, job, &source{rows: rows}, workers, limit)
				if err != nil {
					t.Fatal(err)
				}
				reads := int64(2)
				if n := job.Folds(); n > 0 { // one more reading for each training after the first
					reads += int64(n)
				}
				if u := Total(got.Usage); u.Reads != reads || u.Before == 0 || u.Before > 2*u.Block || u.Written > 2*u.Block || u.Read != reads*Total(want.Usage).Read {
					t.Errorf("%d workers: %+v", workers, u)
				}
				if len(got.Folds) != job.Folds() || fmt.Sprint(got.Metrics) != fmt.Sprint(want.Metrics) {
					t.Errorf("%d workers: %v, not %v", workers, got.Metrics, want.Metrics)
				}
				if !bytes.Equal(got.Model.Encode(), want.Model.Encode()) || got.Rows != want.Rows {
					t.Errorf("%d workers: another model", workers)
				}
			}
		})
	}
}

// TestTreesRescanned is TestRowsRescanned for trees, whose sketches and histograms need more memory
// beside the rows.
func TestTreesRescanned(t *testing.T) {
	tb := mixed(110000, 2, 3)
	all := batches(tb)
	for _, algorithm := range []string{"gradient_boosted_trees", "random_forest"} {
		job := mustJob(t, algorithm, "y", tb, "n_estimators", int64(2), "max_depth", int64(3))
		want, err := trainRescanned(t, job, &source{rows: all}, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		got, err := trainRescanned(t, job, &source{rows: all}, 1, 12<<20)
		if err != nil {
			t.Fatal(err)
		}
		if u := Total(got.Usage); u.Reads != 2 || u.Before == 0 || u.Before > 2*u.Block || u.Read != 2*Total(want.Usage).Read {
			t.Errorf("%s: %+v", algorithm, u)
		}
		if !bytes.Equal(got.Model.Encode(), want.Model.Encode()) {
			t.Errorf("%s: another model", algorithm)
		}
	}
}

// TestOtherRows: a query that returns other rows when it is read a second time is detected.
func TestOtherRows(t *testing.T) {
	tb := mixed(110000, 2, 3)
	job := mustJob(t, "linear_regression", "y", tb)
	rows := batches(tb)
	other := &table{cols: tb.cols, rows: slices.Clone(tb.rows)}
	other.rows[77] = other.rows[78]
	if _, err := trainRescanned(t, job, &source{rows: rows, other: batches(other)}, 1, 4<<20); !errors.Is(err, ErrOtherRows) {
		t.Errorf("%v", err)
	}
}

// TestCopiesRescanned: for common rows, which of their copies are held out is known only after all
// rows were read. Copies are counted separately; where the counts are not certain the query is read
// once more. No row is written to disk, and the model is that with ample memory.
func TestCopiesRescanned(t *testing.T) {
	plain := mixed(110000, 2, 3)
	few := func(i int) int { return i % 10 }
	for _, c := range []struct {
		name, algorithm, target string
		like                    func(i int) int // the row that row i is a copy of
		args                    []any
		reads                   int64
	}{
		{"ten rows", "ridge", "y", few, []any{"eval_fraction", 0.2}, 2},
		{"ten rows", "kmeans", "", few, []any{"n_clusters", int64(3), "max_iterations", int64(3), "eval_fraction", 0.2}, 2},
		{"ten rows, shuffled", "logistic_regression", "y", few, []any{"optimizer", "sgd", "max_iterations", int64(2), "batch_size", int64(20000), "eval_fraction", 0.3}, 2},
		{"ten rows, folds", "logistic_regression", "y", few, []any{"max_iterations", int64(2), "cross_validation", int64(3), "weight", "w"}, 2},
		{"a row among others", "ridge", "y", func(i int) int {
			if i%3 == 0 {
				return 7
			}
			return i
		}, []any{"eval_fraction", 0.2}, 2},
		{"rows among others, shuffled", "logistic_regression", "y", func(i int) int {
			if i%3 > 0 {
				return i % 90
			}
			return i
		}, []any{"optimizer", "sgd", "max_iterations", int64(2), "batch_size", int64(20000), "eval_fraction", 0.2}, 2},
		{"a row that comes last", "ridge", "y", func(i int) int { return min(i, 60000) }, []any{"eval_fraction", 0.2}, 2},
		{"rows one after the other", "ridge", "y", func(i int) int { return i / 11000 }, []any{"eval_fraction", 0.25}, 2},
		{"many copies of each, none common", "ridge", "y", func(i int) int { return i % 5000 }, []any{"eval_fraction", 0.2}, 3},
	} {
		t.Run(c.name+" "+c.algorithm, func(t *testing.T) {
			tb := &table{cols: plain.cols}
			for i := range plain.rows {
				tb.rows = append(tb.rows, plain.rows[c.like(i)])
			}
			all := batches(tb)
			var predict []string
			if c.target != "" {
				predict = []string{c.target}
			}
			job, err := NewJob(c.algorithm, predict, pairs(c.args...), nil, tb.cols)
			if err != nil {
				t.Fatal(err)
			}
			want, err := trainRescanned(t, job, &source{rows: all}, 1, 0)
			if err != nil {
				t.Fatal(err)
			}
			if u := Total(want.Usage); u.Reads != 1 || u.Written != 0 {
				t.Fatalf("with ample memory: %+v", u)
			}
			limit := int64(3 << 20)
			if slices.Contains(c.args, any("sgd")) {
				limit = 6 << 20
			}
			for workers := 1; workers <= 2; workers++ {
				got, err := trainRescanned(t, job, &source{rows: all}, workers, limit)
				if err != nil {
					t.Fatal(err)
				}
				reads := c.reads + int64(job.Folds())
				if u := Total(got.Usage); u.Reads > reads || u.Before > 2*u.Block || u.Written > 2*u.Block {
					t.Errorf("%d workers: %+v", workers, u)
				}
				if !bytes.Equal(got.Model.Encode(), want.Model.Encode()) || got.Rows != want.Rows || got.Held != want.Held || fmt.Sprint(got.Metrics) != fmt.Sprint(want.Metrics) {
					t.Errorf("%d workers: another model: %d rows, %d held out, not %d and %d", workers, got.Rows, got.Held, want.Rows, want.Held)
				}
			}
		})
	}
}

// TestForestInLittleMemory: a step of a forest works on as many trees at a time as memory allows.
// The model is that with ample memory.
func TestForestInLittleMemory(t *testing.T) {
	tb := mixed(110000, 0, 3)
	all := batches(tb)
	job := mustJob(t, "random_forest", "y", tb, "n_estimators", int64(8), "max_depth", int64(8))
	var want []byte
	for _, limit := range []int64{0, 16 << 20} {
		got, err := trainRescanned(t, job, &source{rows: all}, 1, limit)
		if err != nil {
			t.Fatalf("%d bytes: %v", limit, err)
		}
		if model := got.Model.Encode(); want == nil {
			want = model
		} else if !bytes.Equal(model, want) {
			t.Errorf("%d bytes: another model", limit)
		}
	}
}
