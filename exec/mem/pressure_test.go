package mem_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/pgerr"
)

func grow(t *testing.T, a *mem.Account, n int64) {
	t.Helper()
	if err := a.Grow(n); err != nil {
		t.Fatal(err)
	}
}

// TestLargestFails: a request by a small statement makes the largest one fail, which releases its
// memory.
func TestLargestFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := mem.NewPool("n1", 100*mib)
		hog, mid, small := node.Child("hog", 0), node.Child("mid", 0), node.Child("small", 0)
		a, b, c := hog.Account("string_agg", false), mid.Account("window", false), small.Account("values", false)
		var told error
		hog.OnFail(func(err error) {
			told = err
			go a.Close()
		})
		mid.OnFail(func(error) { t.Error("the second largest fails") })
		grow(t, a, 60*mib)
		grow(t, b, 30*mib)
		grow(t, c, 8*mib)
		synctest.Wait()
		if !pgerr.Is(told, pgerr.OutOfMemory) || !strings.Contains(told.Error(), "string_agg") || !strings.Contains(told.Error(), "n1") {
			t.Errorf("the largest is told %v", told)
		}
		var e *mem.BudgetError
		if err := hog.Account("sort", true).Grow(1); !errors.As(err, &e) || e.Account != nil {
			t.Errorf("the failed statement goes on: %v", err)
		}
		if node.Used() != 38*mib {
			t.Errorf("%d bytes are used", node.Used())
		}
	})
}

// TestSpillBeforeFailure: a request waits for operators that were asked to spill, and no statement
// fails.
func TestSpillBeforeFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := mem.NewPool("n1", 100*mib)
		sort, small := node.Child("sort", 0), node.Child("small", 0)
		a, b := sort.Account("sort", true), small.Account("values", false)
		sort.OnFail(func(err error) { t.Error(err) })
		grow(t, a, 94*mib)
		spilled := make(chan struct{})
		go func() {
			defer close(spilled)
			time.Sleep(time.Second) // on the test's fake clock: the batch takes long
			if a.ShouldSpill() {
				a.Shrink(90 * mib)
			}
		}()
		grow(t, b, 8*mib)
		<-spilled
	})
}

// TestOwnFault: a request by the largest statement itself is refused at once, so that it can spill
// and continue.
func TestOwnFault(t *testing.T) {
	node := mem.NewPool("n1", 100*mib)
	q := node.Child("q", 0)
	q.OnFail(func(err error) { t.Error(err) })
	other := node.Child("other", 0).Account("values", false)
	grow(t, other, 5*mib)
	for _, spillable := range []bool{true, false} {
		a := q.Account("agg", spillable)
		grow(t, a, 80*mib)
		var e *mem.BudgetError
		if err := a.Grow(11 * mib); !errors.As(err, &e) || e.Account != a || e.Asked != 11*mib || e.Limit != 100*mib {
			t.Errorf("%v", err)
		}
		a.Shrink(70 * mib)
		grow(t, a, 11*mib)
		a.Close()
	}
}

// TestVictimStays: where the largest statement does not release its memory, the request fails after
// a limited time.
func TestVictimStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := mem.NewPool("n1", 100*mib)
		grow(t, node.Child("hog", 0).Account("sort", false), 90*mib)
		small := node.Child("small", 0).Account("values", false)
		start := time.Now()
		if err := small.Grow(8 * mib); !pgerr.Is(err, pgerr.OutOfMemory) {
			t.Errorf("%v", err)
		}
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("after %s", d)
		}
		if small.Used() != 0 || node.Used() != 90*mib {
			t.Error("a refusal left something reserved")
		}
	})
}

// TestWatchRecounts: memory that was live at the last garbage collection, but is dead by now, does
// not make requests fail.
func TestWatchRecounts(t *testing.T) {
	node := mem.NewPool("n1", 64*mib)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		node.Watch(stop, mib)
	}()
	q := node.Child("q", 0)
	a := q.Account("sort", false)
	for range 5 {
		held := make([]byte, 128*mib)
		for found := false; !found; found = a.Grow(40*mib) != nil {
			a.Shrink(a.Reserved())
			runtime.GC()
		}
		runtime.KeepAlive(held)
		held = nil
		grow(t, a, 40*mib)
		a.Shrink(40 * mib)
	}
	a.Close()
	close(stop)
	<-done
}

// TestWatch: live memory that no account is charged for counts as used.
func TestWatch(t *testing.T) {
	node := mem.NewPool("n1", 32*mib)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		node.Watch(stop, mib)
	}()
	for _, want := range []bool{true, false} {
		var held []byte
		if want {
			held = make([]byte, 128*mib)
		}
		// Half of the limit of 32 MiB is in use outside of accounts; the charge is half of the
		// rest. Together 75 %, above the threshold at which accounts are asked to spill.
		q := node.Child("q", 0)
		a := q.Account("sort", true)
		for asked := !want; asked != want; {
			runtime.GC()
			grow(t, a, 8*mib)
			asked = a.ShouldSpill()
			a.Shrink(8 * mib)
		}
		a.Close()
		runtime.KeepAlive(held)
	}
	close(stop)
	<-done
}

// TestGroup: the statements of a group share its limit as all share the node's: those that can spill do, then the largest of
// the group fails. Statements of others have nothing to do with it.
func TestGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := mem.NewPool("n1", 1000*mib)
		group := mem.NewGroup(node, `resource group "g"`, 100*mib)
		other := node.Child("other", 0)
		other.OnFail(func(error) { t.Error("a statement of no group fails") })
		grow(t, other.Account("window", false), 500*mib)

		sort, small := group.Child("sort", 0), group.Child("small", 0)
		a, b := sort.Account("sort", true), small.Account("values", false)
		grow(t, a, 90*mib)
		go func() {
			time.Sleep(time.Second)
			if a.ShouldSpill() {
				a.Shrink(60 * mib)
			}
		}()
		grow(t, b, 20*mib)
		a.Close()

		hog := group.Child("hog", 0).Account("string_agg", false)
		var told error
		hog.Pool().OnFail(func(err error) {
			told = err
			go hog.Close()
		})
		grow(t, hog, 70*mib)
		grow(t, b, 20*mib)
		synctest.Wait()
		if !pgerr.Is(told, pgerr.OutOfMemory) || !strings.Contains(pgerr.From(told).Detail, `of resource group "g" are in use`) {
			t.Errorf("the largest of the group is told %v", told)
		}

		// The largest of the group asks itself: it is not the largest of the node.
		err := b.Grow(90 * mib)
		if e := pgerr.From(err); e.Code != pgerr.OutOfMemory || e.Detail != `41943040 of 104857600 bytes of resource group "g" are in use.` {
			t.Errorf("%v %s", err, e.Detail)
		}
		group.SetLimit(200 * mib)
		grow(t, b, 90*mib)
		if node.Used() != 630*mib || group.Used() != 130*mib || mem.Empty(group) {
			t.Error(node.Used(), group.Used())
		}
	})
}

// TestLargestOfGroup: where the node is short, a statement of a group may be the largest.
func TestLargestOfGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := mem.NewPool("n1", 100*mib)
		hog := mem.NewGroup(node, "g", 0).Child("hog", 0)
		a := hog.Account("string_agg", false)
		hog.OnFail(func(error) { go a.Close() })
		grow(t, a, 60*mib)
		other := node.Child("other", 0)
		other.OnFail(func(error) { t.Error("a smaller one fails") })
		grow(t, other.Account("window", false), 30*mib)
		grow(t, node.Child("small", 0).Account("values", false), 8*mib)
	})
}
