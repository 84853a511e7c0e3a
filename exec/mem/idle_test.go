package mem

import (
	"testing"
)

// keeper keeps what is idle, as pieces of a size.
type keeper struct {
	pieces []*Account
	size   int64
}

func (k *keeper) bytes() int64 { return int64(len(k.pieces)) * k.size }

func (k *keeper) shed(n int64) {
	for ; n > 0 && len(k.pieces) > 0; n -= k.size {
		k.pieces[0].Close()
		k.pieces = k.pieces[1:]
	}
}

// TestIdleIsFree: idle bytes keep nobody out, make nobody spill, and go as others
// need them, no more of them than that.
func TestIdleIsFree(t *testing.T) {
	const mb = 1 << 20
	p := NewPool("n", 100*mb)
	k := &keeper{size: 10 * mb}
	p.SetIdle(k.bytes, k.shed)
	for range 9 {
		a := p.Account("kept", false)
		if err := a.Grow(k.size); err != nil {
			t.Fatal(err)
		}
		k.pieces = append(k.pieces, a)
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
	if a.ShouldSpill() || len(k.pieces) != 7 {
		t.Errorf("%d pieces are left for 24 MiB", len(k.pieces))
	}
	if err := a.Grow(68 * mb); err != nil || len(k.pieces) != 0 {
		t.Errorf("%d pieces are left for 92 MiB: %v", len(k.pieces), err)
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
