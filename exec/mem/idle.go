package mem

// Idle bytes are of what a node keeps in case it is used again, a cache, such as models that no
// statement uses. They are charged like all others and count as free: nobody spills or waits for
// them, and whoever needs them gets them.

// idle is a registered holder of idle bytes.
type idle struct {
	bytes func() int64
	shed  func(n int64) int64
}

// AddIdle registers a holder of idle memory, before the node works: bytes returns how much it
// holds, and shed frees at least n bytes of it, if there are so many, releases them from their
// accounts and returns how many they were. Both are called from any goroutine that asks for memory,
// and must not ask for any; bytes is called from within shed too, for what is released may admit
// others. The last to register sheds first.
func (p *Pool) AddIdle(bytes func() int64, shed func(n int64) int64) {
	list := []idle{{bytes, shed}}
	if old := p.idle.Load(); old != nil {
		list = append(list, *old...)
	}
	p.idle.Store(&list)
}

// Idle returns how many of a node's bytes are idle.
func (p *Pool) Idle() int64 { return p.root().idleBytes() }

// idleBytes are those of a node.
func (p *Pool) idleBytes() (n int64) {
	if list := p.idle.Load(); list != nil {
		for _, i := range *list {
			n += i.bytes()
		}
	}
	return n
}

// shedFor frees idle memory for a request of n bytes; it returns false if there is none.
func (p *Pool) shedFor(n int64) bool {
	if p.idleBytes() == 0 {
		return false
	}
	n = max(p.used.Load()+p.beyond.Load()+n-int64(FailShare*float64(p.limit.Load())), 1)
	for _, i := range *p.idle.Load() {
		if n > 0 {
			n -= i.shed(n)
		}
	}
	return true
}

// Move moves the account, with all that it holds, to another pool of the same node: a statement
// leaves it to the node, or takes it over. Nobody may use the account meanwhile.
func (a *Account) Move(to *Pool, spillable bool) {
	// The unused part of its blocks is released: many idle accounts would hold more of that than of use.
	if spare := a.reserved.Load() - rounded(a.used.Load()); spare > 0 {
		a.reserved.Add(-spare)
		a.pool.release(spare)
	}
	from, n := a.pool, a.reserved.Load()
	from.mu.Lock()
	delete(from.accounts, a)
	from.mu.Unlock()
	for q := from; q.parent != nil; q = q.parent {
		q.used.Add(-n)
	}
	for q := to; q.parent != nil; q = q.parent {
		q.raise(q.used.Add(n))
	}
	a.pool, a.spillable, a.refused = to, spillable, false
	a.spill.Store(false)
	to.mu.Lock()
	to.accounts[a] = struct{}{}
	to.mu.Unlock()
}
