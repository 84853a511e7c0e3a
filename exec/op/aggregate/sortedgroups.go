package aggregate

import (
	"context"
	"io"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op/fold"
	"github.com/tributarydb/tributary/exec/partition"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
)

// A group of an aggregate that keeps its rows (agg.Sortable) may be larger than memory: a call with
// DISTINCT or ORDER BY, a percentile, a mode. Such a group is spilled as several partial states. If its
// partition does not fit in memory and has only a few groups, dividing it once more would not help:
// instead the rows in the states are sorted, by their group and then in the order that the call needs,
// and the result is computed as the sort returns them.
//
//	partition ─▶ plain states ─▶ the table of its groups ───────────────────▶ results
//	         └─▶ for each call that keeps rows: states ─▶ fold.Groups ─▶ results.go ┘
//
// A partial phase does not merge such states: it returns each unchanged, for the final phase.

const (
	// stateBytes is about the size of a partial state.
	stateBytes = 64 << 10
	// undivided is the most groups of a partition that is sorted instead of divided.
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

// threadRoom is how much memory one thread's results that contain all rows may take, so that there is
// room for a large result (mergeSorted) while the other threads return theirs.
func (s *aggShared) threadRoom() int64 {
	if limit := s.rt.Pool.Limit(); limit > 0 {
		return limit / int64(4*s.rt.Threads)
	}
	return math.MaxInt64
}

// writeStates writes group g of t as several rows, each with a partial state of the aggregates that
// keep rows. The states of the other aggregates are in the first row, and their memory is charged.
func writeStates(ctx context.Context, t *groupTable, g int, parts *partition.Writer) error {
	at := make([]int, len(t.aggs))
	var whole int64
	for _, a := range t.aggs {
		if _, ok := a.(agg.Sortable); ok {
			continue
		}
		if h, ok := a.(agg.Holistic); ok {
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

// eachBatch calls f with each batch of the runs.
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

// mergeSorted computes the results of a partition by sorting.
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
	plain := nk > 0 // rows have keys, by which their groups are found, or states of other aggregates
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
	if slices.ContainsFunc(o.s.calls, fold.HoldsRows) {
		// One result may take much of the memory; one of each thread at a time would not fit.
		select {
		case o.s.long <- struct{}{}:
			defer func() { <-o.s.long }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for i, s := range sorted {
		if s == nil {
			continue
		}
		out := &results{rt: o.s.rt, st: o.s.st, typ: o.s.calls[i].Typ}
		o.found = append(o.found, out)
		rd := partition.Reader{Runs: p.runs}
		// Not the thread's own account: it is one that can spill, and for such an account sorts with
		// less memory do not spill.
		acct := o.s.rt.Pool.Account("hash aggregate results", false)
		of := fold.Groups{Runtime: o.s.rt, Stats: o.s.st, Account: acct, Agg: s, Call: o.s.calls[i], N: t.n()}
		err := of.Results(ctx, o.eachState(t, &rd, nk+i), func(col arrow.Array) (int64, error) { return out.add(ctx, col) })
		rd.Close()
		o.s.st.AddPeak(acct)
		acct.Close()
		if err != nil {
			return err
		}
		t.aggs[i] = out
		if err := o.hold(ctx, t.bytes()); err != nil {
			return err
		}
	}
	o.out, o.at = t, 0
	return removeAll(p.runs)
}

// hold charges the thread's account for this many bytes.
func (o *aggThread) hold(ctx context.Context, bytes int64) error {
	return fold.Hold(ctx, o.acct, bytes)
}

// eachState returns a function that reads the states of one call (column state of the runs), each with
// the number of its group in t.
func (o *aggThread) eachState(t *groupTable, rd *partition.Reader, state int) func(context.Context) (int, []byte, error) {
	var b *batch.Batch
	var groups []uint32
	at := 0
	return func(ctx context.Context) (int, []byte, error) {
		for b == nil || at == b.N {
			var err error
			if b, err = rd.Next(ctx); err != nil {
				return 0, nil, err
			}
			if b == nil {
				return 0, nil, io.EOF
			}
			groups, at = append(groups[:0], o.groupsOf(t, b)...), 0
		}
		i, states := at, b.Cols[state].(*array.Binary)
		if at++; states.IsNull(i) {
			return int(groups[i]), nil, nil
		}
		return int(groups[i]), states.Value(i), nil
	}
}

// giveState returns the next rows of a partition unchanged, in a partial phase.
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
	for i, it := range o.s.n.Aggs {
		slot := o.s.slot[i]
		col := b.Cols[nk+slot]
		if it.Call.Fn != o.s.calls[slot].Fn {
			if col, err = o.s.statesOf(it.Call, slot, col.(*array.Binary)); err != nil {
				return nil, err
			}
		}
		cols = append(cols, col)
	}
	return batch.New(cols, b.N), nil
}

// statesOf makes a call's states from those in its slot, which are another's.
func (s *aggShared) statesOf(call expr.AggCall, slot int, states *array.Binary) (arrow.Array, error) {
	from, err := s.newAgg(s.calls[slot])
	if err != nil {
		return nil, err
	}
	own, err := s.newAgg(call)
	if err != nil {
		return nil, err
	}
	each := make([]uint32, states.Len())
	for i := range each {
		each[i] = uint32(i)
	}
	from.Resize(len(each))
	if err := from.MergeStates(each, states); err != nil {
		return nil, err
	}
	return agg.View(from, own).States(0, len(each))
}

// giveSorted writes the groups from `from` on, whose results do not fit in memory, to a partition that
// is to be sorted.
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
