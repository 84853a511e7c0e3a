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

// TestLongKeys: where computed join keys are too large for a whole batch, fewer rows are evaluated
// at a time.
func TestLongKeys(t *testing.T) {
	tb := optest.Table{Types: []types.Type{types.Int4}}
	r := rand.New(rand.NewSource(4))
	for range 60 {
		tb.Rows = append(tb.Rows, types.Row{int64(r.Intn(40))})
	}
	key := optest.Repeating{Len: 300, Limit: 40_000}
	var pairs []types.Row
	for _, a := range tb.Rows {
		for _, b := range tb.Rows {
			if a[0] == b[0] {
				pairs = append(pairs, types.Row{a[0], b[0]})
			}
		}
	}
	optest.Run(t, optest.Case{Inputs: []optest.Table{tb, tb}, Out: []types.Type{types.Int4, types.Int4}, Want: pairs, Threads: []int{1},
		Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
			keys := [][]op.Item{{{Program: key}}}
			return join.New(rt, nil, join.Config{Kind: plan.Inner, LTypes: tb.Types, RTypes: tb.Types, LKeys: keys, RKeys: keys,
				KeyTypes: []types.Type{types.Text}, NullSafe: []bool{false}, LOut: []int{0}, ROut: []int{0}}, in[0], in[1])
		}})
}
