package train

import (
	"context"
	"math"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/reduce"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Shipment is a slice of a partial on its way to another worker.
type Shipment struct {
	reduce.Shipment[family.Message]
	Slice int
	Room  int // about the bytes that it is encoded to, 0 where nobody knows
}

// Part is a worker's part in the reduction of one task.
type Part struct {
	w    *Worker
	body body
	// whole means that the partial is of all of the node's leaves, and place is that of
	// the node in the tree, -1 for none.
	whole bool
	place int
	items []*item
	work  func() (hand, error) // for each goroutine
	hands int                  // how many there is memory for, 0 where that was not asked
	out   func(context.Context, *Shipment) error
	mu    sync.Mutex
	local *reduce.Assembler[family.Message] // what needs no other worker
	per   int                               // elements of a slice
	parts []*slice
	held  int64          // charged for partials; guarded by mu
	cut   family.Message // of the worker's own, whose slices went up
}

// slice is what merges one slice of the partials' vector, of which there is one
// where they travel whole.
type slice struct {
	mu   sync.Mutex
	asm  *reduce.Assembler[paid]
	root paid // on the first worker, in the end
}

// paid is a partial, and what is charged for it as long as it is held: of those that
// came from other workers, for the worker's own have room of their own (Worker.room).
type paid struct {
	family.Message
	bytes int64
}

// mergePaid merges two: the left one's memory is what remains.
func (p *Part) mergePaid(a, b paid) (paid, error) {
	if a.Message == nil {
		a, b = b, paid{bytes: a.bytes}
	} else if b.Message != nil {
		var err error
		if a.Message, err = p.merge(a.Message, b.Message); err != nil {
			return a, err
		}
	}
	p.release(b.bytes)
	return a, nil
}

// release gives back what was charged for a partial, unless the part has given back
// all of it.
func (p *Part) release(bytes int64) {
	p.mu.Lock()
	bytes = min(bytes, p.held)
	p.held -= bytes
	p.mu.Unlock()
	if bytes > 0 {
		p.w.Release(bytes)
	}
}

// inFlight bounds the slices of a partial that are on their way at once.
const inFlight = 32

// item is what a goroutine does of a task at once: a leaf, or where the family
// says so a part of one.
type item struct {
	leaf int
	node int           // the leaf's number in the tree
	rows []family.Rows // of a step
	// Of a part of a leaf: its number, and what merges the leaf's parts, in their
	// order and a tree of their own.
	part  int
	parts *reduce.Assembler[family.Message]
}

// hand is what one goroutine does of a task.
type hand interface {
	// do works an item and gives its partial, nil where the partial is the
	// node's, or where there are no rows.
	do(ctx context.Context, it *item) (family.Message, error)
	// rest is the partial of all that was worked, nil where each item had its
	// own.
	rest() family.Message
}

func (f leafFunc) do(ctx context.Context, it *item) (family.Message, error) { return f(ctx, it.leaf) }

func (f leafFunc) rest() family.Message { return nil }

// adding adds up the partials of leaves.
type adding struct {
	f   leafFunc
	p   *Part
	sum family.Message
}

func (a *adding) do(ctx context.Context, it *item) (family.Message, error) {
	m, err := a.f(ctx, it.leaf)
	if err == nil {
		a.sum, err = a.p.merge(a.sum, m)
	}
	return nil, err
}

func (a *adding) rest() family.Message { return a.sum }

// merge merges two partials; nil is none.
func (p *Part) merge(a, b family.Message) (family.Message, error) {
	switch {
	case a == nil:
		return b, nil
	case b == nil:
		return a, nil
	}
	return p.body.merge(p.w.job, a, b)
}

// ofNode makes what give gives the partial of all of the node's leaves.
func (p *Part) ofNode(give func() family.Message) {
	h := &nodeHand{give: give}
	p.work = func() (hand, error) { return h, nil }
}

// nodeHand gives what is known of a node without a look at its leaves, once.
type nodeHand struct {
	give func() family.Message
	done atomic.Bool
}

func (h *nodeHand) do(context.Context, *item) (family.Message, error) { return nil, nil }

func (h *nodeHand) rest() family.Message {
	if h.done.Swap(true) {
		return nil
	}
	return h.give()
}

// Begin prepares a task. out is called, from any goroutine, with what must go to
// another worker, whose Part is to be Offered it. Once every worker's Run and all
// these have ended, Result is there on the first worker.
func (w *Worker) Begin(t Task, out func(context.Context, *Shipment) error) (*Part, error) {
	if w.plan == nil {
		return nil, pgerr.Internal("a training task came before the leaves were assigned")
	}
	p := &Part{w: w, body: t.body, out: out, whole: w.job.InPlace()}
	if w.last != nil { // its sum has been told, and what else it has nobody wants
		w.last.release(math.MaxInt64)
		family.Free(w.last.cut)
	}
	w.last = p
	step, _ := t.body.(*stepTask)
	switch t.body.(type) {
	case *stepTask:
		// Where each partial is sent to the first worker there is one a leaf.
		p.whole = w.job.Plan.Scope == family.ByNode && !(w.job.Plan.Distributed && w.job.Gathers())
	case *copiesTask, *usageTask, *recountTask, *rescanTask, *measureTask, *cutsTask:
		p.whole = true
	case *fitTask:
		p.whole = p.whole || w.flow.on
	}
	plan, err := w.cut(p, step)
	if err != nil {
		return nil, err
	}
	p.local = reduce.NewAssembler(plan.Local(), w.self, p.merge)
	n := 1
	if step != nil && w.nodes.Leaves() > 1 {
		n, p.per = step.parts(), step.per
	}
	for i := range n {
		p.parts = append(p.parts, &slice{asm: reduce.NewAssembler(plan.Slice(i), w.self, p.mergePaid)})
	}
	same := func(f leafFunc, err error) error {
		p.work = func() (hand, error) {
			if p.whole {
				return &adding{f: f, p: p}, nil
			}
			return f, nil
		}
		return err
	}
	switch b := t.body.(type) {
	case *copiesTask:
		if w.flow.on && w.job.windows != nil && b.rows != nil {
			p.ofNode(func() family.Message { return w.flow.lengths.Of(b.rows, w.self) })
			return p, nil
		}
		if w.flow.counting() && b.rows != nil {
			c, err := w.recounted()
			p.ofNode(func() family.Message { return c })
			return p, err
		}
		if b.rows != nil {
			return p, same(w.count(b), nil)
		}
		p.ofNode(func() family.Message { return w.copies() })
		return p, nil
	case *usageTask:
		p.ofNode(func() family.Message { return &usages{[]Usage{w.usage()}} })
		return p, nil
	case *fitTask:
		if w.flow.on {
			st, err := w.collected(b)
			p.ofNode(func() family.Message { return st })
			return p, err
		}
		return p, same(w.fit(b))
	case *recountTask:
		c, err := w.recount(b)
		p.ofNode(func() family.Message { return c })
		return p, err
	case *rescanTask:
		p.ofNode(func() family.Message { return &encodedRows{} })
		return p, w.rescan(b)
	case *encodeTask:
		if w.flow.on && w.job.InPlace() {
			s, err := w.rescanned()
			p.ofNode(func() family.Message { return s })
			return p, err
		}
		return p, same(w.encodeRows(b))
	case *weighTask:
		return p, same(w.weigh(b), nil)
	case *measureTask:
		p.work, p.hands, err = w.measure(b)
		return p, err
	case *cutsTask:
		p.work, p.hands, err = w.cuts(b.measureTask)
		return p, err
	case *stepTask:
		fw, err := w.familyWorker(b)
		if err != nil {
			return nil, err
		}
		if len(p.items) == 0 { // not concerned: no pass, no memory for one
			return p, nil
		}
		pass, partial := fw.PassBytes(b.step)
		if p.hands, err = w.room(pass, partial, len(p.items), p.whole); err != nil {
			return nil, err
		}
		w.firstStep()
		p.work = func() (hand, error) {
			pass, err := fw.NewPass(b.step)
			return &stepHand{w: w, step: b.step, by: b.by, pass: pass, whole: p.whole}, err
		}
		return p, nil
	}
	return nil, pgerr.Internal("unknown training task %T", t.body)
}

// stepHand works a family's step.
type stepHand struct {
	w     *Worker
	step  *family.Step
	by    *targetWeights
	pass  family.Pass
	whole bool
}

func (h *stepHand) do(ctx context.Context, it *item) (family.Message, error) {
	for _, r := range it.rows {
		if err := h.add(ctx, r); err != nil {
			return nil, err
		}
	}
	if h.whole || len(it.rows) == 0 {
		return nil, nil
	}
	return h.pass.Partial(), nil
}

func (h *stepHand) add(ctx context.Context, r family.Rows) error {
	if h.step.Kept {
		return h.pass.Add(ctx, r, nil)
	}
	b, release, err := h.w.blocks.Open(blockOf(r))
	if err != nil || b == nil {
		return err
	}
	defer release()
	if a, ok := h.step.Body.(family.Aimed); ok {
		var free func()
		if b, free, err = h.w.aimed(b, a.Target(), h.by); err != nil {
			return err
		}
		defer free()
	}
	return h.pass.Add(ctx, r, b)
}

func (h *stepHand) rest() family.Message {
	if !h.whole {
		return nil
	}
	return h.pass.Partial()
}

// blockOf is the number of the block of these rows: 2·leaf of training rows,
// 2·leaf+1 of rows held out.
func blockOf(r family.Rows) int {
	if r.Held {
		return 2*r.Leaf + 1
	}
	return 2 * r.Leaf
}

// Offer takes what another worker ships, before, while or after Run runs.
func (p *Part) Offer(ctx context.Context, i int, n reduce.Node, m family.Message) error {
	return p.offer(ctx, i, n, paid{Message: m})
}

func (p *Part) offer(ctx context.Context, i int, n reduce.Node, m paid) error {
	if i < 0 || i >= len(p.parts) {
		return pgerr.New(pgerr.DataCorrupted, "a training partial is slice %d of %d", i, len(p.parts))
	}
	s := p.parts[i]
	s.mu.Lock()
	ship, err := s.asm.Offer(n, m)
	if ship != nil && ship.To == p.w.self {
		s.root, ship = ship.Data, nil
	}
	s.mu.Unlock()
	if err != nil || ship == nil {
		return err
	}
	defer p.release(ship.Data.bytes)
	room := 0
	if len(p.parts) > 1 {
		room = 8*p.per + 1024
	}
	return p.out(ctx, &Shipment{reduce.Shipment[family.Message]{To: ship.To, Node: ship.Node, Data: ship.Data.Message}, i, room})
}

// OfferBytes is Offer of a partial that came as bytes.
func (p *Part) OfferBytes(ctx context.Context, i int, n reduce.Node, b []byte) error {
	if len(b) == 0 {
		return p.Offer(ctx, i, n, nil)
	}
	bytes := int64(0)
	d := canon.ReadWithin(b, func(n int64) error {
		err := p.w.Hold(n)
		if err == nil {
			bytes += n
			p.mu.Lock()
			p.held += n
			p.mu.Unlock()
		}
		return err
	})
	m := p.body.decode(p.w.job, d)
	if err := d.Done("a training partial"); err != nil {
		return err
	}
	return p.offer(ctx, i, n, paid{m, bytes})
}

// Result is the sum of all partials, on the first worker; nil where it is not
// there.
func (p *Part) Result() (family.Message, error) {
	list := make([]family.Message, len(p.parts))
	for i, s := range p.parts {
		s.mu.Lock()
		list[i] = s.root.Message
		s.mu.Unlock()
	}
	if len(list) == 1 || list[0] == nil {
		return list[0], nil
	}
	first, err := as[family.Sliced](list[0])
	if err != nil {
		return nil, err
	}
	return first.Join(list)
}

// own takes a partial of the worker's own.
func (p *Part) own(ctx context.Context, n reduce.Node, m family.Message) error {
	p.mu.Lock()
	ship, err := p.local.Offer(n, m)
	p.mu.Unlock()
	switch {
	case err != nil || ship == nil:
		return err
	case len(p.parts) == 1:
		return p.Offer(ctx, 0, ship.Node, ship.Data)
	}
	var long family.Sliced
	if ship.Data != nil {
		if long, err = as[family.Sliced](ship.Data); err != nil {
			return err
		}
	}
	if p.whole {
		p.cut = ship.Data
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(inFlight)
	for i := range p.parts {
		var s family.Message
		if long != nil {
			to := (i + 1) * p.per
			if i == len(p.parts)-1 {
				to = math.MaxInt
			}
			s = long.Slice(i*p.per, to)
		}
		g.Go(func() error { return p.Offer(ctx, i, ship.Node, s) })
	}
	return g.Wait()
}

// done takes an item's partial.
func (p *Part) done(ctx context.Context, it *item, m family.Message) error {
	if p.whole {
		return nil
	}
	if it.parts != nil {
		p.mu.Lock()
		ship, err := it.parts.Offer(reduce.Node{Index: int32(it.part)}, m)
		p.mu.Unlock()
		if err != nil || ship == nil {
			return err
		}
		m = ship.Data
	}
	return p.own(ctx, reduce.Node{Index: int32(it.node)}, m)
}

// Run computes the worker's leaves and merges what it can. Of several errors the
// one of the first leaf is returned, so that a statement fails the same way each
// time.
func (p *Part) Run(ctx context.Context) error {
	errs := make([]error, len(p.items))
	hands := min(p.w.cfg.Threads, len(p.items))
	if p.hands > 0 {
		hands = p.hands
	}
	if p.whole && p.work != nil {
		hands = max(hands, 1) // a node without leaves may have a part in what is of nodes
	}
	rests := make([]family.Message, hands)
	var next atomic.Int64
	var failed atomic.Bool
	g, inner := errgroup.WithContext(ctx)
	for k := range rests {
		g.Go(func() error {
			return op.Guard("training", func() error {
				h, err := p.work()
				if err != nil {
					return err
				}
				for {
					i := int(next.Add(1)) - 1
					if i >= len(p.items) || failed.Load() {
						rests[k] = h.rest()
						return nil
					}
					m, err := h.do(inner, p.items[i])
					if err == nil {
						err = p.done(inner, p.items[i], m)
					}
					if err != nil {
						errs[i] = err
						failed.Store(true)
						if inner.Err() != nil {
							return inner.Err()
						}
					}
				}
			})
		})
	}
	err := g.Wait()
	for _, e := range errs {
		if e != nil {
			return e
		}
	}
	if err != nil || !p.whole || p.place < 0 {
		return err
	}
	var sum family.Message
	for _, m := range rests {
		if sum, err = p.merge(sum, m); err != nil {
			return err
		}
	}
	return p.own(ctx, reduce.Node{Index: int32(p.place)}, sum)
}
