package op

import (
	"context"
	"math/bits"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/sql/types"
)

// seenRows tells which rows come for the first time: what a recursive UNION has
// given already. Rows are kept in memory until that is refused; then they go to
// disk, by hash, and only a filter of their hashes stays.
//
//	row ─▶ young, in memory ── there ─▶ dropped
//	        │ not there
//	        ▼
//	       filters of what is on disk ── surely not ─▶ young, given at once
//	        │ perhaps
//	        ▼
//	       asked, in memory ── settle: read the partitions ─▶ young, given
//
// So a round of few new rows reads nothing, and a round of many old ones reads
// each partition once.
type seenRows struct {
	rt    *Runtime
	st    *Stats
	types []types.Type
	acct  *mem.Account
	young *rowIndex
	asked *rowIndex
	old   []oldRows // disjoint; each at least twice as many as the next
	extra int64     // bytes of filters
}

// oldRows are rows on disk. Without a filter any row may be among them.
type oldRows struct {
	rows   int64
	parts  [kernel.Parts]*spill.Run
	filter hashFilter
}

// leastYoung is how many bytes of rows are worth a run of each partition.
const leastYoung = 256 << 10

func newSeenRows(rt *Runtime, st *Stats, ts []types.Type) *seenRows {
	return &seenRows{rt: rt, st: st, types: ts, acct: rt.Pool.Account("recursive union", true), young: newRowIndex(ts), asked: newRowIndex(ts)}
}

// fresh gives the rows of b that are surely new, each once, and keeps for settle
// those that may be.
func (s *seenRows) fresh(ctx context.Context, b *batch.Batch) (*batch.Batch, error) {
	_, b = s.young.split(b, nil)
	if b.N == 0 {
		return b, nil
	}
	if err := s.room(ctx, b); err != nil {
		return nil, err
	}
	if len(s.old) > 0 {
		var ask *batch.Batch
		ask, b = s.asked.split(b, s.mayBeOld)
		s.asked.put(ask)
	}
	b = s.young.put(b)
	s.charged()
	return b, nil
}

func (s *seenRows) mayBeOld(h uint64) bool {
	for _, o := range s.old {
		if o.filter == nil || o.filter.has(h) {
			return true
		}
	}
	return false
}

// room charges for rows that are to be kept. Where that is refused what is in
// memory makes room.
func (s *seenRows) room(ctx context.Context, b *batch.Batch) error {
	n := b.Bytes() + indexRowBytes*int64(b.N)
	err := s.acct.Grow(n)
	// What stands above shares the pool and the goroutine, so that waiting for
	// this set to give way would be in vain: it leaves them the most of it.
	limit := s.rt.Pool.Limit()
	if err == nil && !s.acct.ShouldSpill() && (limit == 0 || s.young.bytes() < limit/4) {
		return nil
	}
	if err != nil && !refused(err, s.acct) {
		return err
	}
	if s.young.bytes() >= leastYoung {
		if err := s.flush(ctx); err != nil {
			return err
		}
	}
	if err != nil {
		s.acct.Take(n)
	}
	return nil
}

// charged sets the account to what is held.
func (s *seenRows) charged() {
	held := s.young.bytes() + s.asked.bytes() + s.extra
	if d := held - s.acct.Used(); d > 0 {
		s.acct.Take(d)
	} else {
		s.acct.Shrink(-d)
	}
}

// waits tells whether rows wait for settle, full whether they are so many that
// it should be now.
func (s *seenRows) waits() bool { return s.asked.n > 0 }
func (s *seenRows) full() bool  { return s.asked.bytes() > partitionBuffer(s.rt) }

// settle gives those of the rows that wait that are new.
func (s *seenRows) settle(ctx context.Context) ([]*batch.Batch, error) {
	asked := s.asked
	there := make([]bool, asked.n)
	at := make(map[uint32]int, asked.n) // rows by id
	var parts [kernel.Parts]bool
	for i, h := range asked.hashes {
		at[asked.ids[i]] = i
		parts[kernel.Part(h, 0)] = true
	}
	var tmp []uint64
	for _, o := range s.old {
		for p, run := range o.parts {
			if !parts[p] || run == nil {
				continue
			}
			err := eachOf(ctx, run, func(b *batch.Batch) error {
				tmp = asked.h.Hash(b.Cols, b.N, tmp)
				for i, h := range tmp {
					if slot, found := asked.find(b.Cols, i, h); found {
						there[at[uint32(asked.slots[slot])-1]] = true
					}
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
	}
	s.asked = newRowIndex(s.types)
	var out []*batch.Batch
	err := asked.each(there, func(b *batch.Batch) error {
		if err := s.room(ctx, b); err != nil {
			return err
		}
		out = append(out, s.young.put(b))
		return nil
	})
	s.charged()
	return out, err
}

// eachOf reads a run.
func eachOf(ctx context.Context, run *spill.Run, f func(*batch.Batch) error) error {
	r := runReader{runs: []*spill.Run{run}}
	defer r.close()
	for {
		b, err := r.next(ctx)
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
	p := newPartitioner(s.rt, s.st, s.acct, s.types, keys, s.types, 0)
	if err := s.young.each(nil, func(b *batch.Batch) error { return p.add(ctx, b) }); err != nil {
		p.abort()
		return err
	}
	o := oldRows{rows: int64(s.young.n)}
	var err error
	if o.parts, err = p.finish(ctx); err != nil {
		return err
	}
	if o.filter = s.newFilter(o.rows); o.filter != nil {
		for _, h := range s.young.hashes {
			o.filter.add(h)
		}
	}
	s.st.peak(s.acct)
	s.acct.Shrink(min(s.young.bytes(), s.acct.Used()))
	s.young = newRowIndex(s.types)
	s.old = append(s.old, o)
	// Like the digits of a binary number, so that there are few and each row is
	// written again a few times.
	for n := len(s.old); n > 1 && s.old[n-2].rows < 2*s.old[n-1].rows; n = len(s.old) {
		if err := s.merge(ctx, &s.old[n-2], &s.old[n-1]); err != nil {
			return err
		}
		s.old = s.old[:n-1]
	}
	return nil
}

// merge moves the rows of b to a.
func (s *seenRows) merge(ctx context.Context, a, b *oldRows) error {
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
		w, err := s.rt.Spill.Create(arrowTypes(s.types))
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
		s.st.spill(w.Bytes())
		run, err := w.Seal()
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

// newFilter makes a filter if its memory is to be had.
func (s *seenRows) newFilter(rows int64) hashFilter {
	f := rows/2 + 1
	if !s.acct.Try(8 * f) {
		return nil
	}
	s.extra += 8 * f
	return make(hashFilter, f)
}

func (s *seenRows) dropFilter(o *oldRows) {
	n := 8 * int64(len(o.filter))
	o.filter = nil
	s.extra -= n
	s.acct.Shrink(n)
}

func (s *seenRows) close() {
	for _, o := range s.old {
		for _, r := range o.parts {
			if r != nil {
				r.Remove()
			}
		}
	}
	s.old = nil
	s.st.peak(s.acct)
	s.acct.Close()
}

// hashFilter is a Bloom filter of hashes, made with 32 bits for each: six in a
// million that it has were not put in. A wrong one costs the reading of a
// partition, so that a round of a thousand new rows should have none; the rows
// take more than ten times as much while they are young.
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
