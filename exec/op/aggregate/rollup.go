package aggregate

import (
	"context"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
)

// rollUp says which grouping sets the rows go into, and how the groups of the
// others are made of those (Gray et al., "Data Cube", 1997):
//
//	rows ─▶ (a, b, c) ─▶ (a, b) ─▶ (a) ─▶ ()
//
// Each set is made of the least set that has all its keys. Where memory ends, the
// groups at hand go to disk as those of their own set and of all sets that are
// made of it.
type rollUp struct {
	base  []int // sets that are in no other
	steps []rollStep
}

type rollStep struct{ set, from, base int }

// newRollUp plans grouping sets. Aggregates that keep their rows are not merged:
// every set takes them in.
func newRollUp(sets [][]int, aggs []agg.Agg) rollUp {
	var r rollUp
	merged := !slices.ContainsFunc(aggs, func(a agg.Agg) bool { _, keeps := a.(agg.Holistic); return keeps })
	order := upTo(len(sets))
	slices.SortStableFunc(order, func(a, b int) int { return len(sets[b]) - len(sets[a]) })
	base := make([]int, len(sets))
	for i, set := range order {
		from := -1
		for _, s := range order[:i] {
			if merged && covers(sets[s], sets[set]) {
				from = s // the last has the fewest keys
			}
		}
		if from < 0 {
			base[set] = set
			r.base = append(r.base, set)
			continue
		}
		base[set] = base[from]
		r.steps = append(r.steps, rollStep{set: set, from: from, base: base[from]})
	}
	return r
}

func covers(set, sub []int) bool {
	for _, k := range sub {
		if !contains(set, k) {
			return false
		}
	}
	return true
}

// rollSets makes the groups of the sets that the thread's rows did not go into. It
// spills where there is no room for them.
func (o *aggThread) rollSets(ctx context.Context) error {
	t := o.t
	if len(o.roll.steps) == 0 || t.n() == 0 {
		return nil
	}
	lists := t.bySet(len(o.s.sets), 0, nil)
	for ; o.rolled < len(o.roll.steps); o.rolled, o.rolledTo = o.rolled+1, 0 {
		s := o.roll.steps[o.rolled]
		first := t.n()
		for list := lists[s.from]; o.rolledTo < len(list); {
			n := min(len(list)-o.rolledTo, kernel.ChunkRows)
			if err := o.charge(ctx, n); err != nil || o.t != t {
				return err
			}
			if err := t.derive(ctx, t, list[o.rolledTo:o.rolledTo+n], o.s.sets[s.set], s.set); err != nil {
				return err
			}
			o.rolledTo += n
			if err := o.resizeAccount(ctx); err != nil || o.t != t {
				return err
			}
		}
		lists = t.bySet(len(o.s.sets), first, lists)
	}
	return nil
}

// spillSets writes the groups of the sets that are not made yet. Equal keys within a chunk of
// groups are merged first.
func (o *aggThread) spillSets(ctx context.Context) error {
	if o.rolled == len(o.roll.steps) || o.t.n() == 0 {
		return nil
	}
	lists := o.t.bySet(len(o.s.sets), 0, nil)
	for i, s := range o.roll.steps[o.rolled:] {
		list := lists[s.base]
		if i == 0 && o.rolledTo > 0 {
			list = lists[s.from][o.rolledTo:]
		}
		var some *groupTable
		for len(list) > 0 {
			if some == nil {
				aggs, err := o.s.newAggs()
				if err != nil {
					return err
				}
				some = newGroupTable(o.s.keyTypes, aggs)
			}
			n := min(len(list), kernel.ChunkRows)
			if err := some.derive(ctx, o.t, list[:n], o.s.sets[s.set], s.set); err != nil {
				return err
			}
			list = list[n:]
			// It gives way soon.
			if more := o.t.bytes() + some.bytes() - o.acct.Used(); more > 0 {
				o.acct.Take(more)
			}
			if len(list) > 0 && some.n() < kernel.ChunkRows {
				continue
			}
			if err := writeGroups(ctx, some, o.parts); err != nil {
				return err
			}
			some = nil
		}
	}
	return nil
}

// bySet lists the groups of each of n sets from group first on, after those in
// lists.
func (t *groupTable) bySet(n, first int, lists [][]uint32) [][]uint32 {
	if lists == nil {
		lists = make([][]uint32, n)
	}
	for from := first; from < t.n(); from += kernel.ChunkRows {
		to := min(from+kernel.ChunkRows, t.n())
		sets := t.pack.Unpack(len(t.types)-1, t.words[from*t.width:to*t.width])
		for i, s := range sets.(*array.Int32).Int32Values() {
			lists[s] = append(lists[s], uint32(from+i))
		}
	}
	return lists
}

// derive adds groups of from, a chunk of them at most, without the keys that are
// not in keep, to groups of set number set.
func (t *groupTable) derive(ctx context.Context, from *groupTable, list []uint32, keep []int, set int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.rows = from.picked(list, t.rows)
	if t != from {
		t.pack.Translate(from.pack, t.rows)
	}
	last := len(t.types) - 1
	for k := range last {
		if !contains(keep, k) {
			t.pack.Clear(k, t.rows)
		}
	}
	t.pack.Fill(last, t.rows, uint64(set))
	t.hbuf = t.pack.Hash(t.rows, t.hbuf)
	groups := t.put(t.rows, t.hbuf)
	t.values.add(groups, from.values.from(list))
	for i, a := range t.aggs {
		a.Resize(t.n())
		if err := merge(a, groups, from.aggs[i], list); err != nil {
			return err
		}
	}
	return nil
}

// setColumn is the number of a grouping set, n times.
func setColumn(set, n int) arrow.Array {
	num := make([]int32, n)
	for i := range num {
		num[i] = int32(set)
	}
	return batch.FromSlice(arrow.PrimitiveTypes.Int32, num, nil)
}
