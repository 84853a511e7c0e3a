package op

import (
	"context"
	"io"
	"sync"

	"github.com/tributarydb/tributary/exec/batch"
)

// NewGather brings the rows of all threads to thread 0.
//
//	thread 0's input ── pump ──┐
//	thread 1's input ── Next ──┼──► channel ──► thread 0's Next
//	thread 2's input ── Next ──┘
//
// Thread 0's input has a goroutine of its own, so that no thread below waits in a
// barrier for a thread that waits for it here. It starts with thread 0's first
// Next and ends before thread 0's Close returns.
func NewGather(in []Operator) []Operator {
	if len(in) == 1 {
		return in
	}
	g := &gather{ch: make(chan *batch.Batch, len(in)), stop: make(chan struct{}), failed: make(chan struct{}), left: len(in), drained: make(chan struct{})}
	out := make([]Operator, len(in))
	for i := range in {
		out[i] = &gatherThread{g: g, in: in[i], thread: i}
	}
	return out
}

type gather struct {
	ch      chan *batch.Batch
	stop    chan struct{} // closed when thread 0 reads no more
	stopped sync.Once
	mu      sync.Mutex
	left    int           // threads that still push
	drained chan struct{} // closed when left is 0
	pump    sync.WaitGroup
	failed  chan struct{} // closed when the pump has an error, err
	err     error
	cancel  context.CancelFunc
}

type gatherThread struct {
	g       *gather
	in      Operator
	thread  int
	started bool
	ended   bool // counted out of left
}

func (o *gatherThread) Open(ctx context.Context) error { return o.in.Open(ctx) }

func (o *gatherThread) Next(ctx context.Context) (*batch.Batch, error) {
	g := o.g
	if o.thread > 0 {
		if o.ended {
			return nil, io.EOF
		}
		err := o.push(ctx)
		o.end()
		if err == nil {
			err = io.EOF
		}
		return nil, err
	}
	if !o.started {
		o.started = true
		pctx, cancel := context.WithCancel(ctx)
		g.cancel = cancel
		g.pump.Add(1)
		go func() {
			defer g.pump.Done()
			defer o.end()
			if g.err = Guard("gather", func() error { return o.push(pctx) }); g.err != nil {
				close(g.failed)
			}
		}()
	}
	select {
	case b := <-g.ch:
		return b, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-g.failed:
		// At once: the other threads may wait for this one in a barrier below, until the statement is
		// cancelled for the error.
		return nil, g.err
	case <-g.drained:
		select {
		case b := <-g.ch:
			return b, nil
		case <-g.failed:
			return nil, g.err
		default:
		}
		return nil, io.EOF
	}
}

// push sends the thread's rows until its input's end or until thread 0 stops reading.
func (o *gatherThread) push(ctx context.Context) error {
	for {
		select {
		case <-o.g.stop:
			return o.in.Close()
		default:
		}
		b, err := o.in.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case o.g.ch <- b:
		case <-o.g.stop:
			return o.in.Close()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (o *gatherThread) end() {
	if o.ended {
		return
	}
	o.ended = true
	g := o.g
	g.mu.Lock()
	if g.left--; g.left == 0 {
		close(g.drained)
	}
	g.mu.Unlock()
}

func (o *gatherThread) Close() error {
	g := o.g
	if o.thread == 0 {
		g.stopped.Do(func() { close(g.stop) })
		if o.started {
			g.cancel()
			g.pump.Wait()
		}
	}
	o.end()
	return o.in.Close()
}
