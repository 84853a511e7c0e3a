package mem_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestReclaim: when a request would exceed the limit of its statement, other operators of the
// statement are asked to spill, the largest first; operators in the middle of a batch are skipped.
// A request by an operator that can spill itself asks only larger ones. By the test's own clock: a request that
// waits does so for two seconds at most, which a busy machine may take for nothing.
func TestReclaim(t *testing.T) { synctest.Test(t, testReclaim) }

func testReclaim(t *testing.T) {
	node := mem.NewPool("n1", 100*mib)
	s, other := node.Child("statement", 10*mib), node.Child("other", 0)
	defer other.Close()
	var order []string
	busy := map[string]int{} // how often an operator answers that it is busy
	broken := errors.New("the disk is full")
	var fail error
	hold := func(p *mem.Pool, name string, n int64) *mem.Account {
		a := p.Account(name, true)
		a.OnReclaim(func() (bool, error) {
			order = append(order, name)
			if busy[name] > 0 {
				busy[name]--
				return false, mem.ErrBusy
			}
			if fail != nil {
				return false, fail
			}
			a.Shrink(a.Used())
			return true, nil
		})
		if err := a.Grow(n); err != nil {
			t.Fatal(err)
		}
		return a
	}
	sort, agg, last := hold(s, "sort", 3*mib), hold(s, "aggregate", 4*mib), hold(s, "buffer", 3*mib-256<<10)
	hold(s, "little", 64<<10)
	hold(other, "of another statement", 20*mib)
	expect := func(what string, want ...string) {
		t.Helper()
		if !slices.Equal(order, want) {
			t.Errorf("%s: asked %v, want %v", what, order, want)
		}
		order = nil
	}
	window := s.Account("window", false)
	if err := window.Grow(mib); err != nil {
		t.Fatal(err)
	}
	expect("a request", "aggregate")
	if agg.Used() != 0 || sort.Used() != 3*mib {
		t.Errorf("the aggregate holds %d, the sort %d", agg.Used(), sort.Used())
	}
	// An operator that can spill itself asks only those that have more.
	if err := agg.Grow(3 * mib); err != nil {
		t.Fatal(err)
	}
	busy["sort"], busy["aggregate"] = 1, 1
	if err := last.Grow(2 * mib); !pgerr.Is(err, pgerr.OutOfMemory) {
		t.Errorf("all others are at work: %v", err)
	}
	expect("a spillable request", "sort", "aggregate")
	if err := last.Grow(2 * mib); err != nil || sort.Used() != 0 {
		t.Errorf("the sort holds %d: %v", sort.Used(), err)
	}
	expect("a spillable request", "sort")
	if err := last.Grow(4 * mib); !pgerr.Is(err, pgerr.OutOfMemory) {
		t.Errorf("the largest: %v", err)
	}
	expect("the largest's request")
	// Insist makes an account of OnFlush write its rows, however few they are.
	written := s.Account("writer", true)
	written.OnFlush(func() (bool, error) {
		order = append(order, "writer")
		written.Shrink(written.Used())
		return true, nil
	})
	if err := written.Grow(200 << 10); err != nil {
		t.Fatal(err)
	}
	if err := last.Insist(t.Context(), mib); err != nil || written.Used() != 0 {
		t.Errorf("the largest insists, the writer holds %d: %v", written.Used(), err)
	}
	expect("the largest insists", "writer")
	last.Shrink(mib)
	// Insist asks busy operators until they spill.
	if err := sort.Grow(3 * mib); err != nil {
		t.Fatal(err)
	}
	busy["sort"] = 3
	agg.Shrink(agg.Used())
	last.Shrink(last.Used())
	order = nil
	if err := window.Insist(t.Context(), 8*mib); err != nil || sort.Used() != 0 {
		t.Errorf("the sort was at work: %v", err)
	}
	expect("a request that waits", "sort", "sort", "sort", "sort")
	window.Shrink(8 * mib)
	if err := sort.Grow(3 * mib); err != nil {
		t.Fatal(err)
	}
	// The statement is cancelled while a request waits.
	cancelled, cancel := context.WithCancel(t.Context())
	sort.OnReclaim(func() (bool, error) {
		cancel()
		return false, mem.ErrBusy
	})
	if err := window.Insist(cancelled, 8*mib); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled statement's request: %v", err)
	}
	// The operator has spilled meanwhile, for another request.
	sort.OnReclaim(func() (bool, error) {
		sort.Shrink(sort.Used())
		return false, nil
	})
	if err := window.Grow(8 * mib); err != nil {
		t.Errorf("there is room: %v", err)
	}
	window.Shrink(8 * mib)
	hold(s, "sort", 3*mib)
	if fail = broken; !errors.Is(window.Grow(8*mib), broken) {
		t.Error("an error of who was asked got lost")
	}
}

// TestReclaimTaken: where another operator takes what a holder releases, the holder is asked once
// more, as the writers of two threads take from each other.
func TestReclaimTaken(t *testing.T) {
	p := mem.NewPool("n1", 8*mib)
	s := p.Child("statement", 8*mib)
	defer s.Close()
	holder, other, asks := s.Account("holder", true), s.Account("other", false), s.Account("asks", false)
	if err := errors.Join(holder.Grow(4*mib), other.Grow(3*mib)); err != nil {
		t.Fatal(err)
	}
	calls := 0
	holder.OnReclaim(func() (bool, error) {
		calls++
		holder.Shrink(2 * mib)
		if calls == 1 {
			if err := other.Grow(2 * mib); err != nil {
				t.Error(err)
			}
		}
		return true, nil
	})
	if err := asks.Insist(t.Context(), 2*mib); err != nil || calls != 2 {
		t.Errorf("asked %d times: %v", calls, err)
	}
}
