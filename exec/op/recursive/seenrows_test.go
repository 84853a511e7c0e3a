package recursive

import (
	"context"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/sql/types"
)

// TestSeenRowsCharges: seen rows that were added but not yet charged, when all are written to disk,
// must not be subtracted from the bytes charged for filters.
func TestSeenRowsCharges(t *testing.T) {
	pool := mem.NewPool("n1", 0).Child("statement", 64<<20)
	dir := spill.NewDir(spill.Options{Parent: t.TempDir(), Pool: pool})
	s := newSeenRows(&op.Runtime{Threads: 1, Pool: pool, Spill: dir}, &op.Stats{}, []types.Type{types.Int8})
	const rows = 5000
	for k := range 4 {
		vals := make([]int64, rows)
		for i := range vals {
			vals[i] = int64(k*rows + i)
		}
		s.recent.put(batch.New([]arrow.Array{batch.FromSlice(types.Int8.Arrow(), vals, nil)}, rows))
		if err := s.flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		if used, held := s.acct.Used(), s.recent.bytes()+s.pending.bytes()+s.filterBytes; used != held {
			t.Fatalf("%d bytes are charged, %d held", used, held)
		}
	}
	s.close()
	if n := pool.Used(); n != 0 {
		t.Errorf("%d bytes are still charged", n)
	}
	if err := dir.Close(); err != nil {
		t.Error(err)
	}
}
