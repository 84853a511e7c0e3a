package aggregate

import (
	"context"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// aggInput finds one aggregate's arguments.
type aggInput struct {
	at     []int           // their places among the thread's values, or, with a filter,
	args   []*eval.Program // what computes them for the rows that it passes
	filter *eval.Program   // which rows count; Final: whose states
	state  int             // Final: the input column with the states
	kept   []int           // the places of args, or states, in what is kept of deferred rows
}

func (o *aggThread) compile(in []plan.Column) error {
	s := o.s
	var list []expr.Expr
	for _, g := range s.n.Groups {
		list = append(list, g.Expr)
	}
	first := make([]int, len(s.calls)) // where the arguments of each begin in list
	o.inputs = make([]aggInput, len(s.calls))
	for i, c := range s.calls {
		a := &o.inputs[i]
		if c.Filter != nil {
			var err error
			if a.filter, err = eval.Compile(c.Filter, in, s.env); err != nil {
				return err
			}
		}
		if s.n.Phase == plan.AggFinal {
			a.state = -1
			for k, col := range in {
				if col.ID == s.n.States[i] {
					a.state = k
				}
			}
			if a.state < 0 {
				return pgerr.Internal("aggregate state column %d is missing", s.n.States[i])
			}
			continue
		}
		args := argumentsOf(c)
		if c.Filter == nil {
			first[i] = len(list)
			list = append(list, args...)
			continue
		}
		for _, e := range args {
			p, err := eval.Compile(e, in, s.env)
			if err != nil {
				return err
			}
			a.args = append(a.args, p)
		}
	}
	vals, at, err := eval.CompileAll(list, in, s.env)
	if err != nil {
		return err
	}
	o.vals, o.keyAt = vals, at[:len(s.n.Groups)]
	for i, c := range s.calls {
		if a := &o.inputs[i]; s.n.Phase != plan.AggFinal && c.Filter == nil {
			a.at = at[first[i] : first[i]+len(argumentsOf(c))]
		} else {
			o.narrow = true
		}
	}
	o.narrow = o.narrow || s.sets != nil || !vals.Total()
	o.rows = 1 << 20
	o.keep()
	return nil
}

func argumentsOf(c expr.AggCall) []expr.Expr {
	out := append([]expr.Expr(nil), c.Args...)
	for _, k := range c.OrderBy {
		out = append(out, k.Expr)
	}
	return out
}

// aggRows are the rows of a batch on their way into the table.
type aggRows struct {
	b    *batch.Batch
	vals []arrow.Array // keys and arguments
	// rows are those of vals that count, nil for all; n is how many.
	rows []int32
	n    int
	// Their groups: in lists, where a batch has few, else one by one.
	lists  []rowList
	groups []uint32
}

// consume reads the thread's input into its table.
func (o *aggThread) consume(ctx context.Context) error {
	if !slices.ContainsFunc(o.s.keyTypes, notRangeKey) {
		op.AllowReuse(o.in) // aggregates copy what they keep, and integers are
	}
	o.take(true)
	defer o.take(false)
	return op.Drain(ctx, o.in, func(b *batch.Batch) error { return o.takeBatch(ctx, b) })
}

// takeBatch puts the rows of a batch into the table.
func (o *aggThread) takeBatch(ctx context.Context, b *batch.Batch) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	add := func(b *batch.Batch) error {
		r, err := o.compute(ctx, b)
		if err != nil {
			return err
		}
		o.rows = rowsFor(r)
		if o.s.sets == nil {
			return o.add(ctx, r, nil, -1)
		}
		for _, i := range o.roll.base {
			if err := ctx.Err(); err != nil { // there may be thousands
				return err
			}
			if err := o.add(ctx, r, o.s.sets[i], i); err != nil {
				return err
			}
		}
		return nil
	}
	for n := b.Rows(); n > o.rows; n = b.Rows() {
		part := b.Slice(0, o.rows)
		b = b.Slice(o.rows, n)
		if err := op.InHalves(part, add); err != nil {
			return err
		}
	}
	return op.InHalves(b, add)
}

// take sets taking: rows are being read.
func (o *aggThread) take(in bool) {
	o.mu.Lock()
	o.taking = in
	o.mu.Unlock()
}

// rowsFor returns how many rows of the size of r's to take at a time, so that their values take
// about as much as a batch of plain columns.
func rowsFor(r *aggRows) int {
	size := int64(1)
	for _, v := range r.vals {
		size += batch.ArrayBytes(v)
	}
	return int(max(min(2*op.BatchBytes*int64(r.n)/size, 1<<20), 1))
}

