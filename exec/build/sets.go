package build

import (
	"context"
	"io"
	"sync"

	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/aggregate"
	"github.com/tributarydb/tributary/exec/op/join"
	"github.com/tributarydb/tributary/exec/op/recursive"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// setOp builds UNION ALL as the inputs one after the other; the others are
// aggregations over that.
func (b *builder) setOp(ctx context.Context, n *plan.SetOp, need colSet) (rel, error) {
	if n.Kind == plan.Union && n.All {
		return b.unionAll(ctx, n, need)
	}
	if n.Kind == plan.Union {
		all := *n
		all.All = true
		return b.aggregate(ctx, &plan.Aggregate{Input: &all, Groups: groupAll(n.Cols)}, need)
	}
	return b.countSides(ctx, n)
}

func groupAll(cols []plan.Column) []plan.Item {
	out := make([]plan.Item, len(cols))
	for i, c := range cols {
		out[i] = plan.Item{Col: c, Expr: &expr.Col{ID: c.ID, Typ: c.Type, Name: c.Name}}
	}
	return out
}

func (b *builder) unionAll(ctx context.Context, n *plan.SetOp, need colSet) (rel, error) {
	var at []int
	var cols []plan.Column
	for i, c := range n.Cols {
		if need[c.ID] {
			at, cols = append(at, i), append(cols, c)
		}
	}
	var inputs [][]op.Operator
	for _, in := range n.Inputs {
		ops, err := b.sameColumns(ctx, in, at, cols)
		if err != nil {
			return rel{}, err
		}
		inputs = append(inputs, ops)
	}
	return rel{op.NewAppend(b.rt, inputs), cols}, nil
}

// sameColumns builds an input of a set operation that returns its columns at the positions at,
// represented as cols are.
func (b *builder) sameColumns(ctx context.Context, n plan.Node, at []int, cols []plan.Column) ([]op.Operator, error) {
	schema := n.Schema()
	want := make([]plan.Column, len(at))
	es := make([]expr.Expr, len(at))
	same := true
	for i, k := range at {
		want[i] = schema[k]
		es[i] = castKey(&expr.Col{ID: want[i].ID, Typ: want[i].Type, Name: want[i].Name}, cols[i].Type)
		_, isCol := es[i].(*expr.Col)
		same = same && isCol
	}
	if same {
		return b.exactly(ctx, n, want)
	}
	in, err := b.node(ctx, n, setOf(want))
	if err != nil {
		return nil, err
	}
	items, err := b.items(es, in.cols)
	if err != nil {
		return nil, err
	}
	return op.NewProject(in.ops, items), nil
}

// countSides builds INTERSECT and EXCEPT: how often is each row on the left,
// how often on the right?
func (b *builder) countSides(ctx context.Context, n *plan.SetOp) (rel, error) {
	if len(n.Inputs) != 2 {
		return rel{}, pgerr.Internal("a set operation has %d inputs", len(n.Inputs))
	}
	// IDs below 0 are unused elsewhere.
	const leftID, rightID, lCount, rCount expr.ColID = -1, -2, -3, -4
	at := make([]int, len(n.Cols))
	for i := range at {
		at[i] = i
	}
	var inputs [][]op.Operator
	for side, in := range n.Inputs {
		ops, err := b.sameColumns(ctx, in, at, n.Cols)
		if err != nil {
			return rel{}, err
		}
		// a column that is not NULL on its own side alone
		var es []expr.Expr
		for _, c := range n.Cols {
			es = append(es, &expr.Col{ID: c.ID, Typ: c.Type})
		}
		for s := 0; s < 2; s++ {
			k := &expr.Const{Typ: types.Int8}
			if s == side {
				k.Val = int64(1)
			}
			es = append(es, k)
		}
		items, err := b.items(es, n.Cols)
		if err != nil {
			return rel{}, err
		}
		inputs = append(inputs, op.NewProject(ops, items))
	}
	count := func(id, out expr.ColID) plan.AggItem {
		return plan.AggItem{Col: plan.Column{ID: out, Type: types.Int8},
			Call: expr.AggCall{Fn: countFn(), Args: []expr.Expr{&expr.Col{ID: id, Typ: types.Int8}}, Typ: types.Int8}}
	}
	cols := append(append([]plan.Column(nil), n.Cols...), plan.Column{ID: leftID, Type: types.Int8}, plan.Column{ID: rightID, Type: types.Int8})
	agg := &plan.Aggregate{Groups: groupAll(n.Cols), Aggs: []plan.AggItem{count(leftID, lCount), count(rightID, rCount)}}
	ops, err := aggregate.New(b.rt, b.statsOf(n), agg, nil, nil, cols, b.Env, op.NewAppend(b.rt, inputs))
	if err != nil {
		return rel{}, err
	}
	return rel{op.NewSetCount(b.rt, ops, n.Kind, n.All), n.Cols}, nil
}

// countFn is count("any").
func countFn() *fn.Func {
	for _, f := range fn.Lookup("count") {
		if f.Kind == fn.Aggregate && len(f.Args) == 1 {
			return f
		}
	}
	panic("BUG: there is no count")
}

// recursive builds WITH RECURSIVE: its sides are built when it runs, the step
// once a round, each for one thread.
func (b *builder) recursive(n *plan.RecursiveUnion) (rel, error) {
	at := make([]int, len(n.Cols))
	for i := range at {
		at[i] = i
	}
	one := *b.rt
	one.Threads = 1
	kept, steps := &programs{}, &step{working: n.ID, tables: map[*plan.Join]*join.Kept{}}
	side := func(ctx context.Context, in plan.Node, rounds *replay, working *op.Buffer) (op.Operator, error) {
		sub := &builder{state: b.state, rt: &one, buffers: b.buffers, splits: b.splits, exchange: b.exchange}
		if rounds != nil {
			sub.splits, sub.exchange = rounds, rounds
			sub.buffers = map[int]*op.Buffer{}
			for id, buf := range b.buffers {
				sub.buffers[id] = buf
			}
			sub.buffers[n.ID] = working
			rounds.rewind()
			sub.kept, sub.step = kept.rewind(), steps
		}
		ops, err := sub.sameColumns(ctx, in, at, n.Cols)
		if err != nil {
			return nil, err
		}
		return ops[0], nil
	}
	rounds := &replay{rt: &one, splits: b.splits, exchange: b.exchange, read: map[int][]*op.Split{}, bufs: map[plan.StageID]*op.Buffer{}}
	ops := recursive.New(b.rt, b.statsOf(n), recursive.Config{Types: typesOf(n.Cols), All: n.All,
		Init: func(ctx context.Context) (op.Operator, error) { return side(ctx, n.Init, nil, nil) },
		Step: func(ctx context.Context, w *op.Buffer) (op.Operator, error) { return side(ctx, n.Step, rounds, w) },
		Close: func() {
			steps.close()
			rounds.close()
		},
	})
	return rel{ops, n.Cols}, nil
}

// replay returns the same splits and received rows to the step of a recursion in every round. It is
// for one thread.
type replay struct {
	rt       *op.Runtime
	splits   op.Splits
	exchange op.Exchange
	mu       sync.Mutex
	read     map[int][]*op.Split // by leaf, so far
	ended    map[int]bool
	at       map[int]int
	bufs     map[plan.StageID]*op.Buffer
}

func (r *replay) rewind() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = map[int]int{}
}

