package advisory

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestTryAtRandom compares random try-locks and unlocks with a reference: a list of the holders of
// each key.
func TestTryAtRandom(t *testing.T) {
	type grant struct {
		who, key     int
		shared, xact bool
	}
	rng := rand.New(rand.NewPCG(1, 2))
	locks := New(&common{alone: true, id: 1}, time.Hour)
	defer locks.Close()
	var who [4]*Holder
	for i := range who {
		who[i] = locks.Holder(0, nil)
	}
	keyOf := func(i int) function.AdvisoryKey { return function.AdvisoryKey{A: int64(i)} }
	var held []grant
	drop := func(keep func(grant) bool) {
		var left []grant
		for _, g := range held {
			if keep(g) {
				left = append(left, g)
			}
		}
		held = left
	}
	for step := range 5000 {
		g := grant{rng.IntN(len(who)), rng.IntN(3), rng.IntN(2) == 0, rng.IntN(2) == 0}
		switch rng.IntN(6) {
		case 0, 1, 2:
			want := true
			for _, h := range held {
				want = want && (h.key != g.key || h.who == g.who || h.shared && g.shared)
			}
			got, err := who[g.who].Lock(context.Background(), keyOf(g.key), function.AdvisoryMode{Shared: g.shared, Xact: g.xact, Try: true}, 0)
			if err != nil || got != want {
				t.Fatalf("step %d: %+v over %v: %v, %v", step, g, held, got, err)
			}
			if got {
				held = append(held, g)
			}
		case 3:
			g.xact = false
			want := false
			for i, h := range held {
				if h == g {
					want, held = true, append(held[:i:i], held[i+1:]...)
					break
				}
			}
			if got := who[g.who].Unlock(context.Background(), keyOf(g.key), g.shared); got != want {
				t.Fatalf("step %d: unlock %+v: %v", step, g, got)
			}
		case 4:
			who[g.who].Release(context.Background(), Transaction)
			drop(func(h grant) bool { return h.who != g.who || !h.xact })
		case 5:
			scope := Session
			if rng.IntN(2) == 0 {
				scope = Both
			}
			who[g.who].Release(context.Background(), scope)
			drop(func(h grant) bool { return h.who != g.who || h.xact && scope == Session })
		}
		keys := map[int]bool{}
		for _, h := range held {
			keys[h.key] = true
		}
		if len(locks.own.locks) != len(keys) {
			t.Fatalf("step %d: %d locks are kept of %d", step, len(locks.own.locks), len(keys))
		}
	}
}

// wait starts to lock and returns once the holder is queued.
func wait(ctx context.Context, h *Holder, key function.AdvisoryKey, shared bool) <-chan error {
	done := make(chan error, 1)
	go func() {
		got, err := h.Lock(ctx, key, function.AdvisoryMode{Shared: shared}, 0)
		if err == nil && !got {
			err = errors.New("not locked")
		}
		done <- err
	}()
	for {
		waits := false
		h.of.view(func(t *Table) {
			for o := range t.waits {
				waits = waits || o.Session == h.id
			}
		})
		if waits {
			return done
		}
		runtime.Gosched()
	}
}

func mustTry(t *testing.T, h *Holder, key function.AdvisoryKey, shared, want bool) {
	t.Helper()
	if got, err := h.Lock(context.Background(), key, function.AdvisoryMode{Shared: shared, Try: true}, 0); err != nil || got != want {
		t.Fatalf("lock: %v, %v", got, err)
	}
}

// TestQueue: locks are granted in the order of the requests, adjacent shared requests together. A
// shared request does not overtake an exclusive one that waits, which might otherwise wait forever.
func TestQueue(t *testing.T) {
	ctx := context.Background()
	locks := New(&common{alone: true, id: 1}, time.Hour)
	defer locks.Close()
	key := function.AdvisoryKey{A: 7}
	a, b, c, d, e := locks.Holder(0, nil), locks.Holder(0, nil), locks.Holder(0, nil), locks.Holder(0, nil), locks.Holder(0, nil)
	mustTry(t, a, key, true, true)
	wantsAll := wait(ctx, b, key, false)
	mustTry(t, c, key, true, false) // it could be granted, but would overtake b, which waits for an exclusive lock
	reads := wait(ctx, c, key, true)
	readsToo := wait(ctx, d, key, true)
	a.Release(context.Background(), Both)
	if err := <-wantsAll; err != nil {
		t.Fatal(err)
	}
	mustTry(t, e, key, true, false)
	b.Release(context.Background(), Both)
	if err := errors.Join(<-reads, <-readsToo); err != nil {
		t.Fatal(err)
	}
	mustTry(t, e, key, true, true)
}

// TestGivenUp: a request whose context is cancelled leaves the queue, and those that waited behind it
// are granted.
func TestGivenUp(t *testing.T) {
	locks := New(&common{alone: true, id: 1}, time.Hour)
	defer locks.Close()
	key := function.AdvisoryKey{A: 7}
	a, b, c := locks.Holder(0, nil), locks.Holder(0, nil), locks.Holder(0, nil)
	mustTry(t, a, key, true, true)
	ctx, cancel := context.WithCancelCause(context.Background())
	alone := wait(ctx, b, key, false)
	reads := wait(context.Background(), c, key, true)
	why := errors.New("enough")
	cancel(why)
	if err := <-alone; err != why {
		t.Fatal(err)
	}
	if err := <-reads; err != nil {
		t.Fatal(err)
	}
}

// TestDeadlock: the request that would complete a cycle fails, and no other.
func TestDeadlock(t *testing.T) {
	ctx := context.Background()
	locks := New(&common{alone: true, id: 1}, time.Hour)
	defer locks.Close()
	x, y, z := function.AdvisoryKey{A: 1}, function.AdvisoryKey{A: 2}, function.AdvisoryKey{A: 3}
	a, b, c := locks.Holder(0, nil), locks.Holder(0, nil), locks.Holder(0, nil)
	mustTry(t, a, x, false, true)
	mustTry(t, b, y, false, true)
	mustTry(t, c, z, false, true)
	ab, bc := wait(ctx, a, y, false), wait(ctx, b, z, true)
	if _, err := c.Lock(ctx, x, function.AdvisoryMode{}, 0); pgerr.CodeOf(err) != pgerr.DeadlockDetected {
		t.Fatal(err)
	}
	c.Release(context.Background(), Both)
	if err := <-bc; err != nil {
		t.Fatal(err)
	}
	b.Release(context.Background(), Both)
	if err := <-ab; err != nil {
		t.Fatal(err)
	}
}
