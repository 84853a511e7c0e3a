package order_test

import (
	"context"
	"math/rand"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/order"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/sql/types"
)

func TestMergeReceive(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	ts := []types.Type{types.Int4, types.Text}
	specs := []kernel.KeySpec{{Type: types.Int4, Desc: true}, {Type: types.Text}}
	for _, readers := range []int{0, 1, 2, 5} {
		var all []types.Row
		var parts []optest.Table
		for i := range readers {
			tb := optest.Random(r, 50*i, ts...)
			slices.SortStableFunc(tb.Rows, func(a, b types.Row) int { return compareRows(specs, []int{0, 1}, a, b) })
			parts = append(parts, tb)
			all = append(all, tb.Rows...)
		}
		opened, closed := 0, 0
		open := func(context.Context) ([]op.BatchReader, error) {
			opened++
			var out []op.BatchReader
			for _, p := range parts {
				out = append(out, &optest.Reader{Batches: p.Batches(t, optest.Form{Size: 7, Dict: true, Mix: true}), Closed: &closed})
			}
			return out, nil
		}
		sorted := slices.Clone(all)
		slices.SortStableFunc(sorted, func(a, b types.Row) int { return compareRows(specs, []int{0, 1}, a, b) })
		optest.Run(t, optest.Case{Out: ts, Want: sorted, Ordered: true, Build: func(rt *op.Runtime, _ [][]op.Operator) []op.Operator {
			keys := func() ([]op.Item, error) { return []op.Item{{Col: 0}, {Col: 1}}, nil }
			return order.NewMergeReceive(rt, ts, keys, specs, open)
		}})
		if closed != opened*readers {
			t.Errorf("%d of %d readers are closed", closed, opened*readers)
		}
	}
}
