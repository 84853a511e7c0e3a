package aggregate

import (
	"context"
	"errors"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/fold"
	"github.com/tributarydb/tributary/exec/partition"
	"github.com/tributarydb/tributary/exec/spill"
)

// charge reserves the most memory that n more rows may need for new groups, and spills the table
// where that is refused.
func (o *aggThread) charge(ctx context.Context, n int) error {
	if len(o.s.keyTypes) == 0 {
		return nil
	}
	t := o.t
	per := int64(40 + 16*len(o.s.keyTypes) + 32*len(t.aggs))
	want := int64(n) * per
	if need := (t.n() + n) * 2; need > len(t.slots) && t.hashed() {
		want += int64(need) * 16 // see grow
	}
	// While a slice grows, its old and new memory exist together.
	if t.rng == nil && cap(t.hashes)-len(t.hashes) < n {
		want += 8 * int64(len(t.hashes))
	}
	if cap(t.words)-len(t.words) < n*t.width {
		want += 8 * int64(len(t.words))
	}
	if t.n()+n > o.sized {
		for _, a := range t.aggs {
			want += a.Bytes() * 3 / 2
		}
	}
	return o.claim(ctx, want, int64(n)*per)
}

// chargeRange reserves the memory for changing from an array over the key range to a hash table,
// where the range does not include these keys. It is not reserved for every batch: for ten million
// groups that is gigabytes, for which the garbage collector would run each time.
func (o *aggThread) chargeRange(ctx context.Context, cols []arrow.Array, n int) error {
	t := o.t
	if t.rng == nil {
		return nil
	}
	if t.covered = t.cover(cols); t.covered {
		return nil
	}
	need := int64(t.n()+n) * (2*16 + 8)
	if err := o.claim(ctx, need, int64(n)*(2*16+8)); err != nil {
		return err
	}
	if o.t == t { // otherwise the table was spilled, and is empty
		t.leaveRange()
	}
	return nil
}

// claim reserves the most memory that a batch may need in addition to what is in use, and spills
// the table where that is refused. least is what the batch needs with an empty table.
func (o *aggThread) claim(ctx context.Context, more, least int64) error {
	if o.acct.ShouldSpill() && o.holds() {
		if err := o.spill(ctx); err != nil {
			return err
		}
	}
	want := o.held() + more
	if want <= o.acct.Used() {
		return nil
	}
	err := o.acct.Resize(want)
	if err == nil || !o.acct.Refused(err) {
		return err
	}
	if o.holds() {
		if err := o.spill(ctx); err != nil {
			return err
		}
	}
	// The batch is in memory already and must be added; the thread has nothing else to spill.
	if more := o.t.bytes() + least - o.acct.Used(); more > 0 {
		o.acct.Take(more)
	}
	return nil
}

// smallTable is about the memory of a table of one group whose states do not grow, or have not yet.
const smallTable = 64 << 10

// resizeAccount charges the account for the memory that the table uses.
func (o *aggThread) resizeAccount(ctx context.Context) error {
	have, used := o.held(), o.acct.Used()
	if have > used || used > 2*have+1<<20 {
		err := o.acct.Resize(have)
		switch {
		case err == nil || !o.acct.Refused(err):
			return err
		case len(o.s.keyTypes) > 0:
			return o.spill(ctx)
		case have <= smallTable: // one group, which needs no more memory until its end
			o.acct.Take(have - used)
			return nil
		case o.s.spills:
			return o.spill(ctx)
		}
		return err
	}
	return nil
}

