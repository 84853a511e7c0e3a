package aggregate_test

import (
	"context"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/aggregate"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// TestLongAggregates: rows that an aggregate keeps are charged before they are copied, even if they
// share one string, and results before they are made.
func TestLongAggregates(t *testing.T) {
	const rows, long, limit = 800, 100_000, 20 << 20
	c := aggCase{tb: optest.Table{Types: []types.Type{types.Text}}, drop: -1}
	comma := &expr.Const{Typ: types.Text, Val: ","}
	one := types.Datum(strings.Repeat("x", long))
	values, err := types.ArrayOf1(types.Text, one, 1)
	if err != nil {
		t.Fatal(err)
	}
	in := batch.New([]arrow.Array{batch.FromIndices(types.DictArrow, make([]int32, rows), nil, values)}, rows)
	for _, call := range []expr.AggCall{
		c.call("string_agg(text,text)", c.col(0), comma),
		c.call("array_agg(anynonarray)", c.col(0)),
		c.call("json_agg(anyelement)", c.col(0)),
	} {
		for _, n := range []int{60, rows} {
			c.aggs = []expr.AggCall{call}
			pool := mem.NewPool("n1", 0).Child("statement", limit)
			dir := spill.NewDir(spill.Options{Parent: t.TempDir(), Pool: pool})
			rt := &op.Runtime{Threads: 1, Pool: pool, Spill: dir}
			ops, err := aggregate.New(rt, nil, c.node(), nil, nil, c.columns(), nil, op.NewStatic(rt, []*batch.Batch{in.Slice(0, n)}))
			if err != nil {
				t.Fatal(err)
			}
			made := mostHeap(func() {
				if err = ops[0].Open(context.Background()); err == nil {
					_, err = ops[0].Next(context.Background())
				}
			})
			// 60 rows fit, but as json, which may be eight times as long, they may not.
			if refused := pgerr.Is(err, pgerr.OutOfMemory); n == rows && !refused || err != nil && !refused || n < rows && call.Fn.Name == "string_agg" && err != nil {
				t.Errorf("%s of %d rows: %v", call.Fn.Name, n, err)
			}
			if made > 5*limit { // all rows and the result are 160 MB
				t.Errorf("%s of %d rows: held %d bytes under a limit of %d", call.Fn.Name, n, made, limit)
			}
			if err := ops[0].Close(); err != nil {
				t.Error(err)
			}
			if leaked := pool.Close(); leaked != 0 {
				t.Errorf("leaked %d", leaked)
			}
			_ = dir.Close()
		}
	}
}

// mostHeap returns the peak growth of the heap while f runs.
func mostHeap(f func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, most := m.HeapAlloc, m.HeapAlloc
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			default:
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapAlloc)
			}
		}
	}()
	f()
	close(done)
	<-ended
	return int64(most - before)
}

// TestLongArguments: where the arguments of an aggregate are too large for a whole batch, fewer
// rows are evaluated at a time, with and without a FILTER.
func TestLongArguments(t *testing.T) {
	tb := optest.Table{Types: []types.Type{types.Int4, types.Text}}
	for i := range 90 {
		tb.Rows = append(tb.Rows, types.Row{int64(1_000_000 + i), string(rune('a' + i%3))})
	}
	c := aggCase{tb: tb, drop: -1, keys: []int{1}}
	long := func() expr.Expr { return fixedCall("repeat(text,int4)", c.col(1), c.col(0)) }
	filtered := c.call("count(any)", long())
	filtered.Filter = fixedCall("int4lt(int4,int4)", c.col(0), &expr.Const{Typ: types.Int4, Val: int64(1_000_080)})
	c.aggs = []expr.AggCall{c.call("max(text)", long()), filtered}
	var want []types.Row
	for i := range 3 {
		s := string(rune('a' + i))
		n := int64(27)
		if i == 2 {
			n = 26
		}
		want = append(want, types.Row{s, strings.Repeat(s, 1_000_087+i), n})
	}
	tc := optest.Case{Inputs: []optest.Table{tb}, Out: []types.Type{types.Text, types.Text, types.Int8}, Want: want,
		Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
			out, err := aggregate.New(rt, nil, c.node(), nil, nil, c.columns(), &function.Env{Types: types.DefaultEnv}, in[0])
			if err != nil {
				t.Fatal(err)
			}
			return out
		}}
	optest.Once(t, tc, 1, optest.Form{Size: 90}, 0)
}
