package window

import (
	"bytes"
	"context"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/order"
	"github.com/tributarydb/tributary/exec/rowset"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// New makes the threads of window functions over inputs whose columns are
// in. It returns the columns in, then those of n.Items.
//
//	threads ─▶ sort by (partition, order) ─▶ each thread: its partitions, one block after the other
//
// Rows that its run condition makes useless are not sorted (top.go). Without partitions, and where the sort spilled, thread 0 has all blocks.
// The order s is n's own or that of several windows (sorting.go), of which the
// lowest sorts; the others find their rows sorted.
//
// A block is so many whole partitions as make about a batch, or one that is
// larger. It is held in memory (charged) while its functions are computed.
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
		w := &window{rt: rt, st: st, n: n, in: inputs[i], types: ts, alone: s.alone}
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
		inputs = slices.Clone(inputs)
		of := len(n.PartitionBy)
		partTypes := make([]types.Type, of)
		for k, e := range n.PartitionBy {
			partTypes[k] = e.Type()
		}
		for i, in := range inputs {
			inputs[i] = &top{in: in, rt: rt, k: int(n.Top), part: cfg.Keys[i][:of], order: cfg.Keys[i][of : of+1],
				partTypes: partTypes, orderEnc: kernel.NewKeyEncoder(cfg.Specs[of : of+1])}
		}
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
	for _, it := range o.n.Items {
		f := &call{item: it, w: o}
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
			f.filter = p
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
		if env != nil {
			f.env = env.Types
		}
		o.funcs = append(o.funcs, f)
	}
	return nil
}

// feeder is a thread above 0: it runs its share of the sort and gives
// nothing.
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

// blockBytes is what a block of several partitions takes at most, about.
const blockBytes = 1 << 20

// window computes partitions as they come.
type window struct {
	rt                    *op.Runtime
	st                    *op.Stats
	n                     *plan.Window
	in                    op.Operator
	types                 []types.Type
	part, order           []*eval.Program
	partSpecs, orderSpecs []kernel.KeySpec
	funcs                 []*call
	acct                  *mem.Account
	alone                 bool // a block is one partition

	pend    []run        // rows of the block
	held    []run        // rows of the next block's first partition that are read already
	key     []byte       // of the open partition
	rest    *batch.Batch // rows not looked at yet
	restKey *kernel.Keys
	cost    int64 // blockCost of all of rest
	at      int
	ended   bool
	out     []*batch.Batch
	closed  bool
}

func (o *window) Open(ctx context.Context) error {
	o.acct = o.rt.Pool.Account("window", false)
	return o.in.Open(ctx)
}

func (o *window) Close() error {
	if o.closed {
		return nil
	}
	o.closed = true
	o.st.AddPeak(o.acct)
	if o.acct != nil {
		o.acct.Close()
	}
	o.pend, o.held, o.out = nil, nil, nil
	return o.in.Close()
}

func (o *window) Next(ctx context.Context) (*batch.Batch, error) {
	for {
		if len(o.out) > 0 {
			b := o.out[0]
			o.out = o.out[1:]
			return b, nil
		}
		b, starts, err := o.block(ctx)
		if err != nil {
			return nil, err
		}
		if err := o.compute(ctx, b, starts); err != nil {
			return nil, err
		}
	}
}

// run is a run of a batch's rows.
type run struct {
	b        *batch.Batch
	from, to int
}

// added is runs and one more, which goes on with the last where that ends before it:
// rows of a partition are few, and those of a batch are copied at once.
func added(runs []run, r run) []run {
	if n := len(runs) - 1; n >= 0 && runs[n].b == r.b && runs[n].to == r.from {
		runs[n].to = r.to
		return runs
	}
	return append(runs, r)
}

// cut divides runs before row at of all.
func cut(runs []run, at int) (before, after []run) {
	for _, r := range runs {
		n := r.to - r.from
		k := max(0, min(at, n))
		if k > 0 {
			before = append(before, run{r.b, r.from, r.from + k})
		}
		if k < n {
			after = append(after, run{r.b, r.from + k, r.to})
		}
		at -= n
	}
	return before, after
}

