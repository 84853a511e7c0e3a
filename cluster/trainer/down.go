package trainer

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/reduce"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// down is a task on its way down a tree of members, each of which sends on what
// it is sent while more is coming.
type down struct {
	name    string
	iter    int
	size    int   // bytes of the task
	who     []int // the places among the members of those that have a part in it
	at      int   // the receiver's place among them
	stripe  int   // which pieces these are: piece i is of stripe i mod stripes
	stripes int
	star    bool // all hang on the first
}

func (m *down) encode() []byte {
	var e canon.E
	e.Str(m.name)
	for _, v := range []int{m.iter, m.size, m.at, m.stripe, m.stripes} {
		e.Int(v)
	}
	e.Bool(m.star)
	e.U32(uint32(len(m.who)))
	for _, i := range m.who {
		e.U32(uint32(i))
	}
	return e.B
}

func decodeDown(b []byte) (*down, error) {
	d := canon.Read(b)
	m := &down{name: d.Str(), iter: d.Int(), size: d.Int(), at: d.Int(), stripe: d.Int(), stripes: d.Int(), star: d.Bool()}
	for range d.Count(4) {
		m.who = append(m.who, int(d.U32()))
	}
	if m.size < 1 || m.at < 1 || m.at >= len(m.who) || m.stripes < 1 || m.stripes > reduce.Stripes || m.stripe < 0 || m.stripe >= m.stripes {
		d.Fail()
	}
	return m, d.Done("a training task's way")
}

// children are the places to which the receiver sends what it is sent.
func (m *down) children() []int {
	if m.star {
		return reduce.Star(len(m.who), m.at)
	}
	return reduce.Children(len(m.who), m.stripe, m.at)
}

// pieces returns those of the stripe of a whole task.
func (m *down) pieces(b []byte) func() ([]byte, error) {
	at := m.stripe * pieceBytes
	return func() ([]byte, error) {
		if at >= len(b) {
			return nil, io.EOF
		}
		piece := b[at:min(at+pieceBytes, len(b))]
		at += m.stripes * pieceBytes
		return piece, nil
	}
}

// pass has the stripe's pieces taken and sends them on to the receiver's children, while
// own runs, and waits until all of them are done with the task.
func (p *part) pass(ctx context.Context, m *down, recv func() ([]byte, error), take taker, own func(context.Context) error) error {
	children := m.children()
	puts := make([]*rpc.Put, len(children))
	sent := make(chan struct{})
	return every(ctx, 2+len(children), func(ctx context.Context, i int) error {
		switch i {
		case 0:
			return own(ctx)
		case 1:
			defer close(sent)
			for k, c := range children {
				to := *m
				to.at = c
				put, err := p.t.cfg.Peers.Put(ctx, p.members[m.who[c]], callTask, to.encode())
				if err != nil {
					return err
				}
				puts[k] = put
			}
			return forward(recv, take, puts)
		}
		<-sent
		put := puts[i-2]
		if put == nil {
			return nil // the error is another's
		}
		defer put.Cancel()
		_, err := put.Finish()
		return err
	})
}

// taker gives the place where a piece stays until the task is over.
type taker func(piece []byte) ([]byte, error)

// forward hands out what recv gives.
func forward(recv func() ([]byte, error), take taker, puts []*rpc.Put) error {
	for {
		piece, err := recv()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			piece, err = take(piece)
		}
		if err != nil {
			return err
		}
		for _, put := range puts {
			if err := put.Send(piece); err != nil {
				return err
			}
		}
	}
}

// arrival is a task that is on its way to this member.
type arrival struct {
	size int
	refs int // stripes that have come or will

	mu   sync.Mutex
	buf  []byte
	left int
	full chan struct{} // closed when nothing is left to come
	step bool          // nothing that was decoded looks at the bytes any more
}

// arrive returns the task that a stripe is of.
func (p *part) arrive(m *down) (*arrival, error) {
	p.mu.Lock()
	a := p.coming[m.iter]
	if a == nil {
		a = &arrival{size: m.size, refs: m.stripes, full: make(chan struct{})}
		p.coming[m.iter] = a
	}
	p.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.size != m.size:
		return nil, pgerr.New(pgerr.DataCorrupted, "the stripes of a training task are of %d and %d bytes", a.size, m.size)
	case a.buf == nil:
		if a.buf = p.again(m.size); a.buf == nil {
			if err := p.w.Hold(int64(m.size)); err != nil {
				return nil, err
			}
			a.buf = make([]byte, m.size)
		}
		if err := p.w.Hold(int64(m.size)); err != nil { // decoded
			p.w.Release(int64(m.size))
			a.buf = nil
			return nil, err
		}
		a.left = m.size
	}
	return a, nil
}

