package txn

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// took takes a turn that must come, and says whether it waited.
func took(t *testing.T, q *Turns, x *Txn, key uint64) bool {
	t.Helper()
	waited, err := q.Take(context.Background(), x, key)
	if err != nil {
		t.Error(err)
	}
	return waited
}

// Transactions that write a key do so one after the other, in the order in which they came.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Turns
		var order []int
		first := New(0, nil)
		for range 2 { // it has the key already
			if took(t, &q, first, 7) {
				t.Error("waited for nobody")
			}
		}
		if took(t, &q, New(9, nil), 8) {
			t.Error("waited for another key")
		}
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				x := New(uint64(i), nil)
				if !took(t, &q, x, 7) {
					t.Error("did not wait")
				}
				order = append(order, i)
				time.Sleep(maxTurn / 2)
				q.End(x)
			})
			synctest.Wait()
		}
		if len(order) != 0 {
			t.Error("had a turn that another has", order)
		}
		q.End(first)
		all.Wait()
		for i := range order {
			if order[i] != i {
				t.Fatal(order)
			}
		}
		if len(order) != 5 || len(q.of) != 1 {
			t.Error(order, q.of)
		}
	})
}

// Who has a key for long is not waited for any longer, and its end takes nothing from the next.
func TestTurnsLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Turns
		idle, next, third := New(1, nil), New(2, nil), New(3, nil)
		took(t, &q, idle, 7)
		began := time.Now()
		if !took(t, &q, next, 7) || time.Since(began) != maxTurn {
			t.Error("waited", time.Since(began))
		}
		q.End(idle)
		time.Sleep(2 * maxTurn)
		began = time.Now()
		if took(t, &q, third, 7) || time.Since(began) != 0 {
			t.Error("waited for one that has had it for long")
		}
		q.End(next)
		if q.of[7].has != third {
			t.Error("took another's turn")
		}
		q.End(third)
		if len(q.of) != 0 {
			t.Error("kept", q.of)
		}
	})
}

// A wait that would never end is none, and a cancelled one leaves the line.
func TestTurnsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Turns
		a, b, c := New(1, nil), New(2, nil), New(3, nil)
		took(t, &q, a, 1)
		took(t, &q, b, 2)
		took(t, &q, c, 3)
		var waiting sync.WaitGroup
		waiting.Go(func() { took(t, &q, a, 2) })
		synctest.Wait()
		waiting.Go(func() { took(t, &q, b, 3) })
		synctest.Wait()
		if took(t, &q, c, 1) {
			t.Error("waited in a circle")
		}
		stop := errors.New("stop")
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(stop)
		if _, err := q.Take(ctx, New(4, nil), 3); err != stop {
			t.Error(err)
		}
		q.End(c)
		synctest.Wait()
		q.End(b)
		waiting.Wait()
		q.End(a)
		if len(q.of) != 0 {
			t.Error("kept", q.of)
		}
		for key := range uint64(2 * maxTurns) {
			took(t, &q, a, key)
		}
		if len(q.of) != maxTurns {
			t.Error(len(q.of))
		}
	})
}
