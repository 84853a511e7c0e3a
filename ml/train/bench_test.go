package train

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/types"
)

// higgsLike makes n rows of 28 float4 features and a class, as batches. The
// same numbers come from testdata/baseline.py, which times scikit-learn on them.
func higgsLike(n int) ([]record.Column, []*batch.Batch) {
	const d = 28
	cols := make([]record.Column, d+1)
	for i := range d {
		cols[i] = record.Column{Name: fmt.Sprint("x", i), Type: types.Float4}
	}
	cols[d] = record.Column{Name: "y", Type: types.Int4}
	state := uint64(42)
	next := func() float64 { // uniform in [-1, 1)
		state = state*6364136223846793005 + 1442695040888963407
		return float64(int64(state)>>11) * 0x1p-52
	}
	var out []*batch.Batch
	for n > 0 {
		k := min(n, batch.DefaultSize)
		x, y := make([][]float32, d), make([]int32, k)
		for j := range x {
			x[j] = make([]float32, k)
		}
		for i := range k {
			z := 0.0
			for j := range d {
				v := float32(next())
				x[j][i] = v
				z += float64(v) * (float64(j%7) - 3) / 2
			}
			if z+2*next() > 0 {
				y[i] = 1
			}
		}
		arrs := make([]arrow.Array, d+1)
		for j := range d {
			arrs[j] = batch.FromSlice(arrow.PrimitiveTypes.Float32, x[j], nil)
		}
		arrs[d] = batch.FromSlice(arrow.PrimitiveTypes.Int32, y, nil)
		out = append(out, batch.New(arrs, k))
		n -= k
	}
	return cols, out
}

// BenchmarkLogistic is a whole training on two threads, from batches to the model: a million rows
// of 28 float32 features, C = 1, not standardised, to a relative gradient of 1e-6.
func BenchmarkLogistic(b *testing.B) {
	const rows = 1000000
	cols, batches := higgsLike(rows)
	job, err := NewJob("logistic_regression", []string{"y"}, pairs("c", 1.0, "standardize", false, "tolerance", 1e-6), nil, cols)
	if err != nil {
		b.Fatal(err)
	}
	var distribute, fit, encodeRows, iterate, evaluate time.Duration
	for b.Loop() {
		t0 := time.Now()
		w, err := NewWorker(job, WorkerConfig{Pool: mem.NewPool("bench", 0), Threads: 2})
		if err != nil {
			b.Fatal(err)
		}
		var wg sync.WaitGroup
		for t := range 2 {
			wg.Go(func() {
				for i := t; i < len(batches); i += 2 {
					if err := w.Add(context.Background(), batches[i]); err != nil {
						b.Error(err)
					}
				}
			})
		}
		wg.Wait()
		l := &Local{Workers: []*Worker{w}}
		n, err := l.Distribute(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		distribute += time.Since(t0)
		last, at := time.Now(), &fit
		res, err := Run(context.Background(), Input{Job: job, Rows: n, Progress: func(e Event) {
			now := time.Now()
			*at += now.Sub(last)
			last = now
			at = map[string]*time.Duration{"fit": &fit, "encode": &encodeRows, "iterate": &iterate, "evaluate": &evaluate}[e.Phase]
		}}, l)
		if err != nil {
			b.Fatal(err)
		}
		*at += time.Since(last)
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
		theta := weights(res)
		obj := res.TrainLoss*rows + 0.5*f64.Dot(theta[:28], theta[:28])
		b.ReportMetric(obj, "objective")
		b.ReportMetric(float64(res.Evals), "evals")
		if math.IsNaN(obj) {
			b.Fatal("no loss")
		}
	}
	for name, d := range map[string]time.Duration{"distribute": distribute, "fit": fit, "encode": encodeRows, "iterate": iterate, "evaluate": evaluate} {
		b.ReportMetric(float64(d.Milliseconds())/float64(b.N), name+"-ms")
	}
}
