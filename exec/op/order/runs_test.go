package order_test

import (
	"context"
	"io"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/order"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/sql/types"
)

// TestManyRuns: a sort of many times the memory writes each row only a few times, however many runs
// there are, keeps rows with equal keys in input order, and leaves memory to the operator above.
func TestManyRuns(t *testing.T) {
	const n, distinct, limit = 1_000_000, 1009, 1 << 20
	ts := []types.Type{types.Int8, types.Int8}
	in := optest.Cut(n, func(from, n int) []arrow.Array {
		return []arrow.Array{
			optest.Int8s(n, func(i int) int64 { return int64(from+i) * 7919 % distinct }),
			optest.Int8s(n, func(i int) int64 { return int64(from + i) })}
	})
	pool := mem.NewPool("n", 64<<20)
	child := pool.Child("statement", limit)
	dir := spill.NewDir(spill.Options{Parent: t.TempDir(), Pool: child})
	defer dir.Close()
	rt := &op.Runtime{Threads: 1, Pool: child, Spill: dir}
	cfg := order.Config{Types: ts, Keys: optest.Columns(1, 0), Specs: []kernel.KeySpec{{Type: types.Int8}}, Limit: -1}
	root := order.NewSort(rt, nil, cfg, optest.Source(1, in))[0]
	defer root.Close()
	ctx := context.Background()
	if err := root.Open(ctx); err != nil {
		t.Fatal(err)
	}
	rows, lastKey, lastRow := 0, int64(-1), int64(-1)
	for {
		b, err := root.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if rows == 0 && child.Used() > limit/2 {
			t.Errorf("%d of %d bytes are in use while the rows are read", child.Used(), limit)
		}
		rows += b.N
		k, r := b.Cols[0].(*array.Int64), b.Cols[1].(*array.Int64)
		for i := range b.N {
			if k.Value(i) < lastKey || k.Value(i) == lastKey && r.Value(i) <= lastRow {
				t.Fatalf("row (%d, %d) follows (%d, %d)", k.Value(i), r.Value(i), lastKey, lastRow)
			}
			lastKey, lastRow = k.Value(i), r.Value(i)
		}
	}
	if rows != n {
		t.Errorf("%d rows, want %d", rows, n)
	}
	if once := int64(n * 16); child.Spilled() < once*3/2 || child.Spilled() > 3*once {
		t.Errorf("%d bytes were written for %d bytes of rows in more runs than are merged at once", child.Spilled(), once)
	}
}
