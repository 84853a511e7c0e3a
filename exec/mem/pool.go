package mem

import (
	"context"
	"errors"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// Thresholds as shares of the node pool's limit.
const (
	SpillShare  = 0.60 // the largest spillable holders are asked to spill
	PauseShare  = 0.80 // no new work is admitted beside other
	FailShare   = 0.95 // the largest statement fails
	blockBytes  = 64 << 10
	leastBytes  = 4 << 10
	noLimit     = int64(1) << 62
	minSpillAsk = 1 << 20 // accounts below this are not worth asking

	// spillWait is how long a request waits for holders that were asked to spill, and once more for a
	// statement that was made to fail.
	spillWait = 2 * time.Second
)

// Pool is the budget of a node or, as a child, of one statement, or of a group of statements. Its methods
// may be called from any goroutine.
type Pool struct {
	name   string
	node   string
	limit  atomic.Int64 // its own; noLimit for none
	parent *Pool
	shared bool // between statements: a node's or a group's
	used   atomic.Int64
	peak   atomic.Int64

	// Of the node's pool: bytes in use beyond what accounts say (see Watch), and
	// those who wait for bytes.
	beyond  atomic.Int64
	high    atomic.Int64             // the most in use since it was last read
	live    atomic.Pointer[liveHeap] // while it is watched
	waiting atomic.Int32
	freed   chan struct{} // closed when bytes are released; guarded by mu
	idle    atomic.Pointer[[]idle]
	admission

	mu       sync.Mutex
	children map[*Pool]struct{}
	accounts map[*Account]struct{}
	onFail   func(error)
	onClose  []func()
	made     int                         // accounts so far
	doom     atomic.Pointer[BudgetError] // why the statement must fail
	spilled  atomic.Int64
}

// NewPool makes a node's pool of limit bytes (0: no limit). name is the node's
// name, which errors quote.
func NewPool(name string, limit int64) *Pool {
	p := &Pool{name: name, node: name, shared: true, accounts: map[*Account]struct{}{}, admission: admission{queue: queue{most: atOnce}}}
	p.SetLimit(limit)
	return p
}

// SetLimit changes the limit of the pool of a running node (0: none). Nobody fails for a lower one:
// the largest holders spill and new work waits until the node is below it.
func (p *Pool) SetLimit(limit int64) {
	if limit <= 0 {
		limit = noLimit
	}
	p.limit.Store(limit)
	if p.above(SpillShare) {
		p.askLargest()
	}
	if p.waiting.Load() > 0 {
		p.wake() // for a higher one
	}
}

// Child makes the pool of one statement, within p. limit 0 means p's current limit. Close it when
// the statement ends.
func (p *Pool) Child(name string, limit int64) *Pool { return within(p, name, limit, false) }

func within(p *Pool, name string, limit int64, shared bool) *Pool {
	if limit <= 0 {
		limit = noLimit
	}
	c := &Pool{name: name, node: p.node, parent: p, shared: shared, accounts: map[*Account]struct{}{}}
	c.limit.Store(limit)
	p.mu.Lock()
	if p.children == nil { // most have none
		p.children = map[*Pool]struct{}{}
	}
	p.children[c] = struct{}{}
	p.mu.Unlock()
	return c
}

// Close takes a child pool out of its parent. The bytes of accounts that were not closed are
// released and returned as leaked, save those of accounts that live as long as their pool.
func (p *Pool) Close() (leaked int64) {
	p.mu.Lock()
	last := p.onClose
	p.onClose = nil
	p.mu.Unlock()
	for _, f := range last {
		f()
	}
	p.mu.Lock()
	open := make([]*Account, 0, len(p.accounts))
	for a := range p.accounts {
		open = append(open, a)
	}
	p.mu.Unlock()
	for _, a := range open {
		if !a.whole {
			leaked += a.Used()
		}
		a.Close()
	}
	if p.parent != nil {
		p.parent.mu.Lock()
		delete(p.parent.children, p)
		p.parent.mu.Unlock()
	}
	return leaked
}

// Used, Peak and Limit return bytes. The limit is the least of the pool's and its parents'.
func (p *Pool) Used() int64 { return p.used.Load() }
func (p *Pool) Peak() int64 { return p.peak.Load() }
func (p *Pool) Limit() int64 {
	limit := p.limit.Load()
	for q := p.parent; q != nil; q = q.parent {
		limit = min(limit, q.limit.Load())
	}
	return limit
}

// OwnLimit returns the limit that the pool was made with; 0 for none.
func (p *Pool) OwnLimit() int64 {
	if l := p.limit.Load(); l != noLimit {
		return l
	}
	return 0
}

// Waiting returns how many requests and statements wait for bytes of a node.
func (p *Pool) Waiting() int { return int(p.waiting.Load()) }

// rounded returns what an account takes of its pool to hold n bytes: whole blocks, or, for less than one, a
// power of two. A statement may have twenty accounts of a few hundred bytes each, and a work_mem of a megabyte: with
// a block for each of them they would leave nothing to those that need it.
func rounded(n int64) int64 {
	if n <= 0 {
		return 0
	}
	if n > blockBytes/2 {
		return (n + blockBytes - 1) / blockBytes * blockBytes
	}
	return max(leastBytes, int64(1)<<bits.Len64(uint64(n-1)))
}

// AddSpilled counts bytes written to disk under this pool, and its parents.
func (p *Pool) AddSpilled(n int64) {
	for q := p; q != nil; q = q.parent {
		q.spilled.Add(n)
	}
}

// Spilled returns the bytes written to disk so far.
func (p *Pool) Spilled() int64 { return p.spilled.Load() }

// Name returns the name the pool was made with.
func (p *Pool) Name() string { return p.name }

// OnFail sets what is called, once and from any goroutine, when the node makes
// this statement fail to save the others: it should cancel the statement with
// the error. It must not wait.
func (p *Pool) OnFail(f func(error)) {
	p.mu.Lock()
	p.onFail = f
	p.mu.Unlock()
}

// OnClose registers f to be called when the pool is closed, to free what the statement used.
func (p *Pool) OnClose(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onClose = append(p.onClose, f)
}

func (p *Pool) root() *Pool {
	for p.parent != nil {
		p = p.parent
	}
	return p
}

// above reports whether more than a share of the node's limit is in use, and not
// idle.
func (p *Pool) above(share float64) bool {
	used := p.used.Load() + p.beyond.Load()
	if p.parent == nil {
		used -= p.Idle()
	}
	return float64(used) > share*float64(p.limit.Load())
}

// take reserves n bytes in p and its parents, or nothing, and returns the pool that refused.
func (p *Pool) take(n int64) *Pool {
	for {
		refused := p.takeAt(n)
		if refused == nil || refused.parent != nil || !refused.shedFor(n) {
			return refused
		}
	}
}

// takeAt is take without freeing idle memory.
func (p *Pool) takeAt(n int64) *Pool {
	for q := p; q != nil; q = q.parent {
		u := q.used.Add(n)
		refused := u > q.Limit()
		if q.parent == nil {
			refused = float64(u+q.beyond.Load()) > FailShare*float64(q.limit.Load())
		}
		if refused {
			for r := p; ; r = r.parent {
				r.used.Add(-n)
				if r == q {
					break
				}
			}
			return q
		}
		q.raise(u)
	}
	return nil
}

// force reserves n bytes whatever the limits say.
func (p *Pool) force(n int64) {
	for q := p; q != nil; q = q.parent {
		q.raise(q.used.Add(n))
	}
}

// raise lifts the peaks to u.
func (p *Pool) raise(u int64) {
	lift(&p.peak, u)
	if p.parent == nil {
		lift(&p.high, u)
	}
}

func lift(peak *atomic.Int64, u int64) {
	for {
		old := peak.Load()
		if u <= old || peak.CompareAndSwap(old, u) {
			return
		}
	}
}

func (p *Pool) release(n int64) {
	given.Add(n)
	for q := p; q != nil; q = q.parent {
		q.used.Add(-n)
		if q.waiting.Load() > 0 {
			q.wake()
		}
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
	a.number, p.made = p.made, p.made+1
	p.accounts[a] = struct{}{}
	p.mu.Unlock()
	return a
}

// LastingAccount makes an account that lives as long as its pool and is closed with it.
func (p *Pool) LastingAccount(operator string) *Account {
	a := p.Account(operator, false)
	a.whole = true
	return a
}

// Account is the bytes one operator holds. Grow, Shrink and Close are for one
// goroutine at a time; Used and ShouldSpill for any.
type Account struct {
	pool      *Pool
	name      string
	spillable bool
	used      atomic.Int64
	reserved  atomic.Int64 // used, rounded up: what the pool counts
	peak      int64
	number    int // among those of its pool, in the order in which they were made
	spill     atomic.Bool
	reclaim   atomic.Pointer[func() (bool, error)]
	flushes   atomic.Bool
	whole     bool // lives as long as its pool
	refused   bool // the last request was
	closed    bool
}

// Grow reserves n more bytes, or returns a *BudgetError and reserves nothing.
// It may wait for other statements to give way, a few seconds at most.
func (a *Account) Grow(n int64) error { return a.grow(context.Background(), n, false) }

// Insist is Grow for bytes without which the statement must fail: operators of the statement that
// are at work are waited for, a few seconds at most and not after ctx is done, whose error it then
// returns.
func (a *Account) Insist(ctx context.Context, n int64) error { return a.grow(ctx, n, true) }

func (a *Account) grow(ctx context.Context, n int64, insist bool) error {
	want := a.used.Load() + n
	if have := a.reserved.Load(); want > have {
		more := rounded(want) - have
		if err := a.reserve(ctx, n, more, insist); err != nil {
			return err
		}
		a.reserved.Add(more)
		for q := a.pool; q != nil; q = q.parent {
			if q.shared && q.above(SpillShare) {
				q.askLargest()
			}
		}
	}
	a.used.Store(want)
	a.peak = max(a.peak, want)
	return nil
}

// Refused reports whether err is a refusal by this account's own budget, so that
// its operator can help itself by spilling.
func (a *Account) Refused(err error) bool {
	var b *BudgetError
	return errors.As(err, &b) && b.Account == a
}

// Try reserves n more bytes if they are free, without anyone giving way. It is for what its caller
// can do without.
func (a *Account) Try(n int64) bool { return a.try(n, a.pool.take) }

// TryFree is Try without freeing idle memory, for those who hold some: it could be their own, which they
// cannot free while they ask.
func (a *Account) TryFree(n int64) bool { return a.try(n, a.pool.takeAt) }

func (a *Account) try(n int64, take func(int64) *Pool) bool {
	want := a.used.Load() + n
	if have := a.reserved.Load(); want > have {
		more := rounded(want) - have
		if a.pool.doomed() != nil || take(more) != nil {
			return false
		}
		a.reserved.Add(more)
	}
	a.used.Store(want)
	a.peak = max(a.peak, want)
	return true
}

// Take reserves n more bytes whatever the limits say. It is for the little without which an
// operator that spills cannot go on, a batch or two; the memory above FailShare is kept for it.
func (a *Account) Take(n int64) {
	want := a.used.Load() + n
	if have := a.reserved.Load(); want > have {
		more := rounded(want) - have
		a.pool.force(more)
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

// Shrink releases n bytes. To release more than is held is a bug.
func (a *Account) Shrink(n int64) {
	want := a.used.Load() - n
	if want < 0 {
		panic("BUG: mem: account " + a.name + " shrinks below zero")
	}
	a.used.Store(want)
	keep := rounded(want)
	if spare := a.reserved.Load() - keep; spare >= 4*blockBytes || want == 0 {
		a.reserved.Add(-spare)
		a.pool.release(spare)
	}
}

// Close releases everything. It may be called twice.
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

// Used returns the bytes held, Peak the most there were.
func (a *Account) Used() int64 { return a.used.Load() }
func (a *Account) Peak() int64 { return a.peak }

// Reserved returns what the account takes of its pool: the bytes held in whole blocks, and some
// that were released and may be used again.
func (a *Account) Reserved() int64 { return a.reserved.Load() }

// Name returns the operator the account belongs to.
func (a *Account) Name() string { return a.name }

// Pool returns the pool the account takes from.
func (a *Account) Pool() *Pool { return a.pool }

// ShouldSpill reports, once, that the node asks this account to spill.
func (a *Account) ShouldSpill() bool { return a.spill.Load() && a.spill.Swap(false) }
