package order_test

import (
	"math/rand"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/order"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/sql/types"
)

// TestLongKeys: where computed sort keys are too large for a whole batch, fewer rows are evaluated
// at a time.
func TestLongKeys(t *testing.T) {
	tb := optest.Table{Types: []types.Type{types.Int4}}
	r := rand.New(rand.NewSource(4))
	for range 500 {
		tb.Rows = append(tb.Rows, types.Row{int64(r.Intn(40))})
	}
	key := optest.Repeating{Len: 300, Limit: 40_000}
	sorted := append([]types.Row(nil), tb.Rows...)
	slices.SortStableFunc(sorted, func(a, b types.Row) int { return int(a[0].(int64) - b[0].(int64)) })
	optest.Run(t, optest.Case{Inputs: []optest.Table{tb}, Out: tb.Types, Want: sorted, Threads: []int{1}, Ordered: true,
		Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
			return order.NewSort(rt, nil, order.Config{Types: tb.Types, Keys: [][]op.Item{{{Program: key}}}, Specs: []kernel.KeySpec{{Type: types.Text}}, Limit: -1}, in[0])
		}})
}
