package build

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/order"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func (b *builder) scan(n *plan.Scan) (rel, error) {
	if b.Tables == nil || b.splits == nil {
		return rel{}, pgerr.Internal("the task cannot read tables")
	}
	open := func(ctx context.Context, sp *op.Split) (op.BatchReader, error) {
		return b.Tables.Open(ctx, n, sp, b.Env, b.keys[n]) // which joins above add to
	}
	return rel{op.NewScan(b.rt, b.statsOf(n), b.leafOf(n), b.splits, open), n.Schema()}, nil
}

func (b *builder) source(n *plan.Source) (rel, error) {
	if b.Sources == nil || b.splits == nil {
		return rel{}, pgerr.Internal("the task cannot read sources")
	}
	open := func(ctx context.Context, sp *op.Split) (op.BatchReader, error) {
		return b.Sources.Open(ctx, n, sp.Part, sp.Of, b.rt.Pool)
	}
	return b.filtered(rel{op.NewScan(b.rt, b.statsOf(n), b.leafOf(n), b.splits, open), n.Schema()}, n.Filter)
}

func (b *builder) virtual(n *plan.Virtual) (rel, error) {
	if b.Virtuals == nil {
		return rel{}, pgerr.Internal("the task cannot read %s.%s", n.Schema_, n.Name)
	}
	ops := op.NewShared(b.rt, func(ctx context.Context) ([]op.BatchReader, error) {
		r, err := b.Virtuals.Open(ctx, n)
		if err != nil {
			return nil, err
		}
		return []op.BatchReader{r}, nil
	})
	return b.filtered(rel{ops, n.Cols}, n.Filter)
}

func (b *builder) buffer(n *plan.Buffer, need colSet) (rel, error) {
	buf := b.buffers[n.ID]
	if buf == nil {
		return rel{}, pgerr.Internal("the task has no buffer %d (%s)", n.ID, n.Name)
	}
	var at []int
	var cols []plan.Column
	for i, c := range n.Cols {
		if need[c.ID] {
			at, cols = append(at, i), append(cols, c)
		}
	}
	if len(cols) == len(n.Cols) {
		at = nil
	} else if at == nil {
		at = []int{} // the rows alone
	}
	ops := op.NewShared(b.rt, func(context.Context) ([]op.BatchReader, error) {
		r, err := buf.Open(at)
		if err != nil {
			return nil, err
		}
		return []op.BatchReader{r}, nil
	})
	return rel{ops, cols}, nil
}

func (b *builder) receive(n *plan.Receive) (rel, error) {
	if b.exchange == nil {
		return rel{}, pgerr.Internal("the task has no exchange")
	}
	open := func(ctx context.Context) ([]op.BatchReader, error) { return b.exchange.Readers(ctx, n) }
	if len(n.Merge) == 0 {
		return rel{op.NewShared(b.rt, open), n.Cols}, nil
	}
	o := b.ordering(n.Merge)
	newKeys := func() ([]op.Item, error) { return o.thread(b, n.Cols) }
	return rel{order.NewMergeReceive(b.rt, typesOf(n.Cols), newKeys, o.specs, open), n.Cols}, nil
}

// values evaluates the rows while the tree is made: they have no columns to
// wait for.
func (b *builder) values(ctx context.Context, n *plan.Values) (rel, error) {
	var batches []*batch.Batch
	for from := 0; from < len(n.Rows); from += b.rt.Rows() {
		one, err := Values(ctx, n, from, min(from+b.rt.Rows(), len(n.Rows)), b.Env)
		if err != nil {
			return rel{}, err
		}
		batches = append(batches, one)
	}
	return rel{op.NewStatic(b.rt, batches), n.Cols}, nil
}

// Values evaluates rows of a VALUES.
func Values(ctx context.Context, n *plan.Values, from, to int, env *function.Env) (*batch.Batch, error) {
	return ValuesOf(n, from, to, func(row, col int) (types.Datum, error) { return eval.ConstantContext(ctx, n.Rows[row][col], env) })
}

// ValuesOf is Values of which somebody else computes each value.
func ValuesOf(n *plan.Values, from, to int, value func(row, col int) (types.Datum, error)) (*batch.Batch, error) {
	cols, rows := make([]arrow.Array, len(n.Cols)), to-from
	for c, col := range n.Cols {
		if rows == 1 {
			d, err := value(from, c)
			if err == nil {
				cols[c], err = types.ArrayOf1(col.Type, d, 1)
			}
			if err != nil {
				return nil, err
			}
			continue
		}
		bld := array.NewBuilder(memory.DefaultAllocator, col.Type.Arrow())
		bld.Reserve(rows)
		for row := from; row < to; row++ {
			d, err := value(row, c)
			if err == nil {
				err = types.AppendDatum(bld, col.Type, d)
			}
			if err != nil {
				return nil, err
			}
		}
		cols[c] = bld.NewArray()
	}
	return batch.New(cols, rows), nil
}

func (b *builder) funcScan(n *plan.FuncScan) (rel, error) {
	one := op.NewStatic(b.rt, []*batch.Batch{batch.New(nil, 1)})
	ps, err := b.setPrograms(n.Calls, nil, false)
	if err != nil {
		return rel{}, err
	}
	return rel{op.NewProjectSet(b.rt, one, nil, ps, n.Ordinality != 0), n.Schema()}, nil
}

func (b *builder) setPrograms(calls []plan.SetCall, in []plan.Column, outer bool) ([]op.SetProgram, error) {
	out := make([]op.SetProgram, b.rt.Threads)
	for thread := range out {
		p, err := eval.CompileSets(calls, in, b.Env, outer)
		if err != nil {
			return nil, err
		}
		out[thread] = p
	}
	return out, nil
}
