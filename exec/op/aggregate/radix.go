package aggregate

import (
	"context"
	"slices"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
)

// A thread whose groups hardly repeat sets its table aside once that has outgrown the
// cache, and begins another: finding that a group is new then costs no read from
// far memory, and nothing is hashed or copied again as the groups become more. What
// was set aside is merged by partitions of the hash, so large that the table of one
// fits the cache, each by one thread (Kuiper, Boncz and Mühleisen, "Robust External
// Hash Aggregation in the Solid State Age", 2024):
//
//	thread 0   table, table, table ─▶ in order of ─▶ partitions 0, 2, 4 … ─▶ results
//	thread 1   table, table ───────▶ partitions ──▶ partitions 1, 3, 5 … ─▶ results

// asideGroups is how many groups outgrow the cache, about.
const asideGroups = 64 << 10

// asideRule tells when groups hardly repeat.
type asideRule struct {
	able   bool // the aggregates' states can be merged as they are
	rows   int  // taken in since groups were looked at last
	groups int  // of the table then
	// seen are, of each 256 hashes that tables set aside have, about one, of all
	// that were sampled.
	seen    map[uint64]struct{}
	sampled int
	bytes   int64 // of the tables set aside
}

// mergeable tells whether all aggregates can be merged without being encoded, and
// keep no rows.
func mergeable(aggs []agg.Agg) bool {
	return !slices.ContainsFunc(aggs, func(a agg.Agg) bool {
		_, heavy := a.(agg.Heavy)
		_, merges := a.(agg.Merger)
		return heavy || !merges
	})
}

// setAside takes note of n more rows, and begins another table where that pays.
func (o *aggThread) setAside(n int) error {
	r, t := &o.rule, o.t
	if !r.able || t.rng != nil || t.numbers != nil {
		return nil
	}
	r.rows += n
	if t.n() < max(asideGroups, 2*r.groups) {
		return nil
	}
	repeats := 4*r.rows >= 5*(t.n()-r.groups)
	r.rows, r.groups = 0, t.n()
	// Tables that share their groups are better one: each group is kept twice at most.
	if repeats || r.sampled > 2*len(r.seen) {
		return nil
	}
	if r.seen == nil {
		r.seen = map[uint64]struct{}{}
	}
	for _, h := range t.hashes {
		if h>>32&255 == 0 {
			r.seen[h] = struct{}{}
			r.sampled++
		}
	}
	aggs, err := o.s.newAggs()
	if err != nil {
		return err
	}
	next := newGroupTable(o.s.keyTypes, aggs)
	next.pack, next.rng, next.grant = t.pack, nil, o.grant
	next.groups, next.rows, next.hbuf, next.probes, next.misses = t.groups, t.rows, t.hbuf, t.probes, t.misses
	if next.slots = t.slots; len(next.slots) > 8*asideGroups {
		next.slots = make([]uint64, 4*asideGroups)
	}
	clear(next.slots)
	t.slots, t.groups, t.fresh, t.rows, t.hbuf, t.probes, t.misses, t.codes = nil, nil, nil, nil, nil, nil, nil, nil
	room := asideGroups + kernel.ChunkRows
	next.words, next.hashes = make([]uint64, 0, room*t.width), make([]uint64, 0, room)
	for _, a := range aggs {
		a.Resize(room)
	}
	o.aside = append(o.aside, t)
	r.bytes += t.bytes() - t.pack.Bytes()
	r.groups = 0
	o.t = next
	return nil
}

// held is what tables take that share what they pack keys with.
func held(ts []*groupTable) int64 {
	var n int64
	for i, t := range ts {
		if n += t.bytes(); i > 0 {
			n -= t.pack.Bytes()
		}
	}
	return n
}

// held is what the thread's tables take.
func (o *aggThread) held() int64 { return o.rule.bytes + o.t.bytes() }

// groups is how many the thread's tables have.
func (o *aggThread) groups() int {
	n := o.t.n()
	for _, t := range o.aside {
		n += t.n()
	}
	return n
}

// aggRadix is all threads' tables, once they are merged by partitions.
type aggRadix struct {
	acct   *mem.Account // of the tables, which all threads read until the last is closed
	pack   *kernel.Packer
	parts  int
	shift  uint // of a hash: its partition
	tables []radixTable
}

