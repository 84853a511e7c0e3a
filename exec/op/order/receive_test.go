package order_test

import (
	"context"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/exec/batch"
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

// TestMergeReceiveLongRows: batches of long rows have few rows, since there may be many inputs to
// merge, each with a batch in memory.
func TestMergeReceiveLongRows(t *testing.T) {
	const long, readers = 100 << 10, 3
	ts := []types.Type{types.Int8, types.Text}
	parts := make([]optest.Table, readers)
	want := optest.Table{Types: ts}
	for i := range 150 {
		row := types.Row{int64(i), strings.Repeat(string(rune('a'+i%26)), long)}
		p := &parts[i%readers]
		p.Types, p.Rows = ts, append(p.Rows, row)
		want.Rows = append(want.Rows, row)
	}
	open := func(context.Context) (out []op.BatchReader, err error) {
		for _, p := range parts {
			out = append(out, &optest.Reader{Batches: p.Batches(t, optest.Form{Size: 5}), Closed: new(int)})
		}
		return out, nil
	}
	keys := func() ([]op.Item, error) { return []op.Item{{Col: 0}}, nil }
	m := order.NewMergeReceive(&op.Runtime{Threads: 1}, ts, keys, []kernel.KeySpec{{Type: types.Int8}}, open)[0]
	var got []types.Row
	if err := op.Drain(context.Background(), m, func(b *batch.Batch) error {
		if n := b.Bytes(); n > 3<<20 {
			t.Errorf("a batch of %d rows and %d bytes", b.Rows(), n)
		}
		got = append(got, optest.RowsOf(b, ts)...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	optest.Compare(t, got, want.Rows, ts, true)
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}
