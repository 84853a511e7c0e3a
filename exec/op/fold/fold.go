package fold

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/order"
	"github.com/tributarydb/tributary/sql/types"
)

// Groups are those of an aggregate whose rows do not fit.
type Groups struct {
	Runtime *op.Runtime
	Stats   *op.Stats
	Account *mem.Account
	Agg     agg.Sortable
	Type    types.Type // of the results
	N       int
}

// Results returns the results of groups, one each, from states, each behind the number of its group.
// read returns the next one, io.EOF at the end.
func (x *Groups) Results(ctx context.Context, read func(context.Context) (int, []byte, error)) (arrow.Array, error) {
	rows := &states{agg: x.Agg, read: read, counts: make([]int64, x.N)}
	in := x.sorted(rows, x.Agg.RowTypes(), x.Agg.SortKeys())
	begin := func(g int) *agg.Sorted { return x.Agg.Sorted(rows.counts[g]) }
	if a, ok := x.Agg.(agg.Resortable); ok {
		first := &resorted{in: in, acct: x.Account, begin: begin, groups: make([]*agg.Sorted, x.N)}
		in, begin = x.sorted(first, a.ResortTypes(), a.ResortKeys()), first.again
	}
	defer in.Close()
	if err := in.Open(ctx); err != nil {
		return nil, err
	}
	held := x.Account.Used()
	out := array.NewBuilder(memory.DefaultAllocator, x.Type.Arrow())
	var cur *agg.Sorted
	done := 0 // groups whose results are out
	// finish ends the groups before g.
	finish := func(g int) error {
		for ; done < g; done++ {
			if cur == nil {
				cur = begin(done)
			}
			// The result is made beside the rows, and Arrow's builder doubles.
			if err := Hold(ctx, x.Account, x.Account.Used()+2*cur.Held()); err != nil {
				return err
			}
			d, err := cur.Result()
			if err == nil {
				err = types.AppendDatum(out, x.Type, d)
			}
			if err != nil {
				return err
			}
			held += 2 * (cur.Held() + 16)
			cur = nil
			if err := Hold(ctx, x.Account, held); err != nil {
				return err
			}
		}
		return nil
	}
	err := op.Drain(ctx, in, func(b *batch.Batch) error {
		b = kernel.Compact(b)
		had := int64(0)
		if cur != nil {
			had = cur.Held()
		}
		// What is appended to grows by a quarter.
		if err := Hold(ctx, x.Account, max(held+had*5/4+b.Bytes(), x.Account.Used())); err != nil {
			return err
		}
		groups := b.Cols[0].(*array.Int32).Int32Values()
		for i, g := range groups {
			if err := finish(int(g)); err != nil {
				return err
			}
			if cur == nil {
				cur = begin(int(g))
			}
			if err := cur.Add(b.Cols[1:], i); err != nil {
				return err
			}
		}
		return Hold(ctx, x.Account, held+cur.Held())
	})
	if err == nil {
		err = finish(x.N)
	}
	if err != nil {
		return nil, err
	}
	return out.NewArray(), nil
}

// sorted sorts rows of types behind the number of their group, by group and keys.
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

// little is what is always granted.
const little = 64 << 10

// Hold makes an account hold so much: others have to give way where there is no room, but for little.
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

// numbered puts the number of their group before rows.
func numbered(group int, cols []arrow.Array, n int) *batch.Batch {
	number := make([]int32, n)
	for k := range number {
		number[k] = int32(group)
	}
	return batch.New(append([]arrow.Array{batch.FromSlice(arrow.PrimitiveTypes.Int32, number, nil)}, cols...), n)
}