// radixTable is a table whose groups are in the order of partitions: those of
// partition p are order[starts[p]:starts[p+1]].
type radixTable struct {
	*groupTable
	order, starts []uint32
}

// maxRadix is how many partitions there are at most.
const maxRadix = 4096

// divide makes the threads' tables ready to be merged by partitions, while all threads
// wait. It gives false where there is no room for it.
func (s *aggShared) divide() (bool, error) {
	total, tables, bytes := 0, 0, int64(0)
	for _, l := range s.with {
		total, tables, bytes = total+l.groups(), tables+len(l.aside)+1, bytes+l.held()
	}
	r := &aggRadix{acct: s.rt.Pool.Account("hash aggregate", false), parts: 1, shift: 64, pack: s.with[0].t.pack}
	for r.parts < maxRadix && (r.parts < 2*len(s.with) || r.parts*asideGroups < total) {
		r.parts, r.shift = 2*r.parts, r.shift-1
	}
	need := 4*int64(total) + 4*int64(tables)*int64(r.parts+1)
	need += int64(len(s.with)) * (4*bytes/int64(r.parts) + 1<<20)
	if err := r.acct.Grow(need); err != nil {
		r.acct.Close()
		if !r.acct.Refused(err) {
			return false, err
		}
		return false, nil
	}
	for i, l := range s.with {
		held := l.held()
		l.acct.Shrink(l.acct.Used())
		r.acct.Take(held)
		if i > 0 {
			was := r.pack.Bytes()
			l.codes = r.pack.Adopt(l.t.pack)
			r.acct.Take(max(r.pack.Bytes()-was, 0))
		}
		l.radix = len(r.tables)
		for _, t := range append(l.aside, l.t) {
			r.tables = append(r.tables, radixTable{groupTable: t})
		}
		l.aside = nil
	}
	s.radix = r
	return true, nil
}

// divideOwn puts the groups of the thread's tables in the order of partitions, their
// keys as the common packer has them.
func (o *aggThread) divideOwn(ctx context.Context) error {
	r := o.s.radix
	end := len(r.tables)
	for _, l := range o.s.with {
		if l.radix > o.radix {
			end = min(end, l.radix)
		}
	}
	for i := range r.tables[o.radix:end] {
		if err := ctx.Err(); err != nil {
			return err
		}
		t := &r.tables[o.radix+i]
		if o.codes != nil {
			r.pack.Recode(o.codes, t.words)
		}
		t.pack = r.pack
		t.starts = make([]uint32, r.parts+1)
		for _, h := range t.hashes {
			t.starts[h>>r.shift+1]++
		}
		for p := range r.parts {
			t.starts[p+1] += t.starts[p]
		}
		at := slices.Clone(t.starts)
		t.order = make([]uint32, t.count)
		for g, h := range t.hashes {
			p := h >> r.shift
			t.order[at[p]] = uint32(g)
			at[p]++
		}
	}
	return nil
}

// mergeRadix makes the groups of partition p.
func (o *aggThread) mergeRadix(ctx context.Context, p int) error {
	r := o.s.radix
	aggs, err := o.s.newAggs()
	if err != nil {
		return err
	}
	n := 0
	for i := range r.tables {
		n += int(r.tables[i].starts[p+1] - r.tables[i].starts[p])
	}
	out := o.merged
	if out == nil {
		out = newGroupTable(o.s.keyTypes, nil)
		out.pack, out.rng = r.pack, nil
		o.merged = out
	}
	out.aggs, out.count, out.words, out.hashes, out.values = aggs, 0, out.words[:0], out.hashes[:0], newGroupValues(o.s.keyTypes)
	size := len(out.slots)
	for size < 2*n {
		size *= 2
	}
	if size > len(out.slots) {
		out.slots = make([]uint64, size) // charged by divide
	} else {
		clear(out.slots)
	}
	for _, a := range aggs {
		a.Resize(n)
	}
	for i := range r.tables {
		t := &r.tables[i]
		if err := out.absorb(ctx, t.groupTable, t.order[t.starts[p]:t.starts[p+1]]); err != nil {
			return err
		}
	}
	o.out, o.at = out, 0
	return nil
}
