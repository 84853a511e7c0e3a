package worker

import (
	"context"
	"io"
	"sync"

	"github.com/tributarydb/tributary/exec/op"
)

// queue assigns splits to threads: op.Splits. A thread gets the splits of one segment in order, and
// then those of the next segment that no thread has begun: operators cache what they computed for a
// segment's dictionaries, and neighbouring rows often have similar keys. When all segments are begun,
// a thread gets splits of the segment that has most left.
//
//	segments  a a a a  b b b b  c c c      thread 0  a a a a c
//	                                       thread 1  b b b b c c
type queue struct {
	mu     sync.Mutex
	leaves []leafQueue
}

// leafQueue has the splits of a leaf of the plan that are not assigned yet.
type leafQueue struct {
	next  []op.Split   // of segments that no thread has begun
	begun [][]op.Split // of the others, a list for each segment
}

func newQueue(lists [][]op.Split) *queue {
	q := &queue{leaves: make([]leafQueue, len(lists))}
	for i, list := range lists {
		q.leaves[i].next = list
	}
	return q
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
	for i, list := range l.begun {
		if last != nil && list[0].Segment == last.Segment {
			return l.from(i), nil
		}
		if most < 0 || len(list) > len(l.begun[most]) {
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
	return l.from(most), nil
}

// from removes the first split of a list in begun, and returns it.
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
