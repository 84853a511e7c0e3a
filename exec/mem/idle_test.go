package mem

import (
	"testing"
)

// keeper has idle memory, in accounts of one size each, and releases them when asked to.
type keeper struct {
	accounts []*Account
	size     int64
}

func (k *keeper) bytes() int64 { return int64(len(k.accounts)) * k.size }

func (k *keeper) shed(n int64) (freed int64) {
	for ; freed < n && len(k.accounts) > 0; freed += k.size {
		k.accounts[0].Close()
		k.accounts = k.accounts[1:]
	}
	return freed
}

// TestIdleIsFree: idle memory refuses nobody and makes nobody spill; it is released when others
// need it, and no more of it than they need.
func TestIdleIsFree(t *testing.T) {
	const mb = 1 << 20
	p := NewPool("n", 100*mb)
	k := &keeper{size: 10 * mb}
	p.AddIdle(k.bytes, k.shed)
	for range 9 {
		a := p.Account("kept", false)
		if err := a.Grow(k.size); err != nil {
			t.Fatal(err)
		}
		k.accounts = append(k.accounts, a)
	}
	if p.Used() != 90*mb || p.Paused() {
		t.Fatalf("%d bytes are in use, paused %v", p.Used(), p.Paused())
	}
	s := p.Child("statement", 0)
	ticket := s.Ticket(1, 2)
	if !ticket.Try() {
		t.Error("a statement waits for what is idle")
	}
	ticket.Close()
	a := s.Account("rows", true)
	if err := a.Grow(24 * mb); err != nil {
		t.Fatal(err)
	}
	if a.ShouldSpill() || len(k.accounts) != 7 {
		t.Errorf("%d accounts are left for 24 MiB", len(k.accounts))
	}
	if err := a.Grow(68 * mb); err != nil || len(k.accounts) != 0 {
		t.Errorf("%d accounts are left for 92 MiB: %v", len(k.accounts), err)
	}
	if err := a.Grow(10 * mb); err == nil {
		t.Error("more than there is")
	}
	ended := 0
	s.OnClose(func() { ended++ })
	a.Close()
	s.Close()
	s.Close()
	if ended != 1 || p.Used() != 0 {
		t.Errorf("ended %d times with %d bytes", ended, p.Used())
	}
}

// TestIdleInOrder: the holder of idle memory that registered last releases first, the one before it
// only what is still needed.
func TestIdleInOrder(t *testing.T) {
	const mb = 1 << 20
	p := NewPool("n", 100*mb)
	first, second := &keeper{size: 10 * mb}, &keeper{size: 10 * mb}
	p.AddIdle(second.bytes, second.shed)
	p.AddIdle(first.bytes, first.shed)
	for range 4 {
		for _, k := range []*keeper{first, second} {
			a := p.Account("kept", false)
			if err := a.Grow(k.size); err != nil {
				t.Fatal(err)
			}
			k.accounts = append(k.accounts, a)
		}
	}
	s := p.Child("statement", 0)
	defer s.Close()
	a := s.Account("rows", false)
	defer a.Close()
	for _, step := range []struct{ grow, first, second int64 }{{14, 4, 4}, {20, 2, 4}, {30, 0, 3}, {30, 0, 0}} {
		if err := a.Grow(step.grow * mb); err != nil {
			t.Fatal(err)
		}
		if first.bytes() != step.first*10*mb || second.bytes() != step.second*10*mb {
			t.Errorf("after %d MiB more, %d and %d bytes are idle", step.grow, first.bytes(), second.bytes())
		}
	}
}

// TestMove: an account that moves to another pool takes its bytes along; what the node has charged
// stays the same.
func TestMove(t *testing.T) {
	const mb = 1 << 20
	p := NewPool("n", 100*mb)
	one, two := p.Child("one", 0), p.Child("two", 0)
	a := one.Account("rows", true)
	if err := a.Grow(40 * mb); err != nil {
		t.Fatal(err)
	}
	a.Move(p, false)
	if one.Close() != 0 || p.Used() != 40*mb {
		t.Errorf("%d bytes are in use once the statement has left them", p.Used())
	}
	a.Move(two, true)
	if err := a.Grow(10 * mb); err != nil || two.Used() != 50*mb || two.Peak() != 50*mb || p.Peak() != 50*mb {
		t.Errorf("the other has %d bytes, had %d at most, the node %d: %v", two.Used(), two.Peak(), p.Peak(), err)
	}
	if two.Close() != 50*mb || p.Used() != 0 {
		t.Errorf("%d bytes are left", p.Used())
	}
}

// TestMoveKeepsNothingToSpare: an account that moves takes along the bytes in use, not those that
// it had reserved in advance.
func TestMoveKeepsNothingToSpare(t *testing.T) {
	node := NewPool("node", 64<<20)
	from := node.Child("statement", 0)
	a := from.Account("a", false)
	if err := a.Grow(10*blockBytes + 1); err != nil {
		t.Fatal(err)
	}
	a.Shrink(3 * blockBytes)
	a.Move(node, false)
	if used := node.Used(); used != 8*blockBytes {
		t.Errorf("%d bytes are reserved for %d", used, a.Used())
	}
	a.Close()
	if node.Used() != 0 || from.Used() != 0 {
		t.Errorf("%d and %d bytes are left", node.Used(), from.Used())
	}
	from.Close()
}
