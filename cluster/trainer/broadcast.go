package trainer

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/ml/reduce"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// broadcast is the header of a task that is sent down a tree of members, each of which
// forwards chunks while it receives more.
type broadcast struct {
	Name    string
	Iter    int
	Size    int   // bytes of the task
	Who     []int // indexes of the members that take part in it
	At      int   // the receiver's index among them
	Stripe  int   // which chunks these are: chunk i is of stripe i mod Stripes
	Stripes int
	Star    bool // all are children of the first, which is the driver
}

func decodeBroadcast(b []byte) (*broadcast, error) {
	m, err := rpc.Decode[broadcast](b)
	if err == nil && (m.Size < 1 || m.At < 1 || m.At >= len(m.Who) || m.Stripes < 1 || m.Stripes > reduce.Stripes || m.Stripe < 0 || m.Stripe >= m.Stripes || slices.Min(m.Who) < 0) {
		err = pgerr.New(pgerr.DataCorrupted, "a training task came with an invalid header")
	}
	return &m, err
}

// children returns the indexes of the members to which the receiver forwards.
func (m *broadcast) children() []int {
	if m.Star {
		return reduce.Star(len(m.Who), m.At)
	}
	return reduce.Children(len(m.Who), m.Stripe, m.At)
}

// chunks returns an iterator over the stripe's chunks of a whole task.
func (m *broadcast) chunks(b []byte) func() ([]byte, error) {
	at := m.Stripe * chunkBytes
	return func() ([]byte, error) {
		if at >= len(b) {
			return nil, io.EOF
		}
		chunk := b[at:min(at+chunkBytes, len(b))]
		at += m.Stripes * chunkBytes
		return chunk, nil
	}
}

// pass stores the stripe's chunks with take and forwards them to the receiver's
// children, while own runs, and waits until all children are done with the task.
func (p *part) pass(ctx context.Context, m *broadcast, recv func() ([]byte, error), take chunkStore, own func(context.Context) error) error {
	children := m.children()
	puts := make([]*rpc.Put, len(children))
	var last []byte
	sent := make(chan struct{})
	return parallel(ctx, 2+len(children), func(ctx context.Context, i int) error {
		switch i {
		case 0:
			return own(ctx)
		case 1:
			defer close(sent)
			var err error
			for k, c := range children {
				to := *m
				to.At = c
				put, err := p.t.cfg.Peers.Put(ctx, p.members[m.Who[c]], callTask, rpc.Encode(to))
				if err != nil {
					return err
				}
				puts[k] = put
			}
			last, err = m.forward(recv, take, puts)
			return err
		}
		<-sent
		put := puts[i-2]
		if put == nil {
			return nil // another goroutine has the cause
		}
		defer put.Cancel()
		partials, err := put.FinishWith(last)
		if err != nil {
			return err
		}
		return p.answered(ctx, m.Iter, partials)
	})
}

// chunkStore stores a chunk and returns the copy, which stays valid until the task is over.
type chunkStore func(chunk []byte) ([]byte, error)

// forward stores the chunks that recv returns and sends them to puts, all but the last
// one: it returns that, which is sent with the stream's end in one write.
func (m *broadcast) forward(recv func() ([]byte, error), take chunkStore, puts []*rpc.Put) (last []byte, err error) {
	for at := m.Stripe * chunkBytes; ; {
		chunk, err := recv()
		if err == io.EOF {
			return last, nil
		}
		if err == nil {
			chunk, err = take(chunk)
		}
		if err != nil {
			return nil, err
		}
		if at += m.Stripes * chunkBytes; at >= m.Size {
			last = chunk
			continue
		}
		for _, put := range puts {
			if err := put.Send(chunk); err != nil {
				return nil, err
			}
		}
	}
}

// incomingTask is a task that is being received.
type incomingTask struct {
	size int
	refs int // stripes that have arrived or are expected

	mu   sync.Mutex
	buf  []byte
	left int
	full chan struct{} // closed when all has arrived
	step bool          // no decoded value aliases the bytes any more
}

