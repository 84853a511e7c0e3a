package worker

import (
	"context"
	"io"
	"sync"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/store"
)

// queue assigns splits to threads: op.Splits. A thread gets the splits of one segment in order, and
// then those of the next segment that no thread has begun: operators cache what they computed for a
// segment's dictionaries, and neighbouring rows often have similar keys. When all segments are begun,
// a thread takes the latter half of the longest run of splits that another has before it.
//
//	segments  a a a a  b b b b  c c c c      thread 0  a a a a c c
//	                                         thread 1  b b b b     c c
type queue struct {
	mu     sync.Mutex
	leaves []leafQueue
}

// leafQueue has the splits of a leaf of the plan that are not assigned yet.
type leafQueue struct {
	next  []op.Split   // of segments that no thread has begun
	begun [][]op.Split // of the others, runs that a thread reads on
}

func newQueue(lists [][]op.Split) *queue {
	q := &queue{leaves: make([]leafQueue, len(lists))}
	for i, list := range lists {
		q.leaves[i].next = list
	}
	return q
}

// splitsPerThread is about how many splits of a table a thread gets at least: with these threads end
// at about the same time, whatever the rows of a split cost.
const splitsPerThread = 16

// cut divides a leaf's splits for so many threads of one node, each into whole halves of batches.
func cut(list []op.Split, threads int) []op.Split {
	const unit = batch.DefaultSize / 2
	all := int64(0)
	for i := range list {
		all += list[i].To - list[i].From
	}
	each := max((all/int64(splitsPerThread*max(threads, 1))+unit-1)/unit, 1) * unit
	if threads < 2 || all <= unit || each >= store.SplitRows {
		return list
	}
	var out []op.Split
	for _, sp := range list {
		end := sp.To
		for sp.To = sp.From + each; sp.To < end; sp.From, sp.To = sp.To, sp.To+each {
			out = append(out, sp)
		}
		sp.To = end
		out = append(out, sp)
	}
	return out
}

// Next implements op.Splits.
func (q *queue) Next(_ context.Context, leaf int, last *op.Split) (*op.Split, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if leaf >= len(q.leaves) {
		return nil, io.EOF
	}
	return q.leaves[leaf].take(last)
}

func (l *leafQueue) take(last *op.Split) (*op.Split, error) {
	most := -1
	for i, run := range l.begun {
		if last != nil && run[0].Segment == last.Segment && run[0].From == last.To {
			return l.from(i), nil
		}
		if most < 0 || len(run) > len(l.begun[most]) {
			most = i
		}
	}
	if len(l.next) > 0 {
		n := 1
		for of := l.next[0].Segment; of != nil && n < len(l.next) && l.next[n].Segment == of; {
			n++
		}
		l.begun, l.next = append(l.begun, l.next[:n]), l.next[n:]
		return l.from(len(l.begun) - 1), nil
	}
	if most < 0 {
		return nil, io.EOF
	}
	if run := l.begun[most]; len(run) > 1 {
		half := len(run) / 2
		l.begun[most] = run[:half]
		l.begun = append(l.begun, run[half:])
		most = len(l.begun) - 1
	}
	return l.from(most), nil
}

// from removes the first split of a run in begun, and returns it.
func (l *leafQueue) from(i int) *op.Split {
	sp := &l.begun[i][0]
	if l.begun[i] = l.begun[i][1:]; len(l.begun[i]) == 0 {
		l.begun = append(l.begun[:i], l.begun[i+1:]...)
	}
	return sp
}

// left returns how many splits are not assigned yet.
func (q *queue) left() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.leaves {
		n += len(l.next)
		for _, list := range l.begun {
			n += len(list)
		}
	}
	return n
}
