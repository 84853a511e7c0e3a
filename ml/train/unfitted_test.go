package train

import (
	"context"
	"crypto/sha256"
	"testing"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/rows"
)

// TestUnfittedBlocksGiveTheSameModel trains, over distributed rows, with memory for unfitted blocks
// (made before the encoders are fitted, and scaled afterwards) of all leaves, of some and of none:
// the model has the same bytes.
func TestUnfittedBlocksGiveTheSameModel(t *testing.T) {
	const count = 100000 // four leaves
	cols, batches := higgsLike(count)
	job, err := NewJob("logistic_regression", []string{"y"}, pairs("optimizer", "sgd", "max_iterations", int64(2)), nil, cols)
	if err != nil {
		t.Fatal(err)
	}
	var first *Result
	some := map[int]bool{}
	for mb := int64(16); mb <= 72; mb += 4 {
		pool := mem.NewPool("unfitted", mb<<20)
		w, err := NewWorker(job, WorkerConfig{Pool: pool, Temp: t.TempDir(), Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range batches {
			if err := w.Add(context.Background(), b); err != nil {
				t.Fatal(err)
			}
		}
		l := &Local{Workers: []*Worker{w}}
		n, err := l.Distribute(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		res, err := Run(context.Background(), Input{Job: job, Rows: n, Progress: func(e Event) {
			if e.Phase == "encode" {
				some[rows.Unfitted(w.rows)] = true
			}
		}}, l)
		if err != nil {
			t.Fatalf("%d MB: %v", mb, err)
		}
		if first == nil {
			first = res
		} else if sha256.Sum256(res.Model.Encode()) != sha256.Sum256(first.Model.Encode()) {
			t.Errorf("%d MB: another model", mb)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if u := pool.Used(); u != 0 {
			t.Errorf("%d MB: %d bytes are still charged", mb, u)
		}
	}
	if !some[1] || !some[4] || len(some) < 3 {
		t.Errorf("numbers of unfitted blocks: %v", some)
	}
}
