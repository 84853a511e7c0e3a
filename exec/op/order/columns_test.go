package order_test

import (
	"math/rand"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/order"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/sql/types"
)

// TestSortGiven: a sort gives the columns that are asked for, in order of others, with a split and without, in memory and
// from files.
func TestSortGiven(t *testing.T) {
	r := rand.New(rand.NewSource(8))
	tb := optest.Table{Types: []types.Type{types.Int4, types.Text, types.Int8}}
	var want []types.Row
	for i := range 30000 {
		tb.Rows = append(tb.Rows, types.Row{int64(r.Intn(700)), optest.Value(r, types.Text, 5), int64(i)})
		want = append(want, types.Row{tb.Rows[i][1], tb.Rows[i][2]})
	}
	for _, split := range []int{0, 1} {
		optest.Run(t, optest.Case{Inputs: []optest.Table{tb}, Out: []types.Type{types.Text, types.Int8}, Threads: []int{1, 3}, Spills: true, Budget: 400 << 10,
			Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
				return order.NewSort(rt, nil, order.Config{Types: tb.Types, Given: []int{1, 2}, Keys: optest.Columns(rt.Threads, 0),
					Specs: []kernel.KeySpec{{Type: types.Int4}}, Limit: -1, Split: split}, in[0])
			},
			Check: func(t *testing.T, got []types.Row) {
				optest.Compare(t, got, want, []types.Type{types.Text, types.Int8}, false)
				ended := map[types.Datum]bool{}
				var last types.Datum
				for _, row := range got {
					key := tb.Rows[row[1].(int64)][0]
					if key != last {
						if ended[key] {
							t.Fatalf("rows of %v do not lie together", key)
						}
						ended[key], last = true, key
					}
				}
			},
		})
	}
}
