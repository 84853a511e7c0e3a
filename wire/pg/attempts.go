package pg

import (
	"net"
	"sync"
	"time"
)

// The answers to failed logins of one role from one address are delayed longer and longer, and cost
// no round of the cluster: only password guessing is slowed down.
const (
	firstWait  = 100 * time.Millisecond
	longWait   = 5 * time.Second
	forgetting = 10 * time.Minute
	maxGuesses = 4096 // keys that are remembered
	// looseAfter is after how many failures of an address, whatever the role, its logins are checked
	// without a round of the cluster.
	looseAfter = 3
)

type guess struct{ role, addr string } // role "" counts all of the address

type failures struct {
	n    int
	last time.Time
}

// attempts records failed logins.
type attempts struct {
	mu  sync.Mutex
	by  map[guess]failures
	now func() time.Time
}

func hostOf(a net.Addr) string {
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	return host
}

// suspect reports whether logins from an address failed lately.
func (a *attempts) suspect(addr string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.recent(guess{"", addr}).n >= looseAfter
}

// failed records a failure and returns how long its answer is delayed.
func (a *attempts) failed(role, addr string) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.by == nil {
		a.by = map[guess]failures{}
	}
	n := 0
	for _, g := range []guess{{"", addr}, {role, addr}} {
		f := a.recent(g)
		f.n, f.last = f.n+1, a.now()
		n = f.n
		if _, known := a.by[g]; !known && len(a.by) >= maxGuesses {
			a.forget()
		}
		a.by[g] = f
	}
	return min(firstWait<<min(n-1, 10), longWait)
}

// passed removes a role's failures from an address.
func (a *attempts) passed(role, addr string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.by, guess{role, addr})
	delete(a.by, guess{"", addr})
}

func (a *attempts) recent(g guess) failures {
	f := a.by[g]
	if a.now().Sub(f.last) > forgetting {
		return failures{}
	}
	return f
}

// forget makes room by removing old entries, or all if there are none.
func (a *attempts) forget() {
	for g := range a.by {
		if a.recent(g).n == 0 {
			delete(a.by, g)
		}
	}
	if len(a.by) >= maxGuesses {
		clear(a.by)
	}
}
