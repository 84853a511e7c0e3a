package train

import (
	"context"
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/types"
)

// groupLike makes a group of n rows of ten float8 features and a number, as batches.
func groupLike(seed uint64, n int) ([]record.Column, *batch.Batch) {
	const d = 10
	cols := make([]record.Column, d+1)
	for i := range d {
		cols[i] = record.Column{Name: fmt.Sprint("x", i), Type: types.Float8}
	}
	cols[d] = record.Column{Name: "y", Type: types.Float8}
	state := seed
	next := func() float64 { // uniform in [-1, 1)
		state = state*6364136223846793005 + 1442695040888963407
		return float64(int64(state)>>11) * 0x1p-52
	}
	arrs := make([]arrow.Array, d+1)
	y := make([]float64, n)
	for j := range d {
		x := make([]float64, n)
		for i := range x {
			x[i] = next()
			y[i] += x[i] * (float64(j%7) - 3) / 2
		}
		arrs[j] = batch.FromSlice(arrow.PrimitiveTypes.Float64, x, nil)
	}
	for i := range y {
		y[i] += next()
	}
	arrs[d] = batch.FromSlice(arrow.PrimitiveTypes.Float64, y, nil)
	return cols, batch.New(arrs, n)
}

// BenchmarkGroups trains a model on a group of 1,000 rows of ten features, again and again.
func BenchmarkGroups(b *testing.B) {
	for _, c := range []struct {
		family string
		opts   []any
	}{
		{"boosted_tree_regressor", []any{"n_estimators", int64(20)}},
		{"boosted_tree_regressor", []any{"n_estimators", int64(20), "max_leaves", int64(31)}},
		{"ridge", nil},
	} {
		b.Run(c.family, func(b *testing.B) {
			cols, rows := groupLike(42, 1000)
			job, err := NewJob(c.family, []string{"y"}, pairs(c.opts...), nil, cols)
			if err != nil {
				b.Fatal(err)
			}
			pool := mem.NewPool("bench", 0)
			t, err := NewGroupTrainer(job.EncodeWhole(), 0, pool, b.TempDir(), 1)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			h := sha256.New()
			for b.Loop() {
				if err := t.Add(context.Background(), rows, 0, 1000); err != nil {
					b.Fatal(err)
				}
				g, err := t.End(context.Background())
				if err != nil {
					b.Fatal(err)
				}
				h.Reset()
				h.Write(g)
			}
			b.Logf("%x", h.Sum(nil)[:8])
			if err := t.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
