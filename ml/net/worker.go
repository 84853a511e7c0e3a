package net

import (
	"context"
	"sync"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// worker implements family.Worker. It has no state but pools of memory.
type worker struct {
	f     *nets
	net   *net
	held  family.Charge // for the driver
	grads sync.Pool     // *[]float32
	feeds sync.Pool     // *feed
}

// NewWorker implements family.Family.
func (f *nets) NewWorker(s *family.Setup, node *family.Node) (family.Worker, error) {
	n, _, err := f.net(s)
	if err != nil {
		return nil, err
	}
	w := &worker{f: f, net: n, held: node.Charge()}
	if !node.Root {
		return w, nil
	}
	return w, w.held.Set(driverBytes(n, s))
}

// PassBytes implements family.Worker.
func (w *worker) PassBytes(s *family.Step) (pass, partial int64) {
	if s.Op == opMoments {
		return 0, 0
	}
	pass = newFeed(w.net, w.f.self).bytes()
	if s.Op == opLearn {
		partial = 4 * int64(w.net.params())
	}
	return pass, partial
}

// NewPass implements family.Worker.
func (w *worker) NewPass(s *family.Step) (family.Pass, error) {
	if s.Op == opMoments {
		return &momentsPass{}, nil
	}
	r, ok := s.Body.(*request)
	if !ok || len(r.params) != w.net.params() {
		return nil, pgerr.Internal("a step of a net is without its parameters")
	}
	return &pass{w: w, r: r, learn: s.Op == opLearn, weight: make([]float64, w.net.micro)}, nil
}

// Close implements family.Worker.
func (w *worker) Close() { _ = w.held.Set(0) }

// momentsPass computes the moments of the target.
type momentsPass struct{ sum moments }

// Add implements family.Pass.
func (p *momentsPass) Add(_ context.Context, r family.Rows, b *block.Block) error {
	for k := r.From; k < min(r.To, b.Units()); k++ {
		i := b.Last(k)
		p.sum.add(moments{Weight: b.W[i], Mean: b.Y[i]})
	}
	return nil
}

// Partial implements family.Pass.
func (p *momentsPass) Partial() family.Message {
	m := p.sum
	p.sum = moments{}
	return &m
}

// pass implements family.Pass for opLearn and opLoss: micro-batches, one after the other.
type pass struct {
	w      *worker
	r      *request
	learn  bool
	weight []float64 // of a micro-batch
	sum    *partial
}

// Add implements family.Pass.
func (p *pass) Add(ctx context.Context, r family.Rows, b *block.Block) error {
	if p.sum == nil {
		p.reset()
	}
	feed, ok := p.w.feeds.Get().(*feed)
	if !ok {
		feed = newFeed(p.w.net, p.w.f.self)
		feed.begin()
	}
	defer p.w.feeds.Put(feed)
	net, t, to := p.w.net, feed.tape, min(r.To, b.Units())
	t.train, t.once, t.key = p.learn, !p.learn, hash(p.r.key, uint64(r.Leaf))
	for from := r.From; from < to; from += net.micro {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(net.micro, to-from)
		weight := p.weight[:net.filled(n)]
		for i := range n {
			weight[i] = b.W[b.Last(from+i)]
			p.sum.weight += weight[i]
		}
		clear(weight[n:])
		in := feed.load(b, from, n)
		y := in
		if p.w.f.self {
			y = feed.autoencoderTarget(b, in)
		} else {
			y = feed.target(b, from, n, p.r.units)
		}
		out := net.forward(p.r.params, in, t)
		if p.r.measure {
			p.sum.squares += pointwise(squaredError).eval(out, y, weight, nil)
			p.sum.absolute += pointwise(absoluteError).eval(out, y, weight, nil)
		}
		if p.learn {
			p.sum.loss += net.learn(p.r.params, p.sum.grad, out, y, weight, t)
		} else {
			p.sum.loss += net.loss.eval(out, y, weight, nil)
		}
	}
	return nil
}

func (p *pass) reset() {
	p.sum = &partial{}
	if p.learn {
		p.sum.pool = &p.w.grads
		if g, ok := p.w.grads.Get().(*[]float32); ok {
			p.sum.grad = *g
			clear(p.sum.grad)
		} else {
			p.sum.grad = make([]float32, p.w.net.params())
		}
	}
}

// Partial implements family.Pass.
func (p *pass) Partial() family.Message {
	if p.sum == nil {
		p.reset()
	}
	s := p.sum
	p.sum = nil
	return s
}
