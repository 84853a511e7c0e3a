package op

import (
	"bytes"
	"context"
	"sort"
	"sync/atomic"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
)

// sortSplit cuts what the lanes have sorted into ranges, one a lane, between
// rows that differ in the first keys:
//
//	lane 0   a a b c c d      lane 0 merges the rows up to c
//	lane 1   a b b c d d      lane 1 those from c on
//	              ▲
type sortSplit struct {
	bar    *Barrier
	acct   *mem.Account // of all lanes' rows, once they are cut
	open   atomic.Int32 // lanes not closed
	sorted []sortedLane // nil: they are not cut
}

// sortedLane is what a lane has sorted, and where each lane's range begins.
type sortedLane struct {
	orderedSet
	bounds []int
}

func newSortSplit(rt *Runtime) *sortSplit {
	s := &sortSplit{bar: NewBarrier(rt.Lanes)}
	s.open.Store(int32(rt.Lanes))
	return s
}

// leave is called when a lane is closed.
func (s *sortSplit) leave(o *sortLane) {
	if o.state == 0 {
		s.bar.Leave()
	}
	if s.open.Add(-1) == 0 && s.acct != nil {
		s.acct.Close()
	}
}

// meet sorts the lane's rows, waits for the others and makes the stream of the
// lane's range; none where some lane's rows were spilled.
func (o *sortLane) meet(ctx context.Context) error {
	s := o.s.split
	var own orderedSet
	if len(o.runs) == 0 {
		o.set.seal()
		own = orderedSet{set: o.set, keys: o.keys, order: kernel.Order(o.keys, nil), ids: o.set.ids(), rows: o.outRows(), withKeys: true}
	}
	o.sortedRows = own
	if err := s.bar.Wait(ctx, func() error { return o.s.cutRanges(ctx) }); err != nil || s.sorted == nil {
		return err
	}
	o.apart = true
	var streams []sortedStream
	for _, l := range s.sorted {
		if from, to := l.bounds[o.lane], l.bounds[o.lane+1]; from < to {
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

// cutRanges runs while all lanes wait.
func (s *sortShared) cutRanges(ctx context.Context) error {
	var all []*sortLane
	most := -1
	for _, l := range s.lanes {
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
	for j := 1; j < s.rt.Lanes; j++ {
		row := longest.order[n*j/s.rt.Lanes]
		cols, err := columns(ctx, batch.New(longest.set.gather([]uint32{longest.ids[row]}, nil), 1), s.cfg.Keys[0][:s.cfg.Split])
		if err != nil {
			return err
		}
		k := &kernel.Keys{}
		enc.Append(k, cols, 1)
		cuts = append(cuts, bytes.Clone(k.At(0)))
	}
	split := s.split
	split.acct = s.rt.Pool.Account("sort", false)
	for _, l := range all {
		r := l.sortedRows
		bounds := make([]int, 1, s.rt.Lanes+1)
		for _, c := range cuts {
			bounds = append(bounds, sort.Search(len(r.order), func(i int) bool { return bytes.Compare(r.keys.At(int(r.order[i])), c) >= 0 }))
		}
		split.sorted = append(split.sorted, sortedLane{r, append(bounds, len(r.order))})
		// Lanes read each other's rows until all have ended.
		split.acct.Take(l.acct.Used())
		l.acct.Shrink(l.acct.Used())
	}
	return nil
}
