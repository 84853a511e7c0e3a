package aggregate

import (
	"context"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
)

// New makes the threads of an aggregation over inputs whose columns are in. It returns n.Schema(),
// but of the groups' columns only those in read, if that is not nil, and may leave out groups that are not needed.
func New(rt *op.Runtime, st *op.Stats, n *plan.Aggregate, read []bool, needed *Needed, in []plan.Column, env *function.Env, inputs []op.Operator) ([]op.Operator, error) {
	if at := regrouped(n); at >= 0 {
		return newRegrouped(rt, st, n, at, read, in, env, inputs)
	}
	threads, err := newThreads(rt, st, n, read, in, env, inputs)
	out := make([]op.Operator, len(threads))
	for i, l := range threads {
		l.s.needed = needed.of(n)
		out[i] = l
	}
	return out, err
}

// regrouped returns which group the aggregates need not be computed by (plan.Aggregate.Regrouped); -1 if
// there is none.
func regrouped(n *plan.Aggregate) int {
	if n.Regrouped == 0 || n.Phase == plan.AggFinal || n.Sets != nil || len(n.Aggs) == 0 {
		return -1
	}
	return slices.IndexFunc(n.Groups, func(g plan.Item) bool { return g.Col.ID == n.Regrouped })
}

// regroupedThread returns the groups without aggregates, then those that the aggregates are regrouped by:
//
//	rows ─┬─ sums: by the other groups ─────────────┐
//	      └─ keys: by all groups, a word or two each ┴▶ keys, no aggregates ─▶ other keys, aggregates
//
// As count(DISTINCT x) beside sums is computed, x has many values for each of few groups. Those of the sums
// stay in the cache, and states for each of the many need not be made, merged and read again.
type regroupedThread struct {
	keys, sums *aggThread
	at         int              // the column that sums does not have; -1: it is not read
	keyTypes   []arrow.DataType // of the columns of groups that are read
	aggTypes   []arrow.DataType
	given      bool // all of keys are returned
}

func newRegrouped(rt *op.Runtime, st *op.Stats, n *plan.Aggregate, at int, read []bool, in []plan.Column, env *function.Env, inputs []op.Operator) ([]op.Operator, error) {
	keys, sums := *n, *n
	keys.Aggs, keys.States = nil, nil
	sums.Groups, sums.Rows = slices.Delete(slices.Clone(n.Groups), at, at+1), 0
	var sumsRead []bool
	if read != nil {
		sumsRead = slices.Delete(slices.Clone(read), at, at+1)
	}
	none := make([]op.Operator, len(inputs))
	tees := make([]*tee, len(inputs))
	ends := make([]op.Operator, len(inputs))
	for i, in := range inputs {
		tees[i] = &tee{in: in}
		none[i], ends[i] = tees[i], end{}
	}
	k, err := newThreads(rt, st, &keys, read, in, env, none)
	if err != nil {
		return nil, err
	}
	s, err := newThreads(rt, st, &sums, sumsRead, in, env, ends)
	if err != nil {
		return nil, err
	}
	out := make([]op.Operator, len(k))
	for i := range out {
		tees[i].to = s[i]
		o := &regroupedThread{keys: k[i], sums: s[i], at: -1}
		for j, g := range n.Groups {
			if read != nil && !read[j] {
				continue
			}
			if j == at {
				o.at = len(o.keyTypes)
			}
			o.keyTypes = append(o.keyTypes, g.Col.Type.Arrow())
		}
		for _, c := range n.Schema()[len(n.Groups):] {
			o.aggTypes = append(o.aggTypes, c.Type.Arrow())
		}
		out[i] = o
	}
	return out, nil
}

func (o *regroupedThread) Open(ctx context.Context) error {
	if err := o.sums.Open(ctx); err != nil {
		return err
	}
	return o.keys.Open(ctx)
}

func (o *regroupedThread) Next(ctx context.Context) (*batch.Batch, error) {
	if !o.given {
		b, err := o.keys.Next(ctx)
		if err == nil {
			cols := slices.Clone(b.Cols)
			for _, t := range o.aggTypes {
				cols = append(cols, batch.Nulls(t, b.N))
			}
			return &batch.Batch{Cols: cols, N: b.N, Sel: b.Sel, Seq: -1}, nil
		}
		if err != io.EOF {
			return nil, err
		}
		o.given = true
	}
	b, err := o.sums.Next(ctx)
	if err != nil || o.at < 0 {
		return b, err
	}
	cols := slices.Insert(slices.Clone(b.Cols), o.at, batch.Nulls(o.keyTypes[o.at], b.N))
	return &batch.Batch{Cols: cols, N: b.N, Sel: b.Sel, Seq: -1}, nil
}

func (o *regroupedThread) Close() error {
	err := o.sums.Close()
	if e := o.keys.Close(); err == nil {
		err = e
	}
	return err
}

// tee returns what it reads, after another thread of an aggregation has taken it.
type tee struct {
	in op.Operator
	to *aggThread
}

func (t *tee) Open(ctx context.Context) error {
	t.to.take(true) // its table may be spilled from now on
	return t.in.Open(ctx)
}

func (t *tee) Next(ctx context.Context) (*batch.Batch, error) {
	b, err := t.in.Next(ctx)
	if err == nil && b.Rows() > 0 {
		err = t.to.takeBatch(ctx, b)
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

func (t *tee) Close() error { return t.in.Close() }

// AllowReuse implements op.Reuser.
func (t *tee) AllowReuse() {
	if !slices.ContainsFunc(t.to.s.keyTypes, notRangeKey) {
		op.AllowReuse(t.in)
	}
}

// end is an input without rows.
type end struct{}

func (end) Open(context.Context) error                 { return nil }
func (end) Next(context.Context) (*batch.Batch, error) { return nil, io.EOF }
func (end) Close() error                               { return nil }
