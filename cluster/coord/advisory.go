package coord

import (
	"context"
	"slices"
	"sync"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// advisoryLocks are the locks of pg_advisory_lock and its kin on this gateway.
// Its methods may be called from any goroutine.
type advisoryLocks struct {
	mu      sync.Mutex
	locks   map[function.AdvisoryKey]*advisoryLock
	waiting map[*Session]*advisoryWait // a session waits for one lock at most
}

type advisoryLock struct {
	held  map[*Session]*advisoryHold
	queue []*advisoryWait // in order of arrival
}

// advisoryHold counts how often a session has a lock, exclusive and shared,
// for itself and for its transaction.
type advisoryHold struct{ session, xact [2]int }

type advisoryWait struct {
	key     function.AdvisoryKey
	s       *Session
	mode    function.AdvisoryMode
	granted chan struct{} // closed when the lock is the session's
}

func sharedIndex(shared bool) int {
	if shared {
		return 1
	}
	return 0
}

func (h *advisoryHold) exclusive() bool { return h.session[0]+h.xact[0] > 0 }
func (h *advisoryHold) empty() bool     { return !h.exclusive() && h.session[1]+h.xact[1] == 0 }

// free tells whether s may have the lock with others holding what they hold;
// before is how much of the queue is ahead of it.
func (l *advisoryLock) free(s *Session, shared bool, before []*advisoryWait) bool {
	for o, h := range l.held {
		if o != s && (!shared || h.exclusive()) {
			return false
		}
	}
	if l.held[s] != nil {
		return true // whoever waits, waits for s too
	}
	return !slices.ContainsFunc(before, func(w *advisoryWait) bool { return !shared || !w.mode.Shared })
}

func (l *advisoryLock) take(s *Session, mode function.AdvisoryMode) {
	h := l.held[s]
	if h == nil {
		h = &advisoryHold{}
		l.held[s] = h
	}
	if mode.Xact {
		h.xact[sharedIndex(mode.Shared)]++
	} else {
		h.session[sharedIndex(mode.Shared)]++
	}
}

// lock takes a lock, waiting for it unless mode.Try.
func (a *advisoryLocks) lock(ctx context.Context, s *Session, key function.AdvisoryKey, mode function.AdvisoryMode) (bool, error) {
	a.mu.Lock()
	if a.locks == nil {
		a.locks, a.waiting = map[function.AdvisoryKey]*advisoryLock{}, map[*Session]*advisoryWait{}
	}
	l := a.locks[key]
	if l == nil {
		l = &advisoryLock{held: map[*Session]*advisoryHold{}}
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
	w := &advisoryWait{key: key, s: s, mode: mode, granted: make(chan struct{})}
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
		case <-w.granted: // meanwhile: it stays the session's
			return true, nil
		default:
		}
		a.leave(w)
		return false, context.Cause(ctx)
	}
}

// circular tells whether s waits, by others, for itself.
func (a *advisoryLocks) circular(s *Session) bool {
	seen := map[*Session]bool{}
	var waitsFor func(x *Session) bool
	waitsFor = func(x *Session) bool {
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
			if (!q.mode.Shared || !w.mode.Shared) && (q.s == s || waitsFor(q.s)) {
				return true
			}
		}
		return false
	}
	return waitsFor(s)
}

// leave takes a session out of a queue.
func (a *advisoryLocks) leave(w *advisoryWait) {
	l := a.locks[w.key]
	l.queue = slices.DeleteFunc(l.queue, func(q *advisoryWait) bool { return q == w })
	delete(a.waiting, w.s)
	a.grant(w.key)
}

// grant gives a lock to those at the head of its queue that may have it, and
// forgets a lock that nobody has or wants.
func (a *advisoryLocks) grant(key function.AdvisoryKey) {
	l := a.locks[key]
	for i := 0; i < len(l.queue); {
		w := l.queue[i]
		if !l.free(w.s, w.mode.Shared, l.queue[:i]) {
			i++
			continue
		}
		l.take(w.s, w.mode)
		l.queue = slices.Delete(l.queue, i, i+1)
		delete(a.waiting, w.s)
		close(w.granted)
	}
	if len(l.held) == 0 && len(l.queue) == 0 {
		delete(a.locks, key)
	}
}

// unlock gives a session's lock back once; false if it has none.
func (a *advisoryLocks) unlock(s *Session, key function.AdvisoryKey, shared bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.locks[key]
	if l == nil || l.held[s] == nil || l.held[s].session[sharedIndex(shared)] == 0 {
		return false
	}
	h := l.held[s]
	h.session[sharedIndex(shared)]--
	if h.empty() {
		delete(l.held, s)
	}
	a.grant(key)
	return true
}

// release gives back all locks of a session, or those of its transaction.
func (a *advisoryLocks) release(s *Session, xactOnly bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, l := range a.locks {
		h := l.held[s]
		if h == nil {
			continue
		}
		h.xact = [2]int{}
		if !xactOnly {
			h.session = [2]int{}
		}
		if h.empty() {
			delete(l.held, s)
		}
		a.grant(key)
	}
}

// AdvisoryLock implements eval.AdvisoryLocker. The locks are this gateway's:
// a cluster of several would not be told of them.
func (h *host) AdvisoryLock(ctx context.Context, key function.AdvisoryKey, mode function.AdvisoryMode) (bool, error) {
	if h.s.engine.queries.Runner.Nodes() > 1 {
		return false, pgerr.Unsupported("advisory locks are not supported on a cluster of several nodes")
	}
	return h.s.engine.locks.lock(ctx, h.s, key, mode)
}

// AdvisoryUnlock implements eval.AdvisoryLocker.
func (h *host) AdvisoryUnlock(key function.AdvisoryKey, shared bool) (bool, error) {
	held := h.s.engine.locks.unlock(h.s, key, shared)
	if !held {
		h.s.warn(pgerr.Warning, "you don't own a lock of type %s", map[bool]string{true: "ShareLock", false: "ExclusiveLock"}[shared])
	}
	return held, nil
}

// AdvisoryUnlockAll implements eval.AdvisoryLocker.
func (h *host) AdvisoryUnlockAll() error {
	l := &h.s.engine.locks
	l.mu.Lock()
	var keys []function.AdvisoryKey
	for key, k := range l.locks {
		if k.held[h.s] != nil {
			keys = append(keys, key)
		}
	}
	l.mu.Unlock()
	for _, key := range keys {
		for _, shared := range []bool{false, true} {
			for l.unlock(h.s, key, shared) {
			}
		}
	}
	return nil
}
