package join_test

import (
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/join"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// TestTinyLimit: under the least limit a join divides its rows twice, until what is left of them hardly
// takes memory, and not on and on because other operators use what there is.
func TestTinyLimit(t *testing.T) {
	const n = 30_000
	ts := []types.Type{types.Int8, types.Int8}
	side := optest.Cut(n, func(from, k int) []arrow.Array {
		return []arrow.Array{optest.Int8s(k, func(i int) int64 { return int64(from+i) * 1_000_000_007 }), optest.Int8s(k, func(i int) int64 { return int64(from + i) })}
	})
	for _, threads := range []int{1, 3} {
		pool := mem.NewPool("n", 1<<30).Child("s", 64<<10)
		others := pool.Account("others", false)
		others.Take(64 << 10)
		dir := spill.NewDir(spill.Options{Parent: t.TempDir(), Pool: pool})
		rt := &op.Runtime{Threads: threads, Pool: pool, Spill: dir}
		c := joinCase{kind: plan.Left, keys: []int{0, 1}}.config(ts, threads)
		rows, err := optest.Drive(t.Context(), join.New(rt, nil, c, optest.Source(threads, side), optest.Source(threads, side)), append(ts[:2:2], ts...))
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != n {
			t.Errorf("%d rows, not %d", len(rows), n)
		}
		if most := int64(3 * 2 * n * 16); pool.Spilled() > most {
			t.Errorf("%d threads wrote %d bytes, more than %d", threads, pool.Spilled(), most)
		}
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	}
}
