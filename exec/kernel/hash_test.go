package kernel_test

import (
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/sql/types"
)

// TestHashOfEqualColumns: rows whose columns all have the same value, (7, 7), have hashes as
// different as other rows: the hashes of the columns must not cancel out, for keys of joins and for
// groups.
func TestHashOfEqualColumns(t *testing.T) {
	const n = 5000
	col := optest.Int8s(n, func(i int) int64 { return int64(i) * 1_000_003 })
	for width := 1; width <= 5; width++ {
		var ts []types.Type
		var cols []arrow.Array
		for range width {
			ts, cols = append(ts, types.Int8), append(cols, col)
		}
		_, packed := kernel.NewPacker(ts).Pack(cols, n, nil, nil)
		for what, hashes := range map[string][]uint64{"keys": kernel.NewHasher(ts).Hash(cols, n, nil), "groups": packed} {
			seen := map[uint64]bool{}
			for _, h := range hashes {
				seen[h] = true
			}
			if len(seen) < n {
				t.Errorf("%d %s of %d columns have %d hashes", n, what, width, len(seen))
			}
		}
	}
}
