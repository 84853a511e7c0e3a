package order_test

import (
	"context"
	"math/rand"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/order"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/sql/types"
)

// tagged adds the number of its thread to each row.
type tagged struct {
	op.Operator
	thread int32
}

func (o *tagged) Next(ctx context.Context) (*batch.Batch, error) {
	b, err := o.Operator.Next(ctx)
	if err != nil {
		return nil, err
	}
	tags := make([]int32, b.N)
	for i := range tags {
		tags[i] = o.thread
	}
	return b.With(append(b.Cols[:len(b.Cols):len(b.Cols)], batch.FromSlice(arrow.PrimitiveTypes.Int32, tags, nil))), nil
}

// TestSortSplit: rows with equal first keys are returned by one thread, in order; by all threads
// where the sort fits in memory, and by the first one where it does not.
func TestSortSplit(t *testing.T) {
	r := rand.New(rand.NewSource(6))
	for _, distinct := range []int{1, 300} {
		ts := []types.Type{types.Int4, types.Text, types.Int8}
		tb := optest.Table{Types: ts}
		for range 30000 {
			row := types.Row{int64(r.Intn(distinct)), optest.Value(r, types.Text, 5), int64(r.Intn(1000))}
			if r.Intn(10) == 0 {
				row[0] = nil
			}
			tb.Rows = append(tb.Rows, row)
		}
		for _, text := range []bool{false, true} { // keys of fixed and of any length
			keys := []int{0, 2}
			if text {
				keys = []int{0, 1, 2}
			}
			specs := make([]kernel.KeySpec, len(keys))
			for i, k := range keys {
				specs[i] = kernel.KeySpec{Type: ts[k], Desc: i == 0}
			}
			before := func(a, b types.Row) bool {
				for i, k := range keys {
					x, y := a[k], b[k]
					switch {
					case x == nil && y == nil:
						continue
					case x == nil || y == nil:
						return y == nil
					}
					if c := types.Compare(ts[k], x, y); c != 0 {
						return (c < 0) != (i == 0)
					}
				}
				return true
			}
			optest.Run(t, optest.Case{Inputs: []optest.Table{tb}, Out: append(ts[:3:3], types.Int4), Threads: []int{1, 3}, Spills: distinct == 300, Budget: 400 << 10,
				Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
					cfg := order.Config{Types: ts, Specs: specs, Limit: -1, Split: 1}
					for range rt.Threads {
						var items []op.Item
						for _, k := range keys {
							items = append(items, op.Item{Col: k})
						}
						cfg.Keys = append(cfg.Keys, items)
					}
					threads := order.NewSort(rt, nil, cfg, in[0])
					for i, l := range threads {
						threads[i] = &tagged{l, int32(i)}
					}
					return threads
				},
				Check: func(t *testing.T, got []types.Row) {
					optest.Compare(t, leading(got, 3), tb.Rows, ts, false)
					thread := map[types.Datum]types.Datum{}
					var last types.Row
					used := map[types.Datum]bool{}
					for _, row := range got {
						if used[row[3]] = true; last != nil && last[3] == row[3] && !before(last, row) {
							t.Fatalf("%v comes after %v", row, last)
						}
						if l, ok := thread[row[0]]; ok && l != row[3] {
							t.Fatalf("rows of %v come from threads %v and %v", row[0], l, row[3])
						}
						thread[row[0]], last = row[3], row
					}
					if all := len(used) == 3; distinct == 300 && len(used) > 1 && !all {
						t.Errorf("threads %v give rows", used)
					}
				},
			})
		}
	}
}

func leading(rows []types.Row, n int) []types.Row {
	out := make([]types.Row, len(rows))
	for i, r := range rows {
		out[i] = r[:n]
	}
	return out
}
