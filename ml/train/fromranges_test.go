package train

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/types"
)

// TestFromRanges: column statistics from the catalog, where they are exact, spare a reading of the
// rows for their bounds. The result must be that of the reading, and rows must be read where
// statistics do not suffice.
func TestFromRanges(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	column := func(name string, typ types.Type) record.Column { return record.Column{Name: name, Type: typ} }
	rows := func(nulls bool) *table {
		tb := &table{cols: []record.Column{column("a", types.Float8), column("b", types.Float4), column("c", types.Int4), column("d", types.Text),
			column("w", types.Float8), column("y", types.Float8), column("k", types.Text)}}
		for i := range 4000 {
			row := []any{r.NormFloat64() * 1e3, float32(r.NormFloat64() - 3), int32(r.IntN(50)), []string{"x", "y", "z"}[r.IntN(3)], r.Float64(), r.NormFloat64(),
				[]string{"n", "o", "p"}[i%3]}
			if i < 40 {
				row[0] = math.Copysign(0, -1)
			}
			if nulls && i%100 == 7 {
				row[2] = nil
			}
			tb.rows = append(tb.rows, row)
		}
		return tb
	}
	without := func(tb *table, names ...string) *table {
		for _, n := range names {
			tb = tb.without(n)
		}
		return tb
	}
	for name, c := range map[string]struct {
		algorithm, target string
		tb                *table
		told              bool
		args              []any
	}{
		"ridge":            {"ridge", "y", without(rows(false), "d", "w", "k"), true, nil},
		"as they are":      {"ridge", "y", without(rows(false), "d", "w", "k"), true, []any{"standardize", false}},
		"held out":         {"ridge", "y", without(rows(false), "w", "k"), true, []any{"data_split_method", "random", "data_split_eval_fraction", 0.3}},
		"categories":       {"linear_regression", "y", without(rows(false), "w", "k"), true, nil},
		"float32":          {"linear_regression", "y", without(rows(false), "w", "k", "a", "c"), true, nil},
		"classes":          {"logistic_regression", "k", without(rows(false), "w", "y"), true, nil},
		"weighted classes": {"logistic_regression", "k", without(rows(false), "w", "y"), false, []any{"class_weights", true}},
		"weights":          {"ridge", "y", without(rows(false), "d", "k"), false, []any{"weight_column", "w"}},
		"nulls":            {"ridge", "y", without(rows(true), "w", "k"), false, nil},
		"kmeans":           {"kmeans", "", without(rows(false), "w", "k", "y"), true, []any{"n_clusters", int64(3)}},
		"pca":              {"pca", "", without(rows(false), "d", "w", "k", "y"), true, nil},
		"two targets":      {"linear_regression", "y", without(rows(false), "d", "k"), false, nil},
	} {
		for _, records := range []bool{false, true} {
			targets := []string{c.target}
			if c.target == "" {
				targets = nil
			}
			args := c.args
			if name == "two targets" {
				targets, args = []string{"y", "w"}, nil
			}
			job, err := NewJob(c.algorithm, targets, pairs(args...), nil, c.tb.cols)
			if err != nil {
				t.Fatal(name, err)
			}
			ctx := context.Background()
			l, n := newLocal(t, job, c.tb, setup{workers: 2, threads: 2, records: records, shuffle: 3})
			run := &runner{in: Input{Job: job, Rows: n, SliceElements: 1 << 20}, red: l, job: job}
			step := func() error {
				holdout, err := run.drawAll(ctx)
				if err != nil {
					return err
				}
				if err := run.fit(ctx, holdout[0]); err != nil {
					return err
				}
				if err := run.encodeRows(ctx); err != nil {
					return err
				}
				return run.begin()
			}
			if err := step(); err != nil {
				t.Fatal(name, err)
			}
			d, ok := run.driver.(family.FromRanges)
			if told := ok && run.ranges != nil && d.FromRanges(run.ranges) != nil; told != c.told {
				t.Errorf("%s: statistics tell: %v", name, told)
			} else if told {
				m, err := run.reduce(ctx, &stepTask{rows: run.Rows, held: run.Held, weight: run.Weight.Value(), step: run.driver.Next(), per: 1 << 20})
				if err != nil {
					t.Fatal(name, err)
				}
				var want, got canon.E
				m.Encode(&want)
				d.FromRanges(run.ranges).Encode(&got)
				if !bytes.Equal(want.B, got.B) {
					t.Errorf("%s: %+v is what ranges give, %+v is there", name, run.ranges, m)
				}
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
