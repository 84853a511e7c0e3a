package hashindex

import (
	"container/list"
	"sync"
	"sync/atomic"

	"github.com/tributarydb/tributary/exec/mem"
)

// Slot has an index, or none: one that was not made, or that was evicted since. Any
// number of goroutines may read it.
type Slot struct {
	index atomic.Pointer[Index]
	used  atomic.Bool // since the last eviction
	bytes int64
	kept  *list.Element // in the budget's list, under its lock
}

// Look returns the index for a look-up, if there is one.
func (x *Slot) Look() *Index {
	had := x.index.Load()
	if had != nil && !x.used.Load() {
		x.used.Store(true)
	}
	return had
}

// Peek returns the index, which does not count as used by this.
func (x *Slot) Peek() *Index { return x.index.Load() }

// budgetShare is the share of the pool, one in so many, that all indexes may take.
const budgetShare = 8

// Budget limits what the indexes of a store take of its pool. Only other indexes give way
// for them: without one a scan reads more. The zero value has no limit and counts nothing.
type Budget struct {
	mu   sync.Mutex
	acct *mem.Account // nil: without limit
	kept list.List    // of *Slot: those that have an index, the oldest first
}

// Charge sets the account that indexes are charged to, before any is made.
func (b *Budget) Charge(acct *mem.Account) { b.acct = acct }

// Take reserves the bytes of an index. Where there is no room, the indexes that were not
// used since the last eviction are evicted: those in use stay, and a new one without room
// is tried again after some more look-ups.
func (b *Budget) Take(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.acct == nil {
		return true
	}
	p := b.acct.Pool()
	if limit := p.Limit() / budgetShare; limit > 0 && b.acct.Used()+n > limit {
		if n > limit {
			return false
		}
		var next *list.Element
		for e := b.kept.Front(); e != nil; e = next {
			next = e.Next()
			if x := e.Value.(*Slot); !x.used.Swap(false) && b.acct.Used()+n > limit {
				b.forget(x)
			}
		}
		if b.acct.Used()+n > limit {
			return false
		}
	}
	return !p.Paused() && b.acct.Try(n)
}

// Release gives back reserved bytes of which no index was made.
func (b *Budget) Release(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.acct != nil {
		b.acct.Shrink(n)
	}
}

// Keep stores an index, for which bytes were reserved, in an empty slot.
func (b *Budget) Keep(x *Slot, index *Index, bytes int64) {
	x.bytes = bytes
	x.used.Store(true)
	x.index.Store(index)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.acct != nil {
		x.kept = b.kept.PushBack(x)
	}
}

// Drop releases what a slot's index takes, if it is still there.
func (b *Budget) Drop(x *Slot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if x.kept != nil {
		b.forget(x)
	}
}

// forget releases what an index takes; mu is held.
func (b *Budget) forget(x *Slot) {
	b.kept.Remove(x.kept)
	x.kept = nil
	x.index.Store(nil)
	b.acct.Shrink(x.bytes)
}

// Reserved returns what the indexes take of the pool, in bytes.
func (b *Budget) Reserved() int64 {
	if b.acct == nil {
		return 0
	}
	return b.acct.Reserved()
}