// leave is called once a stripe is done with.
func (p *part) leave(m *down, a *arrival) {
	p.mu.Lock()
	a.refs--
	last := a.refs == 0
	if last {
		delete(p.coming, m.iter)
	}
	p.mu.Unlock()
	if !last || a.buf == nil {
		return
	}
	p.w.Release(int64(a.size)) // decoded
	p.save(a.buf, a.step)
}

// save keeps the memory of a task for the next one, where that is a step and long: most
// steps of a training are of one length. It is charged.
func (p *part) save(b []byte, step bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !step || len(b) <= pieceBytes {
		p.w.Release(int64(len(b)))
		return
	}
	p.w.Release(int64(len(p.spare)))
	p.spare = b
}

// again returns the memory of the step before, which is charged, if that was of this
// size, or with -1 of any.
func (p *part) again(size int) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.spare
	if size >= 0 && len(b) != size {
		return nil
	}
	p.spare = nil
	return b
}

// put copies bytes to the place where they belong, and returns it.
func (a *arrival) put(at int, b []byte) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(b) == 0 || at > len(a.buf)-len(b) {
		return nil, pgerr.New(pgerr.DataCorrupted, "a training task of %d bytes came with other ones", len(a.buf))
	}
	copy(a.buf[at:], b)
	if a.left -= len(b); a.left == 0 {
		close(a.full)
	}
	return a.buf[at : at+len(b)], nil
}

// receive takes a stripe of a task and sends it on. The first stripe's call does
// the task, once all are there.
func (p *part) receive(ctx context.Context, m *down, recv func() ([]byte, error)) (err error) {
	for _, i := range m.who {
		if i >= len(p.members) || m.who[m.at] != p.self {
			return pgerr.New(pgerr.DataCorrupted, "a training task went to the wrong member")
		}
	}
	a, err := p.arrive(m)
	if err != nil {
		return err
	}
	defer p.leave(m, a)
	at := m.stripe * pieceBytes
	take := func(piece []byte) ([]byte, error) {
		defer rpc.Free(piece)
		kept, err := a.put(at, piece)
		at += m.stripes * pieceBytes
		return kept, err
	}
	return p.pass(ctx, m, recv, take, func(ctx context.Context) error {
		if m.stripe > 0 {
			return nil
		}
		select {
		case <-a.full:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		t, err := p.w.DecodeTask(a.buf)
		if err != nil {
			return err
		}
		_, err = p.task(ctx, t)
		a.step = err == nil && t.Step()
		return err
	})
}

// send has a task done by those members of which these are the places, this one
// the first.
func (p *part) send(ctx context.Context, t train.Task, who []int) (r *reduction, err error) {
	m := down{name: p.name, iter: t.Iter, who: who, stripes: 1, star: p.w.Job().Gathers()}
	var b []byte
	if len(who) > 1 { // on one node nothing is encoded
		had := p.again(-1)
		b = t.Append(had[:0])
		p.w.Release(int64(len(had)))
		if err := p.w.Hold(int64(len(b))); err != nil {
			return nil, err
		}
		defer func() { p.save(b, err == nil && t.Step()) }()
		if m.size = len(b); m.size > pieceBytes && !m.star {
			m.stripes = reduce.Stripes
		}
	}
	err = every(ctx, m.stripes, func(ctx context.Context, i int) error {
		m := m
		m.stripe = i
		return p.pass(ctx, &m, m.pieces(b), func(piece []byte) ([]byte, error) { return piece, nil }, func(ctx context.Context) (err error) {
			if i == 0 {
				r, err = p.task(ctx, t)
			}
			return err
		})
	})
	return r, err
}

// every runs f for 0 … n-1 at once. Of several errors the first is given, and none
// that only follows from another's.
func every(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if errs[i] = f(ctx, i); errs[i] != nil {
				cancel(errs[i])
			}
		})
	}
	wg.Wait()
	var follows error
	for _, err := range errs {
		switch {
		case err == nil:
		case errors.Is(err, context.Canceled) || pgerr.CodeOf(err) == pgerr.ConnectionFailure || pgerr.CodeOf(err) == pgerr.QueryCanceled:
			if follows == nil || errors.Is(follows, context.Canceled) {
				follows = err
			}
		default:
			return err
		}
	}
	if follows != nil && ctx.Err() != nil && errors.Is(follows, context.Canceled) {
		follows = context.Cause(ctx)
	}
	return follows
}
