package recursive

import (
	"context"
	"math/bits"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/partition"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/sql/types"
)

// seenRows finds which rows of a recursive UNION are new. Rows are kept in memory until that is
// refused; then they go to disk, by hash, and only a filter of their hashes stays.
//
//	row ─▶ recent, in memory ── there ─▶ dropped
//	        │ not there
//	        ▼
//	       filters of what is on disk ── surely not ─▶ recent, given at once
//	        │ perhaps
//	        ▼
//	       pending, in memory ── resolve: read the partitions ─▶ recent, given
//
// So a round of few new rows reads nothing, and a round of many old ones reads
// each partition once.
type seenRows struct {
	rt          *op.Runtime
	st          *op.Stats
	types       []types.Type
	acct        *mem.Account
	recent      *rowIndex
	pending     *rowIndex
	resolving   int64      // bytes of rows that waited, while they are looked for
	onDisk      []diskRows // disjoint; each at least twice as many as the next
	filterBytes int64      // bytes of filters
	old         bool       // most rows of the last batch were there
}

// diskRows are rows on disk. Without a filter any row may be among them.
type diskRows struct {
	rows   int64
	parts  [kernel.Parts]*spill.Run
	filter hashFilter
}

// minFlush is how many bytes of rows are worth a run of each partition.
const minFlush = 256 << 10

func newSeenRows(rt *op.Runtime, st *op.Stats, ts []types.Type) *seenRows {
	return &seenRows{rt: rt, st: st, types: ts, acct: rt.Pool.Account("recursive union", true), recent: newRowIndex(ts), pending: newRowIndex(ts)}
}

// fresh returns the rows of b that are surely new, each once, and keeps for resolve
// those that may be.
func (s *seenRows) fresh(ctx context.Context, b *batch.Batch) (fresh *batch.Batch, err error) {
	all := b.N
	defer func() { s.old = fresh != nil && 2*fresh.N < all }()
	if s.old || len(s.onDisk) > 0 { // else they are looked for as they are put, once
		_, b = s.recent.split(b, nil)
	}
	if b.N == 0 {
		return b, nil
	}
	if err := s.room(ctx, b); err != nil {
		return nil, err
	}
	if len(s.onDisk) > 0 {
		var ask *batch.Batch
		ask, b = s.pending.split(b, s.mayBeOnDisk)
		s.pending.put(ask)
	}
	b = s.recent.put(b)
	s.charged()
	return b, nil
}

func (s *seenRows) mayBeOnDisk(h uint64) bool {
	for _, o := range s.onDisk {
		if o.filter == nil || o.filter.has(h) {
			return true
		}
	}
	return false
}

// room charges for rows that are to be kept. Where that is refused the rows in memory are spilled.
func (s *seenRows) room(ctx context.Context, b *batch.Batch) error {
	n := b.Bytes() + indexRowBytes*int64(b.N)
	err := s.acct.Grow(n)
	// The operators above share the pool and the goroutine, so they would wait in vain for this set to
	// spill: it leaves them most of the pool.
	limit := s.rt.Pool.Limit()
	if err == nil && !s.acct.ShouldSpill() && (limit == 0 || s.recent.bytes() < limit/4) {
		return nil
	}
	if err != nil && !s.acct.Refused(err) {
		return err
	}
	flushed := s.recent.bytes() >= minFlush
	if flushed {
		if err := s.flush(ctx); err != nil {
			return err
		}
	}
	if err != nil || flushed {
		s.acct.Take(n)
	}
	return nil
}

// charged sets the account to what is held.
func (s *seenRows) charged() {
	held := s.recent.bytes() + s.pending.bytes() + s.resolving + s.filterBytes
	if d := held - s.acct.Used(); d > 0 {
		s.acct.Take(d)
	} else {
		s.acct.Shrink(-d)
	}
}

// hasPending reports whether rows wait for resolve, full whether they are so many that
// it should be now.
func (s *seenRows) hasPending() bool { return s.pending.n > 0 }
func (s *seenRows) full() bool       { return s.pending.bytes() > s.rt.PartitionBuffer() }

