package window

import (
	"context"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/order"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// New makes the threads of window functions over inputs whose columns are
// in. It returns the columns in, then those of n.Items.
//
//	threads ─▶ sort by (partition, order) ─▶ each thread: its partitions, one block after the other
//
// Rows that the run condition excludes are not sorted (topfilter.go). Without partitions, and where the sort spilled, thread 0 computes all blocks.
// The order s is n's own or that of several windows (sorting.go), of which the lowest sorts; the others find their rows sorted.
//
// A block is so many whole partitions as make about a batch, or one that is
// larger. It is held in memory (charged) while its functions are computed; a
// partition for which that is refused goes to a file (file.go).
func New(rt *op.Runtime, st *op.Stats, n *plan.Window, in []plan.Column, env *function.Env, inputs []op.Operator, s Sorting, sorted bool) ([]op.Operator, error) {
	if !sorted {
		var err error
		if inputs, err = newSort(rt, st, n, in, env, inputs, s); err != nil {
			return nil, err
		}
	}
	var ts []types.Type
	for _, c := range in {
		ts = append(ts, c.Type)
	}
	out := make([]op.Operator, len(inputs))
	for i := range out {
		if i > 0 && s.split == 0 {
			out[i] = &feeder{in: inputs[i]}
			continue
		}
		w := &window{rt: rt, st: st, n: n, in: inputs[i], types: ts}
		if err := w.compile(in, env); err != nil {
			return nil, err
		}
		out[i] = w
	}
	return out, nil
}

func newSort(rt *op.Runtime, st *op.Stats, n *plan.Window, in []plan.Column, env *function.Env, inputs []op.Operator, s Sorting) ([]op.Operator, error) {
	if len(s.keys) == 0 {
		return op.NewGather(inputs), nil
	}
	cfg := order.Config{Limit: -1, Split: s.split}
	for _, c := range in {
		cfg.Types = append(cfg.Types, c.Type)
	}
	for _, k := range s.keys {
		cfg.Specs = append(cfg.Specs, kernel.KeySpec{Type: k.Expr.Type(), Desc: k.Desc, NullsFirst: k.NullsFirst})
	}
	for range inputs {
		var items []op.Item
		for _, k := range s.keys {
			p, err := eval.Compile(k.Expr, in, env)
			if err != nil {
				return nil, err
			}
			items = append(items, op.Item{Program: p})
		}
		cfg.Keys = append(cfg.Keys, items)
	}
	if n.Top > 0 && len(n.OrderBy) > 0 {
		inputs = NewTop(rt, inputs, int(n.Top), cfg, len(n.PartitionBy))
	}
	return order.NewSort(rt, st, cfg, inputs), nil
}

// compile makes the thread's programs.
func (o *window) compile(in []plan.Column, env *function.Env) error {
	comp := func(e expr.Expr) (*eval.Program, error) { return eval.Compile(e, in, env) }
	for _, e := range o.n.PartitionBy {
		p, err := comp(e)
		if err != nil {
			return err
		}
		o.part = append(o.part, p)
		o.partSpecs = append(o.partSpecs, kernel.KeySpec{Type: e.Type()})
	}
	for _, k := range o.n.OrderBy {
		p, err := comp(k.Expr)
		if err != nil {
			return err
		}
		o.order = append(o.order, p)
		o.orderSpecs = append(o.orderSpecs, kernel.KeySpec{Type: k.Expr.Type(), Desc: k.Desc, NullsFirst: k.NullsFirst})
	}
	for k, it := range o.n.Items {
		f := &call{item: it, w: o, k: k}
		list := append([]expr.Expr(nil), it.Call.Args...)
		for _, k := range it.Call.OrderBy {
			list = append(list, k.Expr)
		}
		for _, e := range list {
			p, err := comp(e)
			if err != nil {
				return err
			}
			f.args = append(f.args, p)
		}
		if it.Call.Filter != nil {
			p, err := comp(it.Call.Filter)
			if err != nil {
				return err
			}
			if it.Call.Fn.Kind == fn.Aggregate {
				f.filter = p
			} else {
				f.args = append(f.args, p)
			}
		}
		for i, b := range []plan.FrameBound{it.Frame.Start, it.Frame.End} {
			if b.Offset == nil {
				continue
			}
			p, err := comp(b.Offset)
			if err != nil {
				return err
			}
			f.offset[i] = p
		}
		f.env = env
		f.writes = it.Call.Fn.Kind == fn.Aggregate && agg.NewWritten(it.Call, env) != nil
		o.ranged = o.ranged || it.Frame.Mode == 'v' && (f.offset[0] != nil || f.offset[1] != nil)
		o.funcs = append(o.funcs, f)
	}
	return nil
}

// feeder is a thread above 0: it runs its share of the sort and returns nothing.
type feeder struct{ in op.Operator }

func (o *feeder) Open(ctx context.Context) error { return o.in.Open(ctx) }
func (o *feeder) Close() error                   { return o.in.Close() }
func (o *feeder) Next(ctx context.Context) (*batch.Batch, error) {
	for {
		if _, err := o.in.Next(ctx); err != nil {
			return nil, err
		}
	}
}
