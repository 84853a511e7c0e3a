package join_test

import (
	"math/rand"
	"testing"

	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/join"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// TestGatherOverBarriers: a gather over operators whose threads wait for each other, below a LIMIT.
func TestGatherOverBarriers(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	a, b := optest.Random(r, 100, types.Int4, types.Text), optest.Random(r, 60, types.Int4, types.Text)
	c := joinCase{kind: plan.Full, keys: []int{0}}
	all, _ := c.want(a, b)
	optest.Run(t, optest.Case{Inputs: []optest.Table{a, b}, Out: c.out(a.Types),
		Check: func(t *testing.T, got []types.Row) {
			if len(got) != min(5, len(all)) {
				t.Errorf("%d rows", len(got))
			}
		},
		Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
			return op.NewLimit(op.NewGather(join.New(rt, nil, c.config(a.Types, rt.Threads), in[0], in[1])), 0, 5)
		}})
}

// TestLimitOverBarriers: a thread that stops because its LIMIT is reached does not leave others
// waiting for it.
func TestLimitOverBarriers(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	a, b := optest.Random(r, 200, types.Int4, types.Int4), optest.Random(r, 60, types.Int4, types.Int4)
	c := joinCase{kind: plan.Left, keys: []int{0}}
	for _, n := range []int64{0, 1, 50, 210, 300} {
		optest.Run(t, optest.Case{Inputs: []optest.Table{a, a, b, b}, Out: a.Types, Threads: []int{1, 2, 4}, Check: func(t *testing.T, got []types.Row) {
			if int64(len(got)) != n {
				t.Errorf("%d rows, want %d", len(got), n)
			}
		}, Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
			jc := c.config(a.Types, rt.Threads)
			jc.ROut = nil
			j := join.New(rt, nil, jc, in[1], in[2])
			jc2 := c.config(a.Types, rt.Threads)
			jc2.ROut = nil
			return op.NewLimit(op.NewAppend(rt, [][]op.Operator{in[0], join.New(rt, nil, jc2, j, in[3])}), 0, n)
		}})
	}
}
