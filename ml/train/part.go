package train

import (
	"context"
	"math"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/turn"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/reduce"
	"github.com/tributarydb/tributary/ml/rows"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Shipment is a slice of a partial to be sent to another worker.
type Shipment struct {
	reduce.Shipment[family.Message]
	Slice int
	Room  int // about the size of its encoding in bytes, 0 where unknown
}

// Part is a worker's part in the reduction of one task.
type Part struct {
	w    *Worker
	job  *Job // the worker's when the part was begun
	body body
	// whole means that there is one partial for all of the node's leaves; place is the
	// node's place in the tree, -1 for none.
	whole bool
	place int
	items []*item
	work  func() (taskPass, error) // called for each goroutine
	// node returns the partial of the node, where it is not of leaves
	node    func(ctx context.Context) (family.Message, error)
	threads int // how many there is memory for, 0 for no limit
	out     func(context.Context, *Shipment) error
	mu      sync.Mutex
	local   *reduce.Assembler[family.Message] // merges what needs no other worker
	per     int                               // elements of a slice
	parts   []*slice
	held    int64          // charged for partials; guarded by mu
	cut     family.Message // the worker's own partial, whose slices were shipped
}

// slice merges one slice of the partials' vector; partials that are not sliced have a
// single one.
type slice struct {
	mu   sync.Mutex
	asm  *reduce.Assembler[charged]
	root charged // the result, on the first worker
}

// charged is a partial and the bytes charged for it while it is held. That is for
// partials from other workers only: the worker's own are charged by Worker.room.
type charged struct {
	family.Message
	bytes int64
}

// mergeCharged merges two: the left one's memory remains.
func (p *Part) mergeCharged(a, b charged) (charged, error) {
	if a.Message == nil {
		a, b = b, charged{bytes: a.bytes}
	} else if b.Message != nil {
		var err error
		if a.Message, err = p.merge(a.Message, b.Message); err != nil {
			return a, err
		}
	}
	p.release(b.bytes)
	return a, nil
}

// release releases what was charged for a partial, unless the part has released
// everything already.
func (p *Part) release(bytes int64) {
	p.mu.Lock()
	bytes = min(bytes, p.held)
	p.held -= bytes
	p.mu.Unlock()
	if bytes > 0 {
		p.w.Release(bytes)
	}
}

// inFlight bounds the slices of a partial that are sent concurrently.
const inFlight = 32

// item is a unit of work of a task: a leaf, or where the family says so a part of one.
type item struct {
	leaf int
	node int           // the item's number in the tree
	rows []family.Rows // of a step
	// For a part of a leaf: its number, and what merges the leaf's parts, in order, in
	// their own tree.
	part  int
	parts *reduce.Assembler[family.Message]
}

// leafFunc computes the partial of one leaf.
type leafFunc func(ctx context.Context, leaf int) (family.Message, error)

// taskPass is the work of one goroutine in a task.
type taskPass interface {
	// do processes an item and returns its partial, nil where there is one partial for the
	// node, or where there are no rows.
	do(ctx context.Context, it *item) (family.Message, error)
	// rest returns the partial of all items processed, nil where each item had its own.
	rest() family.Message
}

func (f leafFunc) do(ctx context.Context, it *item) (family.Message, error) { return f(ctx, it.leaf) }

func (f leafFunc) rest() family.Message { return nil }

// adding sums the partials of leaves.
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
	return p.body.merge(p.job, a, b)
}

// do has the task do work over the worker's rows.
func (p *Part) do(k rows.Work, err error) error {
	switch {
	case err != nil:
		return err
	case k.Node != nil:
		p.ofNode(k.Node)
		return nil
	}
	p.whole = k.Sum
	p.work = func() (taskPass, error) {
		if p.whole {
			return &adding{f: k.Leaf, p: p}, nil
		}
		return leafFunc(k.Leaf), nil
	}
	return nil
}

// ofNode sets the partial of all of the node's leaves to what get returns.
func (p *Part) ofNode(get func(ctx context.Context) (family.Message, error)) {
	p.whole, p.node = true, get
}

