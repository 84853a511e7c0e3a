package opt

import (
	"slices"
	"sync"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rewrite"
)

// valueShare says how many times more rows another input of the cluster must have than the input that is
// compared with the subquery's value.
const valueShare = 32

// joinValues joins the value of an uncorrelated subquery with the one input with which it is compared, if
// this input is small beside another one. The search for a join order sees how many rows the comparison saves
// the joins, which is little if the other joins leave few rows. It does not see that the input's keys can
// then filter a large scan. (An equality leaves so few rows that it comes early in the order anyway.)
//
//	days, sales WHERE month > (SELECT …)      the days of all years filter nothing,
//	                                          those after some month filter sales
func (g *joinGraph) joinValues(est *props.Estimator) {
	most := sync.OnceValue(func() (rows float64) {
		for _, l := range g.leaves {
			rows = max(rows, est.Of(l.n).Rows)
		}
		return rows
	})
	for i := len(g.leaves) - 1; i >= 0; i-- {
		j := g.comparedWith(i)
		if j < 0 || est.Of(g.leaves[j].n).Rows*valueShare > most() {
			continue
		}
		v, l := g.leaves[i], &g.leaves[j]
		var conds []expr.Expr
		g.preds = slices.DeleteFunc(g.preds, func(p graphPred) bool {
			if p.mask&(1<<i) != 0 {
				conds = append(conds, p.e)
			}
			return p.mask&(1<<i) != 0
		})
		l.n = rewrite.Filter(&plan.Join{Kind: v.kind, L: l.n, R: v.n}, conds)
		g.drop(i, j)
	}
}

// comparedWith returns the one input that leaf i, a value that needs no input, is compared with; -1
// where there is none.
func (g *joinGraph) comparedWith(i int) int {
	v := &g.leaves[i]
	switch {
	case v.kind == plan.Single, v.kind == plan.Left && props.AtMostOneRow(v.n):
		if len(v.on) > 0 {
			return -1
		}
	case v.kind == plan.Inner && props.ExactlyOne(v.n):
	default:
		return -1
	}
	at, with := -1, uint64(0)
	for _, p := range g.preds {
		if p.mask&(1<<i) != 0 {
			with |= p.mask
			if _, _, eq := rewrite.Equality(p.e); eq || p.mask == 1<<i {
				return -1
			}
		}
	}
	for j := range g.leaves {
		if g.leaves[j].needs&(1<<i) != 0 {
			return -1
		}
		if j != i && with == 1<<i|1<<j && g.leaves[j].kind == plan.Inner {
			at = j
		}
	}
	return at
}

// drop removes leaf i, which is now a part of leaf j.
func (g *joinGraph) drop(i, j int) {
	less := func(at int) int {
		if at == i {
			at = j
		}
		if at > i {
			at--
		}
		return at
	}
	move := func(m uint64) uint64 {
		below := uint64(1)<<i - 1
		return m&below | m>>1&^below
	}
	g.leaves = slices.Delete(g.leaves, i, i+1)
	for k := range g.leaves {
		g.leaves[k].needs = move(g.leaves[k].needs)
	}
	for k := range g.preds {
		g.preds[k].mask = move(g.preds[k].mask)
	}
	for c, at := range g.owner {
		g.owner[c] = less(at)
	}
}
