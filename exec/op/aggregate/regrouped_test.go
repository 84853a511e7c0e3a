package aggregate_test

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/aggregate"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// TestHashAggRegrouped: aggregates that are merged over one of the groups, in one phase and in two, are
// what they are by all groups: for keys that are numbers and texts, with NULL, without another group, without
// rows, and with too little memory.
func TestHashAggRegrouped(t *testing.T) {
	for _, n := range []int{0, 1, 3000, 200_000} {
		for _, keys := range [][]int{{1, 0}, {2, 0}, {1, 2, 0}, {0}} {
			if n > 3000 && len(keys) != 2 {
				continue
			}
			for _, twice := range []bool{false, true} {
				t.Run(fmt.Sprintf("rows=%d keys=%d twice=%t", n, keys, twice), func(t *testing.T) { testRegrouped(t, n, keys, twice) })
			}
		}
	}
}

func testRegrouped(t *testing.T, n int, keys []int, twice bool) {
	r := rand.New(rand.NewSource(int64(n)))
	c := aggCase{tb: optest.Table{Types: []types.Type{types.Int8, types.Int4, types.Text, types.Int4}}, keys: keys, drop: -1}
	type group struct {
		row    types.Row
		values map[int64]bool
		sum, n int64
		summed bool
	}
	by := keys[:len(keys)-1]
	groups := map[string]*group{}
	of := func(row types.Row) *group {
		key := fmt.Sprint(row)
		if groups[key] == nil {
			groups[key] = &group{row: row, values: map[int64]bool{}}
		}
		return groups[key]
	}
	if len(by) == 0 {
		of(types.Row{})
	}
	for range n {
		row := types.Row{r.Int63n(1<<17) << 30, int64(r.Intn(7)), fmt.Sprint("text ", r.Intn(5)), int64(r.Intn(1000))}
		for k := range row {
			if r.Intn(20) == 0 {
				row[k] = nil
			}
		}
		c.tb.Rows = append(c.tb.Rows, row)
		var key types.Row
		for _, k := range by {
			key = append(key, row[k])
		}
		g := of(key)
		if v, ok := row[0].(int64); ok {
			g.values[v] = true
		}
		g.n++
		if v, ok := row[3].(int64); ok {
			g.sum, g.summed = g.sum+v, true
		}
	}
	tc := optest.Case{Inputs: []optest.Table{c.tb}}
	for _, k := range by {
		tc.Out = append(tc.Out, c.tb.Types[k])
	}
	tc.Out = append(tc.Out, types.Int8, types.Numeric, types.Numeric)
	for _, g := range groups {
		row := append(g.row[:len(g.row):len(g.row)], int64(len(g.values)), number.DecimalFromInt64(g.n, 0), number.DecimalFromInt64(g.sum, 0))
		if !g.summed {
			row[len(by)+2] = nil
		}
		if g.n == 0 && twice { // the partial phase has no group
			row[len(by)+1] = nil
		}
		tc.Want = append(tc.Want, row)
	}
	c.aggs = []expr.AggCall{c.call("count()"), c.call("sum(int4)", c.col(3))}
	tc.Build = func(rt *op.Runtime, in [][]op.Operator) []op.Operator { return c.regrouped(t, rt, in[0], twice) }
	for _, threads := range []int{1, 3} {
		for _, size := range []int{7, 8192} {
			if n > 3000 && size == 7 {
				continue
			}
			for _, budget := range []int64{0, int64(threads+1) << 20} {
				if spilled := optest.Once(t, tc, threads, optest.Form{Size: size}, budget); budget > 0 && n > 3000 && spilled == 0 {
					t.Errorf("%d threads under %d bytes spilled nothing", threads, budget)
				}
			}
		}
	}
}

// regrouped is an aggregation by all groups, in one phase or in two, and one that merges over the last.
func (c aggCase) regrouped(t *testing.T, rt *op.Runtime, in []op.Operator, twice bool) []op.Operator {
	made := func(n *plan.Aggregate, cols []plan.Column) []plan.Column {
		ops, err := aggregate.New(rt, nil, n, nil, nil, cols, nil, in)
		if err != nil {
			t.Fatal(err)
		}
		in = ops
		return n.Schema()
	}
	column := func(c plan.Column) expr.Expr { return &expr.Col{ID: c.ID, Typ: c.Type} }
	last := len(c.keys) - 1
	inner := c.node()
	inner.Regrouped = inner.Groups[last].Col.ID
	cols := c.columns()
	if twice {
		partial := *inner
		partial.Phase, partial.States = plan.AggPartial, []expr.ColID{300, 301}
		cols = made(&partial, cols)
		inner.Phase, inner.States = plan.AggFinal, partial.States
		for i, g := range inner.Groups {
			inner.Groups[i].Expr = column(g.Col)
		}
	}
	cols = made(inner, cols)
	outer := &plan.Aggregate{}
	for _, g := range inner.Groups[:last] {
		outer.Groups = append(outer.Groups, plan.Item{Col: g.Col, Expr: column(g.Col)})
	}
	for i, call := range []expr.AggCall{
		c.call("count(any)", column(inner.Groups[last].Col)),
		c.call("sum(int8)", column(inner.Aggs[0].Col)),
		c.call("sum(int8)", column(inner.Aggs[1].Col)),
	} {
		outer.Aggs = append(outer.Aggs, plan.AggItem{Col: plan.Column{ID: expr.ColID(400 + i), Type: call.Typ}, Call: call})
	}
	made(outer, cols)
	return in
}
