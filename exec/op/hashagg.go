package op

import (
	"context"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// NewHashAgg makes the lanes of an aggregation over inputs whose columns are
// in. It gives n.Schema().
//
//	each lane:  rows ─▶ its own table of groups           (spills to partitions)
//	barrier
//	each lane:  the groups of every lane whose hash is in its share ─▶ results
//
// With one lane the table is the result. When any lane had to spill, all
// write what they hold, and partitions are merged one after the other, each by
// one lane, splitting again where one does not fit.
func NewHashAgg(rt *Runtime, st *Stats, n *plan.Aggregate, in []plan.Column, env *eval.Env, inputs []Operator) ([]Operator, error) {
	s := &aggShared{rt: rt, st: st, n: n, env: env, barrier: NewBarrier(rt.Lanes), lanes: make([]*aggLane, rt.Lanes)}
	s.sets = n.Sets
	for _, g := range n.Groups {
		s.keyTypes = append(s.keyTypes, g.Expr.Type())
	}
	if s.sets != nil {
		s.keyTypes = append(s.keyTypes, types.Int4) // the set's number
	}
	s.rowTypes = append(append([]types.Type(nil), s.keyTypes...), repeat(types.Bytea, len(n.Aggs))...)
	out := make([]Operator, rt.Lanes)
	for i := range out {
		l := &aggLane{s: s, lane: i, in: inputs[i]}
		if err := l.compile(in); err != nil {
			return nil, err
		}
		s.lanes[i] = l
		out[i] = l
	}
	return out, nil
}

func repeat(t types.Type, n int) []types.Type {
	out := make([]types.Type, n)
	for i := range out {
		out[i] = t
	}
	return out
}

type aggShared struct {
	rt       *Runtime
	st       *Stats
	n        *plan.Aggregate
	env      *eval.Env
	sets     [][]int
	keyTypes []types.Type
	rowTypes []types.Type // keys, then a state (bytea) an aggregate: spilled rows
	barrier  *Barrier
	lanes    []*aggLane
	spilled  bool // set by the barrier's serial part
	runs     [kernel.Parts][]*spill.Run
}

func (s *aggShared) newAggs() ([]agg.Agg, error) {
	out := make([]agg.Agg, len(s.n.Aggs))
	for i, it := range s.n.Aggs {
		var te *types.Env
		if s.env != nil {
			te = s.env.Types
		}
		a, err := agg.New(it.Call, te)
		if err != nil {
			return nil, err
		}
		out[i] = a
	}
	return out, nil
}

// aggInput computes one aggregate's arguments.
type aggInput struct {
	args   []*eval.Program
	filter *eval.Program
	state  int // Final: the input column with the states
}

type aggLane struct {
	s      *aggShared
	lane   int
	in     Operator
	keys   []*eval.Program
	inputs []aggInput
	h      *kernel.Hasher
	hashes []uint64
	t      *groupTable
	acct   *mem.Account
	parts  *partitioner
	runs   [kernel.Parts]*spill.Run

	begun  bool
	out    *groupTable
	at     int // next group to give
	todo   []aggPart
	closed bool
}

// aggPart is a partition to merge.
type aggPart struct {
	runs  []*spill.Run
	level int
}

func (o *aggLane) compile(in []plan.Column) error {
	s := o.s
	comp := func(e expr.Expr) (*eval.Program, error) { return eval.Compile(e, in, s.env) }
	for _, g := range s.n.Groups {
		p, err := comp(g.Expr)
		if err != nil {
			return err
		}
		o.keys = append(o.keys, p)
	}
	for i, it := range s.n.Aggs {
		var a aggInput
		if s.n.Phase == plan.AggFinal {
			a.state = -1
			for k, c := range in {
				if c.ID == s.n.States[i] {
					a.state = k
				}
			}
			if a.state < 0 {
				return pgerr.Internal("aggregate state column %d is missing", s.n.States[i])
			}
			o.inputs = append(o.inputs, a)
			continue
		}
		list := append([]expr.Expr(nil), it.Call.Args...)
		for _, k := range it.Call.OrderBy {
			list = append(list, k.Expr)
		}
		for _, e := range list {
			p, err := comp(e)
			if err != nil {
				return err
			}
			a.args = append(a.args, p)
		}
		if it.Call.Filter != nil {
			p, err := comp(it.Call.Filter)
			if err != nil {
				return err
			}
			a.filter = p
		}
		o.inputs = append(o.inputs, a)
	}
	o.h = kernel.NewHasher(s.keyTypes)
	return nil
}

func (o *aggLane) Open(ctx context.Context) error {
	o.acct = o.s.rt.Pool.Account("hash aggregate", true)
	if err := o.reset(); err != nil {
		return err
	}
	return o.in.Open(ctx)
}

func (o *aggLane) reset() error {
	aggs, err := o.s.newAggs()
	if err != nil {
		return err
	}
	o.t = newGroupTable(o.s.keyTypes, aggs)
	return nil
}

// consume takes in the lane's rows.
func (o *aggLane) consume(ctx context.Context) error {
	return drain(ctx, o.in, func(b *batch.Batch) error {
		if o.s.sets == nil {
			return o.add(ctx, b, nil, -1)
		}
		for i, set := range o.s.sets {
			if err := o.add(ctx, b, set, i); err != nil {
				return err
			}
		}
		return nil
	})
}

// add puts a batch into the table, for grouping set number set of which the
// keys in keep are (set -1: all keys, no set).
func (o *aggLane) add(ctx context.Context, b *batch.Batch, keep []int, set int) error {
	n := b.Rows()
	cols := make([]arrow.Array, len(o.s.keyTypes))
	for k, p := range o.keys {
		if set >= 0 && !contains(keep, k) {
			cols[k] = batch.Nulls(o.s.keyTypes[k].Arrow(), n)
			continue
		}
		arr, err := p.EvalScratch(ctx, b)
		if err != nil {
			return err
		}
		cols[k] = arr
	}
	if set >= 0 {
		num := make([]int32, n)
		for i := range num {
			num[i] = int32(set)
		}
		cols[len(cols)-1] = batch.FromSlice(arrow.PrimitiveTypes.Int32, num, nil)
	}
	if err := o.charge(ctx, n); err != nil {
		return err
	}
	var groups []uint32
	if len(cols) == 0 {
		if o.t.n() == 0 {
			o.t.hashes, o.t.ids = append(o.t.hashes, 0), append(o.t.ids, 0)
		}
		groups = o.zeros(n)
	} else {
		o.hashes = o.h.Hash(cols, n, o.hashes)
		groups = o.t.find(cols, o.hashes, n)
	}
	for i, a := range o.t.aggs {
		a.Resize(o.t.n())
		if err := o.update(ctx, a, &o.inputs[i], b, groups); err != nil {
			return err
		}
	}
	return o.settle(ctx)
}

func contains(list []int, k int) bool {
	for _, x := range list {
		if x == k {
			return true
		}
	}
	return false
}

func (o *aggLane) zeros(n int) []uint32 {
	if cap(o.t.groups) < n {
		o.t.groups = make([]uint32, n)
	}
	return o.t.groups[:n]
}

func (o *aggLane) update(ctx context.Context, a agg.Agg, in *aggInput, b *batch.Batch, groups []uint32) error {
	if o.s.n.Phase == plan.AggFinal {
		col := b.Cols[in.state]
		if b.Sel != nil {
			col = kernel.Take(col, b.Sel)
		}
		st, ok := col.(*array.Binary)
		if !ok {
			return pgerr.Internal("aggregate states are %s", col.DataType())
		}
		return a.MergeStates(groups, st)
	}
	if in.filter != nil {
		arr, err := in.filter.Eval(ctx, b)
		if err != nil {
			return err
		}
		pass := arr.(*array.Boolean)
		sel := make([]int32, 0, len(groups))
		sub := make([]uint32, 0, len(groups))
		for i, g := range groups {
			if pass.IsNull(i) || !pass.Value(i) {
				continue
			}
			row := int32(i)
			if b.Sel != nil {
				row = b.Sel[i]
			}
			sel, sub = append(sel, row), append(sub, g)
		}
		if len(sel) == 0 {
			return nil
		}
		b, groups = &batch.Batch{Cols: b.Cols, N: b.N, Sel: sel, Seq: -1}, sub
	}
	args := make([]arrow.Array, len(in.args))
	for i, p := range in.args {
		arr, err := p.EvalScratch(ctx, b)
		if err != nil {
			return err
		}
		args[i] = arr
	}
	return a.Update(groups, args)
}

// charge reserves what n more rows may need at most for their groups, or makes
// room.
func (o *aggLane) charge(ctx context.Context, n int) error {
	if len(o.s.keyTypes) == 0 {
		return nil
	}
	if o.acct.ShouldSpill() && o.t.n() > 0 {
		if err := o.spill(ctx); err != nil {
			return err
		}
	}
	per := int64(40 + 16*len(o.s.keyTypes) + 32*len(o.t.aggs))
	want := o.t.bytes() + int64(n)*per
	if need := (o.t.n() + n) * 2; need > len(o.t.slots) {
		want += int64(need) * 8
	}
	if want <= o.acct.Used() {
		return nil
	}
	err := o.acct.Resize(want)
	if err == nil || !refused(err, o.acct) || o.t.n() == 0 {
		return err
	}
	if err := o.spill(ctx); err != nil {
		return err
	}
	return o.acct.Resize(o.t.bytes() + int64(n)*per)
}

// settle makes the account hold what the table does.
func (o *aggLane) settle(ctx context.Context) error {
	have, used := o.t.bytes(), o.acct.Used()
	if have > used || used > 2*have+1<<20 {
		err := o.acct.Resize(have)
		if err != nil && refused(err, o.acct) && len(o.s.keyTypes) > 0 {
			return o.spill(ctx)
		}
		return err
	}
	return nil
}

// spill writes the table's groups to partitions and begins a new one.
func (o *aggLane) spill(ctx context.Context) error {
	if o.parts == nil {
		o.parts = newPartitioner(o.s.rt, o.s.st, o.s.rt.Pool.Account("hash aggregate partitions", false), o.s.rowTypes, upTo(len(o.s.keyTypes)), o.s.keyTypes, 0)
	}
	if err := writeGroups(ctx, o.t, o.parts); err != nil {
		return err
	}
	if err := o.reset(); err != nil {
		return err
	}
	return o.acct.Resize(o.t.bytes())
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// writeGroups puts a table's groups, as rows of keys and states, into
// partitions.
func writeGroups(ctx context.Context, t *groupTable, parts *partitioner) error {
	for from := 0; from < t.n(); from += kernel.ChunkRows {
		to := min(from+kernel.ChunkRows, t.n())
		cols := t.keyColumns(from, to)
		for _, a := range t.aggs {
			st, err := a.States(from, to)
			if err != nil {
				return err
			}
			cols = append(cols, st)
		}
		if err := parts.add(ctx, batch.New(cols, to-from)); err != nil {
			return err
		}
	}
	return parts.flush(ctx)
}

func (o *aggLane) Next(ctx context.Context) (*batch.Batch, error) {
	if !o.begun {
		o.begun = true
		if err := o.begin(ctx); err != nil {
			return nil, err
		}
	}
	for {
		if o.out != nil {
			if b, err := o.give(); b != nil || err != nil {
				return b, err
			}
			o.out = nil
			if err := o.acct.Resize(0); err != nil {
				return nil, err
			}
		}
		if len(o.todo) == 0 {
			return nil, io.EOF
		}
		p := o.todo[0]
		o.todo = o.todo[1:]
		if err := o.mergePart(ctx, p); err != nil {
			return nil, err
		}
	}
}

// begin consumes the input, meets the other lanes and finds what this lane
// gives.
func (o *aggLane) begin(ctx context.Context) error {
	s := o.s
	if err := o.consume(ctx); err != nil {
		return err
	}
	if err := s.barrier.Wait(ctx, func() error {
		for _, l := range s.lanes {
			s.spilled = s.spilled || l.parts != nil
		}
		return nil
	}); err != nil {
		return err
	}
	if s.spilled {
		if err := o.spill(ctx); err != nil {
			return err
		}
		runs, err := o.parts.finish(ctx)
		o.parts.acct.Close()
		o.parts = nil
		if err != nil {
			return err
		}
		o.runs = runs
		o.t = nil
		if err := o.acct.Resize(0); err != nil {
			return err
		}
		if err := s.barrier.Wait(ctx, func() error {
			for _, l := range s.lanes {
				for p, r := range l.runs {
					if r != nil {
						s.runs[p] = append(s.runs[p], r)
					}
				}
			}
			return nil
		}); err != nil {
			return err
		}
		for p := o.lane; p < kernel.Parts; p += s.rt.Lanes {
			if len(s.runs[p]) > 0 {
				o.todo = append(o.todo, aggPart{runs: s.runs[p], level: 1})
			}
		}
		return nil
	}
	if s.rt.Lanes == 1 {
		o.out, o.t = o.t, nil
		return o.ungrouped()
	}
	if len(s.keyTypes) == 0 || o.few() {
		// Few groups: one lane merges them all.
		if o.lane == 0 {
			if err := o.mergeLanes(ctx, func(uint64) bool { return true }); err != nil {
				return err
			}
			if err := o.ungrouped(); err != nil {
				return err
			}
		}
	} else {
		n := uint64(s.rt.Lanes)
		me := uint64(o.lane)
		if err := o.mergeLanes(ctx, func(h uint64) bool { return (h>>40)%n == me }); err != nil {
			return err
		}
	}
	// A lane's table may go only when all have read it.
	if err := s.barrier.Wait(ctx, nil); err != nil {
		return err
	}
	o.t = nil
	return nil
}

// few tells that all lanes together hold few groups.
func (o *aggLane) few() bool {
	n := 0
	for _, l := range o.s.lanes {
		n += l.t.n()
	}
	return n < 4096
}

// ungrouped gives an aggregation without groups its one row.
func (o *aggLane) ungrouped() error {
	if o.s.n.Phase == plan.AggPartial && len(o.s.keyTypes) == 0 && o.out.n() == 0 {
		return nil // the final phase makes the row
	}
	if len(o.s.n.Groups) == 0 && o.s.sets == nil && o.out.n() == 0 {
		o.out.hashes, o.out.ids = append(o.out.hashes, 0), append(o.out.ids, 0)
	}
	// An empty grouping set gives a row for no input too.
	if o.s.sets != nil && o.out.n() == 0 && o.s.n.Phase != plan.AggPartial {
		for i, set := range o.s.sets {
			if len(set) > 0 {
				continue
			}
			cols := make([]arrow.Array, len(o.s.keyTypes))
			for k := range o.s.n.Groups {
				cols[k] = batch.Nulls(o.s.keyTypes[k].Arrow(), 1)
			}
			cols[len(cols)-1] = batch.FromSlice(arrow.PrimitiveTypes.Int32, []int32{int32(i)}, nil)
			o.hashes = o.h.Hash(cols, 1, o.hashes)
			o.out.find(cols, o.hashes, 1)
		}
	}
	for _, a := range o.out.aggs {
		a.Resize(o.out.n())
	}
	return nil
}

// mergeLanes makes the lane's share of the groups of all lanes.
func (o *aggLane) mergeLanes(ctx context.Context, mine func(hash uint64) bool) error {
	aggs, err := o.s.newAggs()
	if err != nil {
		return err
	}
	out := newGroupTable(o.s.keyTypes, aggs)
	acct := o.s.rt.Pool.Account("hash aggregate merge", false)
	defer acct.Close()
	for _, l := range o.s.lanes {
		var list []uint32
		for g, h := range l.t.hashes {
			if mine(h) {
				list = append(list, uint32(g))
			}
		}
		if err := acct.Resize(out.bytes() + int64(len(list))*int64(48+16*len(o.s.keyTypes)+32*len(aggs))); err != nil {
			return err
		}
		if len(o.s.keyTypes) == 0 {
			if len(list) > 0 {
				if out.n() == 0 {
					out.hashes, out.ids = append(out.hashes, 0), append(out.ids, 0)
				}
				for i, a := range out.aggs {
					a.Resize(1)
					if m, ok := a.(agg.Merger); ok {
						m.MergeFrom([]uint32{0}, l.t.aggs[i], []uint32{0})
					} else if err := mergeEncoded(a, []uint32{0}, l.t.aggs[i], []uint32{0}); err != nil {
						return err
					}
				}
			}
			continue
		}
		if err := out.absorb(ctx, l.t, list); err != nil {
			return err
		}
	}
	o.out = out
	return nil
}

// mergePart merges a partition's rows into a table; one that does not fit is
// split by the next bits of the hash.
func (o *aggLane) mergePart(ctx context.Context, p aggPart) error {
	aggs, err := o.s.newAggs()
	if err != nil {
		return err
	}
	t := newGroupTable(o.s.keyTypes, aggs)
	var parts *partitioner
	nk := len(o.s.keyTypes)
	for _, r := range p.runs {
		rd, err := r.Open()
		if err != nil {
			return err
		}
		for {
			b, err := rd.Next(ctx)
			if err == io.EOF {
				break
			}
			if err == nil && parts != nil {
				err = parts.add(ctx, b)
			} else if err == nil {
				o.hashes = o.h.Hash(b.Cols[:nk], b.N, o.hashes)
				groups := t.find(b.Cols[:nk], o.hashes, b.N)
				for i, a := range t.aggs {
					a.Resize(t.n())
					if err = a.MergeStates(groups, b.Cols[nk+i].(*array.Binary)); err != nil {
						break
					}
				}
				if err == nil {
					err = o.acct.Resize(t.bytes())
					if err != nil && refused(err, o.acct) && p.level < maxPartLevel {
						parts = newPartitioner(o.s.rt, o.s.st, o.s.rt.Pool.Account("hash aggregate partitions", false), o.s.rowTypes, upTo(nk), o.s.keyTypes, p.level)
						if err = writeGroups(ctx, t, parts); err == nil {
							t = newGroupTable(o.s.keyTypes, nil)
							err = o.acct.Resize(0)
						}
					}
				}
			}
			if err != nil {
				_ = rd.Close()
				return err
			}
		}
		_ = rd.Close()
		if err := r.Remove(); err != nil {
			return err
		}
	}
	if parts == nil {
		o.out, o.at = t, 0
		return nil
	}
	runs, err := parts.finish(ctx)
	parts.acct.Close()
	if err != nil {
		return err
	}
	var more []aggPart
	for _, r := range runs {
		if r != nil {
			more = append(more, aggPart{runs: []*spill.Run{r}, level: p.level + 1})
		}
	}
	o.todo = append(more, o.todo...)
	return nil
}

// give makes the next batch of results; nil at the end of the table.
func (o *aggLane) give() (*batch.Batch, error) {
	t := o.out
	if o.at >= t.n() {
		o.at = 0
		return nil, nil
	}
	from, to := o.at, min(o.at+min(o.s.rt.Rows(), kernel.ChunkRows), t.n())
	o.at = to
	var cols []arrow.Array
	if len(t.keys) > 0 {
		cols = t.keyColumns(from, to)
	}
	if o.s.sets != nil {
		num := cols[len(cols)-1].(*array.Int32)
		cols = cols[:len(cols)-1]
		if o.s.n.GroupingID != 0 {
			cols = append(cols, o.groupingIDs(num))
		}
	}
	for _, a := range t.aggs {
		var arr arrow.Array
		var err error
		if o.s.n.Phase == plan.AggPartial {
			arr, err = a.States(from, to)
		} else {
			arr, err = a.Results(from, to)
		}
		if err != nil {
			return nil, err
		}
		cols = append(cols, arr)
	}
	return batch.New(cols, to-from), nil
}

// groupingIDs turns set numbers into the masks of the keys they leave out.
func (o *aggLane) groupingIDs(num *array.Int32) arrow.Array {
	n := len(o.s.n.Groups)
	masks := make([]int32, len(o.s.sets))
	for i, set := range o.s.sets {
		for k := 0; k < n; k++ {
			if !contains(set, k) {
				masks[i] |= 1 << (n - 1 - k)
			}
		}
	}
	out := make([]int32, num.Len())
	for i := range out {
		out[i] = masks[num.Value(i)]
	}
	return batch.FromSlice(arrow.PrimitiveTypes.Int32, out, nil)
}

func (o *aggLane) Close() error {
	if o.closed {
		return nil
	}
	o.closed = true
	if !o.begun {
		o.s.barrier.Leave()
	}
	o.s.st.peak(o.acct)
	if o.acct != nil {
		o.acct.Close()
	}
	if o.parts != nil {
		o.parts.abort()
		o.parts.acct.Close()
	}
	o.t, o.out = nil, nil
	return o.in.Close()
}
