package op

import (
	"bytes"
	"context"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// NewWindow makes the lanes of window functions over inputs whose columns are
// in. It gives the columns in, then those of n.Items.
//
//	lanes ─▶ sort by (partition, order) ─▶ each lane: its partitions, one block after the other
//
// Without partitions, and where the sort spilled, lane 0 has all blocks.
//
// A block is so many whole partitions as make about a batch, or one that is
// larger. It is held in memory (charged) while its functions are computed.
func NewWindow(rt *Runtime, st *Stats, n *plan.Window, in []plan.Column, env *function.Env, inputs []Operator) ([]Operator, error) {
	cfg, alone := SortConfig{Limit: -1}, false
	for _, c := range in {
		cfg.Types = append(cfg.Types, c.Type)
	}
	var keys []expr.Order
	for _, e := range n.PartitionBy {
		keys = append(keys, expr.Order{Expr: e})
	}
	keys = append(keys, n.OrderBy...)
	for _, k := range keys {
		cfg.Specs = append(cfg.Specs, kernel.KeySpec{Type: k.Expr.Type(), Desc: k.Desc, NullsFirst: k.NullsFirst})
	}
	for range inputs {
		var items []Item
		for _, k := range keys {
			p, err := eval.Compile(k.Expr, in, env)
			if err != nil {
				return nil, err
			}
			items = append(items, Item{Program: p})
		}
		cfg.Keys = append(cfg.Keys, items)
	}
	for _, it := range n.Items {
		alone = alone || it.Call.Fn.Name == "ml_windows"
	}
	if !alone {
		cfg.Split = len(n.PartitionBy)
	}
	sorted := NewFunnel(inputs)
	if len(keys) > 0 {
		sorted = NewSort(rt, st, cfg, inputs)
	}
	out := make([]Operator, len(inputs))
	for i := range out {
		if i > 0 && cfg.Split == 0 {
			out[i] = &windowFeeder{in: sorted[i]}
			continue
		}
		w := &windowLane{rt: rt, st: st, n: n, in: sorted[i], types: cfg.Types, alone: alone}
		if err := w.compile(in, env); err != nil {
			return nil, err
		}
		out[i] = w
	}
	return out, nil
}

// compile makes the lane's programs.
func (o *windowLane) compile(in []plan.Column, env *function.Env) error {
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
		f := &windowFunc{item: it, w: o}
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

// windowFeeder is a lane above 0: it runs its share of the sort and gives
// nothing.
type windowFeeder struct{ in Operator }

func (o *windowFeeder) Open(ctx context.Context) error { return o.in.Open(ctx) }
func (o *windowFeeder) Close() error                   { return o.in.Close() }
func (o *windowFeeder) Next(ctx context.Context) (*batch.Batch, error) {
	for {
		if _, err := o.in.Next(ctx); err != nil {
			return nil, err
		}
	}
}

// blockBytes is what a block of several partitions takes at most, about.
const blockBytes = 1 << 20

// windowLane computes partitions as they come.
type windowLane struct {
	rt                    *Runtime
	st                    *Stats
	n                     *plan.Window
	in                    Operator
	types                 []types.Type
	part, order           []*eval.Program
	partSpecs, orderSpecs []kernel.KeySpec
	funcs                 []*windowFunc
	acct                  *mem.Account
	alone                 bool // a block is one partition

	pend    []*batch.Batch // rows of the block, none with those of two partitions
	held    []*batch.Batch // rows of the next block that are read already
	key     []byte         // of the open partition
	rest    *batch.Batch   // rows not looked at yet
	restKey *kernel.Keys
	at      int
	ended   bool
	out     []*batch.Batch
	closed  bool
}

func (o *windowLane) Open(ctx context.Context) error {
	o.acct = o.rt.Pool.Account("window", false)
	return o.in.Open(ctx)
}

func (o *windowLane) Close() error {
	if o.closed {
		return nil
	}
	o.closed = true
	o.st.peak(o.acct)
	if o.acct != nil {
		o.acct.Close()
	}
	o.pend, o.held, o.out = nil, nil, nil
	return o.in.Close()
}

func (o *windowLane) Next(ctx context.Context) (*batch.Batch, error) {
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

// block gathers the rows of the next partitions into one batch, and the rows at
// which they start.
func (o *windowLane) block(ctx context.Context) (*batch.Batch, []int32, error) {
	o.pend = append(o.pend[:0], o.held...)
	if err := o.acct.Resize(0); err != nil {
		return nil, nil, err
	}
	var starts []int32
	rows, lastAt := 0, 0 // lastAt is where in pend the last partition begins
	for _, b := range o.held {
		starts = []int32{0}
		rows += b.N
		if err := o.acct.Grow(blockCost(b)); err != nil {
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
			starts, lastAt = append(starts, int32(rows)), len(o.pend)
		}
		end := o.at
		for end < o.rest.N && bytes.Equal(o.restKey.At(end), o.key) {
			end++
		}
		s := o.rest.Slice(o.at, end)
		if err := o.acct.Grow(blockCost(s)); err != nil {
			if len(starts) == 1 || !refused(err, o.acct) {
				return nil, nil, err
			}
			// The last partition waits for the next block.
			o.held = append(o.held, o.pend[lastAt:]...)
			o.pend, starts = o.pend[:lastAt], starts[:len(starts)-1]
			break
		}
		o.pend = append(o.pend, s)
		rows += s.N
		if o.at = end; end == o.rest.N {
			o.rest = nil
		}
	}
	if len(o.pend) == 0 {
		return nil, nil, io.EOF
	}
	return joinBatches(o.types, o.pend), starts, nil
}

// blockCost is what rows of a block take while it is computed.
func blockCost(b *batch.Batch) int64 { return 2*b.Bytes() + 64*int64(b.N) }

// look makes sure that there are rows in rest; it gives false at the end.
func (o *windowLane) look(ctx context.Context) (bool, error) {
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
		o.rest, o.at = b, 0
	}
	return o.rest != nil, nil
}

// keys encodes expressions over a batch; no expressions give empty keys.
func (o *windowLane) keys(ctx context.Context, progs []*eval.Program, specs []kernel.KeySpec, b *batch.Batch) (*kernel.Keys, error) {
	k := &kernel.Keys{}
	if len(progs) == 0 {
		k.Offs = make([]uint64, b.N+1)
		k.N = b.N
		return k, nil
	}
	items := make([]Item, len(progs))
	for i, p := range progs {
		items[i].Program = p
	}
	return k, appendKeys(ctx, b, items, kernel.NewKeyEncoder(specs), k)
}

// compute adds the functions' columns to a block and cuts it to batches.
func (o *windowLane) compute(ctx context.Context, b *batch.Batch, starts []int32) error {
	keys, err := o.keys(ctx, o.order, o.orderSpecs, b)
	if err != nil {
		return err
	}
	p := newWindowPart(b, starts, func(i int) bool { return len(o.order) == 0 || bytes.Equal(keys.At(i-1), keys.At(i)) })
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

// windowPart is a block of partitions: their rows in order, and their peers.
type windowPart struct {
	b       *batch.Batch
	n       int
	first   []int32 // first row of the row's partition
	last    []int32 // the row after its last
	peer    []int32 // first row of the row's peer group
	peerEnd []int32 // the row after its last
	group   []int32 // number of the peer group in the block
}

// newWindowPart makes a block of partitions that begin at starts; peers tells
// whether a row is a peer of the one before in its partition.
func newWindowPart(b *batch.Batch, starts []int32, peers func(i int) bool) *windowPart {
	all := make([]int32, 5*b.N)
	col := func(i int) []int32 { return all[i*b.N : (i+1)*b.N] }
	p := &windowPart{b: b, n: b.N, first: col(0), last: col(1), peer: col(2), peerEnd: col(3), group: col(4)}
	group := int32(-1)
	for k, from := range starts {
		to := int32(b.N)
		if k+1 < len(starts) {
			to = starts[k+1]
		}
		for i := from; i < to; i++ {
			p.first[i], p.last[i] = from, to
			if i == from || !peers(int(i)) {
				group++
				p.peer[i] = i
			} else {
				p.peer[i] = p.peer[i-1]
			}
			p.group[i] = group
		}
		for i := to - 1; i >= from; i-- {
			if p.peerEnd[i] = to; i+1 < to {
				if p.peerEnd[i] = p.peerEnd[i+1]; p.peer[i+1] == i+1 {
					p.peerEnd[i] = i + 1
				}
			}
		}
	}
	return p
}

// column builds a column of values. One may take a look at all rows, and be as
// long as all are.
func (o *windowLane) column(ctx context.Context, t types.Type, n int, f func(i int) (types.Datum, error)) (arrow.Array, error) {
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
			if err := o.acct.Grow(long); err != nil {
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
