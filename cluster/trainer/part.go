package trainer

import (
	"context"
	"io"
	"sync"

	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/train"
)

// part is a node's part in a training.
type part struct {
	t       *Trainer
	name    string
	members []uint64
	self    int
	pool    *mem.Pool
	w       *train.Worker
	ctx     context.Context // ends with the part
	cancel  context.CancelCauseFunc
	calls   sync.WaitGroup // calls that use the part

	mu     sync.Mutex
	cur    map[int]*reduction // by lane
	wake   chan struct{}      // closed when cur changes
	coming map[int]*incomingTask
	spare  []byte // of a step that is over, for the next; charged
	sent   buffers
}

// reduction is the current task of a lane of the part.
type reduction struct {
	iter int
	part *train.Part
}

// free stops what runs in the part and releases everything.
func (p *part) free() {
	p.cancel(errGone(p.name))
	p.calls.Wait()
	if err := p.w.Close(); err != nil {
		p.t.log.Warn("closing a training", "training", p.name, "error", err)
	}
	if leaked := p.pool.Close(); leaked > 0 {
		p.t.log.Warn("BUG: a training ended with charged memory", "training", p.name, "bytes", leaked)
	}
}

// Add implements op.Collector.
func (p *part) Add(ctx context.Context, b *batch.Batch) error {
	_, ctx, done, err := p.t.use(ctx, p.name)
	if err != nil {
		return err
	}
	defer done()
	return p.w.Add(ctx, b)
}

// sendRows sends the rows that each puts to another member.
func (p *part) sendRows(ctx context.Context, to int, each func(put func(rows []byte) error) error) error {
	var put *rpc.Put
	defer func() {
		if put != nil {
			put.Cancel()
		}
	}()
	err := each(func(rows []byte) (err error) {
		if put == nil { // opened on demand: not all pairs of nodes have rows for each other
			m := &offer{Name: p.name, Slice: rowsSlice}
			if put, err = p.t.cfg.Peers.Put(ctx, p.members[to], callOffer, rpc.Encode(*m)); err != nil {
				return err
			}
		}
		return put.Send(rows)
	})
	if err == nil && put != nil {
		_, err = put.Finish()
	}
	return err
}

// take receives another member's rows.
func (p *part) take(recv func() ([]byte, error)) error {
	for {
		chunk, err := recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		p.w.ChargeTransit(int64(len(chunk)))
		err = p.w.Put(chunk)
		p.w.ChargeTransit(-int64(len(chunk)))
		rpc.Free(chunk)
		if err != nil {
			return err
		}
	}
}

// task computes the partials of the node's leaves, and merges and ships what it can.
// Slices that other members offer later are merged in their calls. to is the answer to the
// driver's call, nil where another member called.
func (p *part) task(ctx context.Context, t train.Task, to *answer) (*reduction, error) {
	r := &reduction{iter: t.Iter}
	var err error
	r.part, err = p.w.Begin(t, func(ctx context.Context, s *train.Shipment) error { return p.sendUp(ctx, t.Iter, s, to) })
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.cur[train.LaneOf(t.Iter)] = r
	close(p.wake)
	p.wake = make(chan struct{})
	p.mu.Unlock()
	return r, r.part.Run(ctx)
}

// sendUp sends a partial to another member and waits until it has been merged there and
// the sum, if complete, has been shipped further. What the answer to the driver has room
// for is merged when the driver has it.
func (p *part) sendUp(ctx context.Context, iter int, s *train.Shipment, to *answer) error {
	var e canon.E
	if s.Data != nil { // no rows, no bytes
		b, err := p.sent.get(s.Room)
		if err != nil {
			return err
		}
		e.B = b
		s.Data.Encode(&e)
		family.Free(s.Data)
		if err := p.sent.grown(cap(b), cap(e.B)); err != nil {
			return err
		}
	}
	var err error
	answered := false
	if to != nil && s.To == 0 {
		answered, err = to.add(s, e.B)
	}
	if !answered {
		m := offer{Name: p.name, Iter: iter, Slice: s.Slice, Node: s.Node, Size: len(e.B)}
		err = p.deliver(ctx, s.To, &m, e.B)
	}
	if s.Data != nil {
		p.sent.put(e.B)
	}
	return err
}

// deliver sends the bytes of an offer.
func (p *part) deliver(ctx context.Context, to int, m *offer, b []byte) error {
	put, err := p.t.cfg.Peers.Put(ctx, p.members[to], callOffer, rpc.Encode(*m))
	if err != nil {
		return err
	}
	defer put.Cancel()
	return sendChunks(put, b)
}

// offer receives a partial from another member, which may be ahead of this one. It is
// read at once: unread data in the connection would block other calls.
func (p *part) offer(ctx context.Context, m *offer, recv func() ([]byte, error)) error {
	if err := p.w.Hold(int64(m.Size)); err != nil {
		return err
	}
	defer p.w.Release(int64(m.Size))
	data, err := readChunks(recv, m.Size)
	if err != nil {
		return err
	}
	defer rpc.Free(data) // what is decoded is a copy
	r, err := p.reduction(ctx, m.Iter)
	if err != nil || r == nil { // late, from a task that is over
		return err
	}
	return r.part.OfferBytes(ctx, m.Slice, m.Node, data)
}
