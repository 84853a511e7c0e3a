package aggregate_test

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/aggregate"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/types"
)

// neededRows leaves out rows that a sort does not need, by their column at.
type neededRows struct {
	first *op.FirstRows
	at    int
}

func (f neededRows) Select(_ context.Context, b *batch.Batch) (*batch.Batch, error) {
	b = kernel.Compact(b)
	out := *b
	out.Sel = f.first.Select(b.Cols[f.at])
	return &out, nil
}

// TestNeededGroups: of the groups that a sort above needs, by a key or by an aggregate of any type, none is missing,
// and their results are those of all groups.
func TestNeededGroups(t *testing.T) {
	for name, keys := range map[string][]int{"integer": {5}, "text": {7}, "mixed": {0, 5, 7}, "numeric": {2}, "sets": {0, 5}} {
		c := sales(rand.New(rand.NewSource(int64(len(name)))), 1500)
		c.keys = keys
		if name == "sets" {
			c.sets = [][]int{{0, 1}, {1}, {}}
		}
		all, ts := c.want(t), c.keyTypes()
		for _, a := range c.aggs {
			ts = append(ts, a.Typ)
		}
		r := rand.New(rand.NewSource(3))
		for _, by := range r.Perm(len(ts))[:4] {
			typ := ts[by]
			for i, part := range []int{0, 100}[r.Intn(2):] { // in how many parts the last row that is needed ends the first
				specs := []kernel.KeySpec{{Type: typ, Desc: i%2 == 0, NullsFirst: by%2 == 0}, {Type: types.Int4}}[:1+(by+i)/2%2]
				first := op.NewFirstRows(specs)
				if part > 0 {
					first.Cut(lastKey(t, specs, all, by, len(all)/part))
				}
				want := optest.Table{Types: ts, Rows: all}
				var col []types.Datum
				for _, r := range all {
					col = append(col, r[by])
				}
				want.Rows = nil
				for _, r := range first.Select(optest.Array(t, typ, col)) {
					want.Rows = append(want.Rows, all[r])
				}
				t.Run(fmt.Sprintf("%s/%d/%d", name, by, part), func(t *testing.T) {
					optest.Run(t, optest.Case{Inputs: []optest.Table{c.tb}, Out: ts, Want: want.Rows, Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
						id := expr.ColID(100 + by)
						if by >= len(keys) {
							id = expr.ColID(200 + by - len(keys))
						}
						ops, err := aggregate.New(rt, nil, c.node(), nil, &aggregate.Needed{First: first, By: id}, c.columns(), nil, in[0])
						if err != nil {
							t.Fatal(err)
						}
						filters := make([]op.Filter, len(ops))
						for i := range filters {
							filters[i] = neededRows{first, by}
						}
						return op.NewFilter(ops, filters)
					}})
				})
			}
		}
	}
}

// lastKey returns the key of row n of rows in the order of their column by.
func lastKey(t *testing.T, specs []kernel.KeySpec, rows []types.Row, by, n int) []byte {
	var col, second []types.Datum
	for _, r := range rows {
		col, second = append(col, r[by]), append(second, int64(0))
	}
	cols := []arrow.Array{optest.Array(t, specs[0].Type, col), optest.Array(t, types.Int4, second)}
	var keys kernel.Keys
	kernel.NewKeyEncoder(specs).Append(&keys, cols[:len(specs)], len(rows))
	var list []string
	for i := range rows {
		list = append(list, string(keys.At(i)))
	}
	slices.Sort(list)
	return []byte(list[n])
}