// block gathers the rows of the next partitions into one batch, and the rows at
// which they start.
func (o *window) block(ctx context.Context) (*batch.Batch, []int32, error) {
	o.pend = append(o.pend[:0], o.held...)
	if err := o.acct.Resize(0); err != nil {
		return nil, nil, err
	}
	var starts []int32
	rows := 0
	for _, r := range o.held {
		starts = []int32{0}
		rows += r.to - r.from
		if err := o.acct.Insist(ctx, blockCost(r.b.Slice(r.from, r.to))); err != nil {
			return nil, nil, err
		}
	}
	o.held = nil
	for {
		more, err := o.look(ctx)
		if err != nil {
			return nil, nil, err
		}
		if !more {
			break
		}
		if key := o.restKey.At(o.at); len(starts) == 0 || !bytes.Equal(key, o.key) {
			if len(starts) > 0 && (o.alone || rows >= o.rt.Rows() || o.acct.Used() >= blockBytes) {
				break
			}
			o.key = append(o.key[:0], key...)
			starts = append(starts, int32(rows))
		}
		end := o.at
		for end < o.rest.N && bytes.Equal(o.restKey.At(end), o.key) {
			end++
		}
		if cost := o.restCost(o.at, end); len(starts) > 1 {
			err = o.acct.Grow(cost)
		} else {
			err = o.acct.Insist(ctx, cost)
		}
		if err != nil {
			if len(starts) == 1 || !o.acct.Refused(err) {
				return nil, nil, err
			}
			// The last partition waits for the next block.
			o.pend, o.held = cut(o.pend, int(starts[len(starts)-1]))
			starts = starts[:len(starts)-1]
			break
		}
		o.pend = added(o.pend, run{o.rest, o.at, end})
		rows += end - o.at
		if o.at = end; end == o.rest.N {
			o.rest = nil
		}
	}
	if len(o.pend) == 0 {
		return nil, nil, io.EOF
	}
	parts := make([]*batch.Batch, len(o.pend))
	for i, r := range o.pend {
		parts[i] = r.b.Slice(r.from, r.to)
	}
	return rowset.Concat(o.types, parts), starts, nil
}

// blockCost is what rows of a block take while it is computed.
func blockCost(b *batch.Batch) int64 { return 2*b.Bytes() + 64*int64(b.N) }

// restCost is blockCost of rows [from, to) of rest; of a batch that is not large about,
// their share: to look at the columns of a few rows takes longer than to copy them.
func (o *window) restCost(from, to int) int64 {
	if n := int64(o.rest.N); o.cost <= op.BatchBytes {
		return o.cost*int64(to)/n - o.cost*int64(from)/n
	}
	return blockCost(o.rest.Slice(from, to))
}

// look makes sure that there are rows in rest; it returns false at the end.
func (o *window) look(ctx context.Context) (bool, error) {
	for o.rest == nil && !o.ended {
		b, err := o.in.Next(ctx)
		if err == io.EOF {
			o.ended = true
			break
		}
		if err != nil {
			return false, err
		}
		if b.Rows() == 0 {
			continue
		}
		b = kernel.Compact(b)
		if o.restKey, err = o.keys(ctx, o.part, o.partSpecs, b); err != nil {
			return false, err
		}
		o.rest, o.at, o.cost = b, 0, blockCost(b)
	}
	return o.rest != nil, nil
}

// keys encodes expressions over a batch; no expressions give empty keys.
func (o *window) keys(ctx context.Context, progs []*eval.Program, specs []kernel.KeySpec, b *batch.Batch) (*kernel.Keys, error) {
	k := &kernel.Keys{}
	if len(progs) == 0 {
		k.Offs = make([]uint64, b.N+1)
		k.N = b.N
		return k, nil
	}
	items := make([]op.Item, len(progs))
	for i, p := range progs {
		items[i].Program = p
	}
	return k, op.AppendKeys(ctx, b, items, kernel.NewKeyEncoder(specs), k)
}

// compute adds the functions' columns to a block and cuts it to batches.
func (o *window) compute(ctx context.Context, b *batch.Batch, starts []int32) error {
	keys, err := o.keys(ctx, o.order, o.orderSpecs, b)
	if err != nil {
		return err
	}
	p := newBlock(b, starts, func(i int) bool { return len(o.order) == 0 || bytes.Equal(keys.At(i-1), keys.At(i)) })
	cols := append([]arrow.Array(nil), b.Cols...)
	for _, f := range o.funcs {
		arr, err := f.compute(ctx, p)
		if err != nil {
			return err
		}
		cols = append(cols, arr)
	}
	all := batch.New(cols, b.N)
	for from := 0; from < b.N; from += o.rt.Rows() {
		o.out = append(o.out, all.Slice(from, min(from+o.rt.Rows(), b.N)))
	}
	return nil
}

// column builds a column of values. One may take a look at all rows, and be as
// long as all are.
func (o *window) column(ctx context.Context, t types.Type, n int, f func(i int) (types.Datum, error)) (arrow.Array, error) {
	b := array.NewBuilder(memory.DefaultAllocator, t.Arrow())
	b.Reserve(n)
	var long int64 // not charged yet
	for i := 0; i < n; i++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d, err := f(i)
		if err != nil {
			return nil, err
		}
		// Arrow's builders double.
		if long += 3 * agg.DatumBytes(d); long > 1<<20 {
			if err := o.acct.Insist(ctx, long); err != nil {
				return nil, err
			}
			long = 0
		}
		if err := types.AppendDatum(b, t, d); err != nil {
			return nil, err
		}
	}
	return b.NewArray(), nil
}
