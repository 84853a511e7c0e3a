package trainer

import (
	"context"
	"sync"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/reduce"
	"github.com/tributarydb/tributary/ml/train"
)

// answer collects what a member sends to the driver in answer to the driver's own call:
// a short partial needs no call, and no answer, of its own.
type answer struct {
	p    *part
	mu   sync.Mutex
	e    canon.E
	over bool // it has been sent
}

// answerBytes bounds an answer. What is longer is sent from where it was encoded, without
// a copy.
const answerBytes = 64 << 10

// add adds an encoded partial, unless the answer has been sent or would be too long.
func (a *answer) add(s *train.Shipment, b []byte) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over || len(a.e.B)+len(b) > answerBytes {
		return false, nil
	}
	had := len(a.e.B)
	a.e.Int(s.Slice)
	a.e.U32(uint32(s.Node.Level))
	a.e.U32(uint32(s.Node.Index))
	a.e.Bytes(b)
	return true, a.p.w.Hold(int64(len(a.e.B) - had))
}

// take returns the answer, which nothing can be added to any more.
func (a *answer) take() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	a.p.w.Release(int64(len(a.e.B)))
	return a.e.B
}

// answered merges the partials in a member's answer.
func (p *part) answered(ctx context.Context, iter int, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if err := p.w.Hold(int64(len(b))); err != nil {
		return err
	}
	defer p.w.Release(int64(len(b)))
	r, err := p.reduction(ctx, iter)
	if err != nil || r == nil {
		return err
	}
	for d := canon.Read(b); ; {
		slice, node, data := d.Int(), reduce.Node{Level: int32(d.U32()), Index: int32(d.U32())}, d.Bytes()
		if !d.OK() {
			return d.Done("the answer to a training task")
		}
		if err := r.part.OfferBytes(ctx, slice, node, data); err != nil || d.Left() == 0 {
			return err
		}
	}
}

// reduction waits until a task has begun here, and returns it; nil where a later one has.
func (p *part) reduction(ctx context.Context, iter int) (*reduction, error) {
	for {
		p.mu.Lock()
		r, wake := p.cur[train.LaneOf(iter)], p.wake
		p.mu.Unlock()
		switch {
		case r != nil && r.iter == iter:
			return r, nil
		case r != nil && r.iter > iter:
			return nil, nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
