package aggregate

import (
	"context"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
)

// Where threads have deferred rows (deferred.go), or their keys are numbers of values, groups are made by partitions of the hash,
// each by one thread, from what all threads have of it (Kuiper, Boncz and Mühleisen,
// "Robust External Hash Aggregation in the Solid State Age", 2024):
//
//	thread 0   table, rows ─▶ in order of ─▶ partitions 0, 2, 4 … ─▶ results
//	thread 1   table, rows ─▶ partitions ──▶ partitions 1, 3, 5 … ─▶ results

// held returns the bytes that the thread holds.
func (o *aggThread) held() int64 {
	return o.t.bytes() + o.deferred.held() + 40*int64(len(o.rule.seen))
}

// holds reports whether it holds anything.
func (o *aggThread) holds() bool { return o.t.n() > 0 || o.deferred.rows > 0 }

// aggRadix is what all threads hold, once groups are made by partitions.
type aggRadix struct {
	acct    *mem.Account // of it; all threads read it until the last is closed
	pack    *kernel.Packer
	parts   int
	shift   uint // of a hash: its partition
	threads []radixThread
}

// radixThread is a table whose groups are in the order of partitions, those of partition p
// being order[starts[p]:starts[p+1]], and deferred rows.
type radixThread struct {
	*groupTable
	order, starts []uint32
	chunks        []deferredChunk
}

// radixBits is the number of bits of the most partitions.
const radixBits = 12

// radixRows is how many rows a partition is to have at most.
const radixRows = 32 << 10

// numbered reports whether many of the groups' keys are numbers of values, as of longer texts. To merge them each
// thread would number all values anew; by partitions those of the first thread keep their numbers, for all.
func (s *aggShared) numbered(groups int) bool {
	l, n := s.with[0], 0
	for _, l := range s.with {
		n += l.t.pack.Interned()
	}
	return l.t.rng == nil && 4*n >= groups && l.canDefer(l.t.aggs)
}

// divide makes the threads ready to make groups by partitions, while all wait. It returns false
// where there is no memory for it.
func (s *aggShared) divide() (bool, error) {
	total, groups, bytes, each, need := 0, 0, int64(0), int64(0), int64(0)
	for _, l := range s.with {
		n := l.t.n()
		total, groups, bytes = total+n+l.deferred.rows, groups+n, bytes+l.held()
		each = max(each, l.t.bytes()/int64(max(n, 1)))
		need += l.deferred.waiting()
	}
	r := &aggRadix{acct: s.rt.Pool.Account("hash aggregate", false), parts: 1, shift: 64, pack: s.with[0].t.pack}
	for r.parts < 1<<radixBits && (r.parts < 2*len(s.with) || r.parts*radixRows < total) {
		r.parts, r.shift = 2*r.parts, r.shift-1
	}
	need += 4*int64(groups) + 4*int64(len(s.with)*(r.parts+1))
	need += int64(len(s.with)) * (4*max(bytes, each*int64(total))/int64(r.parts) + 1<<20)
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
		l.radix = i
	}
	r.threads = make([]radixThread, len(s.with))
	s.radix = r
	return true, nil
}

// divideOwn puts what the thread holds in the order of partitions, keys as the common
// packer has them.
func (o *aggThread) divideOwn(ctx context.Context) error {
	r := o.s.radix
	o.deferred.cut()
	t := &r.threads[o.radix]
	t.groupTable, t.chunks = o.t, o.deferred.chunks
	o.t, o.deferred, o.rule = nil, deferredRows{}, deferRule{}
	if o.codes != nil {
		r.pack.Recode(o.codes, t.words)
		for _, p := range t.chunks {
			if err := ctx.Err(); err != nil {
				return err
			}
			r.pack.Recode(o.codes, p.words)
		}
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
	return nil
}

// mergeRadix makes the groups of partition p.
func (o *aggThread) mergeRadix(ctx context.Context, p int) error {
	r := o.s.radix
	aggs, err := o.newAggs()
	if err != nil {
		return err
	}
	step := 1 << radixBits / r.parts
	within := func(chunk *deferredChunk) (int, int) {
		return int(chunk.starts[p*step]), int(chunk.starts[(p+1)*step])
	}
	n := 0
	for i := range r.threads {
		t := &r.threads[i]
		n += int(t.starts[p+1] - t.starts[p])
		for j := range t.chunks {
			from, to := within(&t.chunks[j])
			n += to - from
		}
	}
	out := o.merged
	if out == nil {
		out = newGroupTable(o.s.keyTypes, nil)
		out.pack, out.rng, out.numbers = r.pack, nil, nil
		o.merged = out
	}
	out.aggs, out.count, out.words, out.hashes, out.values = aggs, 0, out.words[:0], out.hashes[:0], newGroupValues(o.s.keyTypes)
	size := max(len(out.slots), 1024) // a table of numbered keys has none
	for size < 2*n {
		size *= 2
	}
	if size > len(out.slots) {
		out.slots = make([]uint32, size) // charged by divide
	} else {
		clear(out.slots)
	}
	for _, a := range aggs {
		a.Resize(n)
	}
	for i := range r.threads {
		t := &r.threads[i]
		if err := out.absorb(ctx, t.groupTable, t.order[t.starts[p]:t.starts[p+1]]); err != nil {
			return err
		}
		for j := range t.chunks {
			if from, to := within(&t.chunks[j]); to > from {
				if err := o.takeIn(out, &t.chunks[j], from, to); err != nil {
					return err
				}
			}
		}
	}
	o.out, o.at = out, 0
	return nil
}
