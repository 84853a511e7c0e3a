package aggregate

import (
	"context"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/order"
	"github.com/tributarydb/tributary/exec/partition"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// A group of an aggregate that keeps its rows (agg.Sortable) may be larger than memory:
// DISTINCT and ORDER BY in a call, percentiles, modes. It is written in partial states, and
// where its partition does not fit and has few groups, so that to divide it once more
// would not help, the rows in the states are sorted by their group and as the call wants
// them, and the result is found as they come out.
//
//	partition ─▶ plain states ─▶ the table of its groups ───────────────────▶ results
//	         └─▶ for each call that keeps rows: states ─▶ rows ─▶ order.NewSort ─┘
//
// A partial phase need not make anything of them: each goes on.

const (
	// stateBytes is about what a partial state takes.
	stateBytes = 64 << 10
	// undivided is of how many groups at most a partition is sorted.
	undivided = 16
)

// sortable reports whether any of the aggregates may be computed from sorted rows.
func sortable(aggs []agg.Agg) bool {
	for _, a := range aggs {
		if _, ok := a.(agg.Sortable); ok {
			return true
		}
	}
	return false
}

// writeStates writes group g of t as several rows, each with a partial state of what its
// aggregates keep. What the others keep goes with the first, and is charged.
func writeStates(ctx context.Context, t *groupTable, g int, parts *partition.Writer) error {
	at := make([]int, len(t.aggs))
	var whole int64
	for _, a := range t.aggs {
		if _, ok := a.(agg.Sortable); ok {
			continue
		}
		if h, ok := a.(agg.Heavy); ok {
			whole += h.Need(g, g+1, true)
		}
	}
	if err := parts.Account().Grow(whole); err != nil {
		return err
	}
	defer parts.Account().Shrink(whole)
	for first, more := true, true; more; first = false {
		more = false
		cols := t.keyColumns(g, g+1)
		for i, a := range t.aggs {
			s, ok := a.(agg.Sortable)
			var col arrow.Array
			switch {
			case ok && at[i] >= 0:
				st, next, err := s.PartialState(g, at[i], stateBytes)
				if err != nil {
					return err
				}
				at[i] = next
				col = batch.FromOffsets(arrow.BinaryTypes.Binary, []int32{0, int32(len(st))}, st, nil)
			case !ok && first:
				var err error
				if col, err = a.States(g, g+1); err != nil {
					return err
				}
			default:
				col = batch.Nulls(arrow.BinaryTypes.Binary, 1)
			}
			more = more || ok && at[i] >= 0
			cols = append(cols, col)
		}
		if err := parts.Add(ctx, batch.New(cols, 1)); err != nil {
			return err
		}
	}
	return nil
}

// groupsOf returns the groups of rows of keys and states.
func (o *aggThread) groupsOf(t *groupTable, b *batch.Batch) []uint32 {
	if len(o.s.keyTypes) > 0 {
		return t.find(b.Cols[:len(o.s.keyTypes)], b.N)
	}
	if t.n() == 0 {
		t.alone()
	}
	return make([]uint32, b.N)
}

// eachBatch reads runs.
func eachBatch(ctx context.Context, runs []*spill.Run, f func(*batch.Batch) error) error {
	rd := partition.Reader{Runs: runs}
	defer rd.Close()
	for {
		b, err := rd.Next(ctx)
		if err != nil || b == nil {
			return err
		}
		if err := f(b); err != nil {
			return err
		}
	}
}

func removeAll(runs []*spill.Run) error {
	for _, r := range runs {
		if err := r.Remove(); err != nil {
			return err
		}
	}
	return nil
}

// mergeSorted finds the results of a partition by sorting.
func (o *aggThread) mergeSorted(ctx context.Context, p aggPart) error {
	if o.s.n.Phase == plan.AggPartial {
		o.states = &partition.Reader{Runs: p.runs}
		return nil
	}
	aggs, err := o.s.newAggs()
	if err != nil {
		return err
	}
	t := o.newTable(aggs)
	nk := len(o.s.keyTypes)
	sorted := make([]agg.Sortable, len(aggs))
	plain := nk > 0 // the rows have groups to find, or states of their own
	for i, a := range aggs {
		if s, ok := a.(agg.Sortable); ok {
			sorted[i], t.aggs[i] = s, &results{}
		} else {
			plain = true
		}
	}
	if !plain {
		t.alone()
	} else if err := eachBatch(ctx, p.runs, func(b *batch.Batch) error {
		groups := o.groupsOf(t, b)
		for i, a := range t.aggs {
			if sorted[i] != nil {
				continue
			}
			a.Resize(t.n())
			if err := a.MergeStates(groups, b.Cols[nk+i].(*array.Binary)); err != nil {
				return err
			}
		}
		return o.hold(ctx, t.bytes())
	}); err != nil {
		return err
	}
	for i, s := range sorted {
		if s == nil {
			continue
		}
		col, err := o.sortRows(ctx, t, p.runs, nk+i, s, o.s.calls[i].Typ)
		if err != nil {
			return err
		}
		t.aggs[i] = &results{col: col}
		if err := o.hold(ctx, t.bytes()); err != nil {
			return err
		}
	}
	o.out, o.at = t, 0
	return removeAll(p.runs)
}

// sortRows sorts the rows in the states of one call and returns its results, one a group.
func (o *aggThread) sortRows(ctx context.Context, t *groupTable, runs []*spill.Run, state int, s agg.Sortable, typ types.Type) (arrow.Array, error) {
	in := &stateRows{runs: partition.Reader{Runs: runs}, state: state, rows: s, counts: make([]int64, t.n()), groups: func(b *batch.Batch) []uint32 { return o.groupsOf(t, b) }}
	sort := o.sortOf(in, s.RowTypes(), s.SortKeys())
	begin := func(g int) *agg.Sorted { return s.Sorted(in.counts[g]) }
	if a, ok := s.(agg.Resortable); ok {
		first := &resorted{in: sort, acct: o.acct, begin: begin, groups: make([]*agg.Sorted, t.n())}
		sort, begin = o.sortOf(first, a.ResortTypes(), a.ResortKeys()), first.again
	}
	defer sort.Close()
	if err := sort.Open(ctx); err != nil {
		return nil, err
	}
	held := o.acct.Used()
	out := array.NewBuilder(memory.DefaultAllocator, typ.Arrow())
	var cur *agg.Sorted
	done := 0 // groups whose results are out
	// finish ends the groups before g.
	finish := func(g int) error {
		for ; done < g; done++ {
			if cur == nil {
				cur = begin(done)
			}
			// The result is made beside the rows, and Arrow's builder doubles.
			if err := o.hold(ctx, o.acct.Used()+2*cur.Held()); err != nil {
				return err
			}
			d, err := cur.Result()
			if err == nil {
				err = types.AppendDatum(out, typ, d)
			}
			if err != nil {
				return err
			}
			held += 2 * (cur.Held() + 16)
			cur = nil
			if err := o.hold(ctx, held); err != nil {
				return err
			}
		}
		return nil
	}
	err := op.Drain(ctx, sort, func(b *batch.Batch) error {
		b = kernel.Compact(b)
		had := int64(0)
		if cur != nil {
			had = cur.Held()
		}
		// What is appended to grows by a quarter.
		if err := o.hold(ctx, max(held+had*5/4+b.Bytes(), o.acct.Used())); err != nil {
			return err
		}
		groups := b.Cols[0].(*array.Int32).Int32Values()
		for i, g := range groups {
			if err := finish(int(g)); err != nil {
				return err
			}
			if cur == nil {
				cur = begin(int(g))
			}
			if err := cur.Add(b.Cols[1:], i); err != nil {
				return err
			}
		}
		return o.hold(ctx, held+cur.Held())
	})
	if err == nil {
		err = finish(t.n())
	}
	if err != nil {
		return nil, err
	}
	return out.NewArray(), nil
}

// sortOf sorts rows of types behind the number of their group, by group and keys.
func (o *aggThread) sortOf(in op.Operator, ts []types.Type, keys []agg.SortKey) op.Operator {
	rt := *o.s.rt
	rt.Threads = 1
	cfg := order.Config{Types: append([]types.Type{types.Int4}, ts...), Limit: -1,
		Keys: [][]op.Item{{{Col: 0}}}, Specs: []kernel.KeySpec{{Type: types.Int4}}}
	for _, k := range keys {
		cfg.Keys[0] = append(cfg.Keys[0], op.Item{Col: 1 + k.Col})
		cfg.Specs = append(cfg.Specs, k.KeySpec)
	}
	return order.NewSort(&rt, o.s.st, cfg, []op.Operator{in})[0]
}

// hold makes the account hold so much: others have to give way where there is no room, but
// for little.
func (o *aggThread) hold(ctx context.Context, bytes int64) error {
	more := bytes - o.acct.Used()
	switch {
	case more <= 0:
		return o.acct.Resize(bytes)
	case more <= smallTable:
		o.acct.Take(more)
		return nil
	}
	return o.acct.Insist(ctx, more)
}

// stateRows gives the rows in the states of one call, behind the number of their group.
type stateRows struct {
	runs   partition.Reader
	state  int // its column
	rows   agg.Sortable
	groups func(*batch.Batch) []uint32
	counts []int64 // rows of each group that were given
	b      *batch.Batch
	of     []uint32
	at     int
}

func (o *stateRows) Open(context.Context) error { return nil }
func (o *stateRows) Close() error {
	o.runs.Close()
	return nil
}

func (o *stateRows) Next(ctx context.Context) (*batch.Batch, error) {
	for {
		if o.b == nil || o.at == o.b.N {
			b, err := o.runs.Next(ctx)
			if err != nil {
				return nil, err
			}
			if b == nil {
				return nil, io.EOF
			}
			o.b, o.at = b, 0
			o.of = append(o.of[:0], o.groups(b)...)
		}
		states := o.b.Cols[o.state].(*array.Binary)
		i := o.at
		o.at++
		if states.IsNull(i) || len(states.Value(i)) == 0 {
			continue
		}
		cols, n, err := o.rows.Rows(states.Value(i))
		if err != nil {
			return nil, err
		}
		if n == 0 {
			continue
		}
		g := o.of[i]
		o.counts[g] += int64(n)
		return numbered(int(g), cols, n), nil
	}
}

// numbered puts the number of their group before rows.
func numbered(group int, cols []arrow.Array, n int) *batch.Batch {
	number := make([]int32, n)
	for k := range number {
		number[k] = int32(group)
	}
	return batch.New(append([]arrow.Array{batch.FromSlice(arrow.PrimitiveTypes.Int32, number, nil)}, cols...), n)
}

// results are those of an aggregate that are found already.
type results struct{ col arrow.Array }

func (r *results) Resize(int) {}
func (r *results) Update([]uint32, []arrow.Array) error {
	return pgerr.Internal("rows for results that are found")
}
func (r *results) MergeStates([]uint32, *array.Binary) error {
	return pgerr.Internal("states for results that are found")
}
func (r *results) States(int, int) (arrow.Array, error) {
	return nil, pgerr.Internal("states of results that are found")
}
func (r *results) Results(from, to int) (arrow.Array, error) {
	return array.NewSlice(r.col, int64(from), int64(to)), nil
}
func (r *results) Bytes() int64 {
	if r.col == nil {
		return 0
	}
	return batch.ArrayBytes(r.col)
}

// giveState gives the next rows of a partition of a partial phase as they are.
func (o *aggThread) giveState(ctx context.Context) (*batch.Batch, error) {
	b, err := o.states.Next(ctx)
	if err != nil {
		return nil, err
	}
	if b == nil {
		runs := o.states.Runs
		o.states = nil
		return nil, removeAll(runs)
	}
	nk := len(o.s.keyTypes)
	cols := o.keysRead(func(k int) arrow.Array { return b.Cols[k] })
	for i := range o.s.n.Aggs {
		cols = append(cols, b.Cols[nk+o.s.slot[i]])
	}
	return batch.New(cols, b.N), nil
}

// giveSorted writes the groups from one on whose results there is no room for, to be
// sorted.
func (o *aggThread) giveSorted(ctx context.Context, from int) error {
	parts := o.partitions(-1)
	defer parts.Account().Close()
	if err := writeSome(ctx, o.out, from, o.lost, parts); err != nil {
		parts.Abort()
		return err
	}
	runs, err := parts.Finish(ctx)
	if err != nil {
		return err
	}
	if runs[0] != nil {
		o.todo = append([]aggPart{{runs: runs[:1], sorted: true}}, o.todo...)
	}
	return nil
}
