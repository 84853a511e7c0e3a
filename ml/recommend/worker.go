package recommend

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/tempfile"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// worker implements family.Worker.
type worker struct {
	*sides
	set    *family.Setup
	node   *family.Node
	charge family.Charge
	token  uint64 // names the worker in shares

	mu      sync.Mutex
	ratings [2]*ratings  // by user, and by item
	vectors [2][]float32 // what was fixed last of each
	work    *work        // nil before a step's first pass
}

// NewWorker implements family.Family.
func (factorization) NewWorker(s *family.Setup, n *family.Node) (family.Worker, error) {
	of, err := sidesOf(s)
	if err != nil {
		return nil, err
	}
	return &worker{sides: of, set: s, node: n, charge: n.Charge(), token: rand.Uint64()}, nil
}

// Close implements family.Worker.
func (w *worker) Close() { _ = w.charge.Set(0) } // less cannot fail

// PassBytes implements family.Worker. A step may come again: its work begins here.
func (w *worker) PassBytes(s *family.Step) (pass, partial int64) {
	if s.Op == opCollect {
		// Slices that grow hold twice what is in them, and once more while they do.
		return 0, 2*(pairBytes+weightBytes)*w.set.Rows + 1024
	}
	w.mu.Lock()
	w.work = nil
	w.mu.Unlock()
	n := w.users
	if s.Op == opItems {
		n = w.items
	}
	return solverBytes(w.width()), int64(n)*int64(4*w.width()+8) + 1024
}

// NewPass implements family.Worker.
func (w *worker) NewPass(s *family.Step) (family.Pass, error) {
	if s.Op == opCollect {
		return &collecting{w: w, got: &pairs{}}, nil
	}
	body, ok := s.Body.(*solveStep)
	if !ok || !body.fits(s.Op, w.sides) {
		return nil, pgerr.New(pgerr.DataCorrupted, "a step of a factorization does not fit it")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.work == nil {
		var err error
		if w.work, err = w.begin(s.Op, body); err != nil {
			return nil, err
		}
	}
	o := w.set.Options
	p := &solving{w: w, work: w.work, s: newSolver(w.sides, o.Float("l2_reg", defaultL2), o.Float(alphaOption, defaultAlpha))}
	p.s.fixed, p.s.mean = body.Fixed, body.Mean
	return p, nil
}

// collecting takes the rows of a node.
type collecting struct {
	w   *worker
	got *pairs
}

// Add implements family.Pass.
func (c *collecting) Add(ctx context.Context, r family.Rows, b *block.Block) error {
	for i := r.From; i < min(r.To, b.Rows); i++ {
		if i&0xfff == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if user, item := c.w.codes(b.CodeAt(i, 0), b.CodeAt(i, 1)); b.W[i] > 0 && user >= 0 && item >= 0 {
			c.got.add(user, item, b.Y[i]+0, b.W[i])
		}
	}
	return nil
}

// Partial implements family.Pass.
func (c *collecting) Partial() family.Message {
	p := c.got
	if c.got = (&pairs{}); len(p.User) > 0 {
		p.Tokens = []uint64{c.w.token}
	}
	return p
}

// work is what a worker has to do in a step, which its goroutines divide.
type work struct {
	op       uint8
	ratings  *ratings
	begin    []float32
	base     []float64
	from, to int // the entities
	next     atomic.Int64
	out      *part
	taken    bool // out has been returned
}

// problems is how many a goroutine takes at once.
const problems = 16

// begin prepares the worker's share of a step.
func (w *worker) begin(op uint8, s *solveStep) (*work, error) {
	side := int(op - opUsers)
	if s.Ratings != nil {
		if err := w.take(s.Ratings); err != nil {
			return nil, err
		}
	}
	if w.ratings[side] == nil {
		return nil, pgerr.Internal("a worker of a factorization has no ratings")
	}
	k := &work{op: op, ratings: w.ratings[side], begin: w.vectors[side]}
	if s.Begin != nil {
		k.begin = s.Begin
	}
	w.vectors[1-side] = s.Fixed
	last := 0
	for _, x := range s.Shares {
		to := int(x.Users)
		if op == opItems {
			to = int(x.Items)
		}
		if x.Token == w.token || x.Token == 0 {
			k.from, k.to = last, to
		}
		last = to
	}
	if w.implicit {
		k.base = gramOf(s.Fixed, w.width())
	}
	k.out = &part{From: int32(k.from), Vectors: make([]float32, (k.to-k.from)*w.width())}
	if op == opItems {
		k.out.Losses = make([]float64, k.to-k.from)
	}
	k.next.Store(int64(k.from))
	return k, nil
}

// take takes the ratings, and makes those by item of them. The vectors of both sides will be held too.
func (w *worker) take(r *ratings) error {
	n, weighted := len(r.Other), r.Weight != nil
	size := int64(0)
	if !w.node.Root { // where the driver is, these are its own
		size = ratingsBytes(n, w.users, weighted) + 4*int64(w.width())*int64(w.users+w.items)
	}
	if err := w.charge.Set(size); err != nil {
		return err
	}
	room, err := w.node.Space(int(ratingsBytes(n, w.items, weighted)))
	if err != nil {
		return err
	}
	numbers, at := tempfile.Numbers[float32](room), w.items+1
	words := tempfile.Numbers[int32](room[:4*(at+n)])
	t := &ratings{Start: words[:at], Other: words[at:], Value: numbers[at+n:][:n]}
	if weighted {
		t.Weight = numbers[at+2*n:][:n]
	}
	r.turned(t, w.items)
	w.ratings = [2]*ratings{r, t}
	return nil
}

// solving solves problems.
type solving struct {
	w    *worker
	work *work
	s    *solver
	rows bool // the node has some: only such nodes can solve
}

// Add implements family.Pass. The rows say only that the node has some: goroutines take the next problems until
// there are none.
func (p *solving) Add(ctx context.Context, _ family.Rows, _ *block.Block) error {
	k, d := p.work, p.w.width()
	p.s.base, p.rows = k.base, true
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		from := int(k.next.Add(problems)) - problems
		if from >= k.to {
			return nil
		}
		for i := from; i < min(from+problems, k.to); i++ {
			first, last := int(k.ratings.Start[i]), int(k.ratings.Start[i+1])
			out := k.out.Vectors[(i-k.from)*d:][:d]
			var begin []float32
			if k.begin != nil {
				begin = k.begin[i*d:][:d]
			}
			p.s.solve(out, begin, k.ratings, first, last)
			if k.op == opItems {
				k.out.Losses[i-k.from] = p.s.loss(out, k.ratings, first, last)
			}
		}
	}
}

// Partial implements family.Pass. The vectors of all goroutines are in one place, which is returned once: partials
// are merged when all goroutines have ended.
func (p *solving) Partial() family.Message {
	w, k := p.w, p.work
	w.mu.Lock()
	defer w.mu.Unlock()
	out := &solved{}
	if p.rows {
		out.Tokens = []uint64{w.token}
	}
	if k.taken {
		return out
	}
	k.taken = true
	if k.to > k.from {
		out.Parts = []part{*k.out}
	}
	return out
}
