package window

import (
	"context"
	"slices"

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
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/sql/types"
)

// New makes the threads of window functions over inputs whose columns are
// in. It returns those of in that s gives, then those of n.Items.
//
//	threads ─▶ sort by (partition, order) ─▶ each thread: its partitions, one block after the other
//
// Rows that the run condition excludes are not sorted (topfilter.go). Without partitions, and where the sort spilled, thread 0 computes all
// blocks, but ranks and numbers of rows are known in any thread (ranked.go).
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
		in = s.Columns(in)
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
		if out[i] = w; countsOnly(n) && !sorted {
			out[i] = newRanked(w)
		}
	}
	return out, nil
}

func newSort(rt *op.Runtime, st *op.Stats, n *plan.Window, in []plan.Column, env *function.Env, inputs []op.Operator, s Sorting) ([]op.Operator, error) {
	if len(s.keys) == 0 {
		return op.NewGather(inputs), nil
	}
	cfg := order.Config{Given: s.give, Limit: -1, Split: s.split}
	if countsOnly(n) {
		cfg.Alone = rankedRows
	}
	for _, c := range in {
		cfg.Types = append(cfg.Types, c.Type)
	}
	for _, k := range s.keys {
		cfg.Specs = append(cfg.Specs, kernel.KeySpec{Type: k.Expr.Type(), Desc: k.Desc, NullsFirst: k.NullsFirst})
	}
	for range inputs {
		var items []op.Item
		for _, k := range s.keys {
			if c, ok := rewrite.AsColumn(k.Expr); ok {
				if at := slices.IndexFunc(in, func(o plan.Column) bool { return o.ID == c.ID }); at >= 0 {
					items = append(items, op.Item{Col: at})
					continue
				}
			}
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
		o.orderSpecs = append(o.orderSpecs, kernel.KeySpec{Type: k.Expr.Type(), Desc: k.Desc, NullsFirst: k.NullsFirst})
		if !ReadsOrder(o.n) {
			continue
		}
		p, err := comp(k.Expr)
		if err != nil {
			return err
		}
		o.order = append(o.order, p)
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
		o.peered = o.peered || asksPeers(it)
		o.funcs = append(o.funcs, f)
	}
	return nil
}

// ReadsOrder reports whether a window's functions read what its rows are ordered by; else only the sort does.
func ReadsOrder(n *plan.Window) bool {
	return slices.ContainsFunc(n.Items, func(it plan.WindowItem) bool { return asksPeers(it) || it.Call.Fn.Name == "ml_windows" })
}

// asksPeers reports whether a function's values depend on which rows are peers.
func asksPeers(it plan.WindowItem) bool {
	switch it.Call.Fn.Name {
	case "row_number", "lag", "lead", "ntile", "ml_windows":
		return false
	case "rank", "dense_rank", "percent_rank", "cume_dist":
		return true
	}
	fr := it.Frame
	bounded := func(b plan.FrameBound) bool {
		return b.Kind != plan.UnboundedPreceding && b.Kind != plan.UnboundedFollowing
	}
	return fr.Exclude == 'g' || fr.Exclude == 't' || fr.Mode != 'r' && (bounded(fr.Start) || bounded(fr.End))
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