// Next implements op.Splits.
func (r *replay) Next(ctx context.Context, leaf int, last *op.Split) (*op.Split, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.at[leaf]
	if at < len(r.read[leaf]) {
		r.at[leaf]++
		return r.read[leaf][at], nil
	}
	if r.ended[leaf] {
		return nil, io.EOF
	}
	sp, err := r.splits.Next(ctx, leaf, last)
	if err == io.EOF {
		if r.ended == nil {
			r.ended = map[int]bool{}
		}
		r.ended[leaf] = true
	}
	if err != nil {
		return nil, err
	}
	r.read[leaf] = append(r.read[leaf], sp)
	r.at[leaf]++
	return sp, nil
}

// Writer implements op.Exchange.
func (r *replay) Writer(ctx context.Context, stage *plan.Stage) (op.ExchangeWriter, error) {
	return r.exchange.Writer(ctx, stage)
}

// Readers implements op.Exchange: the first round fills a buffer.
func (r *replay) Readers(ctx context.Context, n *plan.Receive) ([]op.BatchReader, error) {
	if len(n.Merge) > 0 {
		return nil, pgerr.Internal("a recursion cannot merge received rows")
	}
	buf := r.bufs[n.From]
	if buf == nil {
		rs, err := r.exchange.Readers(ctx, n)
		if err != nil {
			return nil, err
		}
		buf = op.NewBuffer(r.rt, typesOf(n.Cols))
		r.bufs[n.From] = buf
		for _, in := range rs {
			if err := fill(ctx, buf, in); err != nil {
				return nil, err
			}
		}
		if err := buf.Finish(ctx); err != nil {
			return nil, err
		}
	}
	rd, err := buf.Open(nil)
	if err != nil {
		return nil, err
	}
	return []op.BatchReader{rd}, nil
}

func fill(ctx context.Context, buf *op.Buffer, in op.BatchReader) error {
	defer in.Close()
	for {
		b, err := in.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := buf.Append(ctx, b); err != nil {
			return err
		}
	}
}

func (r *replay) close() {
	for _, b := range r.bufs {
		b.Close()
	}
}
