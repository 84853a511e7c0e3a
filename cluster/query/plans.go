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

// planKey is what the binding of a text depends on, but for the definitions.
type planKey struct {
	text, params string
	meaning      meaning
}

// plans are the bound statements of a node that may come again, those that were
// wanted last. One is good as long as the catalog defines the same; rows may come
// and go. Their memory is idle: whoever needs it gets it.
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
	// longText is where a text is not worth keeping: whoever sends such ones does
	// not wait for their planning.
	longText = 16 << 10
	// A plan's size is guessed by its text's.
	planBytes, planBytesPerByte = 8 << 10, 64
)

// find returns what was bound in a state that defines the same.
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

// drop forgets a plan, and says how many bytes went; mu is held.
func (p *plans) drop(e *list.Element) int64 {
	c := p.used.Remove(e).(*cached)
	delete(p.byKey, c.key)
	had := p.acct.Reserved()
	p.acct.Shrink(c.key.bytes())
	return had - p.acct.Reserved()
}

// idle is how many bytes are kept.
func (p *plans) idle() int64 {
	if p.asking.Load() {
		return 0
	}
	return p.acct.Reserved()
}

// shed lets plans of n bytes go, those first that were not wanted for longest, and
// says how many bytes went. While the cache is at work itself nothing goes: the
// caller may be who does that work.
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

// paramKey tells lists of types apart.
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
