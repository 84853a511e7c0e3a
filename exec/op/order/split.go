package order

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/rowset"
)

// ranges divides the rows of all threads into ranges, one a thread, between rows that differ in the
// first keys. Each thread sorts the rows of its range, wherever they lie:
//
//	thread 0   c a d a b c      thread 0 sorts   a a b a b b
//	thread 1   b d a c b d      thread 1         c d c d c d
//
// A sample of the rows says where to divide.
type ranges struct {
	bar  *op.Barrier
	acct *mem.Account // of all threads' rows, once they are divided
	open atomic.Int32 // threads not closed

	set  *rowset.Set    // the rows of all threads; nil: they are not divided
	keys []*kernel.Keys // of each thread's rows,
	ids  [][]uint32     // whose numbers in set are these
	cuts [][]byte       // the first keys of each range but the first one's
	left atomic.Int32   // threads that have not taken their rows
}

// sampled is how many rows of a thread are looked at to divide the rows.
const sampled = 256

func newRanges(rt *op.Runtime) *ranges {
	s := &ranges{bar: op.NewBarrier(rt.Threads)}
	s.open.Store(int32(rt.Threads))
	return s
}

// leave is called when a thread is closed.
func (s *ranges) leave(o *sorter) {
	if o.state == 0 {
		s.bar.Leave()
	}
	if s.open.Add(-1) == 0 && s.acct != nil {
		s.acct.Close()
	}
}

// meet waits for all threads' rows and makes the stream of the thread's range; none where some
// thread's rows were spilled. The thread has its lock, but not while it waits.
func (o *sorter) meet(ctx context.Context) error {
	o.set.Flush()
	o.ids, o.waits = o.set.IDs(), true
	rows := o.outRows()
	err := o.waitForCut(ctx)
	if o.ids, o.waits = nil, false; err != nil || o.s.split.set == nil {
		return err
	}
	o.apart = true
	o.stream = &sortedRange{set: o.s.split.set, ids: o.s.split.sorted(o.thread), rows: rows}
	return nil
}

// waitForCut waits, without the lock, for all threads, one of which divides the rows.
func (o *sorter) waitForCut(ctx context.Context) error {
	o.mu.Unlock()
	defer o.mu.Lock()
	return o.s.split.bar.Wait(ctx, func() error { return o.s.divide(ctx) })
}

// divide runs while all threads wait.
func (s *shared) divide(ctx context.Context) error {
	var all []*sorter
	chunks, rows, more := 0, int64(0), int64(0)
	for _, l := range s.threads {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.state == 0 { // closed before it took anything in
			continue
		}
		if len(l.runs) > 0 {
			return nil
		}
		all = append(all, l)
		chunks, rows = chunks+l.set.Chunks(), rows+l.set.Rows()
		more += int64(len(l.keys.Data)) + 16*int64(l.keys.N) // keys are copied to those of their range
	}
	if rows == 0 || chunks > kernel.MaxChunks {
		return nil
	}
	split := s.split
	acct := s.rt.Pool.Account("sort", false)
	if err := acct.Grow(more); err != nil {
		if acct.Refused(err) {
			err = nil
		}
		acct.Close()
		return err
	}
	set := rowset.New(s.cfg.Types)
	for _, l := range all {
		first := kernel.RowID(set.Chunks(), 0)
		for i := range l.ids {
			l.ids[i] += first
		}
		split.ids, split.keys = append(split.ids, l.ids), append(split.keys, l.keys)
		for ch := range l.set.Chunks() {
			set.AddChunk(l.set.Chunk(ch))
		}
	}
	set.Finish()
	if err := split.sample(ctx, s, set); err != nil {
		acct.Close()
		return err
	}
	split.set, split.acct = set, acct
	acct.OnReclaim(func() (bool, error) { return s.reclaim(ctx) })
	for _, l := range all {
		// Threads read each other's rows until all have ended.
		acct.Take(l.acct.Used())
		l.acct.Shrink(l.acct.Used())
		l.waits = false
		l.reset()
	}
	split.left.Store(int32(len(all)))
	return nil
}

