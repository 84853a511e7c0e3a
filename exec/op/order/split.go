package order

import (
	"bytes"
	"context"
	"sort"
	"sync/atomic"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
)

// ranges cuts what the threads have sorted into ranges, one a thread, between
// rows that differ in the first keys:
//
//	thread 0   a a b c c d      thread 0 merges the rows up to c
//	thread 1   a b b c d d      thread 1 those from c on
//	              ▲
type ranges struct {
	bar    *op.Barrier
	acct   *mem.Account   // of all threads' rows, once they are cut
	open   atomic.Int32   // threads not closed
	sorted []sortedThread // nil: they are not cut
}

// sortedThread is what a thread has sorted, and where each thread's range begins.
type sortedThread struct {
	orderedSet
	bounds []int
}

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

// meet sorts the thread's rows, waits for the others and makes the stream of the
// thread's range; none where some thread's rows were spilled. The thread has its lock,
// but not while it waits.
func (o *sorter) meet(ctx context.Context) error {
	s := o.s.split
	var own orderedSet
	if len(o.runs) == 0 {
		o.set.Finish()
		own = orderedSet{set: o.set, keys: o.keys, order: kernel.Order(o.keys, nil), ids: o.set.IDs(), rows: o.outRows(), withKeys: true}
	}
	o.sortedRows, o.waits = own, true
	err := o.waitForCut(ctx)
	if o.waits = false; err != nil || s.sorted == nil {
		return err
	}
	o.apart = true
	var streams []sortedStream
	for _, l := range s.sorted {
		if from, to := l.bounds[o.thread], l.bounds[o.thread+1]; from < to {
			part := l.orderedSet
			part.order = part.order[from:to]
			streams = append(streams, &part)
		}
	}
	if len(streams) == 1 {
		o.stream = streams[0]
		return nil
	}
	o.stream = newMerger(o.s.cfg.Types, streams, o.outRows(), false)
	return nil
}

// waitForCut waits, without the lock, for all threads, one of which cuts the ranges.
func (o *sorter) waitForCut(ctx context.Context) error {
	o.mu.Unlock()
	defer o.mu.Lock()
	return o.s.split.bar.Wait(ctx, func() error { return o.s.cutRanges(ctx) })
}

// cutRanges runs while all threads wait.
func (s *shared) cutRanges(ctx context.Context) error {
	var all []*sorter
	most := -1
	for _, l := range s.threads {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.state == 0 { // closed before it took anything in
			continue
		}
		if len(l.runs) > 0 {
			return nil
		}
		if all = append(all, l); most < 0 || len(l.sortedRows.order) > len(all[most].sortedRows.order) {
			most = len(all) - 1
		}
	}
	longest := all[most].sortedRows
	n := len(longest.order)
	if n == 0 {
		return nil
	}
	enc := all[most].enc.Prefix(s.cfg.Split)
	var cuts [][]byte
	for j := 1; j < s.rt.Threads; j++ {
		row := longest.order[n*j/s.rt.Threads]
		cols, err := op.Columns(ctx, batch.New(longest.set.Gather([]uint32{longest.ids[row]}, nil), 1), s.cfg.Keys[0][:s.cfg.Split])
		if err != nil {
			return err
		}
		k := &kernel.Keys{}
		enc.Append(k, cols, 1)
		cuts = append(cuts, bytes.Clone(k.At(0)))
	}
	split := s.split
	split.acct = s.rt.Pool.Account("sort", false)
	split.acct.OnReclaim(func() (bool, error) { return s.reclaim(ctx) })
	for _, l := range all {
		r := l.sortedRows
		bounds := make([]int, 1, s.rt.Threads+1)
		for _, c := range cuts {
			bounds = append(bounds, sort.Search(len(r.order), func(i int) bool { return bytes.Compare(r.keys.At(int(r.order[i])), c) >= 0 }))
		}
		split.sorted = append(split.sorted, sortedThread{r, append(bounds, len(r.order))})
		// Threads read each other's rows until all have ended.
		split.acct.Take(l.acct.Used())
		l.acct.Shrink(l.acct.Used())
		l.waits = false
	}
	return nil
}