// compute finds the values of the rows that count. Where nearly all do, and
// nothing can go wrong, it computes them for all rows: that is quicker than
// picking rows first.
func (o *aggThread) compute(ctx context.Context, b *batch.Batch) (*aggRows, error) {
	r := &aggRows{b: b, n: b.Rows()}
	of := b
	if b.Sel != nil && !o.narrow && len(b.Sel) >= b.N-b.N/8 {
		of = batch.New(b.Cols, b.N)
		r.rows = b.Sel
	}
	var err error
	r.vals, err = o.vals.EvalScratch(ctx, of)
	return r, err
}

// add puts rows into the table, for grouping set number set of which the keys
// in keep are (set -1: all keys, no set).
func (o *aggThread) add(ctx context.Context, r *aggRows, keep []int, set int) error {
	cols := make([]arrow.Array, len(o.s.keyTypes))
	for k, at := range o.keyAt {
		if set >= 0 && !contains(keep, k) {
			cols[k] = batch.Nulls(o.s.keyTypes[k].Arrow(), r.n)
			continue
		}
		cols[k] = r.vals[at]
	}
	if set >= 0 {
		cols[len(cols)-1] = setColumn(set, r.n)
	}
	if o.rule.on && r.rows == nil {
		return o.deferRows(ctx, r, cols)
	}
	if err := o.room(ctx, r); err != nil {
		return err
	}
	if err := o.charge(ctx, r.n); err != nil {
		return err
	}
	r.lists, r.groups = nil, nil
	switch {
	case len(cols) == 0:
		if o.t.n() == 0 {
			o.t.alone()
		}
		r.lists = []rowList{{rows: r.rows, n: r.n}}
	case set < 0 && !o.rule.on && o.t.byCode(cols, r.rows, r.n):
		r.lists = o.t.codes.lists
	case r.rows != nil:
		// Their groups must be found one by one: pick the rows.
		o.narrow = true
		var err error
		if r, err = o.compute(ctx, r.b); err != nil {
			return err
		}
		return o.add(ctx, r, keep, set)
	default:
		if err := o.chargeRange(ctx, cols, r.n); err != nil {
			return err
		}
		o.expect(r.n)
		r.groups = o.t.find(cols, r.n)
		if g, ok := only(r.groups); ok { // as where each file or day has a number
			r.lists = []rowList{{group: g, n: r.n}}
		}
	}
	if o.t.n() > o.sized {
		o.sized = o.t.n() * 3 / 2
	}
	for i, a := range o.t.aggs {
		a.Resize(o.t.n())
		if err := o.update(ctx, a, &o.inputs[i], r); err != nil {
			return err
		}
	}
	o.repeats(r.n)
	return o.resizeAccount(ctx)
}

// only returns the group that all rows are of; false where they are of several.
func only(groups []uint32) (uint32, bool) {
	if len(groups) == 0 || groups[0] != groups[len(groups)-1] {
		return 0, false
	}
	for _, g := range groups {
		if g != groups[0] {
			return 0, false
		}
	}
	return groups[0], true
}

func contains(list []int, k int) bool {
	for _, x := range list {
		if x == k {
			return true
		}
	}
	return false
}

// each returns the group of each row that counts.
func (o *aggThread) each(r *aggRows) []uint32 {
	if r.groups != nil {
		return r.groups
	}
	if len(o.s.keyTypes) == 0 {
		if cap(o.t.groups) < r.n {
			o.t.groups = make([]uint32, r.n)
		}
		r.groups = o.t.groups[:r.n]
	} else {
		r.groups = o.t.codes.each(r.rows, r.n)
	}
	return r.groups
}

func (o *aggThread) update(ctx context.Context, a agg.Agg, in *aggInput, r *aggRows) error {
	if in.filter != nil {
		return o.updateFiltered(ctx, a, in, r.b, o.each(r))
	}
	if o.s.n.Phase == plan.AggFinal {
		col := r.b.Cols[in.state]
		if r.b.Sel != nil {
			col = kernel.Take(col, r.b.Sel)
		}
		st, ok := col.(*array.Binary)
		if !ok {
			return pgerr.Internal("aggregate states are %s", col.DataType())
		}
		return a.MergeStates(o.each(r), st)
	}
	args := make([]arrow.Array, len(in.at))
	for i, at := range in.at {
		args[i] = r.vals[at]
	}
	if l, ok := a.(agg.Lister); ok && r.lists != nil {
		for _, list := range r.lists {
			if err := l.UpdateList(list.group, list.rows, list.n, args); err != nil {
				return err
			}
		}
		return nil
	}
	if r.rows != nil {
		for i, arr := range args {
			args[i] = kernel.Take(arr, r.rows)
		}
	}
	return a.Update(o.each(r), args)
}

