package mem_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tributarydb/tributary/exec/mem"
)

// need is the memory that admission assumes for a statement of one thread; charge is the part of it
// that a ticket reserves.
const need, charge = 10 * mib, 2 * mib

// entrant waits for a ticket in the background; the channel receives the result.
func entrant(ctx context.Context, node *mem.Pool, role uint32) (*mem.Ticket, <-chan error) {
	t := node.Child("statement", 0).Ticket(role, 1)
	got := make(chan error, 1)
	go func() { got <- t.Wait(ctx) }()
	return t, got
}

// TestTicket: as many statements are admitted as there is room for, roles in turn. Memory that
// others use takes room away; a statement with a ticket takes only what it was assumed to need.
func TestTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		node := mem.NewPool("n1", 100*mib) // 60 MiB for tickets
		other := node.Child("cursor", 0).Account("rows", false)
		grow(t, other, 25*mib)
		var tickets []*mem.Ticket
		var got []<-chan error
		for range 4 {
			tk, g := entrant(ctx, node, 1)
			synctest.Wait()
			tickets, got = append(tickets, tk), append(got, g)
		}
		late, lateGot := entrant(ctx, node, 2)
		synctest.Wait()
		for i, place := range []int{0, 0, 0, 1} {
			if n := tickets[i].Place(); n != place {
				t.Errorf("ticket %d: place %d", i, n)
			}
		}
		if late.Place() != 2 {
			t.Errorf("the other role's place is %d", late.Place())
		}
		if node.Used() != 25*mib+3*charge || node.Waiting() != 2 {
			t.Errorf("%d bytes, %d wait", node.Used(), node.Waiting())
		}
		if tickets[3].Try() || node.Child("s", 0).Ticket(3, 1).Try() {
			t.Error("one passes those that wait")
		}
		other.Shrink(25 * mib) // room for both, but at most four run at once
		if err := <-got[3]; err != nil || late.Place() != 1 {
			t.Error(err, late.Place())
		}
		tickets[0].Release()
		if err := <-lateGot; err != nil {
			t.Error(err)
		}
		if a := node.Admissions(); a.Holding != 4 || a.Queued != 0 || a.Total != 5 {
			t.Errorf("%+v", a)
		}
		for _, tk := range append(tickets, late) {
			tk.Close()
			tk.Close()
			tk.Force() // no effect: it is closed
		}
		if node.Used() != 0 || node.Admissions().Holding != 0 {
			t.Errorf("%d bytes are left", node.Used())
		}
	})
}

// TestTicketGreed: memory that a statement with a ticket uses beyond its assumed need does not keep
// others out, as it was free to take; memory of a statement without a ticket does. But one
// statement is always admitted.
func TestTicketGreed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := mem.NewPool("n1", 100*mib)
		pool := node.Child("greedy", 0)
		tk := pool.Ticket(1, 1)
		tk.Force()
		rows := pool.Account("sort", true)
		grow(t, rows, 55*mib)
		next, got := entrant(context.Background(), node, 1)
		if err := <-got; err != nil {
			t.Error(err)
		}
		next.Release()
		tk.Release() // between two fetches: its rows now count against others
		if !next.Try() {
			t.Error("nobody holds a ticket, and none is given")
		}
		if node.Child("third", 0).Ticket(1, 1).Try() {
			t.Error("a second finds room beside 55 of 60 MiB")
		}
		tk.Force() // it continues
		if node.Admissions().Holding != 2 {
			t.Error("one that holds rows waits")
		}
	})
}

// TestTicketCancel: a waiter that gives up does not block the next one.
func TestTicketCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := mem.NewPool("n1", 20*mib)
		first := node.Child("a", 0).Ticket(1, 1)
		first.Force()
		stop := errors.New("stop")
		ctx, cancel := context.WithCancelCause(context.Background())
		_, big := entrant(ctx, node, 1)
		synctest.Wait()
		second, got := entrant(context.Background(), node, 1)
		synctest.Wait()
		if second.Place() != 2 {
			t.Error(second.Place())
		}
		cancel(stop)
		if err := <-big; err != stop {
			t.Error(err)
		}
		if second.Place() != 1 {
			t.Error(second.Place())
		}
		first.Close()
		if err := <-got; err != nil {
			t.Error(err)
		}
		second.Close()
		if a := node.Admissions(); node.Used() != 0 || a.Holding+a.Queued != 0 {
			t.Errorf("%d bytes, %+v", node.Used(), a)
		}
	})
}

// TestTicketsAtOnce: many statements in many goroutines, some of which give up, all end, and never
// more run at once than there is room for.
func TestTicketsAtOnce(t *testing.T) {
	node := mem.NewPool("n1", 100*mib)
	var wg sync.WaitGroup
	for g := range 40 {
		wg.Go(func() {
			for k := range 50 {
				pool := node.Child("s", 0)
				tk := pool.Ticket(uint32(g%3), 1)
				ctx, cancel := context.WithCancel(context.Background())
				if (g+k)%7 == 0 {
					go cancel()
				}
				if tk.Wait(ctx) == nil {
					if a := node.Admissions(); a.Holding > 4 {
						t.Errorf("%d at once", a.Holding)
					}
					a := pool.Account("rows", true)
					a.Take(mib)
					a.Close()
				}
				tk.Close()
				pool.Close()
				cancel()
			}
		})
	}
	wg.Wait()
	if a := node.Admissions(); node.Used() != 0 || a.Holding+a.Queued != 0 {
		t.Errorf("%d bytes, %+v", node.Used(), a)
	}
}