// Begin prepares a task. out is called, from any goroutine, with what must be sent to
// another worker, whose Part must be Offered it. Run must be called. Once every worker's Run and all these
// calls have returned, Result is available on the first worker.
func (w *Worker) Begin(t Task, out func(context.Context, *Shipment) error) (p *Part, err error) {
	if lane := LaneOf(t.Iter); lane > 0 && w.lanes != nil {
		return w.Lane(lane).Begin(t, out)
	}
	w.turn.Lock()
	defer w.turn.Unlock()
	if t.Iter < w.iter || w.gone { // of a task that has failed elsewhere: the job has gone on with another trial
		return nil, errEnded()
	}
	if w.iter = t.Iter; w.lanes != nil {
		if err := w.lanes.end(t.Iter); err != nil {
			return nil, err
		}
	}
	if t.body.kind() == kindTrial {
		w.running.Wait()
	}
	if p, err = w.begin(t, out); err == nil {
		w.running.Add(1)
	}
	return p, err
}

func (w *Worker) begin(t Task, out func(context.Context, *Shipment) error) (*Part, error) {
	if t.body.kind() < kindFinish { // those from there on come before the leaves are assigned
		if err := w.settle(); err != nil {
			return nil, err
		}
	}
	p := &Part{w: w, job: w.job, body: t.body, out: out}
	if w.last != nil { // its sum has been used, and nothing else of it is needed
		w.last.release(math.MaxInt64)
		family.Free(w.last.cut)
	}
	w.last = p
	if err := t.body.begin(w, p); err != nil {
		return nil, err
	}
	step, _ := t.body.(*stepTask)
	plan, err := w.cut(p, step)
	if err != nil {
		return nil, err
	}
	p.local = reduce.NewAssembler(plan.Local(), w.cfg.Self, p.merge)
	n := 1
	if step != nil && w.nodes.Leaves() > 1 {
		n, p.per = step.parts(), step.per
	}
	for i := range n {
		p.parts = append(p.parts, &slice{asm: reduce.NewAssembler(plan.Slice(i), w.cfg.Self, p.mergeCharged)})
	}
	if step != nil && len(p.items) > 0 { // no items: no pass, and no memory for one
		return p, step.passes(w, p)
	}
	return p, nil
}

// Offer takes a partial that another worker ships; it may be called before, during or
// after Run.
func (p *Part) Offer(ctx context.Context, i int, n reduce.Node, m family.Message) error {
	return p.offer(ctx, i, n, charged{Message: m})
}

func (p *Part) offer(ctx context.Context, i int, n reduce.Node, m charged) error {
	if i < 0 || i >= len(p.parts) {
		return pgerr.New(pgerr.DataCorrupted, "a training partial is slice %d of %d", i, len(p.parts))
	}
	s := p.parts[i]
	s.mu.Lock()
	ship, err := s.asm.Offer(n, m)
	if ship != nil && ship.To == p.w.cfg.Self {
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

// OfferBytes is Offer of an encoded partial.
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
	m := p.body.decode(p.job, d)
	if err := d.Done("a training partial"); err != nil {
		return err
	}
	return p.offer(ctx, i, n, charged{m, bytes})
}

// Result returns the sum of all partials on the first worker; nil on others.
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

// own adds one of the worker's own partials.
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

// done adds an item's partial.
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
	defer p.w.running.Done()
	if p.node != nil {
		var m family.Message
		err := op.Guard("training", func() (err error) {
			m, err = p.node(ctx)
			return err
		})
		if err != nil {
			return err
		}
		return p.own(ctx, reduce.Node{Index: int32(p.place)}, m)
	}
	errs := make([]error, len(p.items))
	threads := min(p.w.cfg.Threads, len(p.items))
	if p.threads > 0 {
		threads = p.threads
	}
	if p.whole && p.work != nil {
		threads = max(threads, 1) // a node without leaves may still have a partial of the node
	}
	rests := make([]family.Message, threads)
	defer turn.Work(threads)()
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
				giveWay := func(context.Context) {}
				if make := p.w.cfg.GiveWay; make != nil {
					giveWay = make()
				}
				for {
					turn.Give() // short statements and commits go first, as between the batches of a query
					giveWay(inner)
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
