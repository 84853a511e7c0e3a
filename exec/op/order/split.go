package order

import (
	"context"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/rowset"
)

// ranges divides the rows of all threads into bins between rows that differ in the first keys, each of about a batch, and
// gives each thread a range of bins. Each thread puts the rows of its own chunks in the order of bins. Then it sorts its
// bins, one when the one before is given:
//
//	         chunks       by bins        thread 0 sorts  a b b a b, b a a b
//	thread 0  c a d b      a b c d        thread 1 sorts  c d d c, …
//	thread 1  b d a c      b a c d
//
// What of a chunk is in a bin lies together, and the rows of a bin are few: all that is read here and there is in a
// processor's cache. A sample of the rows says where to divide.
type ranges struct {
	bar  *op.Barrier
	acct *mem.Account // of all threads' rows, once they are divided
	open atomic.Int32 // threads not closed

	cuts   *cuts       // where bins begin; nil: rows are not divided
	set    *rowset.Set // the rows of all threads; nil: they are not divided
	begins [][]uint16  // by chunk: where the rows of each bin begin, and its end
	ends   []int       // by thread: the bin after its last
	before []int64     // by thread: how many rows come before its first, and at the end how many there are
}

const (
	binsMost   = 1024 // more are of no use: of each there should be some rows in a chunk
	binLeast   = 1024 // rows of a bin
	binSampled = 32   // rows that are looked at for each bin
)

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
	split := o.s.split
	o.set.Flush()
	o.waits = true
	rows := o.outRows()
	err := o.wait(ctx, func() error { return o.s.sample(rows) })
	var begins [][]uint16
	if err == nil && split.cuts != nil {
		begins = o.cluster()
	}
	o.begins = begins
	if err == nil {
		err = o.wait(ctx, func() error { return o.s.divide(ctx) })
	}
	if o.waits, o.begins = false, nil; err != nil || split.set == nil {
		return err
	}
	o.apart = true
	stream := &sortedBins{s: o.s, enc: o.enc, end: split.ends[o.thread], rows: rows}
	if o.thread > 0 {
		stream.bin = split.ends[o.thread-1]
	}
	o.stream = stream
	return nil
}

// wait waits, without the lock, for all threads, one of which does something.
func (o *sorter) wait(ctx context.Context, do func() error) error {
	o.mu.Unlock()
	defer o.mu.Lock()
	return o.s.split.bar.Wait(ctx, do)
}

// whole returns the threads that have rows, and these' number, with their locks; unlock them. ok is false where some were spilled.
func (s *shared) whole() (all []*sorter, rows int64, ok bool) {
	ok = true
	for _, l := range s.threads {
		l.mu.Lock()
		if l.state != 0 { // else closed before it took anything in
			ok = ok && len(l.runs) == 0
			rows += l.set.Rows()
			all = append(all, l)
		}
	}
	return all, rows, ok
}

func (s *shared) unlock() {
	for _, l := range s.threads {
		l.mu.Unlock()
	}
}

// sample finds the cuts, for batches of so many rows. It runs while all threads wait.
func (s *shared) sample(most int) error {
	all, rows, ok := s.whole()
	defer s.unlock()
	if !ok || rows == 0 {
		return nil
	}
	bins := min(binsMost, max(int(rows)/max(binLeast, most*3/4), 4*s.rt.Threads))
	enc, keys := s.threads[0].enc.Prefix(s.cfg.Split), &kernel.Keys{}
	step := max(1, float64(rows)/float64(bins*binSampled))
	at := step / 2 // of the next row that is looked at
	for _, l := range all {
		for ch := range l.set.Chunks() {
			n := l.set.ChunkRows(ch)
			var picked []int32
			for ; at < float64(n); at += step {
				picked = append(picked, int32(at))
			}
			if at -= float64(n); picked == nil {
				continue
			}
			cols := s.keyColumns(l.set.Chunk(ch).Cols)[:s.cfg.Split]
			for i, c := range cols {
				cols[i] = kernel.Take(c, picked)
			}
			enc.Append(keys, cols, len(picked))
		}
	}
	s.split.cuts = newCuts(keys, bins)
	return nil
}

// cluster puts the rows of the thread's chunks in the order of bins, and returns where these begin.
func (o *sorter) cluster() (begins [][]uint16) {
	c, split := o.s.split.cuts, o.s.cfg.Split
	enc, keys := o.enc.Prefix(split), &kernel.Keys{}
	var bins []uint16
	counts := make([]uint32, c.n()+1)
	rows := make([]int32, kernel.ChunkRows)
	for ch := range o.set.Chunks() {
		b := o.set.Chunk(ch)
		keys.Reset()
		enc.Append(keys, o.s.keyColumns(b.Cols)[:split], b.N)
		bins = c.find(keys, bins)
		clear(counts)
		for _, bin := range bins {
			counts[bin]++
		}
		begin, sum := make([]uint16, len(counts)), uint32(0)
		for bin, n := range counts {
			begin[bin], counts[bin] = uint16(sum), sum
			sum += n
		}
		for i, bin := range bins {
			rows[counts[bin]] = int32(i)
			counts[bin]++
		}
		begins = append(begins, begin)
		if c.n() > 1 {
			o.set.Reorder(ch, rows[:b.N])
		}
	}
	return begins
}

