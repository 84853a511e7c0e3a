package query

import (
	"container/list"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/planner"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// planKey is everything on which the binding of a text depends, except the definitions of the catalog.
type planKey struct {
	text, params string
	meaning      meaning
}

// plans caches the node's bound statements, those used last. A bound statement is valid as long as the
// catalog's definitions are the same; changes of rows do not matter. The memory of the cache is idle: it is
// given up when others need it.
type plans struct {
	mu    sync.Mutex
	byKey map[planKey]*list.Element
	used  list.List    // of *cached, the newest first
	acct  *mem.Account // nil: nothing is kept
	// asking is set while the cache asks for memory itself, which must not come
	// from what it keeps.
	asking atomic.Bool
}

type cached struct {
	key   planKey
	of    *catalog.Definitions
	bound *planner.Bound
}

const (
	maxPlans = 1024
	// longText is the length from which texts are not cached: compared with running such statements, planning
	// them takes little time.
	longText = 16 << 10
	// The size of a plan, and of what its runs leave to each other, is estimated from the length of its text.
	planBytes, planBytesPerByte = 16 << 10, 64
)

// find returns the statement that was bound under the same definitions.
func (p *plans) find(k planKey, of *catalog.Definitions) *planner.Bound {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.byKey[k]
	if e == nil {
		return nil
	}
	c := e.Value.(*cached)
	if c.of != of {
		return nil
	}
	p.used.MoveToFront(e)
	return c.bound
}

// keep keeps a bound statement, if there is memory to spare for it.
func (p *plans) keep(k planKey, of *catalog.Definitions, b *planner.Bound) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.acct == nil {
		return
	}
	if e := p.byKey[k]; e != nil {
		p.drop(e)
	}
	if p.used.Len() >= maxPlans {
		p.drop(p.used.Back())
	}
	p.asking.Store(true)
	defer p.asking.Store(false)
	for !p.acct.Try(k.bytes()) { // nobody gives way for it
		if p.used.Len() == 0 {
			return
		}
		p.drop(p.used.Back())
	}
	p.byKey[k] = p.used.PushFront(&cached{k, of, b})
}

// drop removes a plan and returns how many bytes that frees; mu is held.
func (p *plans) drop(e *list.Element) int64 {
	c := p.used.Remove(e).(*cached)
	delete(p.byKey, c.key)
	had := p.acct.Reserved()
	p.acct.Shrink(c.key.bytes())
	return had - p.acct.Reserved()
}

// idle returns how many bytes the cache holds.
func (p *plans) idle() int64 {
	if p.asking.Load() {
		return 0
	}
	return p.acct.Reserved()
}

// shed removes plans of n bytes, the least recently used first, and returns how many bytes it freed. While
// the cache asks for memory itself it removes nothing, since that request may be the caller.
func (p *plans) shed(n int64) (freed int64) {
	if !p.mu.TryLock() {
		return 0
	}
	defer p.mu.Unlock()
	for freed < n && p.used.Len() > 0 {
		freed += p.drop(p.used.Back())
	}
	return freed
}

func (p *plans) begin(pool *mem.Pool) {
	p.byKey, p.acct = map[planKey]*list.Element{}, pool.LastingAccount("plan cache")
	pool.AddIdle(p.idle, p.shed)
}

func (k *planKey) bytes() int64 { return planBytes + planBytesPerByte*int64(len(k.text)) }

// paramKey returns a key for a list of types.
func paramKey(list []types.Type) string {
	var b []byte
	for _, t := range list {
		b = strconv.AppendUint(b, uint64(t.OID), 36)
		b = append(b, ':')
		b = strconv.AppendInt(b, int64(t.Mod), 36)
		b = append(b, ',')
	}
	return string(b)
}
