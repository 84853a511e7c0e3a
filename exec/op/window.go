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
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// NewWindow makes the lanes of window functions over inputs whose columns are
// in. It gives the columns in, then those of n.Items.
//
//	lanes ─▶ sort by (partition, order) ─▶ lane 0: one partition after the other
//
// A partition is held in memory (charged) while its functions are computed.
func NewWindow(rt *Runtime, st *Stats, n *plan.Window, in []plan.Column, env *eval.Env, inputs []Operator) ([]Operator, error) {
	cfg := SortConfig{Limit: -1}
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
	sorted := inputs
	if len(keys) > 0 {
		sorted = NewSort(rt, st, cfg, inputs)
	} else {
		sorted = NewFunnel(inputs)
	}
	w := &windowLane{rt: rt, st: st, n: n, in: sorted[0], types: cfg.Types}
	comp := func(e expr.Expr) (*eval.Program, error) { return eval.Compile(e, in, env) }
	for _, e := range n.PartitionBy {
		p, err := comp(e)
		if err != nil {
			return nil, err
		}
		w.part = append(w.part, p)
		w.partSpecs = append(w.partSpecs, kernel.KeySpec{Type: e.Type()})
	}
	for _, o := range n.OrderBy {
		p, err := comp(o.Expr)
		if err != nil {
			return nil, err
		}
		w.order = append(w.order, p)
		w.orderSpecs = append(w.orderSpecs, kernel.KeySpec{Type: o.Expr.Type(), Desc: o.Desc, NullsFirst: o.NullsFirst})
	}
	for _, it := range n.Items {
		f := &windowFunc{item: it, w: w}
		list := append([]expr.Expr(nil), it.Call.Args...)
		for _, o := range it.Call.OrderBy {
			list = append(list, o.Expr)
		}
		for _, e := range list {
			p, err := comp(e)
			if err != nil {
				return nil, err
			}
			f.args = append(f.args, p)
		}
		if it.Call.Filter != nil {
			p, err := comp(it.Call.Filter)
			if err != nil {
				return nil, err
			}
			f.filter = p
		}
		for i, b := range []plan.FrameBound{it.Frame.Start, it.Frame.End} {
			if b.Offset == nil {
				continue
			}
			p, err := comp(b.Offset)
			if err != nil {
				return nil, err
			}
			f.offset[i] = p
		}
		if env != nil {
			f.env = env.Types
		}
		w.funcs = append(w.funcs, f)
	}
	out := make([]Operator, len(inputs))
	out[0] = w
	for i := 1; i < len(out); i++ {
		out[i] = &windowFeeder{in: sorted[i]}
	}
	return out, nil
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

	pend    []*batch.Batch // rows of the open partition
	key     []byte         // its key
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
	o.pend, o.out = nil, nil
	return o.in.Close()
}

func (o *windowLane) Next(ctx context.Context) (*batch.Batch, error) {
	for {
		if len(o.out) > 0 {
			b := o.out[0]
			o.out = o.out[1:]
			return b, nil
		}
		b, err := o.partition(ctx)
		if err != nil {
			return nil, err
		}
		if err := o.compute(ctx, b); err != nil {
			return nil, err
		}
	}
}

// partition gathers the rows of the next partition into one batch.
func (o *windowLane) partition(ctx context.Context) (*batch.Batch, error) {
	o.pend = o.pend[:0]
	if err := o.acct.Resize(0); err != nil {
		return nil, err
	}
	first := true
	for {
		if o.rest == nil {
			if o.ended {
				break
			}
			b, err := o.in.Next(ctx)
			if err == io.EOF {
				o.ended = true
				continue
			}
			if err != nil {
				return nil, err
			}
			if b.Rows() == 0 {
				continue
			}
			b = kernel.Compact(b)
			if o.restKey, err = o.keys(ctx, o.part, o.partSpecs, b); err != nil {
				return nil, err
			}
			o.rest, o.at = b, 0
		}
		if first {
			o.key = append(o.key[:0], o.restKey.At(o.at)...)
			first = false
		}
		end := o.at
		for end < o.rest.N && bytes.Equal(o.restKey.At(end), o.key) {
			end++
		}
		if end > o.at {
			s := o.rest.Slice(o.at, end)
			if err := o.acct.Grow(2*s.Bytes() + 64*int64(s.N)); err != nil {
				return nil, err
			}
			o.pend = append(o.pend, s)
			o.at = end
		}
		if end < o.rest.N {
			break
		}
		o.rest = nil
	}
	if len(o.pend) == 0 {
		return nil, io.EOF
	}
	return joinBatches(o.types, o.pend), nil
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

// compute adds the functions' columns to a partition and cuts it to batches.
func (o *windowLane) compute(ctx context.Context, b *batch.Batch) error {
	keys, err := o.keys(ctx, o.order, o.orderSpecs, b)
	if err != nil {
		return err
	}
	p := &windowPart{b: b, n: b.N, peer: make([]int32, b.N), group: make([]int32, b.N)}
	for i := 1; i < b.N; i++ {
		p.group[i] = p.group[i-1]
		p.peer[i] = p.peer[i-1]
		if len(o.order) > 0 && !bytes.Equal(keys.At(i-1), keys.At(i)) {
			p.group[i]++
			p.peer[i] = int32(i)
		}
	}
	p.peerEnd = make([]int32, b.N)
	for i := b.N - 1; i >= 0; i-- {
		if i == b.N-1 || p.group[i+1] != p.group[i] {
			p.peerEnd[i] = int32(i + 1)
		} else {
			p.peerEnd[i] = p.peerEnd[i+1]
		}
	}
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

// windowPart is a partition: its rows in order, and their peers.
type windowPart struct {
	b       *batch.Batch
	n       int
	peer    []int32 // first row of the row's peer group
	peerEnd []int32 // the row after its last
	group   []int32 // number of the peer group
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