// divide runs while all threads wait.
func (s *shared) divide(ctx context.Context) error {
	all, rows, ok := s.whole()
	defer s.unlock()
	split := s.split
	if split.cuts == nil || !ok {
		return nil
	}
	set := rowset.New(s.types)
	for _, l := range all {
		if l.begins == nil && l.set.Rows() > 0 { // an error kept it from its rows
			return nil
		}
		split.begins = append(split.begins, l.begins...)
		for ch := range l.set.Chunks() {
			set.AddChunk(l.set.Chunk(ch))
		}
	}
	if set.Chunks() > kernel.MaxChunks {
		return nil
	}
	set.Finish()
	// Threads have as many bins as make their share of the rows.
	bins := split.cuts.n()
	var most, sum int64 // rows of the largest bin, and of all so far
	split.before = []int64{0}
	for bin := range bins {
		n := int64(0)
		for _, b := range split.begins {
			n += int64(b[bin+1] - b[bin])
		}
		most, sum = max(most, n), sum+n
		for t := len(split.ends); rows > s.cfg.Alone && t < s.rt.Threads-1 && sum*int64(s.rt.Threads) >= rows*int64(t+1); t++ {
			split.ends, split.before = append(split.ends, bin+1), append(split.before, sum)
		}
	}
	for len(split.ends) < s.rt.Threads {
		split.ends, split.before = append(split.ends, bins), append(split.before, sum)
	}
	used, need := int64(0), set.Bytes()+2*int64(bins+1)*int64(len(split.begins))
	for _, l := range all {
		used += l.acct.Used()
		need += s.binBytes(most, set)
	}
	acct := s.rt.Pool.Account("sort", false)
	if need > used {
		if err := acct.Grow(need - used); err != nil {
			if acct.Refused(err) {
				err = nil
			}
			acct.Close()
			return err
		}
	}
	// Threads read each other's rows until all have ended.
	acct.Take(min(need, used))
	split.set, split.acct = set, acct
	acct.OnReclaim(func() (bool, error) { return s.reclaim(ctx) })
	for _, l := range all {
		l.acct.Shrink(l.acct.Used())
		l.waits = false
		l.reset()
	}
	return nil
}

// binBytes is what sorting n rows of a set takes: their numbers and places, the columns of their keys, and the keys.
func (s *shared) binBytes(n int64, set *rowset.Set) int64 {
	width := int64(s.threads[0].enc.Width())
	if width == 0 {
		width = 2 * set.Bytes() / max(1, set.Rows())
	}
	return n*(16+3*width) + kernel.OrderBytes(int(n))
}

// sortedBins gives the rows of some bins, in order. Rows that are equal come in the order of the threads.
type sortedBins struct {
	s        *shared
	enc      *kernel.KeyEncoder
	bin, end int
	rows     int // at most, of a batch

	ids    []uint32      // of the bin's rows
	cols   []arrow.Array // the columns of their keys, once each; of the others nil
	order  []uint32      // their places among those, in order, less those that are given
	keys   kernel.Keys
	orders kernel.Orderer
	room   []uint32
}

func (s *sortedBins) next(ctx context.Context) (*sortedBatch, error) {
	for len(s.order) == 0 {
		if err := ctx.Err(); err != nil || s.bin == s.end {
			return nil, err
		}
		s.sort()
		s.bin++
	}
	n := len(s.order)
	n /= (n + s.rows - 1) / s.rows
	b := batch.New(s.gather(s.order[:n]), n)
	s.order = s.order[n:]
	return &sortedBatch{b: b}, nil
}

// sort sorts the next bin.
func (s *sortedBins) sort() {
	split := s.s.split
	s.ids = s.ids[:0]
	for ch, begin := range split.begins {
		for row := begin[s.bin]; row < begin[s.bin+1]; row++ {
			s.ids = append(s.ids, kernel.RowID(ch, int(row)))
		}
	}
	s.cols = make([]arrow.Array, len(s.s.types))
	for _, k := range s.s.keys {
		if s.cols[k.Col] == nil {
			s.cols[k.Col] = split.set.Column(k.Col).Gather(s.ids)
		}
	}
	s.keys.Reset()
	s.enc.Append(&s.keys, s.s.keyColumns(s.cols), len(s.ids))
	s.order = s.orders.Order(&s.keys, nil)
}

// gather returns some rows of the bin.
func (s *sortedBins) gather(order []uint32) []arrow.Array {
	if cap(s.room) < len(order) {
		s.room = make([]uint32, len(order))
	}
	ids, rows := s.room[:len(order)], make([]int32, len(order))
	for i, r := range order {
		ids[i], rows[i] = s.ids[r], int32(r)
	}
	out := make([]arrow.Array, len(s.s.cfg.Given))
	for i, c := range s.s.cfg.Given {
		if s.cols[c] != nil {
			out[i] = kernel.Take(s.cols[c], rows)
		} else {
			out[i] = s.s.split.set.Column(c).Gather(ids)
		}
	}
	return out
}

func (s *sortedBins) close() {}
