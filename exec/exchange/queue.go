package exchange

import (
	"context"
	"io"
	"sync"

	"github.com/tributarydb/tributary/exec/batch"
)

// Window is how many bytes a Queue holds where nobody says otherwise.
const Window = 4 << 20

// Queue is a stream of batches with bounded bytes in flight: the rows of one
// sender, or of several mixed, for one destination. Push and End are for the sending side, Next and Close
// for the reading side; each side may be several goroutines.
type Queue struct {
	limit int64
	mu    sync.Mutex
	q     []item
	bytes int64
	open  int // senders that have not ended
	err   error
	shut  bool
	wake  chan struct{} // closed and replaced at every change
	taken func(n int64) // tells of credit given back; may be nil
}

type item struct {
	b *batch.Batch
	n int64
}

// NewQueue makes a queue of at most limit bytes (0: Window) for a number of
// senders; a batch that is larger goes alone. taken, if not nil, hears of the bytes of each batch read.
func NewQueue(limit int64, senders int, taken func(n int64)) *Queue {
	if limit <= 0 {
		limit = Window
	}
	return &Queue{limit: limit, open: senders, wake: make(chan struct{}), taken: taken}
}

func (q *Queue) changed() {
	close(q.wake)
	q.wake = make(chan struct{})
}

// Push adds a batch and waits for room first. After the reader has closed,
// batches are dropped.
func (q *Queue) Push(ctx context.Context, b *batch.Batch) error {
	n := b.Bytes()
	for {
		q.mu.Lock()
		if q.shut || q.open == 0 {
			q.mu.Unlock()
			return nil
		}
		if len(q.q) == 0 || q.bytes+n <= q.limit {
			q.q = append(q.q, item{b, n})
			q.bytes += n
			q.changed()
			q.mu.Unlock()
			return nil
		}
		wake := q.wake
		q.mu.Unlock()
		select {
		case <-wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// End ends a sender's part: nil after all is pushed, else the error that the
// reader gets at once. Each sender calls it once.
func (q *Queue) End(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open == 0 {
		return
	}
	q.open--
	if err != nil {
		q.open, q.err = 0, err
		q.q, q.bytes = nil, 0
	}
	q.changed()
}

// Next returns the next batch, io.EOF at the end.
func (q *Queue) Next(ctx context.Context) (*batch.Batch, error) {
	for {
		q.mu.Lock()
		switch {
		case q.shut:
			q.mu.Unlock()
			return nil, io.EOF
		case len(q.q) > 0:
			it := q.q[0]
			q.q[0] = item{}
			q.q = q.q[1:]
			q.bytes -= it.n
			q.changed()
			q.mu.Unlock()
			if q.taken != nil {
				q.taken(it.n)
			}
			return it.b, nil
		case q.open == 0:
			err := q.err
			q.mu.Unlock()
			if err == nil {
				err = io.EOF
			}
			return nil, err
		}
		wake := q.wake
		q.mu.Unlock()
		select {
		case <-wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Close says that nobody reads any more. It may be called twice.
func (q *Queue) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.shut {
		q.shut = true
		q.q, q.bytes = nil, 0
		q.changed()
	}
	return nil
}
