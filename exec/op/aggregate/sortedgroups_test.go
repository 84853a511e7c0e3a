package aggregate_test

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/types"
)

// keepers adds aggregates that keep their rows, and others that do not.
func keepers(c *aggCase) {
	distinct := func(a expr.AggCall) expr.AggCall {
		a.Distinct = true
		return a
	}
	ordered := func(a expr.AggCall, direct int, by ...expr.Order) expr.AggCall {
		a.OrderBy, a.Direct = by, direct
		return a
	}
	some := func(a expr.AggCall) expr.AggCall {
		a.Filter = fixedCall("int8lt(int8,int8)", c.col(1), &expr.Const{Typ: types.Int8, Val: int64(700)})
		return a
	}
	median := &expr.Const{Typ: types.Float8, Val: 0.3}
	percentile := func(id string, key int, desc bool) expr.AggCall {
		a := ordered(c.call(id, median), 1, expr.Order{Expr: c.col(key), Desc: desc})
		a.Typ = c.tb.Types[key]
		return a
	}
	mode := ordered(expr.AggCall{Fn: fn.ByID("mode(anyelement)"), Typ: types.Int8}, 0, expr.Order{Expr: c.col(1)})
	c.aggs = []expr.AggCall{
		c.call("count()"), c.call("sum(int8)", c.col(1)),
		distinct(c.call("count(any)", c.col(2))), distinct(c.call("sum(int8)", c.col(1))), some(distinct(c.call("avg(int8)", c.col(1)))),
		ordered(c.call("string_agg(text,text)", c.col(2), &expr.Const{Typ: types.Text, Val: ","}), 0, expr.Order{Expr: c.col(1), Desc: true}, expr.Order{Expr: c.col(2)}),
		ordered(c.call("array_agg(anynonarray)", c.col(1)), 0, expr.Order{Expr: c.col(2), NullsFirst: true}, expr.Order{Expr: c.col(1)}),
		percentile("percentile_cont(float8,float8)", 3, false), percentile("percentile_cont(float8,float8)", 3, true),
		percentile("percentile_disc(float8,anyelement)", 2, false),
		mode,
		c.call("roc_auc(int8,float8)", c.col(4), c.col(3)), some(c.call("roc_auc(int8,float8)", c.col(4), c.col(3))), c.call("roc_auc(int8,float8)", c.col(1), c.col(3)),
		c.call("concordance_index(float8,bool,float8)", c.col(3), c.col(5), c.col(6)), distinct(some(c.call("concordance_index(float8,bool,float8)", c.col(6), c.col(5), c.col(3)))),
	}
}

// TestHashAggSorted: groups whose rows do not fit in memory are sorted instead, with the same
// results.
func TestHashAggSorted(t *testing.T) {
	for _, keys := range [][]int{{}, {0}} {
		for _, groups := range []int64{1, 3, 40} {
			if len(keys) == 0 && groups > 1 {
				continue
			}
			t.Run(fmt.Sprintf("keys=%d/groups=%d", keys, groups), func(t *testing.T) {
				r := rand.New(rand.NewSource(groups))
				c := aggCase{tb: optest.Table{Types: []types.Type{types.Int8, types.Int8, types.Text, types.Float8, types.Int8, types.Bool, types.Float8}}, keys: keys, drop: -1}
				for i := range 6000 {
					k := r.Int63n(groups)
					if r.Intn(2) == 0 {
						k = 0 // one group is large
					}
					row := types.Row{k, r.Int63n(1000), fmt.Sprint("value ", r.Intn(5000)), float64(r.Intn(3000)) / 7, 1 - r.Int63n(2), r.Intn(3) > 0, float64(r.Intn(50))}
					for at := 1; at < 4; at++ {
						if i%9 == at {
							row[at] = nil
						}
					}
					c.tb.Rows = append(c.tb.Rows, row)
				}
				keepers(&c)
				tc := c.test(t)
				tc.Spills = true
				for _, threads := range []int{1, 3} {
					t.Run(fmt.Sprintf("threads=%d", threads), func(t *testing.T) {
						least := int64(threads+2) << 19
						for _, budget := range []int64{least, 2 * least, 8 * least, 0} {
							if n := optest.Once(t, tc, threads, optest.Form{Size: 500, Dict: true, Mix: true}, budget); n == 0 && budget == least {
								t.Error("nothing was spilled")
							}
						}
					})
				}
			})
		}
	}
}

// TestHashAggLongResults: results that are together much larger than memory, and each a part of it,
// are returned a few groups at a time.
func TestHashAggLongResults(t *testing.T) {
	c := aggCase{tb: optest.Table{Types: []types.Type{types.Int8, types.Int8, types.Text}}, keys: []int{0}, drop: -1}
	r := rand.New(rand.NewSource(1))
	for i := range 9000 {
		var text types.Datum = fmt.Sprint(i, strings.Repeat("x", r.Intn(3000)))
		if i%50 == 0 {
			text = nil
		}
		c.tb.Rows = append(c.tb.Rows, types.Row{r.Int63n(24), r.Int63n(100000), text})
	}
	comma := &expr.Const{Typ: types.Text, Val: ","}
	text := c.call("string_agg(text,text)", c.col(2), comma)
	text.OrderBy = []expr.Order{{Expr: c.col(1), Desc: true}, {Expr: c.col(2)}}
	list := c.call("array_agg(anynonarray)", c.col(2))
	list.OrderBy = text.OrderBy
	list.Typ, _ = types.ArrayOf(types.Text)
	c.aggs = []expr.AggCall{c.call("count()"), text, list, c.call("max(text)", c.col(2)), text}
	tc := c.test(t)
	tc.Spills = true
	for _, budget := range []int64{5 << 20, 12 << 20, 0} { // the rows of all groups are 13 MB, and so is each call's result
		if n := optest.Once(t, tc, 1, optest.Form{Size: 500}, budget); n == 0 && budget == 5<<20 {
			t.Error("nothing was spilled")
		}
	}
}

// TestHashAggPartialStates: rows that a partial aggregation keeps of one group are passed to the
// final one in several states, beside those of calls that share another's.
func TestHashAggPartialStates(t *testing.T) {
	for _, keys := range [][]int{{}, {0}} {
		c := aggCase{tb: optest.Table{Types: []types.Type{types.Int8, types.Text}}, keys: keys, drop: -1}
		for i := range 60000 {
			c.tb.Rows = append(c.tb.Rows, types.Row{int64(i % 2), "the same everywhere"})
		}
		c.aggs = []expr.AggCall{c.call("count()"), c.call("string_agg(text,text)", c.col(1), &expr.Const{Typ: types.Text, Val: ","}), c.call("max(text)", c.col(1)),
			c.call("count(any)", c.col(0)), c.call("sum(int8)", c.col(0)), c.call("stddev_samp(int8)", c.col(0)), c.call("avg(int8)", c.col(0))}
		tc := c.test(t)
		tc.Spills = true
		tc.Build = func(rt *op.Runtime, in [][]op.Operator) []op.Operator { return c.phases(t, rt, in[0]) }
		for _, budget := range []int64{3 << 20, 0} {
			if n := optest.Once(t, tc, 2, optest.Form{Size: 500}, budget); n == 0 && budget > 0 {
				t.Error("nothing was spilled")
			}
		}
	}
}