// incoming returns the task that a stripe belongs to.
func (p *part) incoming(m *broadcast) (*incomingTask, error) {
	p.mu.Lock()
	a := p.coming[m.Iter]
	if a == nil {
		a = &incomingTask{size: m.Size, refs: m.Stripes, full: make(chan struct{})}
		p.coming[m.Iter] = a
	}
	p.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.size != m.Size:
		return nil, pgerr.New(pgerr.DataCorrupted, "the stripes of a training task are of %d and %d bytes", a.size, m.Size)
	case a.buf == nil:
		if a.buf = p.reuse(m.Size); a.buf == nil {
			if err := p.w.Hold(int64(m.Size)); err != nil {
				return nil, err
			}
			a.buf = make([]byte, m.Size)
		}
		if err := p.w.Hold(int64(m.Size)); err != nil { // for the decoded task
			p.w.Release(int64(m.Size))
			a.buf = nil
			return nil, err
		}
		a.left = m.Size
	}
	return a, nil
}

// leave is called when a stripe is finished.
func (p *part) leave(m *broadcast, a *incomingTask) {
	p.mu.Lock()
	a.refs--
	last := a.refs == 0
	if last {
		delete(p.coming, m.Iter)
	}
	p.mu.Unlock()
	if !last || a.buf == nil {
		return
	}
	p.w.Release(int64(a.size)) // for the decoded task
	p.save(a.buf, a.step)
}

// save keeps the memory of a long step for the next one: most steps of a training have
// the same length. It stays charged.
func (p *part) save(b []byte, step bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !step || len(b) <= chunkBytes {
		p.w.Release(int64(len(b)))
		return
	}
	p.w.Release(int64(len(p.spare)))
	p.spare = b
}

// reuse returns the memory of the step before, which is charged, if it has this size,
// or with -1 any size; else nil.
func (p *part) reuse(size int) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.spare
	if size >= 0 && len(b) != size {
		return nil
	}
	p.spare = nil
	return b
}

// put copies bytes to their position in the task, and returns the copy.
func (a *incomingTask) put(at int, b []byte) ([]byte, error) {
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

// receive receives a stripe of a task and forwards it. The first stripe's call runs the
// task, once all stripes are complete. It returns what the caller is answered.
func (p *part) receive(ctx context.Context, m *broadcast, recv func() ([]byte, error)) (out []byte, err error) {
	for _, i := range m.Who {
		if i >= len(p.members) || m.Who[m.At] != p.self {
			return nil, pgerr.New(pgerr.DataCorrupted, "a training task went to the wrong member")
		}
	}
	a, err := p.incoming(m)
	if err != nil {
		return nil, err
	}
	var to *answer
	if m.Star {
		to = &answer{p: p}
		defer func() { out = to.take() }()
	}
	defer p.leave(m, a)
	at := m.Stripe * chunkBytes
	take := func(chunk []byte) ([]byte, error) {
		defer rpc.Free(chunk)
		kept, err := a.put(at, chunk)
		at += m.Stripes * chunkBytes
		return kept, err
	}
	return nil, p.pass(ctx, m, recv, take, func(ctx context.Context) error {
		if m.Stripe > 0 {
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
		_, err = p.task(ctx, t, to)
		a.step = err == nil && t.Step()
		return err
	})
}

// send has the members with these indexes do a task; this member is the first.
func (p *part) send(ctx context.Context, t train.Task, who []int) (r *reduction, err error) {
	m := broadcast{Name: p.name, Iter: t.Iter, Who: who, Stripes: 1, Star: p.w.Job().Gathers()}
	var b []byte
	if len(who) > 1 { // on one node nothing is encoded
		had := p.reuse(-1)
		b = t.Append(had[:0])
		p.w.Release(int64(len(had)))
		if err := p.w.Hold(int64(len(b))); err != nil {
			return nil, err
		}
		defer func() { p.save(b, err == nil && t.Step()) }()
		m.Size = len(b)
		// What costs the driver's link no more than a chunk goes to all at once: fewer
		// messages wait for each other.
		m.Star = m.Star || m.Size*(len(who)-1) <= chunkBytes
		if m.Size > chunkBytes && !m.Star {
			m.Stripes = reduce.Stripes
		}
	}
	err = parallel(ctx, m.Stripes, func(ctx context.Context, i int) error {
		m := m
		m.Stripe = i
		return p.pass(ctx, &m, m.chunks(b), func(chunk []byte) ([]byte, error) { return chunk, nil }, func(ctx context.Context) (err error) {
			if i == 0 {
				r, err = p.task(ctx, t, nil)
			}
			return err
		})
	})
	return r, err
}

// parallel runs f for 0 … n-1 at once and returns the first error; cancellations and cut
// connections, which may follow from another error, are returned only if there is no
// other.
func parallel(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
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
