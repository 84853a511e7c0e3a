package mem

import (
	"context"
	"time"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// reserve takes more bytes for a request of asked. What happens where they are not free:
//
//	another of the statement, at  spills (see Pool.reclaim)
//	a safe point, has enough
//	the statement's own limit     refused
//	the node's limit, or that of
//	the statement's group:
//	the largest statement asks    refused
//	a spillable account asks      refused, the first time: it can spill
//	anyone else                   waits for those who were asked to spill; then
//	                              the largest statement fails in its stead
func (a *Account) reserve(ctx context.Context, asked, more int64, insist bool) error {
	if e := a.pool.doomed(); e != nil {
		return e
	}
	refused := a.pool.take(more)
	if refused == nil {
		a.refused = false
		if more >= roomBytes {
			makeRoom(more)
		}
		return nil
	}
	if did, err := a.pool.reclaim(ctx, a, more, insist); did || err != nil {
		a.refused = false
		return err
	}
	if refused.recount(a.spillable && !insist) && a.pool.take(more) == nil {
		a.refused = false
		return nil
	}
	no := &BudgetError{Account: a, Operator: a.name, Node: a.pool.node, Asked: asked, Used: refused.Used() + refused.beyond.Load(), Limit: refused.Limit(), Group: groupName(refused)}
	if !refused.shared || a.pool.shared {
		return no // the statement's own limit, or no statement's request
	}
	first := a.spillable && !a.refused
	a.refused = true
	own := a.pool.statement()
	if first || refused.largest() == own {
		return no
	}
	for _, fell := range []bool{false, true} {
		if fell {
			v := refused.largest()
			if v == nil || v == own {
				return no
			}
			v.fell(refused, asked)
		}
		if refused.wait(a.pool, more, fell) {
			a.refused = false
			return nil
		}
		if e := a.pool.doomed(); e != nil {
			return e
		}
	}
	return no
}

// statement is the pool of a statement that p is or belongs to.
func (p *Pool) statement() *Pool {
	for p.parent != nil && !p.parent.shared {
		p = p.parent
	}
	return p
}

// doomed returns why the statement must fail; nil if it need not.
func (p *Pool) doomed() *BudgetError { return p.statement().doom.Load() }

// largest returns the statement that holds most, of those of groups too.
func (p *Pool) largest() *Pool {
	p.mu.Lock()
	defer p.mu.Unlock()
	var best *Pool
	for c := range p.children {
		if c.shared {
			if c = c.largest(); c == nil {
				continue
			}
		}
		if best == nil || c.used.Load() > best.used.Load() || c.used.Load() == best.used.Load() && c.name < best.name {
			best = c
		}
	}
	return best
}

// asked reports whether an account was asked to spill and has not done it yet.
func (p *Pool) asked() bool {
	any := false
	p.walk(func(a *Account) { any = any || a.spill.Load() && a.reserved.Load() >= minSpillAsk })
	return any
}

// wait retries to take n bytes for a statement as bytes are released, while that may succeed and
// for a limited time.
func (p *Pool) wait(of *Pool, n int64, fell bool) bool {
	p.waiting.Add(1)
	defer p.waiting.Add(-1)
	t := time.NewTimer(spillWait)
	defer t.Stop()
	for {
		freed := p.freeing()
		if of.take(n) == nil {
			return true
		}
		p.askLargest()
		if of.doomed() != nil || !fell && !p.asked() {
			return false
		}
		select {
		case <-freed:
		case <-t.C:
			return false
		}
	}
}

// freeing returns a channel that is closed when bytes are next released.
func (p *Pool) freeing() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.freed == nil {
		p.freed = make(chan struct{})
	}
	return p.freed
}

func (p *Pool) wake() {
	p.mu.Lock()
	if p.freed != nil {
		close(p.freed)
		p.freed = nil
	}
	p.mu.Unlock()
	p.serve()
}

// fell makes a statement fail for others that asked for bytes, of a pool that has none left.
func (p *Pool) fell(by *Pool, asked int64) {
	var most *Account
	p.walk(func(a *Account) {
		if most == nil || a.reserved.Load() > most.reserved.Load() {
			most = a
		}
	})
	e := &BudgetError{Operator: p.name, Node: p.node, Asked: asked, Held: p.Used(), Used: by.Used() + by.beyond.Load(), Limit: by.Limit(), Group: groupName(by)}
	if most != nil {
		e.Operator = most.name
	}
	if !p.doom.CompareAndSwap(nil, e) {
		return
	}
	p.mu.Lock()
	f := p.onFail
	p.mu.Unlock()
	if f != nil {
		f(e.Unwrap())
	}
	by.wake() // it may wait for bytes itself
}

// Paused reports whether the node is above the share at which no new work is
// admitted beside other.
func (p *Pool) Paused() bool { return p.root().above(PauseShare) }

// BudgetError says that a reservation was refused, or that a statement fails
// because it held most when another's was. At the wire it is 53200.
type BudgetError struct {
	// Account is the one refused; nil for a statement that fails for others,
	// which spilling does not save.
	Account     *Account
	Operator    string
	Node        string
	Asked       int64
	Held        int64 // of the statement that fails for others; else 0
	Used, Limit int64
	Group       string // whose limit it is; "" for another's
}

// Error implements error.
func (e *BudgetError) Error() string { return e.Unwrap().Error() }

// Unwrap returns the error a client sees.
func (e *BudgetError) Unwrap() error {
	of, more := "", "--memory"
	if e.Group != "" {
		of, more = " of "+e.Group, "the group's memory_limit"
	}
	if e.Held > 0 {
		return pgerr.New(pgerr.OutOfMemory, "out of memory: %s on node %q is of the largest statement, and another asked for %d bytes", e.Operator, e.Node, e.Asked).
			WithDetail("The statement held %d bytes; %d of %d bytes%s are in use.", e.Held, e.Used, e.Limit, of).
			WithHint("Raise %s, or let the statement hold less at once.", more)
	}
	return pgerr.New(pgerr.OutOfMemory, "out of memory: %s on node %q asked for %d bytes", e.Operator, e.Node, e.Asked).
		WithDetail("%d of %d bytes%s are in use.", e.Used, e.Limit, of).
		WithHint("Raise %s, or let the statement hold less at once.", more)
}