// sample finds the cuts.
func (s *ranges) sample(ctx context.Context, of *shared, set *rowset.Set) error {
	var ids []uint32
	for i, k := range s.keys {
		for j := range min(sampled, k.N) {
			ids = append(ids, s.ids[i][k.N*j/min(sampled, k.N)])
		}
	}
	split := of.cfg.Split
	cols, err := op.Columns(ctx, batch.New(set.Gather(ids, nil), len(ids)), of.cfg.Keys[0][:split])
	if err != nil {
		return err
	}
	keys := &kernel.Keys{}
	of.threads[0].enc.Prefix(split).Append(keys, cols, len(ids))
	order := kernel.Order(keys, nil)
	for j := 1; j < of.rt.Threads; j++ {
		s.cuts = append(s.cuts, bytes.Clone(keys.At(int(order[len(order)*j/of.rt.Threads]))))
	}
	return nil
}

// sorted returns the rows of range j in order; rows that are equal come in the order of the threads.
func (s *ranges) sorted(j int) []uint32 {
	from, to := bound{}, bound{}
	if j > 0 {
		from = newBound(s.cuts[j-1])
	}
	if j < len(s.cuts) {
		to = newBound(s.cuts[j])
	}
	rows := 0
	for _, k := range s.keys {
		rows += k.N
	}
	within := make([]uint32, 0, rows/(len(s.cuts)+1)*9/8) // of each thread's rows, one thread after the other
	ends, size := make([]int, len(s.keys)), 0
	for t, k := range s.keys {
		begin := len(within)
		if k.Width >= 8 {
			within = withinFixed(k, from, to, within)
			size += k.Width * (len(within) - begin)
		} else {
			for i := range s.ids[t] {
				if key := k.At(i); !from.above(key) && (to.key == nil || to.above(key)) {
					within = append(within, uint32(i))
					size += len(key)
				}
			}
		}
		ends[t] = len(within)
	}
	keys, ids, at := &kernel.Keys{Data: make([]byte, 0, size)}, make([]uint32, len(within)), 0
	for t, k := range s.keys {
		for ; at < ends[t]; at++ {
			appendKey(keys, k, int(within[at]))
			ids[at] = s.ids[t][within[at]]
		}
	}
	if s.left.Add(-1) == 0 {
		s.keys, s.ids = nil, nil
	}
	return kernel.Order(keys, ids)
}

// withinFixed appends the rows of which the keys are from a bound to another, by eight bytes where these say it, and
// without a branch: which range a row is of, nothing foretells.
func withinFixed(k *kernel.Keys, from, to bound, out []uint32) []uint32 {
	w, last := k.Width, uint64(math.MaxUint64)
	if to.key != nil {
		last = to.prefix
	}
	for at := 0; at < k.N; at += kernel.ChunkRows {
		end := min(at+kernel.ChunkRows, k.N)
		n := len(out)
		out = slices.Grow(out, end-at)[:n+end-at]
		for i := at; i < end; i++ {
			key := k.Data[i*w:][:w]
			p := binary.BigEndian.Uint64(key)
			_, below := bits.Sub64(p, from.prefix, 0)
			_, above := bits.Sub64(last, p, 0)
			if p == from.prefix && from.above(key) || p == last && to.key != nil && !to.above(key) {
				below = 1
			}
			out[n] = uint32(i)
			n += int(1 - (below | above))
		}
		out = out[:n]
	}
	return out
}

// bound is a key between two ranges.
type bound struct {
	key    []byte
	prefix uint64
}

func newBound(key []byte) bound { return bound{key, prefixOf(key)} }

// above reports whether the bound is greater than a key.
func (b *bound) above(key []byte) bool {
	p := prefixOf(key)
	return p < b.prefix || p == b.prefix && bytes.Compare(key, b.key) < 0
}

// sortedRange gives rows of a set in order.
type sortedRange struct {
	set  *rowset.Set
	ids  []uint32
	rows int
}

func (s *sortedRange) next(ctx context.Context) (*sortedBatch, error) {
	if err := ctx.Err(); err != nil || len(s.ids) == 0 {
		return nil, err
	}
	n := min(s.rows, len(s.ids))
	b := batch.New(s.set.Gather(s.ids[:n], nil), n)
	s.ids = s.ids[n:]
	return &sortedBatch{b: b}, nil
}

func (s *sortedRange) close() {}
