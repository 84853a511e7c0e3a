package opt

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
)

// reduceFactor says how many times fewer keys the other side of a join must have for a semi-join below an
// aggregation to be worth a second scan of this side.
const reduceFactor = 8

// scanShare is the cost of reading a row relative to grouping it.
const scanShare = 0.2

// reduceRows is the least number of rows that the aggregation must read.
const reduceRows = 50000

// ruleReduce lets a small join partner restrict which groups are computed. A decorrelated subquery aggregates
// for all existing keys, of which the join above needs few:
//
//	parts ⋈ γ(lineitem by partkey)      parts ⋈ γ(lineitem ⋉ parts by partkey)
//
// (TPC-H's Q17: 200 parts of 200,000.) The partner is run twice, so it must be cheap compared with what is
// saved. The dropped groups have no partner, so the rule holds for inner joins, and for semi- and left joins
// with the aggregation on the right.
func ruleReduce(r *rule.Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	return r.BottomUp(n, func(n plan.Node) plan.Node {
		j, ok := n.(*plan.Join)
		if !ok {
			return n
		}
		switch j.Kind {
		case plan.Inner:
			if l := reduceSide(r, j.L, j.R, j.On); l != j.L {
				c := *j
				c.L = l
				return &c
			}
		case plan.Left, plan.Semi, plan.Anti, plan.Single:
		default:
			return n
		}
		if rr := reduceSide(r, j.R, j.L, j.On); rr != j.R {
			c := *j
			c.R = rr
			return &c
		}
		return n
	}), nil
}

// reduceSide returns side with its aggregation limited to the keys of partner, or side itself if that does
// not pay.
func reduceSide(r *rule.Run, side, partner plan.Node, on []expr.Expr) plan.Node {
	agg := aggregateIn(side)
	if agg == nil || len(agg.Sets) > 0 || r.Estimates().Of(agg.Input).Rows < reduceRows {
		return side // most are, before their partner is looked at
	}
	if rewrite.PlanVolatile(partner) || len(r.Estimates().Facts.FreeColumns(partner)) > 0 {
		return side
	}
	groups := map[expr.ColID]expr.Expr{}
	for _, g := range agg.Groups {
		groups[g.Col.ID] = g.Expr
	}
	through := passedBy(side, agg)
	est := r.Estimates()
	in, other := est.Of(agg.Input), est.Of(partner)
	if est.Reads(partner)*scanShare > in.Rows {
		return side
	}
	have := plan.Emits(partner)
	var keys [][2]expr.Expr // group expression, partner's column
	share := 1.0
	for _, c := range rewrite.SplitAll(on) {
		a, b, ok := rewrite.Equality(c)
		if !ok {
			continue
		}
		for _, p := range [][2]expr.Expr{{a, b}, {b, a}} {
			g, ok1 := rewrite.AsColumn(p[0])
			k, ok2 := rewrite.AsColumn(p[1])
			if !ok1 || !ok2 || !have[k.ID] || g.Typ.OID != k.Typ.OID || !g.Typ.SamePhysical(k.Typ) {
				continue
			}
			e, isGroup := groups[through[g.ID]]
			if !isGroup || rewrite.IsVolatile(e) || e.Type().OID != k.Typ.OID || !e.Type().SamePhysical(k.Typ) {
				continue
			}
			keys = append(keys, [2]expr.Expr{e, k})
			share = min(share, min(other.Ndv(k), max(other.Rows, 1))/max(in.Ndv(e), 1))
		}
	}
	if len(keys) == 0 || share*reduceFactor > 1 {
		return side
	}
	cp, ids := r.Rename(partner)
	semi := &plan.Join{Kind: plan.Semi, L: agg.Input}
	var cols []plan.Column
	for _, k := range keys {
		c := *k[1].(*expr.Col)
		c.ID = ids[c.ID]
		eq := rewrite.Equals(k[0], &c)
		if eq == nil {
			return side
		}
		semi.On = append(semi.On, eq)
		cols = append(cols, plan.Column{ID: c.ID, Name: c.Name, Type: c.Typ})
	}
	semi.R = &plan.Project{Input: cp, Items: rewrite.PassItems(dedupe(cols))}
	reduced := *agg
	reduced.Input = orderJoins(r, semi)
	return replaceNode(r, side, agg, &reduced)
}

func dedupe(cols []plan.Column) []plan.Column {
	var out []plan.Column
	seen := plan.ColSet{}
	for _, c := range cols {
		if !seen[c.ID] {
			seen[c.ID] = true
			out = append(out, c)
		}
	}
	return out
}

// aggregateIn finds a grouping at the top of n, below filters and projections.
func aggregateIn(n plan.Node) *plan.Aggregate {
	for {
		switch x := n.(type) {
		case *plan.Filter:
			n = x.Input
		case *plan.Project:
			n = x.Input
		case *plan.Aggregate:
			if len(x.Groups) > 0 {
				return x
			}
			return nil
		default:
			return nil
		}
	}
}

// passedBy maps columns that n emits to the aggregation's that they are.
func passedBy(n plan.Node, agg *plan.Aggregate) map[expr.ColID]expr.ColID {
	out := map[expr.ColID]expr.ColID{}
	switch x := n.(type) {
	case *plan.Aggregate:
		for _, c := range x.Schema() {
			out[c.ID] = c.ID
		}
	case *plan.Filter:
		return passedBy(x.Input, agg)
	case *plan.Project:
		in := passedBy(x.Input, agg)
		for _, it := range x.Items {
			if c, ok := rewrite.AsColumn(it.Expr); ok {
				if to, ok := in[c.ID]; ok {
					out[it.Col.ID] = to
				}
			}
		}
	}
	return out
}

func replaceNode(r *rule.Run, n, old, by plan.Node) plan.Node {
	if n == old {
		return by
	}
	return r.MapChildren(n, func(k plan.Node) plan.Node { return replaceNode(r, k, old, by) })
}
