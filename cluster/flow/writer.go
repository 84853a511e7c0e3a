package flow

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// messageBytes is the target size of a message on a stream. A larger row is sent alone.
const messageBytes = 2 << 20

// dest is the destination of rows for one task: an inbox or a stream.
type dest interface {
	push(ctx context.Context, b *batch.Batch) error
	// close ends the sender's part; with an error it aborts it.
	close(err error) error
}

// writer implements op.ExchangeWriter.
type writer struct {
	to   []dest
	sent sent
}

// sent counts what went over the network.
type sent struct{ bytes, messages atomic.Int64 }

// Sent implements op.ExchangeWriter.
func (w *writer) Sent() (bytes, messages int64) {
	return w.sent.bytes.Load(), w.sent.messages.Load()
}

func (w *writer) Dests() int { return len(w.to) }

func (w *writer) Send(ctx context.Context, d int, b *batch.Batch) error {
	return w.to[d].push(ctx, b)
}

// CloseSend ends all streams side by side: each waits until its reader has
// taken the rest, and readers may depend on each other.
func (w *writer) CloseSend(err error) error {
	errs := make([]error, len(w.to))
	var wg sync.WaitGroup
	for i, d := range w.to {
		wg.Go(func() { errs[i] = d.close(err) })
	}
	wg.Wait()
	for _, e := range errs {
		if e != nil {
			return e
		}
	}
	return nil
}

func (q *inbox) close(err error) error {
	if err != nil {
		q.fail(err)
	} else {
		q.end()
	}
	return nil
}

// stream sends rows to a task on another node. It is opened when it is first needed;
// the threads of the sending task take turns.
type stream struct {
	node uint64
	head []byte
	open func(node uint64, head []byte) (*rpc.Put, error)
	sent *sent
	all  *sent // to the node

	mu   sync.Mutex
	put  *rpc.Put
	shut bool
	enc  batch.Encoder
	buf  []byte
}

// start opens the stream if it is not.
func (s *stream) start() error {
	if s.shut {
		return pgerr.Internal("a closed stream is used")
	}
	if s.put == nil {
		p, err := s.open(s.node, s.head)
		if err != nil {
			return s.lost(err)
		}
		s.put = p
	}
	return nil
}

// lost returns a *LostError where the node does not answer or is shutting down, and err
// itself where the node reported an error.
func (s *stream) lost(err error) error {
	if rpc.Unreachable(err) || pgerr.Is(err, pgerr.AdminShutdown) {
		return &LostError{Node: s.node, Err: err}
	}
	return err
}

func (s *stream) push(ctx context.Context, b *batch.Batch) error {
	if b.Rows() == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.start(); err != nil {
		return err
	}
	// Send blocks until the reader takes the message; cancellation must interrupt it.
	stop := context.AfterFunc(ctx, s.put.Cancel)
	defer stop()
	return s.send(ctx, kernel.Compact(b))
}

func (s *stream) send(ctx context.Context, b *batch.Batch) error {
	if n := b.Rows(); n > 1 && b.Bytes() > messageBytes {
		if err := s.send(ctx, b.Slice(0, n/2)); err != nil {
			return err
		}
		return s.send(ctx, b.Slice(n/2, n))
	}
	s.buf = s.enc.Append(s.buf[:0], b)
	err := s.put.Send(s.buf)
	for _, c := range [...]*sent{s.sent, s.all} {
		c.bytes.Add(int64(len(s.buf)))
		c.messages.Add(1)
	}
	if cap(s.buf) > 2*messageBytes {
		s.buf = nil
	}
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return s.lost(err)
	}
	return nil
}

func (s *stream) close(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return nil
	}
	if err == nil {
		if err := s.start(); err != nil {
			return err
		}
		_, err := s.put.Finish()
		s.put, s.shut, s.buf = nil, true, nil
		return s.lost(err)
	}
	if s.put != nil {
		s.put.Cancel()
	}
	s.put, s.shut, s.buf = nil, true, nil
	return nil
}