// spill writes the table's groups, and those of coarser sets, to partitions and
// begins a new one.
func (o *aggThread) spill(ctx context.Context) error {
	if o.parts == nil {
		o.parts = o.partitions(0)
	}
	if err := writeGroups(ctx, o.t, o.parts); err != nil {
		return err
	}
	if err := o.spillDeferred(ctx); err != nil {
		return err
	}
	if err := o.spillSets(ctx); err != nil {
		return err
	}
	if err := o.reset(); err != nil {
		return err
	}
	// A thread that has just begun may be refused even the memory of an empty table, which it
	// needs.
	if more := o.t.bytes() - o.acct.Used(); more > 0 {
		o.acct.Take(more)
		return nil
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

// partitions begins to partition groups, as rows of keys and states; at a level below 0 there is
// one partition.
func (o *aggThread) partitions(level int) *partition.Writer {
	s := o.s
	if len(s.keyTypes) == 0 {
		level = -1
	}
	return partition.NewWriter(partition.Config{Dir: s.rt.Spill, Account: s.rt.Pool.Account("hash aggregate partitions", false), Buffer: s.rt.PartitionBuffer(),
		Types: s.rowTypes, Keys: upTo(len(s.keyTypes)), KeyTypes: s.keyTypes, Level: level, Wrote: s.st.AddSpilled})
}

// writeGroups writes the groups of a table, as rows of keys and states, to partitions.
func writeGroups(ctx context.Context, t *groupTable, parts *partition.Writer) error {
	return writeSome(ctx, t, 0, nil, parts)
}

// writeSome is writeGroups for the groups from `from` on, except the lost ones.
func writeSome(ctx context.Context, t *groupTable, from int, lost []bool, parts *partition.Writer) error {
	divided, most := sortable(t.aggs), int64(op.BatchBytes)
	if divided {
		most = stateBytes // the reader makes columns of the rows
	}
	for to := 0; from < t.n(); from = to {
		var need int64
		to, need = t.some(from, min(from+kernel.ChunkRows, t.n()), true, most)
		if divided && need > most {
			if lost == nil || !lost[from] {
				if err := writeStates(ctx, t, from, parts); err != nil {
					return err
				}
			}
			continue
		}
		// The memory is released soon after writing; a single group may be larger than a batch.
		if need <= 2*op.BatchBytes {
			parts.Account().Take(need)
		} else if err := parts.Account().Grow(need); err != nil {
			return err
		}
		cols := t.keyColumns(from, to)
		for _, a := range t.aggs {
			st, err := a.States(from, to)
			if err != nil {
				return err
			}
			cols = append(cols, st)
		}
		b := batch.New(cols, to-from)
		b.Sel = alive(lost, from, to)
		err := parts.Add(ctx, kernel.Compact(b))
		parts.Account().Shrink(need)
		if err != nil {
			return err
		}
	}
	return parts.Flush(ctx)
}

// mergeThreads merges share me of n of the groups of all threads.
func (o *aggThread) mergeThreads(ctx context.Context, me, n int) error {
	aggs, err := o.s.newAggs()
	if err != nil {
		return err
	}
	out := o.newTable(aggs)
	for _, l := range o.s.with {
		list := l.t.share(uint64(me), uint64(n), o.s.shared)
		if len(o.s.keyTypes) == 0 {
			if len(list) > 0 {
				if out.n() == 0 {
					out.alone()
				}
				for i, a := range out.aggs {
					a.Resize(1)
					if err := merge(a, []uint32{0}, l.t.aggs[i], []uint32{0}); err != nil {
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

// mergePart merges the rows of a partition into a table. One that does not fit is partitioned by
// the next bits of the hash or, where that would not help, sorted (sortedgroups.go).
func (o *aggThread) mergePart(ctx context.Context, p aggPart) error {
	if p.sorted {
		return o.mergeSorted(ctx, p)
	}
	aggs, err := o.s.newAggs()
	if err != nil {
		return err
	}
	t := o.newTable(aggs)
	var parts *partition.Writer
	defer func() {
		if parts != nil {
			parts.Abort()
			parts.Account().Close()
		}
	}()
	long := slices.ContainsFunc(o.s.calls, fold.HoldsRows)
	keep := sortable(t.aggs) // the runs may be read again, to be sorted
	take := func(b *batch.Batch) error {
		if parts != nil {
			return parts.Add(ctx, b)
		}
		err := o.mergeBatch(t, b)
		full := long && t.bytes() > o.s.threadRoom() && t.n() > 0 || o.yield.Swap(false)
		if err == nil && !full || err != nil && !o.acct.Refused(err) {
			return err
		}
		if t.bytes() <= smallTable { // the memory is used by other operators of the statement: partitioning so little would not help
			return o.hold(ctx, t.bytes())
		}
		switch {
		case keep && (t.n() <= undivided || p.level == partition.MaxLevel):
			t = nil
			return errSort
		case p.level == partition.MaxLevel:
			return o.hold(ctx, t.bytes())
		}
		parts = o.partitions(p.level)
		if err := writeGroups(ctx, t, parts); err != nil {
			return err
		}
		t = newGroupTable(o.s.keyTypes, nil)
		return o.acct.Resize(0)
	}
	for i, r := range p.runs {
		err := eachBatch(ctx, p.runs[i:i+1], take)
		if err == errSort {
			if err = o.acct.Resize(0); err != nil {
				return err
			}
			return o.mergeSorted(ctx, p)
		}
		if err == nil && !keep {
			err = r.Remove()
		}
		if err != nil {
			return err
		}
	}
	if keep {
		if err := removeAll(p.runs); err != nil {
			return err
		}
	}
	if parts == nil {
		o.out, o.at = t, 0
		return nil
	}
	runs, err := parts.Finish(ctx)
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

// errSort is returned for a partition that must be sorted by its keys.
var errSort = errors.New("aggregate: the partition is to be sorted")

// mergeBatch adds rows of keys and states to a table, and charges for the memory it uses then.
func (o *aggThread) mergeBatch(t *groupTable, b *batch.Batch) error {
	groups := o.groupsOf(t, b)
	for i, a := range t.aggs {
		a.Resize(t.n())
		if err := a.MergeStates(groups, b.Cols[len(o.s.keyTypes)+i].(*array.Binary)); err != nil {
			return err
		}
	}
	return o.acct.Resize(t.bytes())
}