// room charges what aggregates that keep their rows will keep of these.
func (o *aggThread) room(ctx context.Context, r *aggRows) error {
	if o.s.n.Phase == plan.AggFinal {
		return nil
	}
	var need int64
	for i, a := range o.t.aggs {
		if h, ok := a.(agg.Holistic); ok && o.inputs[i].filter == nil {
			args := make([]arrow.Array, len(o.inputs[i].at))
			for k, at := range o.inputs[i].at {
				args[k] = r.vals[at]
			}
			need += h.Takes(args, r.n)
		}
	}
	if err := tooMany(need, r.n); err != nil {
		return err
	}
	switch {
	case len(o.s.keyTypes) > 0:
		return o.grow(ctx, need)
	case o.s.spills:
		return o.claim(ctx, need, need)
	}
	return o.acct.Grow(need)
}

// tooMany returns an error by which fewer rows are taken at once (op.InHalves), if these need much; nil otherwise.
func tooMany(need int64, n int) error {
	if need > 2*op.BatchBytes && n > 1 {
		return pgerr.Wrap(pgerr.OutOfMemory, vector.ErrBatchTooLarge, "%d bytes to keep of one batch", need)
	}
	return nil
}

// grow charges what rows take beside what the table holds; resizeAccount finds what
// it was. The table may be spilled only while the rows' groups are not found yet.
func (o *aggThread) grow(ctx context.Context, need int64) error {
	if need <= op.BatchBytes/8 {
		return nil
	}
	err := o.acct.Grow(need)
	if err != nil && o.acct.Refused(err) && o.t.n() > 0 {
		if err := o.spill(ctx); err != nil {
			return err
		}
		return o.acct.Insist(ctx, need)
	}
	return err
}

// updateFiltered updates an aggregate that has a FILTER of its own by rows of
// these groups, half of them at a time where they are too much at once.
func (o *aggThread) updateFiltered(ctx context.Context, a agg.Agg, in *aggInput, b *batch.Batch, groups []uint32) error {
	err := o.updatePassing(ctx, a, in, b, groups)
	n := len(groups)
	if !op.TooLong(err, n) {
		return err
	}
	if err := o.updateFiltered(ctx, a, in, b.Slice(0, n/2), groups[:n/2]); err != nil {
		return err
	}
	return o.updateFiltered(ctx, a, in, b.Slice(n/2, n), groups[n/2:])
}

func (o *aggThread) updatePassing(ctx context.Context, a agg.Agg, in *aggInput, b *batch.Batch, groups []uint32) error {
	arr, err := in.filter.EvalScratch(ctx, b)
	if err != nil {
		return err
	}
	sel := batch.Trues(o.passing[:0], arr.(*array.Boolean))
	o.passing = sel
	sub := make([]uint32, len(sel))
	for i, r := range sel {
		sub[i] = groups[r]
		if b.Sel != nil {
			sel[i] = b.Sel[r]
		}
	}
	if len(sel) == 0 {
		return nil
	}
	if o.s.n.Phase == plan.AggFinal {
		return a.MergeStates(sub, kernel.Take(b.Cols[in.state], sel).(*array.Binary))
	}
	b = &batch.Batch{Cols: b.Cols, N: b.N, Sel: sel, Seq: -1}
	args := make([]arrow.Array, len(in.args))
	for i, p := range in.args {
		if args[i], err = p.EvalScratch(ctx, b); err != nil {
			return err
		}
	}
	if h, ok := a.(agg.Holistic); ok {
		need := h.Takes(args, len(sub))
		if err := tooMany(need, len(sub)); err != nil {
			return err
		}
		// Their groups are found: the table can give way only once they are in.
		if err := o.acct.Grow(need); err != nil {
			if _, ok := a.(agg.Sortable); !ok || !o.acct.Refused(err) || need > 2*op.BatchBytes {
				return err
			}
			o.acct.Take(need)
		}
	}
	return a.Update(sub, args)
}
