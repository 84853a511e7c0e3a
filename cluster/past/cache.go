package past

import (
	"sync"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/catalog"
)

// cache has the states of the past that were read last. Their memory is idle: it is given up when others need it.
type cache struct {
	mu      sync.Mutex
	entries []*entry // the one used last at the end
	acct    *mem.Account
}

// maxStates is how many are kept.
const maxStates = 8

// entry is a state, and what is seen of it.
type entry struct {
	state   *catalog.State
	next    Record // the commit after it, without its command; version 0: not known
	bytes   int64
	charged bool
	sight   catalog.Sight
	seen    *catalog.State
}

func (c *cache) begin(pool *mem.Pool) {
	c.acct = pool.LastingAccount("states of the past")
	pool.AddIdle(c.acct.Reserved, c.shed)
}

// before returns the newest state no later than a moment; nil for none.
func (c *cache) before(at moment) (best *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.entries {
		if at.reaches(e.state) && (best == nil || e.state.Version() > best.state.Version()) {
			best = e
		}
	}
	if best != nil {
		c.use(best)
	}
	return best
}

// use makes an entry the one that was used last.
func (c *cache) use(e *entry) {
	for i, x := range c.entries {
		if x == e {
			c.entries = append(append(c.entries[:i:i], c.entries[i+1:]...), e)
			return
		}
	}
}

// charge reserves the memory of a state.
func (c *cache) charge(n int64) error {
	if c.acct == nil {
		return nil
	}
	return c.acct.Grow(n)
}

func (c *cache) release(n int64) {
	if c.acct != nil {
		c.acct.Shrink(n)
	}
}

// keep keeps a state that was made from an entry's, and returns its entry.
func (c *cache) keep(e *entry, s *catalog.State, next Record) (*entry, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.entries {
		if x.state.Version() == s.Version() {
			if e.charged && x != e && !c.has(e) {
				c.release(e.bytes)
			}
			x.next = next
			return x, nil
		}
	}
	n := &entry{state: s, next: next, bytes: e.bytes, charged: e.charged && !c.has(e)}
	if !n.charged {
		if c.acct != nil && !c.acct.Try(n.bytes) {
			return n, nil // nobody gives way for it
		}
		n.charged = true
	}
	if c.entries = append(c.entries, n); len(c.entries) > maxStates {
		c.drop()
	}
	return n, nil
}

func (c *cache) has(e *entry) bool {
	for _, x := range c.entries {
		if x == e {
			return true
		}
	}
	return false
}

// drop removes the state that was not used for longest.
func (c *cache) drop() int64 {
	e := c.entries[0]
	c.entries = c.entries[1:]
	e.charged = false // who is making a state of it takes nothing over
	c.release(e.bytes)
	return e.bytes
}

func (c *cache) shed(n int64) (freed int64) {
	if !c.mu.TryLock() {
		return 0
	}
	defer c.mu.Unlock()
	for freed < n && len(c.entries) > 0 {
		freed += c.drop()
	}
	return freed
}

func (c *cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.entries) > 0 {
		c.drop()
	}
}

// seen returns what is seen of a state now.
func (c *cache) seen(e *entry, now *catalog.State) *catalog.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	if sight := catalog.SightOf(now); e.seen == nil || e.sight != sight {
		e.seen, e.sight = catalog.SeenFrom(e.state, now), sight
	}
	return e.seen
}
