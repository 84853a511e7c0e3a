package build

import (
	"context"
	"slices"

	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/aggregate"
	"github.com/tributarydb/tributary/exec/op/order"
	"github.com/tributarydb/tributary/exec/op/window"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func (b *builder) filter(ctx context.Context, n *plan.Filter, need colSet) (rel, error) {
	in, err := b.node(ctx, n.Input, need.with(n.Conds...))
	if err != nil {
		return rel{}, err
	}
	return b.filtered(in, n.Conds)
}

func (b *builder) project(ctx context.Context, n *plan.Project, need colSet) (rel, error) {
	cols, es := make([]plan.Column, 0, len(n.Items)), make([]expr.Expr, 0, len(n.Items))
	for _, it := range n.Items {
		if need[it.Col.ID] {
			cols, es = append(cols, it.Col), append(es, it.Expr)
		}
	}
	in, err := b.node(ctx, n.Input, colSet{}.with(es...))
	if err != nil {
		return rel{}, err
	}
	items, err := b.projected(es, in.cols)
	if err != nil {
		return rel{}, err
	}
	if byRow(es) {
		return rel{op.NewProjectRows(in.ops, items), cols}, nil
	}
	return rel{op.NewProject(in.ops, items), cols}, nil
}

// byRow reports whether the results of calls depend on the calls of the row before: beside
// nextval('s'), currval('s') returns this row's value.
func byRow(es []expr.Expr) bool {
	var taken map[any]bool // the sequences of nextval
	calls, same := 0, false
	for _, e := range es {
		expr.Walk(e, func(x expr.Expr) bool {
			c, ok := x.(*expr.Call)
			if !ok || c.Fn == nil {
				return true
			}
			switch c.Fn.Name {
			case "nextval":
				calls++
				k, ok := c.Args[0].(*expr.Const)
				if ok {
					ok = !taken[k.Val]
					if taken == nil {
						taken = map[any]bool{}
					}
					taken[k.Val] = true
				}
				same = same || !ok
			case "currval", "lastval", "setval":
				calls++
				same = true
			}
			return true
		})
	}
	return same && calls > 1
}

func (b *builder) projectSet(ctx context.Context, n *plan.ProjectSet, need colSet) (rel, error) {
	var args []expr.Expr
	for _, c := range n.Calls {
		args = append(args, c.Args...)
	}
	in, err := b.node(ctx, n.Input, need.with(args...))
	if err != nil {
		return rel{}, err
	}
	var keep []int
	var cols []plan.Column
	for i, c := range in.cols {
		if need[c.ID] {
			keep, cols = append(keep, i), append(cols, c)
		}
	}
	ps, err := b.setPrograms(n.Calls, in.cols, n.Outer)
	if err != nil {
		return rel{}, err
	}
	for _, c := range n.Calls {
		cols = append(cols, c.Cols...)
	}
	if n.Ordinality != 0 {
		cols = append(cols, plan.Column{ID: n.Ordinality, Name: "ordinality", Type: types.Int8})
	}
	return rel{op.NewProjectSet(b.rt, in.ops, keep, ps, n.Ordinality != 0), cols}, nil
}

func (b *builder) aggregate(ctx context.Context, n *plan.Aggregate, above colSet) (rel, error) {
	need := colSet{}
	var cols []plan.Column
	read := make([]bool, len(n.Groups))
	for i, c := range n.Schema() {
		if i >= len(n.Groups) || above[c.ID] {
			cols = append(cols, c)
		}
		if i < len(n.Groups) {
			read[i] = above[c.ID]
		}
	}
	var reads []expr.Expr
	for _, g := range n.Groups {
		reads = append(reads, g.Expr)
	}
	for i, a := range n.Aggs {
		if n.Phase == plan.AggFinal {
			need[n.States[i]] = true // it reads groups and states, not arguments
			reads = append(reads, a.Call.Filter)
		} else {
			reads = append(reads, callExprs(a.Call)...)
		}
	}
	need = need.with(reads...)
	in, err := b.node(ctx, n.Input, need)
	if err != nil {
		return rel{}, err
	}
	ops, err := aggregate.New(b.rt, b.statsOf(n), n, read, b.needed[n], in.cols, b.Env, in.ops)
	return rel{ops, cols}, err
}

func callExprs(c expr.AggCall) []expr.Expr {
	es := append([]expr.Expr{c.Filter}, c.Args...)
	for _, o := range c.OrderBy {
		es = append(es, o.Expr)
	}
	return es
}

func (b *builder) window(ctx context.Context, n *plan.Window, need colSet) (rel, error) {
	reads := slices.Clone(n.PartitionBy)
	for _, o := range n.OrderBy {
		if window.ReadsOrder(n) {
			reads = append(reads, o.Expr)
		}
	}
	for _, it := range n.Items {
		reads = append(append(reads, callExprs(it.Call)...), it.Frame.Start.Offset, it.Frame.End.Offset)
	}
	need = need.with(reads...)
	s, ok := b.sortings[n]
	if !ok {
		s = window.SortingOf(n)
	}
	sorted := false
	if below, ok := n.Input.(*plan.Window); ok {
		if s, sorted = s.With(below); sorted {
			if b.sortings == nil {
				b.sortings = map[*plan.Window]window.Sorting{}
			}
			b.sortings[below] = s
		}
	}
	reads = nil
	if !sorted {
		reads = s.Reads()
	}
	in, err := b.node(ctx, n.Input, need.with(reads...))
	if err != nil {
		return rel{}, err
	}
	if !sorted {
		s = s.Giving(in.cols, need)
	}
	ops, err := window.New(b.rt, b.statsOf(n), n, in.cols, b.Env, in.ops, s, sorted)
	cols := slices.Clone(s.Columns(in.cols))
	for _, it := range n.Items {
		cols = append(cols, it.Col)
	}
	return rel{ops, cols}, err
}

func (b *builder) sort(ctx context.Context, n *plan.Sort, need colSet) (rel, error) {
	o := b.ordering(n.Keys)
	first := firstRows(b, n, o.specs)
	in, err := b.node(ctx, n.Input, need.with(o.exprs...))
	if err != nil {
		return rel{}, err
	}
	return b.sorted(b.statsOf(n), in, o, order.Config{Limit: n.Limit, Bound: bound(b, n), First: first}, b.firsts[n])
}

// sorted sorts rows. Of those that are equal in the first so many keys, only the first must be returned (first > 0).
// cfg has what they do not say.
func (b *builder) sorted(st *op.Stats, in rel, o ordering, cfg order.Config, first int) (rel, error) {
	keys, err := o.all(b, in.cols)
	if err != nil {
		return rel{}, err
	}
	cfg.Types, cfg.Keys, cfg.Specs = typesOf(in.cols), keys, o.specs
	if first > 0 {
		in.ops = window.NewTop(b.rt, in.ops, 1, cfg, first)
	}
	return rel{order.NewSort(b.rt, st, cfg, in.ops), in.cols}, nil
}

func (b *builder) limit(ctx context.Context, n *plan.Limit, need colSet) (rel, error) {
	count, err := b.rowCount(ctx, n.Count, -1, pgerr.InvalidRowCountInLimit, "LIMIT")
	if err != nil {
		return rel{}, err
	}
	offset, err := b.rowCount(ctx, n.Offset, 0, pgerr.InvalidRowCountInOffset, "OFFSET")
	if err != nil {
		return rel{}, err
	}
	if count >= 0 && offset+count < 0 {
		count = -1 // past all rows there can be
	}
	o := b.ordering(n.Keys)
	in, err := b.node(ctx, n.Input, need.with(o.exprs...))
	if err != nil {
		return rel{}, err
	}
	if !n.Ties || count < 0 {
		return rel{op.NewLimit(in.ops, offset, count), in.cols}, nil
	}
	keys, err := o.all(b, in.cols)
	if err != nil {
		return rel{}, err
	}
	return rel{order.NewLimitTies(in.ops, offset, count, keys, o.specs), in.cols}, nil
}

// rowCount evaluates LIMIT's or OFFSET's number; NULL and nil are none.
func (b *builder) rowCount(ctx context.Context, e expr.Expr, none int64, code pgerr.Code, word string) (int64, error) {
	if e == nil {
		return none, nil
	}
	d, err := eval.ConstantContext(ctx, e, b.Env)
	if err != nil || d == nil {
		return none, err
	}
	n, ok := d.(int64)
	if !ok {
		return 0, pgerr.Internal("%s is not a bigint", word)
	}
	if n < 0 {
		return 0, pgerr.New(code, "%s must not be negative", word)
	}
	return n, nil
}

// distinctOn keeps the first of equals, of rows that are sorted by ORDER BY or by the keys: its input is, as stage has
// made the plan, or it sorts them itself. The sort leaves out what is not the first of its keys (window.NewTop).
func (b *builder) distinctOn(ctx context.Context, n *plan.DistinctOn, need colSet) (rel, error) {
	by := n.Order
	if len(by) == 0 {
		for _, k := range n.Keys {
			by = append(by, plan.SortKey{Expr: k})
		}
	}
	o, first := b.ordering(by), leading(n.Keys, by)
	sort, sorts := n.Input.(*plan.Sort)
	recv, merges := n.Input.(*plan.Receive)
	if sorts = sorts && sort.Limit < 0 && sameOrder(sort.Keys, by); sorts && first > 0 {
		if b.firsts == nil {
			b.firsts = map[*plan.Sort]int{}
		}
		b.firsts[sort] = first
	}
	in, err := b.node(ctx, n.Input, need.with(o.exprs...).with(n.Keys...))
	if err == nil && !sorts && !(merges && sameOrder(recv.Merge, by)) {
		in, err = b.sorted(b.statsOf(n), in, o, order.Config{Limit: -1}, first)
	}
	if err != nil {
		return rel{}, err
	}
	keys, err := b.items(n.Keys, in.cols)
	if err != nil {
		return rel{}, err
	}
	var specs []kernel.KeySpec
	for _, k := range n.Keys {
		specs = append(specs, kernel.KeySpec{Type: k.Type()})
	}
	return rel{order.NewDistinctOn(in.ops, keys, specs), in.cols}, nil
}

// leading returns how many keys of an order are the keys of DISTINCT ON, if there are more; else 0.
func leading(keys []expr.Expr, by []plan.SortKey) int {
	n := len(keys)
	if n >= len(by) {
		return 0
	}
	for _, k := range keys {
		if !slices.ContainsFunc(by[:n], func(o plan.SortKey) bool { return rewrite.Same(o.Expr, k) }) {
			return 0
		}
	}
	for _, o := range by[:n] {
		if !slices.ContainsFunc(keys, func(k expr.Expr) bool { return rewrite.Same(o.Expr, k) }) {
			return 0
		}
	}
	return n
}

func sameOrder(a, b []plan.SortKey) bool {
	return slices.EqualFunc(a, b, func(x, y plan.SortKey) bool {
		return x.Desc == y.Desc && x.NullsFirst == y.NullsFirst && rewrite.Same(x.Expr, y.Expr)
	})
}

// trainGroups sorts the rows by their keys, each thread a range of them.
func trainGroups(ctx context.Context, b *builder, n *plan.TrainGroups) (rel, error) {
	if b.Groups == nil {
		return rel{}, pgerr.Internal("the task cannot train groups")
	}
	cols := n.Input.Schema()
	in, err := b.exactly(ctx, n.Input, cols)
	if err != nil {
		return rel{}, err
	}
	var by []plan.SortKey
	for _, k := range n.Keys {
		by = append(by, plan.SortKey{Expr: k.Expr})
	}
	o := b.ordering(by)
	keys, err := o.all(b, cols)
	if err != nil {
		return rel{}, err
	}
	sorted := order.NewSort(b.rt, b.statsOf(n), order.Config{Types: typesOf(cols), Keys: keys, Specs: o.specs, Limit: -1, Split: len(by)}, in)
	trainer := func() (op.GroupTrainer, error) { return b.Groups.GroupTrainer(n, b.rt.Pool) }
	cfg := op.GroupConfig{Keys: typesOf(cols[len(cols)-len(by):]), Trainer: trainer}
	if len(n.Done) > 0 {
		cfg.Done = b.Groups.Done(n.Done)
	}
	return rel{op.NewTrainGroups(b.rt, sorted, cfg), n.Schema()}, nil
}
