package mem

import (
	"sync"
	"sync/atomic"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Thresholds as shares of the node pool's limit.
const (
	SpillShare  = 0.60 // the largest spillable holders are asked to spill
	PauseShare  = 0.80 // no new work is admitted
	FailShare   = 0.95 // the largest statement fails
	blockBytes  = 64 << 10
	noLimit     = int64(1) << 62
	minSpillAsk = 1 << 20 // accounts below this are not worth asking
)

// Pool is the budget of a node or, as a child, of one statement. Its methods
// may be called from any goroutine.
type Pool struct {
	name   string
	node   string
	limit  int64
	parent *Pool
	used   atomic.Int64
	peak   atomic.Int64

	mu       sync.Mutex
	children map[*Pool]struct{}
	accounts map[*Account]struct{}
	spilled  atomic.Int64
}

// NewPool makes a node's pool of limit bytes (0: no limit). name is the node's
// name, which errors quote.
func NewPool(name string, limit int64) *Pool {
	if limit <= 0 {
		limit = noLimit
	}
	return &Pool{name: name, node: name, limit: limit, children: map[*Pool]struct{}{}, accounts: map[*Account]struct{}{}}
}

// Child makes the pool of one statement, within p. limit 0 means p's own.
// Close it when the statement ends.
func (p *Pool) Child(name string, limit int64) *Pool {
	if limit <= 0 || limit > p.limit {
		limit = p.limit
	}
	c := &Pool{name: name, node: p.node, limit: limit, parent: p, children: map[*Pool]struct{}{}, accounts: map[*Account]struct{}{}}
	p.mu.Lock()
	p.children[c] = struct{}{}
	p.mu.Unlock()
	return c
}

// Close takes a child pool out of its parent. Accounts that were not closed
// give their bytes back and are counted as a leak in the return value.
func (p *Pool) Close() (leaked int64) {
	p.mu.Lock()
	open := make([]*Account, 0, len(p.accounts))
	for a := range p.accounts {
		open = append(open, a)
	}
	p.mu.Unlock()
	for _, a := range open {
		leaked += a.Used()
		a.Close()
	}
	if p.parent != nil {
		p.parent.mu.Lock()
		delete(p.parent.children, p)
		p.parent.mu.Unlock()
	}
	return leaked
}

// Used, Peak, Limit are in bytes.
func (p *Pool) Used() int64  { return p.used.Load() }
func (p *Pool) Peak() int64  { return p.peak.Load() }
func (p *Pool) Limit() int64 { return p.limit }

// AddSpilled counts bytes written to disk under this pool, and its parents.
func (p *Pool) AddSpilled(n int64) {
	for q := p; q != nil; q = q.parent {
		q.spilled.Add(n)
	}
}

// Spilled is the bytes written to disk so far.
func (p *Pool) Spilled() int64 { return p.spilled.Load() }

// Name is the name the pool was made with.
func (p *Pool) Name() string { return p.name }

// Paused tells whether the node is above the share at which no new work is
// admitted.
func (p *Pool) Paused() bool {
	root := p.root()
	return float64(root.used.Load()) > PauseShare*float64(root.limit)
}

func (p *Pool) root() *Pool {
	for p.parent != nil {
		p = p.parent
	}
	return p
}

// take reserves n bytes in p and its parents, or nothing and the pool that
// refused.
func (p *Pool) take(n int64) *Pool {
	for q := p; q != nil; q = q.parent {
		if u := q.used.Add(n); u > q.limit {
			for r := p; ; r = r.parent {
				r.used.Add(-n)
				if r == q {
					break
				}
			}
			return q
		} else {
			q.raise(u)
		}
	}
	if root := p.root(); float64(root.used.Load()) > SpillShare*float64(root.limit) {
		root.askLargest()
	}
	return nil
}

// raise lifts the peak to u.
func (p *Pool) raise(u int64) {
	for {
		old := p.peak.Load()
		if u <= old || p.peak.CompareAndSwap(old, u) {
			return
		}
	}
}

func (p *Pool) give(n int64) {
	for q := p; q != nil; q = q.parent {
		q.used.Add(-n)
	}
}

// askLargest flags the largest spillable account of the node. The largest
// alone: flagging all would make small holders write for nothing.
func (p *Pool) askLargest() {
	var best *Account
	p.walk(func(a *Account) {
		if a.spillable && a.reserved.Load() >= minSpillAsk && !a.spill.Load() &&
			(best == nil || a.reserved.Load() > best.reserved.Load()) {
			best = a
		}
	})
	if best != nil {
		best.spill.Store(true)
	}
}

func (p *Pool) walk(f func(*Account)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for a := range p.accounts {
		f(a)
	}
	for c := range p.children {
		c.walk(f)
	}
}

// Account makes the account of one operator. spillable says that the operator
// can shrink when asked.
func (p *Pool) Account(operator string, spillable bool) *Account {
	a := &Account{pool: p, name: operator, spillable: spillable}
	p.mu.Lock()
	p.accounts[a] = struct{}{}
	p.mu.Unlock()
	return a
}

// Account is the bytes one operator holds. Grow, Shrink and Close are for one
// goroutine at a time; Used and ShouldSpill for any.
type Account struct {
	pool      *Pool
	name      string
	spillable bool
	used      atomic.Int64
	reserved  atomic.Int64 // used rounded up to blocks: what the pool counts
	peak      int64
	spill     atomic.Bool
	closed    bool
}

// Grow reserves n more bytes, or returns a *BudgetError and reserves nothing.
func (a *Account) Grow(n int64) error {
	want := a.used.Load() + n
	if have := a.reserved.Load(); want > have {
		more := (want - have + blockBytes - 1) / blockBytes * blockBytes
		if refused := a.pool.take(more); refused != nil {
			return &BudgetError{Account: a, Node: a.pool.node, Asked: n, Used: refused.Used(), Limit: refused.limit}
		}
		a.reserved.Add(more)
	}
	a.used.Store(want)
	a.peak = max(a.peak, want)
	return nil
}

// Take reserves n more bytes whatever the limits say. It is for the little
// without which an operator that spills cannot go on, a batch or two; the room
// above FailShare is kept for it.
func (a *Account) Take(n int64) {
	want := a.used.Load() + n
	if have := a.reserved.Load(); want > have {
		more := (want - have + blockBytes - 1) / blockBytes * blockBytes
		for q := a.pool; q != nil; q = q.parent {
			q.raise(q.used.Add(more))
		}
		a.reserved.Add(more)
	}
	a.used.Store(want)
	a.peak = max(a.peak, want)
}

// Resize sets what the account holds to n bytes: Grow or Shrink as needed.
func (a *Account) Resize(n int64) error {
	if d := n - a.used.Load(); d > 0 {
		return a.Grow(d)
	} else if d < 0 {
		a.Shrink(-d)
	}
	return nil
}

// Shrink gives n bytes back. To give back more than is held is a bug.
func (a *Account) Shrink(n int64) {
	want := a.used.Load() - n
	if want < 0 {
		panic("BUG: mem: account " + a.name + " shrinks below zero")
	}
	a.used.Store(want)
	keep := (want + blockBytes - 1) / blockBytes * blockBytes
	if spare := a.reserved.Load() - keep; spare >= 4*blockBytes || want == 0 {
		a.reserved.Add(-spare)
		a.pool.give(spare)
	}
}

// Close gives everything back. It may be called twice.
func (a *Account) Close() {
	if a.closed {
		return
	}
	a.closed = true
	a.Shrink(a.used.Load())
	a.pool.mu.Lock()
	delete(a.pool.accounts, a)
	a.pool.mu.Unlock()
}

// Used is the bytes held, Peak the most there were.
func (a *Account) Used() int64 { return a.used.Load() }
func (a *Account) Peak() int64 { return a.peak }

// Name is the operator the account is of.
func (a *Account) Name() string { return a.name }

// Pool is the pool the account takes from.
func (a *Account) Pool() *Pool { return a.pool }

// ShouldSpill tells, once, that the node asks this account to spill.
func (a *Account) ShouldSpill() bool { return a.spill.Load() && a.spill.Swap(false) }

// BudgetError says that a reservation was refused. At the wire it is 53200.
type BudgetError struct {
	Account            *Account
	Node               string
	Asked, Used, Limit int64
}

// Error implements error.
func (e *BudgetError) Error() string { return e.Unwrap().Error() }

// Unwrap gives the error a client sees.
func (e *BudgetError) Unwrap() error {
	return pgerr.New(pgerr.OutOfMemory, "out of memory: %s on node %q asked for %d bytes", e.Account.name, e.Node, e.Asked).
		WithDetail("%d of %d bytes are in use.", e.Used, e.Limit).
		WithHint("Raise --memory, or let the statement hold less at once.")
}
