package observe

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/tributarydb/tributary/sql/types"
)

// What is kept of statements by their fingerprints.
const (
	maxCallText = 1 << 10 // bytes
	keptCalls   = 2000
)

type callKey struct {
	User        types.OID
	Fingerprint int64
}

// Call is what the calls of statements of one fingerprint by one role did together. Times are
// milliseconds.
type Call struct {
	callKey
	Text       string // with parameters for constants
	Exec, Plan Times
	Rows       int64
	Spilled    int64 // bytes
	used       uint64
}

// Times are the number, the sum and the spread of times.
type Times struct {
	N, Total, Min, Max, Squares float64 // Squares: of the differences to the mean
}

// Add adds a time.
func (t *Times) Add(ms float64) { t.Merge(Times{1, ms, ms, ms, 0}) }

// Merge adds the times of u.
func (t *Times) Merge(u Times) {
	switch {
	case u.N == 0:
		return
	case t.N == 0:
		*t = u
		return
	}
	d := u.Total/u.N - t.Total/t.N
	t.Squares += u.Squares + d*d*t.N*u.N/(t.N+u.N)
	t.N += u.N
	t.Total += u.Total
	t.Min, t.Max = min(t.Min, u.Min), max(t.Max, u.Max)
}

// Mean and Deviation are 0 for no times.
func (t *Times) Mean() float64 {
	if t.N == 0 {
		return 0
	}
	return t.Total / t.N
}

// Deviation is the standard deviation of the times.
func (t *Times) Deviation() float64 {
	if t.N == 0 {
		return 0
	}
	return math.Sqrt(t.Squares / t.N)
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

func (c *Call) add(s *Statement) {
	c.Exec.Add(ms(s.Took - s.Planning))
	if s.Planning > 0 {
		c.Plan.Add(ms(s.Planning))
	}
	c.Rows += s.Rows
	c.Spilled += s.Spilled
}

func (c *Call) size() int64 { return 250 + int64(len(c.Text)) }

// Calls are a node's, those used last of so many.
type Calls struct {
	of    *memory
	bytes int64

	mu    sync.Mutex
	byKey map[callKey]*Call
	clock uint64
	held  int64
}

func newCalls(of *memory, bytes int64) *Calls {
	c := &Calls{of: of, bytes: bytes, byKey: map[callKey]*Call{}}
	of.drop = append(of.drop, c.shed)
	return c
}

// merge adds what a session has counted.
func (c *Calls) merge(list []*Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock++
	for _, x := range list {
		have := c.byKey[x.callKey]
		if have == nil {
			if len(c.byKey) >= keptCalls || c.held+x.size() > c.bytes {
				c.evict()
			}
			if !c.of.take(x.size()) {
				continue
			}
			c.held += x.size()
			c.byKey[x.callKey] = x
			x.used = c.clock
			continue
		}
		have.used = c.clock
		have.Exec.Merge(x.Exec)
		have.Plan.Merge(x.Plan)
		have.Rows += x.Rows
		have.Spilled += x.Spilled
	}
}

// evict drops the twentieth part that was not used for longest; the lock is held.
func (c *Calls) evict() {
	list := make([]*Call, 0, len(c.byKey))
	for _, x := range c.byKey {
		list = append(list, x)
	}
	slices.SortFunc(list, func(a, b *Call) int { return cmp.Compare(a.used, b.used) })
	for _, x := range list[:min(len(list)/20+1, len(list))] {
		c.remove(x)
	}
}

func (c *Calls) remove(x *Call) {
	delete(c.byKey, x.callKey)
	c.held -= x.size()
	c.of.give(x.size())
}

// All returns copies of the calls, by role and fingerprint.
func (c *Calls) All() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]Call, 0, len(c.byKey))
	for _, x := range c.byKey {
		out = append(out, *x)
	}
	slices.SortFunc(out, func(a, b Call) int {
		return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	return out
}

// forget forgets the calls of a role and a fingerprint; 0 stands for all of them.
func (c *Calls) forget(user types.OID, fingerprint int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, x := range c.byKey {
		if (user == 0 || k.User == user) && (fingerprint == 0 || k.Fingerprint == fingerprint) {
			c.remove(x)
		}
	}
}

func (c *Calls) shed() int64 {
	if !c.mu.TryLock() {
		return 0
	}
	defer c.mu.Unlock()
	n := c.held
	c.byKey, c.held = map[callKey]*Call{}, 0
	return n
}
