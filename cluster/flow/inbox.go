package flow

import (
	"context"
	"io"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
)

// charge is the account of a flow's inboxes, for several goroutines.
type charge struct {
	mu     sync.Mutex
	acct   *mem.Account
	closed bool
}

// grow charges n bytes; with must it charges them even beyond the limit.
func (c *charge) grow(n int64, must bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	err := c.acct.Grow(n)
	if err != nil && must {
		c.acct.Take(n)
		return nil
	}
	return err
}

func (c *charge) shrink(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.acct.Shrink(n)
	}
}

func (c *charge) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		c.acct.Close()
	}
}

// inbox queues the rows of one sender of a stage, or of all of them mixed, for this
// node's task. push and end are for the senders, Next and Close for the reader; each
// may be several goroutines.
type inbox struct {
	types  []arrow.DataType
	limit  int64
	charge *charge

	mu    sync.Mutex
	q     []kept
	bytes int64
	open  int // senders that have not ended
	err   error
	shut  bool
	wake  chan struct{} // closed and replaced at every change
}

type kept struct {
	b *batch.Batch
	n int64
}

func newInbox(dts []arrow.DataType, limit int64, senders int, c *charge) *inbox {
	return &inbox{types: dts, limit: limit, open: senders, charge: c, wake: make(chan struct{})}
}

func (q *inbox) changed() {
	close(q.wake)
	q.wake = make(chan struct{})
}

// push adds a batch when there is room. After the reader has closed, batches
// are dropped.
func (q *inbox) push(ctx context.Context, b *batch.Batch) error {
	n := b.Bytes()
	for {
		q.mu.Lock()
		if q.shut || q.err != nil {
			q.mu.Unlock()
			return nil
		}
		// A batch alone always has room: the stream must move on.
		alone := len(q.q) == 0
		if (alone || q.bytes+n <= q.limit) && q.charge.grow(n, alone) == nil {
			q.q = append(q.q, kept{b, n})
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

// end records that a sender has sent everything.
func (q *inbox) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open > 0 {
		q.open--
		q.changed()
	}
}

// drained waits until all senders have ended. One that failed never does.
func (q *inbox) drained(ctx context.Context) error {
	for {
		q.mu.Lock()
		open, wake := q.open, q.wake
		q.mu.Unlock()
		if open == 0 {
			return nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// fail ends the stream with an error, at once.
func (q *inbox) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil && !q.shut {
		q.err = err
		q.empty()
		q.changed()
	}
}

func (q *inbox) empty() {
	q.charge.shrink(q.bytes)
	q.q, q.bytes = nil, 0
}

// Next implements op.BatchReader.
func (q *inbox) Next(ctx context.Context) (*batch.Batch, error) {
	for {
		q.mu.Lock()
		switch {
		case q.err != nil:
			q.mu.Unlock()
			return nil, q.err
		case q.shut:
			q.mu.Unlock()
			return nil, io.EOF
		case len(q.q) > 0:
			it := q.q[0]
			q.q[0] = kept{}
			q.q = q.q[1:]
			q.bytes -= it.n
			q.charge.shrink(it.n)
			q.changed()
			q.mu.Unlock()
			return it.b, nil
		case q.open == 0:
			q.mu.Unlock()
			return nil, io.EOF
		}
		wake := q.wake
		q.mu.Unlock()
		select {
		case <-wake:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Close implements op.BatchReader.
func (q *inbox) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.shut {
		q.shut = true
		q.empty()
		q.changed()
	}
	return nil
}