// resolve returns those of the rows that wait that are new.
func (s *seenRows) resolve(ctx context.Context) ([]*batch.Batch, error) {
	pending := s.pending
	there := make([]bool, pending.n)
	at := make(map[uint32]int, pending.n) // rows by id
	var parts [kernel.Parts]bool
	for i, h := range pending.hashes {
		at[pending.ids[i]] = i
		parts[kernel.Part(h, 0)] = true
	}
	var tmp []uint64
	for _, o := range s.onDisk {
		for p, run := range o.parts {
			if !parts[p] || run == nil {
				continue
			}
			err := eachOf(ctx, run, func(b *batch.Batch) error {
				tmp = pending.h.Hash(b.Cols, b.N, tmp)
				for i, h := range tmp {
					if slot, found := pending.find(b.Cols, i, h); found {
						there[at[uint32(pending.slots[slot])-1]] = true
					}
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
	}
	s.pending, s.resolving = newRowIndex(s.types), pending.bytes()
	var out []*batch.Batch
	err := pending.each(there, func(b *batch.Batch) error {
		if err := s.room(ctx, b); err != nil {
			return err
		}
		out = append(out, s.recent.put(b))
		return nil
	})
	s.resolving = 0
	s.charged()
	return out, err
}

// eachOf reads a run.
func eachOf(ctx context.Context, run *spill.Run, f func(*batch.Batch) error) error {
	r := partition.Reader{Runs: []*spill.Run{run}}
	defer r.Close()
	for {
		b, err := r.Next(ctx)
		if err != nil || b == nil {
			return err
		}
		if err := f(kernel.Compact(b)); err != nil {
			return err
		}
	}
}

// flush moves the rows in memory to disk.
func (s *seenRows) flush(ctx context.Context) error {
	keys := make([]int, len(s.types))
	for i := range keys {
		keys[i] = i
	}
	p := partition.NewWriter(partition.Config{Dir: s.rt.Spill, Account: s.acct, Buffer: s.rt.PartitionBuffer(),
		Types: s.types, Keys: keys, KeyTypes: s.types, Wrote: s.st.AddSpilled})
	if err := s.recent.each(nil, func(b *batch.Batch) error { return p.Add(ctx, b) }); err != nil {
		p.Abort()
		return err
	}
	o := diskRows{rows: int64(s.recent.n)}
	var err error
	if o.parts, err = p.Finish(ctx); err != nil {
		return err
	}
	if o.filter = s.newFilter(o.rows); o.filter != nil {
		for _, h := range s.recent.hashes {
			o.filter.add(h)
		}
	}
	s.st.AddPeak(s.acct)
	s.recent = newRowIndex(s.types)
	s.charged() // the rows may have been more than what was charged for them, which must not count for the filters
	s.onDisk = append(s.onDisk, o)
	// Sizes double like the digits of a binary number, so that there are few and each row is rewritten
	// only a few times.
	for n := len(s.onDisk); n > 1 && s.onDisk[n-2].rows < 2*s.onDisk[n-1].rows; n = len(s.onDisk) {
		if err := s.merge(ctx, &s.onDisk[n-2], &s.onDisk[n-1]); err != nil {
			return err
		}
		s.onDisk = s.onDisk[:n-1]
	}
	return nil
}

// merge moves the rows of b to a.
func (s *seenRows) merge(ctx context.Context, a, b *diskRows) error {
	s.dropFilter(a)
	s.dropFilter(b)
	a.rows += b.rows
	filter := s.newFilter(a.rows)
	h := kernel.NewHasher(s.types)
	var tmp []uint64
	for p := range a.parts {
		from := []*spill.Run{a.parts[p], b.parts[p]}
		if from[0] == nil && from[1] == nil {
			continue
		}
		w, err := s.rt.Spill.Create(types.ArrowTypes(s.types))
		if err != nil {
			return err
		}
		for _, run := range from {
			if run == nil {
				continue
			}
			err := eachOf(ctx, run, func(x *batch.Batch) error {
				if filter != nil {
					tmp = h.Hash(x.Cols, x.N, tmp)
					for _, v := range tmp {
						filter.add(v)
					}
				}
				return w.Append(ctx, x)
			})
			if err != nil {
				w.Abort()
				return err
			}
		}
		s.st.AddSpilled(w.Bytes())
		run, err := w.Finish()
		if err != nil {
			w.Abort()
			return err
		}
		for _, r := range from {
			if r != nil {
				r.Remove()
			}
		}
		a.parts[p], b.parts[p] = run, nil
	}
	a.filter = filter
	return nil
}

// newFilter makes a filter if there is memory for it.
func (s *seenRows) newFilter(rows int64) hashFilter {
	f := rows/2 + 1
	if !s.acct.Try(8 * f) {
		return nil
	}
	s.filterBytes += 8 * f
	return make(hashFilter, f)
}

func (s *seenRows) dropFilter(o *diskRows) {
	n := 8 * int64(len(o.filter))
	o.filter = nil
	s.filterBytes -= n
	s.acct.Shrink(n)
}

func (s *seenRows) close() {
	for _, o := range s.onDisk {
		for _, r := range o.parts {
			if r != nil {
				r.Remove()
			}
		}
	}
	s.onDisk = nil
	s.st.AddPeak(s.acct)
	s.acct.Close()
}

// hashFilter is a Bloom filter of hashes, made with 32 bits for each: six in a million hashes are
// false positives. One costs the reading of a partition, so a round of a thousand new rows should
// have none; the rows take more than ten times as much while they are in memory.
type hashFilter []uint64

const hashProbes = 8

func (f hashFilter) at(h uint64, i int) (word, bit uint64) {
	h += uint64(i) * (bits.RotateLeft64(h, 31)*0x9e3779b97f4a7c15 | 1)
	hi, _ := bits.Mul64(h, uint64(len(f)))
	return hi, 1 << (h & 63)
}

func (f hashFilter) add(h uint64) {
	for i := range hashProbes {
		w, b := f.at(h, i)
		f[w] |= b
	}
}

func (f hashFilter) has(h uint64) bool {
	for i := range hashProbes {
		if w, b := f.at(h, i); f[w]&b == 0 {
			return false
		}
	}
	return true
}
