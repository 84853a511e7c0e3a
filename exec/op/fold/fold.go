package fold

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/order"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/types"
)

// Groups are the groups of an aggregate whose rows do not fit in memory.
type Groups struct {
	Runtime *op.Runtime
	Stats   *op.Stats
	Account *mem.Account
	Agg     agg.Sortable
	Call    expr.AggCall
	N       int
}

// Results computes the results of the groups from partial states: read returns a group's number and
// one of its states, io.EOF at the end. give is called with the result of each group in order, as a
// column of one row, and returns how many bytes of it stay in memory. One result is made at a time,
// since the results of a few groups may be larger than memory.
func (x *Groups) Results(ctx context.Context, read func(context.Context) (int, []byte, error), give func(arrow.Array) (int64, error)) error {
	rows := &states{agg: x.Agg, call: x.Call, read: read, counts: make([]int64, x.N), long: make([]int64, x.N)}
	in := x.sorted(rows, x.Agg.RowTypes(), x.Agg.SortKeys())
	begin := func(g int) *agg.Sorted { return x.Agg.Sorted(rows.counts[g]) }
	if a, ok := x.Agg.(agg.Resortable); ok {
		first := &resorted{in: in, acct: x.Account, begin: begin, groups: make([]*agg.Sorted, x.N)}
		in, begin = x.sorted(first, a.ResortTypes(), a.ResortKeys()), first.again
	}
	defer in.Close()
	if err := in.Open(ctx); err != nil {
		return err
	}
	held := x.Account.Used()
	var cur *agg.Sorted
	done := 0 // number of groups whose results were passed to give
	// group begins group g, and ends those before it.
	group := func(g int) error {
		if cur != nil {
			return nil
		}
		if err := Hold(ctx, x.Account, max(held+rows.long[g], x.Account.Used())); err != nil {
			return err
		}
		if cur = begin(g); rows.long[g] > 0 {
			cur.Expect(rows.long[g])
		}
		return nil
	}
	// most returns the memory that cur may need while n more rows are added.
	most := func(n int) int64 {
		if cur == nil || rows.long[done] > 0 {
			return max(rows.long[done], 0)
		}
		return cur.Most(n)
	}
	// finish ends the groups before g.
	finish := func(g int) error {
		for ; done < g; done++ {
			if err := group(done); err != nil {
				return err
			}
			need := most(0)
			if !text(x.Call) && x.Call.Fn.Name != "array_agg" { // the result is a copy of the rows, by an Arrow builder, whose buffers double
				need = 3 * cur.Held()
			}
			if err := Hold(ctx, x.Account, max(held+need, x.Account.Used())); err != nil {
				return err
			}
			col, err := cur.Column(x.Call.Typ)
			if err != nil {
				return err
			}
			kept, err := give(col)
			if err != nil {
				return err
			}
			held += kept
			cur = nil
			if err := Hold(ctx, x.Account, held); err != nil {
				return err
			}
		}
		return nil
	}
	err := op.Drain(ctx, in, func(b *batch.Batch) error {
		b = kernel.Compact(b)
		if err := Hold(ctx, x.Account, max(held+most(b.N)+b.Bytes(), x.Account.Used())); err != nil {
			return err
		}
		groups := b.Cols[0].(*array.Int32).Int32Values()
		for i, g := range groups {
			if err := finish(int(g)); err != nil {
				return err
			}
			if err := group(int(g)); err != nil {
				return err
			}
			if err := cur.Add(b.Cols[1:], i); err != nil {
				return err
			}
		}
		return Hold(ctx, x.Account, held+cur.Held())
	})
	if err != nil {
		return err
	}
	return finish(x.N)
}

// sorted sorts rows of types ts, preceded by the number of their group, by group and keys.
func (x *Groups) sorted(in op.Operator, ts []types.Type, keys []agg.SortKey) op.Operator {
	rt := *x.Runtime
	rt.Threads = 1
	cfg := order.Config{Types: append([]types.Type{types.Int4}, ts...), Limit: -1,
		Keys: [][]op.Item{{{Col: 0}}}, Specs: []kernel.KeySpec{{Type: types.Int4}}}
	for _, k := range keys {
		cfg.Keys[0] = append(cfg.Keys[0], op.Item{Col: 1 + k.Col})
		cfg.Specs = append(cfg.Specs, k.KeySpec)
	}
	return order.NewSort(&rt, x.Stats, cfg, []op.Operator{in})[0]
}

// little is how many bytes more are always granted.
const little = 64 << 10

// Hold charges an account for this many bytes. If there is no room, other operators of the statement
// spill; a small amount is charged in any case.
func Hold(ctx context.Context, acct *mem.Account, bytes int64) error {
	more := bytes - acct.Used()
	switch {
	case more <= 0:
		return acct.Resize(bytes)
	case more <= little:
		acct.Take(more)
		return nil
	}
	return acct.Insist(ctx, more)
}

// numbered returns rows with the number of their group as the first column.
func numbered(group int, cols []arrow.Array, n int) *batch.Batch {
	number := make([]int32, n)
	for k := range number {
		number[k] = int32(group)
	}
	return batch.New(append([]arrow.Array{batch.FromSlice(arrow.PrimitiveTypes.Int32, number, nil)}, cols...), n)
}
