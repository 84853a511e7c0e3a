package txn

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Turns lets the transactions of a node that write the same row by its key write it one after the other, so that each reads
// what the one before has committed. It saves conflicts and proves nothing: a transaction that nobody waited for meets its
// conflicts when it commits. So a key may be forgotten, two may have the same hash, and a wait that lasts, or that would never
// end, is given up:
//
//	t1 has a, t2 has b, t1 waits for b, t2 asks for a   →  t2 goes on without waiting
//	t1 has had a for maxTurn, t2 asks for a             →  t2 goes on and has it now
//
// See docs/decisions/0114. Its methods may be called from any goroutine.
type Turns struct {
	mu sync.Mutex
	of map[uint64]*turn // by the key's hash
}

// turn is a key that a transaction writes.
type turn struct {
	has   *Txn
	since time.Time
	line  []*waiter // in the order of arrival
}

type waiter struct {
	t     *Txn
	comes chan struct{} // closed when it has the key
}

const (
	// maxTurn is how long others wait for a transaction that has written a row: many times what one takes whose client does
	// not wait for a person.
	maxTurn = 100 * time.Millisecond
	// maxTurns is how many keys a transaction has; it meets conflicts of the others, as with other nodes.
	maxTurns = 64
)

// Take waits until it is the transaction's turn to write a key, which it has from then on until it ends. The
// error is only that of ctx.
func (q *Turns) Take(ctx context.Context, t *Txn, key uint64) (waited bool, err error) {
	q.mu.Lock()
	k := q.of[key]
	switch {
	case k != nil && k.has == t, len(t.turns) >= maxTurns:
		q.mu.Unlock()
		return false, nil
	case k == nil:
		if q.of == nil {
			q.of = map[uint64]*turn{}
		}
		k = &turn{}
		q.of[key] = k
		k.give(t, key)
		q.mu.Unlock()
		return false, nil
	}
	left := maxTurn - time.Since(k.since)
	if left <= 0 {
		k.give(t, key)
	}
	if left <= 0 || k.waitsFor(t) {
		q.mu.Unlock()
		return false, nil
	}
	w := &waiter{t, make(chan struct{})}
	k.line, t.waits = append(k.line, w), k
	q.mu.Unlock()
	timer := time.NewTimer(left)
	defer timer.Stop()
	for {
		select {
		case <-w.comes:
			return true, nil
		case <-timer.C:
		case <-ctx.Done():
		}
		done, err := q.waited(ctx, k, w, key, &left)
		if done {
			return true, err
		}
		timer.Reset(left)
	}
}

// waited ends a wait that has lasted, or that ctx ends; else left is how long it may yet last.
func (q *Turns) waited(ctx context.Context, k *turn, w *waiter, key uint64, left *time.Duration) (done bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := slices.Index(k.line, w)
	if at < 0 { // it has come
		return true, nil
	}
	if err = context.Cause(ctx); err == nil {
		if *left = maxTurn - time.Since(k.since); *left > 0 {
			return false, nil
		}
		k.give(w.t, key)
	}
	k.line, w.t.waits = slices.Delete(k.line, at, at+1), nil
	return true, err
}

// give makes t the one that writes the key; mu is held.
func (k *turn) give(t *Txn, key uint64) {
	k.has, k.since = t, time.Now()
	t.turns = append(t.turns, key)
}

// waitsFor reports whether who has the key waits for t, if only for another who does; mu is held.
func (k *turn) waitsFor(t *Txn) bool {
	for ; k != nil; k = k.has.waits {
		if k.has == t {
			return true
		}
	}
	return false
}

// End lets the next ones write what the transaction had.
func (q *Turns) End(t *Txn) {
	if len(t.turns) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, key := range t.turns {
		k := q.of[key]
		switch {
		case k == nil || k.has != t: // another did not wait any longer
		case len(k.line) == 0:
			delete(q.of, key)
		default:
			w := k.line[0]
			k.line, w.t.waits = slices.Delete(k.line, 0, 1), nil
			k.give(w.t, key)
			close(w.comes)
		}
	}
	t.turns = nil
}
