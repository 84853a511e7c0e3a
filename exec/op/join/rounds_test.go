package join_test

import (
	"math/rand"
	"testing"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/join"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// TestKept: the joins of later rounds have the first one's table, and read no right rows; a table that memory does
// not hold is built in each round. What is kept is charged until it is closed.
func TestKept(t *testing.T) {
	r := rand.New(rand.NewSource(9))
	ts := []types.Type{types.Int4, types.Int4, types.Text}
	right := optest.Random(r, 3000, ts...)
	for _, kind := range []plan.JoinKind{plan.Inner, plan.Left, plan.Semi, plan.Anti} {
		for _, budget := range []int64{0, 160 << 10} {
			c := joinCase{kind: kind, keys: []int{0}, residual: true}
			pool := mem.NewPool("n", budget)
			dir := spill.NewDir(spill.Options{Parent: t.TempDir(), Pool: pool})
			rt := &op.Runtime{Threads: 1, Pool: pool, Spill: dir}
			source := func(tb optest.Table) []op.Operator { return optest.Source(1, tb.Batches(t, optest.Form{Size: 7})) }
			kept := &join.Kept{}
			for round := range 4 {
				left := optest.Random(r, 40*round, ts...)
				cfg := c.config(ts, rt.Threads)
				cfg.Kept = kept
				in := right
				if budget == 0 && round > 0 {
					in.Rows = nil // nobody asks for them
				}
				rows, err := optest.Drive(t.Context(), join.New(rt, nil, cfg, source(left), source(in)), c.out(ts))
				if err != nil {
					t.Fatal(err)
				}
				want, _ := c.want(left, right)
				optest.Compare(t, rows, want, c.out(ts), false)
				if held := rt.Pool.Used() > 0; held != (budget == 0) {
					t.Errorf("%v, round %d: %d bytes are held", kind, round, rt.Pool.Used())
				}
			}
			kept.Close()
			kept.Close()
			if rt.Pool.Used() != 0 {
				t.Errorf("%v: %d bytes are left", kind, rt.Pool.Used())
			}
			if err := dir.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
