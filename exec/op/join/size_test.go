package join

import (
	"testing"

	"github.com/tributarydb/tributary/exec/mem"
)

// TestLease: pairs leave most of a small memory to those who work with them, though all of it is
// free, and a pair that needs more than that share has it.
func TestLease(t *testing.T) {
	for _, x := range []struct{ limit, want, least, got int64 }{
		{24 << 20, 8 << 20, 1, 3 << 19},
		{24 << 20, 8 << 20, 5 << 20, 5 << 20},
		{1 << 30, 8 << 20, 1, 8 << 20},
		{1 << 30, 64 << 20, 1, 8 << 20},
		{8 << 20, 8 << 20, 1, pairFree},
	} {
		p := &prober{acct: mem.NewPool("node", x.limit).Child("statement", 0).Account("join results", false)}
		if got, err := p.lease(x.want, x.least); err != nil || got != x.got {
			t.Errorf("of %d bytes %d are leased (%v), not %d", x.limit, got, err, x.got)
		}
	}
}
