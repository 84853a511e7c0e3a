package train

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/types"
)

// TestTreesBeyondMemory: the per-row state of trees, larger than memory, is kept in files, and the
// model is the same.
func TestTreesBeyondMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	tb := &table{cols: []record.Column{{Name: "a", Type: types.Float4}, {Name: "b", Type: types.Float4}, {Name: "c", Type: types.Float4}, {Name: "y", Type: types.Bool}}}
	for range 150_000 {
		a, b, c := r.Float32(), r.Float32(), r.Float32()
		tb.rows = append(tb.rows, []any{a, b, c, a*b+0.1*c > 0.3})
	}
	for _, algorithm := range []string{"random_forest", "gradient_boosted_trees"} {
		job := mustJob(t, algorithm, "y", tb, "n_estimators", int64(8), "max_depth", int64(4), "max_bin", int64(31))
		want, err := trainTable(t, job, tb, setup{workers: 1, threads: 1}, Input{})
		if err != nil {
			t.Fatal(err)
		}
		l, rows := newLocal(t, job, tb, setup{workers: 1, threads: 1, memory: 12 << 20})
		got, err := Run(context.Background(), Input{Job: job, Rows: rows}, l)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Model.Encode(), want.Model.Encode()) {
			t.Errorf("%s: another model with little memory", algorithm)
		}
		if l.Workers[0].Spilled() == 0 {
			t.Errorf("%s: nothing was spilled", algorithm)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
