package kmeans

import (
	"bytes"
	"sync"
	"testing"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
)

// TestThreads processes the blocks of a step in several goroutines, parts of one block among them.
func TestThreads(t *testing.T) {
	for _, dims := range []int{3, 30} { // few and many columns, for which state is kept differently
		d := blobs(17, 6000, 6, dims, 1.5)
		options := []any{"k", 36, "init", "k-means||", "tol", 0.0, "max_iterations", 15}
		want, err := familytest.Train(t, kmeans{}, d, familytest.Spread{}, options...)
		if err != nil {
			t.Fatal(err)
		}
		drv, err := kmeans{}.NewDriver(want.Setup, familytest.Home)
		if err != nil {
			t.Fatal(err)
		}
		w, err := kmeans{}.NewWorker(want.Setup, &family.Node{Threads: 4, Grow: func(int64) error { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		b := d.All(false)
		for !drv.State().Done {
			s := drv.Next()
			var wg sync.WaitGroup
			parts, errs := make([]family.Message, 4), make([]error, 4)
			for i := range parts {
				wg.Go(func() {
					p, err := w.NewPass(s)
					if err == nil {
						const n = 1504
						err = p.Add(t.Context(), family.Rows{From: i * n, To: min((i+1)*n, b.Rows)}, b)
					}
					if errs[i] = err; err == nil {
						parts[i] = p.Partial()
					}
				})
			}
			wg.Wait()
			for i, err := range errs {
				if err != nil {
					t.Fatal(err)
				}
				if i > 0 {
					if parts[0], err = (kmeans{}).Merge(s.Op, parts[0], parts[i]); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := drv.Tell(parts[0]); err != nil {
				t.Fatal(err)
			}
		}
		m, err := drv.Predictor()
		if err != nil {
			t.Fatal(err)
		}
		var e canon.E
		m.Encode(&e)
		if !bytes.Equal(e.B, want.Bytes) {
			t.Fatal("another model")
		}
	}
}
