package vector

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/exec/mem"
)

// TestMeterKeepsCount: the account of an expression is charged what its meter counts, through calls
// that need much memory, little and none.
func TestMeterKeepsCount(t *testing.T) {
	pool := mem.NewPool("t", 1<<30)
	m := &Meter{pool: pool}
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		m.Begin(context.Background())
		for range r.IntN(4) {
			n := 1 << r.IntN(22)
			if r.IntN(2) == 0 {
				m.Charge(int64(n))
			} else {
				m.Scratch(n)
				m.RowDone()
			}
		}
		if m.acct != nil && m.acct.Used() != owed(m.held) {
			t.Fatalf("%d bytes are held and %d charged", m.held, m.acct.Used())
		}
	}
	if m.acct == nil {
		t.Fatal("no account was needed")
	}
}
