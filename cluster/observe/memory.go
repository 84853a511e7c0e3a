package observe

import (
	"sync"

	"github.com/tributarydb/tributary/exec/mem"
)

// memory is what all that a node keeps takes together.
type memory struct {
	mu   sync.Mutex
	acct *mem.Account   // nil: nothing is charged
	drop []func() int64 // each lets go of what a keeper holds and returns its bytes; none waits
}

// charge begins to charge a node for what is kept.
func (m *memory) charge(pool *mem.Pool) {
	m.acct = pool.Account("history", false)
	pool.AddIdle(m.acct.Reserved, m.shed)
}

// take reserves bytes, if there are some.
func (m *memory) take(n int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.acct == nil || m.acct.TryFree(n)
}

func (m *memory) give(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.acct != nil {
		m.acct.Shrink(n)
	}
}

// shed implements mem.Pool.AddIdle. It takes all or, where take is at work, nothing.
func (m *memory) shed(int64) int64 {
	if !m.mu.TryLock() {
		return 0
	}
	defer m.mu.Unlock()
	before := m.acct.Reserved()
	for _, drop := range m.drop {
		m.acct.Shrink(drop())
	}
	return before - m.acct.Reserved()
}

// Ring keeps the last values that were added, so many and so many bytes at most. Its methods may be
// called from any goroutine.
type Ring[T any] struct {
	of    *memory
	most  int
	bytes int64 // at most
	size  func(*T) int64

	mu   sync.Mutex
	list []*T // a ring from first on once it is full
	from int
	held int64
}

func newRing[T any](of *memory, most int, bytes int64, size func(*T) int64) *Ring[T] {
	r := &Ring[T]{of: of, most: most, bytes: bytes, size: size}
	of.drop = append(of.drop, r.shed)
	return r
}

// Add adds values; those for which there is no memory are lost.
func (r *Ring[T]) Add(xs ...*T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range xs {
		n := r.size(x)
		if n > r.bytes {
			continue
		}
		for len(r.list)-r.from >= r.most || r.held+n > r.bytes {
			r.evict()
		}
		if !r.of.take(n) {
			continue
		}
		r.held += n
		r.list = append(r.list, x)
	}
}

// evict drops the oldest; the lock is held.
func (r *Ring[T]) evict() {
	n := r.size(r.list[r.from])
	r.list[r.from] = nil
	r.from++
	r.held -= n
	r.of.give(n)
	if r.from >= max(len(r.list)/2, 16) {
		r.list = append(r.list[:0:0], r.list[r.from:]...)
		r.from = 0
	}
}

// All returns what is kept, the oldest first.
func (r *Ring[T]) All() []*T {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*T(nil), r.list[r.from:]...)
}

func (r *Ring[T]) shed() int64 {
	if !r.mu.TryLock() {
		return 0
	}
	defer r.mu.Unlock()
	n := r.held
	r.list, r.from, r.held = nil, 0, 0
	return n
}
