package mem

import (
	"context"
	"sync"
	"time"
)

const (
	// threadBytes is charged for each thread of a statement's tasks on a node that
	// keep rows: the batches between their operators, which are not counted one by
	// one.
	threadBytes = 2 << 20
	// threadNeed is what the operators of a thread need so that they do not spill small files. With
	// much less, statements that could have run one after another fail together.
	threadNeed = 8 << 20
	// atOnce is how many statements hold tickets at a time, however much memory there is. Each has a
	// thread a processor: with more of them none ends sooner, and what must answer in time, such as
	// heartbeats, waits behind all their threads.
	atOnce = 4
)

// admission is a node's queue of statements; of the node's pool.
type admission struct {
	gate    sync.Mutex // guards what follows, and the state of tickets
	queue   queue
	tickets map[*item]*Ticket // that wait or hold
	let     int64             // statements admitted so far
	waited  time.Duration     // by those that had to wait, together
}

// Ticket admits a statement that will hold rows on a node. While it is held, the statement counts
// with the memory it needs rather than with what it has just now: what it has beyond that it gives
// up when others need it. What the pools of all other statements hold is not available to those
// that queue.
//
//	new ─Try, Wait, Force─▶ held ─Release─▶ new      Close ends it for good
//
// A Ticket is for one goroutine, but Force, Release and Place are for any.
type Ticket struct {
	root  *Pool
	of    *Pool
	item  item
	ready chan struct{} // closed when it is held; while it waits
	done  bool
}

// Ticket makes the ticket of the statement whose pool p is, asked for by a role,
// with tasks of so many threads. It must be closed, before the pool.
func (p *Pool) Ticket(role uint32, threads int) *Ticket {
	n := int64(max(threads, 1))
	return &Ticket{root: p.root(), of: p, item: item{role: role, need: n*threadBytes + min(n*threadNeed, p.Limit()), charge: n * threadBytes}}
}

// Try takes the ticket if that is possible at once, and reports whether it did.
func (t *Ticket) Try() bool {
	a := &t.root.admission
	a.gate.Lock()
	defer a.gate.Unlock()
	if t.item.state == outside && a.queue.ask(&t.item, t.root.room()) {
		t.enter()
	}
	return t.item.state == holding
}

// Wait takes the ticket when it is its turn. Nothing but ctx limits the time: statements that hold
// one end, and where none is held the next is admitted.
func (t *Ticket) Wait(ctx context.Context) error {
	if t.Try() {
		return nil
	}
	a := &t.root.admission
	t.root.waiting.Add(1) // before room is computed: what is released later wakes
	defer t.root.waiting.Add(-1)
	start := time.Now()
	a.gate.Lock()
	ready := make(chan struct{})
	t.ready = ready
	a.know(t)
	a.queue.wait(&t.item)
	a.gate.Unlock()
	t.root.serve()
	var err error
	select {
	case <-ready:
	case <-ctx.Done():
		err = context.Cause(ctx)
		t.Release() // it may have been admitted just now
	}
	a.gate.Lock()
	a.waited += time.Since(start)
	a.gate.Unlock()
	return err
}

// Force takes the ticket ahead of all others. It is for a statement that holds rows which others
// may wait for.
func (t *Ticket) Force() {
	a := &t.root.admission
	a.gate.Lock()
	defer a.gate.Unlock()
	if t.item.state == outside && !t.done {
		a.queue.hold(&t.item)
		t.enter()
	}
}

// Release returns the ticket, or leaves the queue where it waits. It may be called twice.
func (t *Ticket) Release() { t.release(false) }

// Close is Release for good.
func (t *Ticket) Close() { t.release(true) }

func (t *Ticket) release(done bool) {
	a := &t.root.admission
	a.gate.Lock()
	t.done = t.done || done
	was := t.item.state
	a.queue.leave(&t.item)
	delete(a.tickets, &t.item)
	a.gate.Unlock()
	switch was {
	case holding:
		t.root.release(t.item.charge) // which admits others
	case waiting:
		t.root.serve() // it may have been in the way of the next
	}
}

// Place returns the ticket's position in the queue, 1 being the next; 0 if it does not wait.
func (t *Ticket) Place() int {
	t.root.gate.Lock()
	defer t.root.gate.Unlock()
	return t.root.queue.place(&t.item)
}

// know records a ticket that waits or holds. The lock must be held.
func (a *admission) know(t *Ticket) {
	if a.tickets == nil {
		a.tickets = map[*item]*Ticket{}
	}
	a.tickets[&t.item] = t
}

// enter charges a ticket that the queue admitted. The lock is held, so that the next decision sees
// the charge.
func (t *Ticket) enter() {
	t.root.force(t.item.charge)
	t.root.let++
	t.root.know(t)
}

// serve admits those whose turn it is.
func (p *Pool) serve() {
	p.gate.Lock()
	defer p.gate.Unlock()
	for p.queue.waiting > 0 {
		i := p.queue.next(p.room())
		if i == nil {
			return
		}
		t := p.tickets[i]
		t.enter()
		close(t.ready)
	}
}

// room returns how many bytes there are for those that hold tickets: what may be in use before
// anyone is asked to spill, less what is in use by others. The lock must be held.
func (p *Pool) room() int64 {
	if p.Paused() {
		return -1
	}
	others := p.used.Load() + p.beyond.Load() - p.Idle()
	for i, t := range p.tickets {
		if i.state == holding {
			others -= t.of.Used() + i.charge
		}
	}
	return int64(SpillShare*float64(p.Limit())) - max(others, 0)
}

// Admissions are the statistics of a node's queue: who is in it now, and totals.
type Admissions struct {
	Queued, Holding int
	Total           int64 // tickets so far
	Waited          time.Duration
}

// Admissions returns the statistics of p's node.
func (p *Pool) Admissions() Admissions {
	a := &p.root().admission
	a.gate.Lock()
	defer a.gate.Unlock()
	return Admissions{Queued: a.queue.waiting, Holding: a.queue.holding, Total: a.let, Waited: a.waited}
}
