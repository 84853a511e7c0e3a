package resource

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Group is a resource group on this node. Its methods may be called from any goroutine; those of nil, which is no group,
// limit nothing.
type Group struct {
	pool *mem.Pool
	now  atomic.Pointer[catalog.ResourceGroup]

	mu      sync.Mutex
	queue   queue
	rate    rate
	changed chan struct{}         // closed when the rate changes
	last    uint64                // statement
	asking  map[uint64]chan error // those that wait
	did     Counts
	delayed int64 // statements that wait for the rate
}

// Counts are of a group's statements here since the node started.
type Counts struct {
	Admitted, Refused int64
	Waited            time.Duration
}

func newGroup(node *mem.Pool, x *catalog.ResourceGroup) *Group {
	g := &Group{pool: mem.NewGroup(node, "", x.Memory), changed: make(chan struct{}), asking: map[uint64]chan error{}}
	g.set(x)
	return g
}

// set heeds what the catalog says.
func (g *Group) set(x *catalog.ResourceGroup) {
	old := g.now.Swap(x)
	if old == x {
		return
	}
	mem.Rename(g.pool, fmt.Sprintf("resource group %q", x.Name))
	g.pool.SetLimit(x.Memory)
	g.mu.Lock()
	defer g.mu.Unlock()
	if old != nil && old.Rate != x.Rate {
		g.rate = rate{}
		close(g.changed)
		g.changed = make(chan struct{})
	}
	g.answer(limit{x.Concurrency, x.Queue})
}

// Limits are what the catalog says.
func (g *Group) Limits() catalog.ResourceGroup {
	if g == nil {
		return catalog.ResourceGroup{Queue: -1}
	}
	return *g.now.Load()
}

// Pool is the pool of which statements and trainings have their parts: the group's, or else the node's.
func (g *Group) Pool(node *mem.Pool) *mem.Pool {
	if g == nil {
		return node
	}
	return g.pool
}

// Threads returns how many of n threads a statement or a training uses.
func (g *Group) Threads(n int) int {
	if most := g.Limits().Threads; most > 0 {
		n = min(n, int(most))
	}
	return n
}

// Tighter is a time limit of a session, 0 being none, or the group's of so many milliseconds if that is less.
func Tighter(own time.Duration, group int64) time.Duration {
	if g := time.Duration(group) * time.Millisecond; g > 0 && (own <= 0 || g < own) {
		return g
	}
	return own
}

// full is the error of a statement that would wait for a limit behind as many as may.
func (g *Group) full(limit string, n int64) error {
	x := g.Limits()
	return pgerr.New(pgerr.ConfigurationLimitExceeded, "too many statements of resource group %q wait", x.Name).
		WithDetail("The group's %s is %d, and its queue is %d.", limit, n, x.Queue).WithHint("Try again later.")
}

// Begin waits until the group's rate lets a statement begin.
func (g *Group) Begin(ctx context.Context) error {
	if g.Limits().Rate == 0 {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for again := false; ; again = true {
		x, changed := g.Limits(), g.changed
		if again {
			x.Queue = -1 // it waits already, and is not refused for those that came after it
		}
		wait, ok := g.rate.begin(time.Now(), x.Rate, x.Queue)
		if !ok {
			g.did.Refused++
			return g.full("statement_rate", x.Rate)
		}
		if wait == 0 {
			return nil
		}
		done, err := g.delay(ctx, wait, changed)
		if err != nil && changed == g.changed {
			g.rate.leave(x.Rate)
		}
		if done {
			return err
		}
	}
}

// delay waits so long, or until the rate changes: then it is not done. g.mu is held, but for the wait.
func (g *Group) delay(ctx context.Context, wait time.Duration, changed chan struct{}) (done bool, err error) {
	g.delayed++
	g.mu.Unlock()
	start, t := time.Now(), time.NewTimer(wait)
	select {
	case <-t.C:
		done = true
	case <-ctx.Done():
		done, err = true, context.Cause(ctx)
	case <-changed:
	}
	t.Stop()
	g.mu.Lock()
	g.delayed--
	g.did.Waited += time.Since(start)
	return done, err
}

// answer takes an event and tells those who wait. g.mu is held.
func (g *Group) answer(e event) {
	for _, a := range g.queue.step(e) {
		ready := g.asking[a.id]
		delete(g.asking, a.id)
		if a.refused {
			g.did.Refused++
			ready <- g.full("concurrency", g.queue.atOnce)
			continue
		}
		g.did.Admitted++
		if ready != nil {
			close(ready)
		}
	}
}

// Slot is a long statement's place among those of its group. Wait is for one goroutine, the rest for any. That of nil is
// always there.
type Slot struct {
	g    *Group
	id   uint64
	done bool // guarded by g.mu
}

// Slot makes the slot of a statement; it must be closed.
func (g *Group) Slot() *Slot {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last++
	return &Slot{g: g, id: g.last}
}

// Wait takes the slot when it is its turn. It fails with 53400 if too many wait.
func (s *Slot) Wait(ctx context.Context) error {
	if s == nil {
		return nil
	}
	g, ready := s.g, make(chan error, 1)
	g.mu.Lock()
	g.asking[s.id] = ready
	g.answer(ask{id: s.id})
	g.mu.Unlock()
	select {
	case err := <-ready:
		return err
	default:
	}
	start := time.Now()
	var err error
	select {
	case err = <-ready:
	case <-ctx.Done():
		err = context.Cause(ctx)
		s.Release() // it may have been admitted just now
	}
	g.mu.Lock()
	g.did.Waited += time.Since(start)
	g.mu.Unlock()
	return err
}

// Force takes the slot ahead of all others.
func (s *Slot) Force() {
	if s == nil {
		return
	}
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	if !s.done {
		s.g.answer(ask{id: s.id, force: true})
	}
}

// Release gives the slot back, or leaves the queue. It may be called twice.
func (s *Slot) Release() { s.release(false) }

// Close is Release for good.
func (s *Slot) Close() { s.release(true) }

func (s *Slot) release(done bool) {
	if s == nil {
		return
	}
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	s.done = s.done || done
	delete(s.g.asking, s.id)
	s.g.answer(leave{s.id})
}

// Place is the statement's place among those that wait, 1 for the next; 0 if it does not.
func (s *Slot) Place() int {
	if s == nil {
		return 0
	}
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	return s.g.queue.place(s.id)
}

// Usage is what a group uses on this node now.
type Usage struct {
	catalog.ResourceGroup
	Running, Queued int   // long statements
	Delayed         int64 // statements that wait for the rate
	Used, Peak      int64 // bytes
	Spilled         int64 // so far
	Counts
}

func (g *Group) usage() Usage {
	g.mu.Lock()
	defer g.mu.Unlock()
	return Usage{ResourceGroup: g.Limits(), Running: len(g.queue.running), Queued: len(g.queue.waiting), Delayed: g.delayed,
		Used: g.pool.Used(), Peak: g.pool.Peak(), Spilled: g.pool.Spilled(), Counts: g.did}
}
