package op

import (
	"context"
	"io"
	"sync"

	"github.com/tributarydb/tributary/exec/batch"
)

// NewFunnel brings the rows of all lanes to lane 0.
//
//	lane 0's input ── pump ──┐
//	lane 1's input ── Next ──┼──► channel ──► lane 0's Next
//	lane 2's input ── Next ──┘
//
// Lane 0's input has a goroutine of its own, so that no lane below waits in a
// barrier for a lane that waits for it here. It starts with lane 0's first
// Next and ends before lane 0's Close returns.
func NewFunnel(in []Operator) []Operator {
	if len(in) == 1 {
		return in
	}
	f := &funnel{ch: make(chan *batch.Batch, len(in)), stop: make(chan struct{}), left: len(in), drained: make(chan struct{})}
	out := make([]Operator, len(in))
	for i := range in {
		out[i] = &funnelLane{f: f, in: in[i], lane: i}
	}
	return out
}

type funnel struct {
	ch      chan *batch.Batch
	stop    chan struct{} // closed when lane 0 wants no more
	stopped sync.Once
	mu      sync.Mutex
	left    int           // lanes that still push
	drained chan struct{} // closed when left is 0
	pump    sync.WaitGroup
	err     error // of the pump; read after drained
	cancel  context.CancelFunc
}

type funnelLane struct {
	f       *funnel
	in      Operator
	lane    int
	started bool
	ended   bool // counted out of left
}

func (o *funnelLane) Open(ctx context.Context) error { return o.in.Open(ctx) }

func (o *funnelLane) Next(ctx context.Context) (*batch.Batch, error) {
	f := o.f
	if o.lane > 0 {
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
		f.cancel = cancel
		f.pump.Add(1)
		go func() {
			defer f.pump.Done()
			f.err = Guard("funnel", func() error { return o.push(pctx) })
			o.end()
		}()
	}
	select {
	case b := <-f.ch:
		return b, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-f.drained:
		select {
		case b := <-f.ch:
			return b, nil
		default:
		}
		if f.err != nil {
			return nil, f.err
		}
		return nil, io.EOF
	}
}

// push sends the lane's rows until its input's end or until nobody wants them.
func (o *funnelLane) push(ctx context.Context) error {
	for {
		select {
		case <-o.f.stop:
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
		case o.f.ch <- b:
		case <-o.f.stop:
			return o.in.Close()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (o *funnelLane) end() {
	if o.ended {
		return
	}
	o.ended = true
	f := o.f
	f.mu.Lock()
	if f.left--; f.left == 0 {
		close(f.drained)
	}
	f.mu.Unlock()
}

func (o *funnelLane) Close() error {
	f := o.f
	if o.lane == 0 {
		f.stopped.Do(func() { close(f.stop) })
		if o.started {
			f.cancel()
			f.pump.Wait()
		}
	}
	o.end()
	return o.in.Close()
}
