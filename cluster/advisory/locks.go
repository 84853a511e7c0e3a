package advisory

import (
	"context"
	"slices"
	"sync"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Locks are the advisory locks of one node. Its methods and those of its holders
// may be called from any goroutine.
type Locks struct {
	mu      sync.Mutex
	locks   map[function.AdvisoryKey]*lock
	waiting map[*Holder]*request // a holder waits for one lock at most
}

// Holder is a session as a holder of locks.
type Holder struct{ of *Locks }

// Holder returns a new holder without locks.
func (a *Locks) Holder() *Holder { return &Holder{a} }

type lock struct {
	held  map[*Holder]*hold
	queue []*request // in order of arrival
}

// hold counts how often a session has a lock, exclusive and shared,
// for itself and for its transaction.
type hold struct{ session, xact [2]int }

type request struct {
	key     function.AdvisoryKey
	holder  *Holder
	mode    function.AdvisoryMode
	granted chan struct{} // closed when the lock has been granted
}

func sharedIndex(shared bool) int {
	if shared {
		return 1
	}
	return 0
}

func (h *hold) exclusive() bool { return h.session[0]+h.xact[0] > 0 }
func (h *hold) empty() bool     { return !h.exclusive() && h.session[1]+h.xact[1] == 0 }

// free reports whether s may be granted the lock now; before is the part of the queue
// ahead of it.
func (l *lock) free(s *Holder, shared bool, before []*request) bool {
	for o, h := range l.held {
		if o != s && (!shared || h.exclusive()) {
			return false
		}
	}
	if l.held[s] != nil {
		return true // s holds it: those in the queue wait for s too
	}
	return !slices.ContainsFunc(before, func(w *request) bool { return !shared || !w.mode.Shared })
}

func (l *lock) take(s *Holder, mode function.AdvisoryMode) {
	h := l.held[s]
	if h == nil {
		h = &hold{}
		l.held[s] = h
	}
	if mode.Xact {
		h.xact[sharedIndex(mode.Shared)]++
	} else {
		h.session[sharedIndex(mode.Shared)]++
	}
}

// Lock acquires a lock, waiting for it unless mode.Try; it returns false where a Try
// finds it taken.
func (s *Holder) Lock(ctx context.Context, key function.AdvisoryKey, mode function.AdvisoryMode) (bool, error) {
	a := s.of
	a.mu.Lock()
	if a.locks == nil {
		a.locks, a.waiting = map[function.AdvisoryKey]*lock{}, map[*Holder]*request{}
	}
	l := a.locks[key]
	if l == nil {
		l = &lock{held: map[*Holder]*hold{}}
		a.locks[key] = l
	}
	if l.free(s, mode.Shared, l.queue) {
		l.take(s, mode)
		a.mu.Unlock()
		return true, nil
	}
	if mode.Try {
		a.mu.Unlock()
		return false, nil
	}
	w := &request{key: key, holder: s, mode: mode, granted: make(chan struct{})}
	l.queue = append(l.queue, w)
	a.waiting[s] = w
	if a.circular(s) {
		a.leave(w)
		a.mu.Unlock()
		return false, pgerr.New(pgerr.DeadlockDetected, "deadlock detected").
			WithDetail("The session waits for an advisory lock of a session that waits for one of its own.")
	}
	a.mu.Unlock()
	select {
	case <-w.granted:
		return true, nil
	case <-ctx.Done():
		a.mu.Lock()
		defer a.mu.Unlock()
		select {
		case <-w.granted: // granted meanwhile: the session keeps it
			return true, nil
		default:
		}
		a.leave(w)
		return false, context.Cause(ctx)
	}
}

// circular reports whether s waits, through others, for itself: a deadlock.
func (a *Locks) circular(s *Holder) bool {
	seen := map[*Holder]bool{}
	var waitsFor func(x *Holder) bool
	waitsFor = func(x *Holder) bool {
		w := a.waiting[x]
		if w == nil || seen[x] {
			return false
		}
		seen[x] = true
		l := a.locks[w.key]
		for o, h := range l.held {
			if o != x && (!w.mode.Shared || h.exclusive()) && (o == s || waitsFor(o)) {
				return true
			}
		}
		for _, q := range l.queue {
			if q == w {
				break
			}
			if (!q.mode.Shared || !w.mode.Shared) && (q.holder == s || waitsFor(q.holder)) {
				return true
			}
		}
		return false
	}
	return waitsFor(s)
}

// leave removes a request from its lock's queue.
func (a *Locks) leave(w *request) {
	l := a.locks[w.key]
	l.queue = slices.DeleteFunc(l.queue, func(q *request) bool { return q == w })
	delete(a.waiting, w.holder)
	a.grant(w.key)
}

// grant grants a lock to those at the head of its queue that may have it, and removes a
// lock that nobody holds or waits for.
func (a *Locks) grant(key function.AdvisoryKey) {
	l := a.locks[key]
	for i := 0; i < len(l.queue); {
		w := l.queue[i]
		if !l.free(w.holder, w.mode.Shared, l.queue[:i]) {
			i++
			continue
		}
		l.take(w.holder, w.mode)
		l.queue = slices.Delete(l.queue, i, i+1)
		delete(a.waiting, w.holder)
		close(w.granted)
	}
	if len(l.held) == 0 && len(l.queue) == 0 {
		delete(a.locks, key)
	}
}

// Unlock releases a lock of the session once; it returns false if the session does not
// hold it.
func (s *Holder) Unlock(key function.AdvisoryKey, shared bool) bool {
	a := s.of
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.locks[key]
	if l == nil || l.held[s] == nil || l.held[s].session[sharedIndex(shared)] == 0 {
		return false
	}
	l.held[s].session[sharedIndex(shared)]--
	a.freed(key, s)
	return true
}

// Release releases all of the holder's locks of a scope.
func (s *Holder) Release(which Scope) {
	a := s.of
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, l := range a.locks {
		h := l.held[s]
		if h == nil {
			continue
		}
		if which != Session {
			h.xact = [2]int{}
		}
		if which != Transaction {
			h.session = [2]int{}
		}
		a.freed(key, s)
	}
}

// freed grants a lock to others after a holder has released a hold on it.
func (a *Locks) freed(key function.AdvisoryKey, s *Holder) {
	if l := a.locks[key]; l.held[s].empty() {
		delete(l.held, s)
	}
	a.grant(key)
}

// Scope says how long locks are held.
type Scope uint8

const (
	Transaction Scope = iota // to the end of the transaction
	Session                  // until they are unlocked
	Both
)
