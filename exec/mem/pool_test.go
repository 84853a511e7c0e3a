package mem_test

import (
	"context"
	"errors"
	"math/rand"
	"runtime"
	"sync"
	"testing"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/pgerr"
)

const mib = 1 << 20

func TestGrowShrink(t *testing.T) {
	node := mem.NewPool("n1", 10*mib)
	q := node.Child("q", 4*mib)
	a := q.Account("sort", true)
	if err := a.Grow(3 * mib); err != nil {
		t.Fatal(err)
	}
	if node.Used() != 3*mib || q.Used() != 3*mib || a.Used() != 3*mib {
		t.Fatal(node.Used(), q.Used(), a.Used())
	}
	err := a.Grow(2 * mib)
	var b *mem.BudgetError
	if !errors.As(err, &b) || b.Account != a || b.Limit != 4*mib || b.Asked != 2*mib {
		t.Fatalf("error %v", err)
	}
	if !pgerr.Is(err, pgerr.OutOfMemory) {
		t.Errorf("code %s", pgerr.CodeOf(err))
	}
	if q.Used() != 3*mib || node.Used() != 3*mib {
		t.Error("a refusal left something reserved")
	}
	a.Take(2 * mib)
	if q.Used() != 5*mib || a.Used() != 5*mib {
		t.Error("Take was refused")
	}
	a.Shrink(5 * mib)
	if q.Used() != 0 || node.Used() != 0 || a.Peak() != 5*mib || q.Peak() != 5*mib {
		t.Error(q.Used(), node.Used(), a.Peak(), q.Peak())
	}
	if err := a.Resize(100); err != nil {
		t.Fatal(err)
	}
	if n := q.Close(); n != 100 {
		t.Errorf("leaked %d", n)
	}
	a.Close()
	if node.Used() != 0 {
		t.Errorf("%d bytes left", node.Used())
	}
}

// TestManySmallAccounts: accounts of a few hundred bytes leave a statement with little memory most of it.
func TestManySmallAccounts(t *testing.T) {
	q := mem.NewPool("n1", 10*mib).Child("q", mib)
	for range 20 {
		if err := q.Account("small", false).Grow(300); err != nil {
			t.Fatal(err)
		}
	}
	sort := q.Account("sort", true)
	if err := sort.Grow(mib / 2); err != nil {
		t.Fatal(err)
	}
	if err := q.Account("bits", false).Grow(100_000); err != nil {
		t.Error(err)
	}
	for range 500 { // what is taken for a few bytes after another is no more than whole blocks
		sort.Grow(100)
	}
	if have, most := sort.Reserved(), int64(mib/2+64<<10); have != most {
		t.Errorf("%d bytes are reserved, not %d", have, most)
	}
}

// TestSpillAsk: above the spill threshold the largest spillable account is asked to spill, once.
func TestSpillAsk(t *testing.T) {
	node := mem.NewPool("n1", 100*mib)
	big := node.Child("a", 0).Account("big", true)
	small := node.Child("b", 0).Account("small", true)
	fixed := node.Child("c", 0).Account("fixed", false)
	for _, g := range []struct {
		a *mem.Account
		n int64
	}{{big, 20 * mib}, {small, 5 * mib}, {fixed, 30 * mib}} {
		if err := g.a.Grow(g.n); err != nil {
			t.Fatal(err)
		}
	}
	if big.ShouldSpill() || small.ShouldSpill() {
		t.Error("asked below the share")
	}
	if err := small.Grow(6 * mib); err != nil {
		t.Fatal(err)
	}
	if !big.ShouldSpill() || big.ShouldSpill() || small.ShouldSpill() || fixed.ShouldSpill() {
		t.Error("not the largest alone, once")
	}
	if node.Paused() {
		t.Error("paused below the share")
	}
	if err := fixed.Grow(25 * mib); err != nil {
		t.Fatal(err)
	}
	if !node.Paused() {
		t.Error("not paused")
	}
}

func TestManyGoroutines(t *testing.T) {
	node := mem.NewPool("n1", 64*mib)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			q := node.Child("q", 0)
			defer q.Close()
			a := q.Account("op", true)
			defer a.Close()
			r := rand.New(rand.NewSource(int64(g)))
			for range 2000 {
				if r.Intn(2) == 0 {
					if a.Grow(int64(r.Intn(mib))) == nil {
						q.AddSpilled(1)
					}
				} else {
					a.Shrink(r.Int63n(a.Used() + 1))
				}
				a.ShouldSpill()
			}
		}()
	}
	wg.Wait()
	if node.Used() != 0 {
		t.Errorf("%d bytes left", node.Used())
	}
}

// TestTry: a request that cannot be granted at once is refused instead of waiting.
func TestTry(t *testing.T) {
	node := mem.NewPool("n1", 100<<20)
	other := node.Child("other", 0).Account("rows", true)
	if err := other.Grow(80 << 20); err != nil {
		t.Fatal(err)
	}
	a := node.Child("s", 0).Account("pairs", false)
	if !a.Try(10<<20) || a.Used() != 10<<20 {
		t.Error("refused, with room")
	}
	if a.Try(10<<20) || a.Used() != 10<<20 || node.Used() != 90<<20 {
		t.Error("granted, without room")
	}
	a.Shrink(10 << 20)
	if node.Used() != 80<<20 {
		t.Error(node.Used())
	}
}

// TestSetLimit lowers, then raises, the limit of a node in use: no statement fails because of it,
// the largest holder is asked to spill, and waiting requests are granted.
func TestSetLimit(t *testing.T) {
	p := mem.NewPool("n", 100<<20)
	s := p.Child("s", 0)
	a := s.Account("sort", true)
	if err := a.Grow(50 << 20); err != nil || a.ShouldSpill() {
		t.Fatal(err)
	}
	own := p.Child("own", 8<<20)
	p.SetLimit(40 << 20)
	if !a.ShouldSpill() || s.Limit() != 40<<20 || own.Limit() != 8<<20 || s.OwnLimit() != 0 || own.OwnLimit() != 8<<20 {
		t.Fatal(a.ShouldSpill(), s.Limit(), own.Limit())
	}
	if a.Used() != 50<<20 {
		t.Error("it lost what it held")
	}
	first, next := p.Child("first", 0), p.Child("next", 0)
	held := first.Ticket(1, 1) // one statement is always admitted
	if !held.Try() {
		t.Fatal("nobody is let in")
	}
	ticket := next.Ticket(1, 1)
	admitted := make(chan error)
	go func() { admitted <- ticket.Wait(context.Background()) }()
	for p.Waiting() == 0 {
		runtime.Gosched()
	}
	p.SetLimit(200 << 20)
	if err := <-admitted; err != nil {
		t.Error(err)
	}
	if err := a.Grow(60 << 20); err != nil {
		t.Error("a statement that runs keeps the old limit:", err)
	}
	ticket.Close()
	held.Close()
	a.Close()
	for _, c := range []*mem.Pool{own, first, next, s} {
		c.Close()
	}
}
