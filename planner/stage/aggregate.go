package stage

import (
	"math"
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
)

// aggregate groups in one phase where the rows of a group are together, else
// in two:
//
//	partial on each node ─▶ by hash of the groups, or gathered if few ─▶ final
//
// With grouping sets the partial phase groups by all columns, the final one by
// each set. Aggregates that must see all rows of a group at once (DISTINCT, an
// order) have them brought together first.
func (p *placer) aggregate(n *plan.Aggregate) (plan.Node, dist, error) {
	asked := p.asked
	p.asked = p.keysBelow(n)
	in, d, err := p.place(n.Input)
	p.asked = nil
	if err != nil {
		return nil, d, err
	}
	if d.atGateway() {
		return with1(n, in), d, nil
	}
	if n.Phase == plan.AggPartial {
		return with1(n, in), d.renamed(n.Groups), nil
	}
	groups := make([]expr.Expr, len(n.Groups))
	plain := colSet{}
	for i, g := range n.Groups {
		groups[i] = g.Expr
		if c, ok := g.Expr.(*expr.Col); ok {
			plain[c.ID] = true
		}
	}
	if len(n.Sets) == 0 && d.within(plain) {
		return with1(n, in), d.renamed(n.Groups), nil
	}
	if len(n.Sets) == 0 && (!mergeable(n) || p.rows(n) > gatherGroups) {
		if t, ok := p.alignScans(d, groups); ok {
			return with1(n, in), t.renamed(n.Groups), nil
		}
		if keys := p.dividing(n); p.pickedBy(in, d, keys) {
			return with1(n, in), hashDist(keys).renamed(n.Groups), nil
		}
	}
	if !mergeable(n) || n.Phase == plan.AggFinal {
		if len(n.Groups) == 0 || len(n.Sets) > 0 {
			return with1(n, p.gather(in, d)), dist{}, nil
		}
		m, hd := p.hashBy(in, p.dividing(n))
		return with1(n, m), hd.renamed(n.Groups), nil
	}
	rows, inRows := p.rows(n), p.rows(n.Input)
	if len(n.Sets) == 0 && len(n.Groups) > 0 && rows > gatherGroups && (rows > 0.5*inRows || p.rawRowsCheaper(n, rows, inRows)) {
		// Hardly two rows of a group are on one node: a partial phase would only pass the rows on.
		m, hd := p.hashBy(in, p.dividing(n))
		return with1(n, m), hd.renamed(n.Groups), nil
	}
	partial := *n
	partial.Input, partial.Phase = in, plan.AggPartial
	partial.Sets, partial.GroupingID = nil, 0
	partial.States = make([]expr.ColID, len(n.Aggs))
	for i := range n.Aggs {
		partial.States[i] = p.newCol()
	}
	final := *n
	final.Phase, final.States = plan.AggFinal, partial.States
	final.Aggs = make([]plan.AggItem, len(n.Aggs))
	for i, a := range n.Aggs {
		a.Call.Filter = nil // applied to the rows
		final.Aggs[i] = a
	}
	final.Groups = make([]plan.Item, len(n.Groups))
	var keys, some []expr.Expr
	for i, g := range n.Groups {
		c := &expr.Col{ID: g.Col.ID, Typ: g.Col.Type, Name: g.Col.Name}
		final.Groups[i] = plan.Item{Col: g.Col, Expr: c}
		keys = append(keys, c)
		if asked[g.Col.ID] { // the parent's, whose rows need not be sent again
			some = append(some, c)
		}
	}
	if len(some) > 0 {
		keys = some
	}
	// The calls keep their arguments, from which the aggregate takes its types; a final phase reads
	// the states.
	if len(n.Groups) == 0 || len(n.Sets) > 0 || rows <= gatherGroups {
		final.Input = &plan.Exchange{Input: &partial, Kind: plan.Gather}
		return &final, dist{}, nil
	}
	m, hd := p.hashBy(&partial, keys)
	final.Input = m
	return &final, hd, nil
}

// largeTable is from how many groups of a node its threads do not merge them before they send them
// (exec/op/aggregate), for that takes as long as it saves in the final phase.
const largeTable = 64 << 10

// stateCost is what it costs, in rows read, to make a state and to merge it, beside sending
// its bytes.
const stateCost = 16

// rawRowsCheaper reports whether sending the rows of a grouping, inRows, costs less than sending the
// groups that a partial phase would make of them. Where each thread has rows of any group, the
// phase makes most groups once in each thread, or node: with 100,000 groups in 1,500,000 rows,
// 500,000 on three nodes of two threads.
func (p *placer) rawRowsCheaper(n *plan.Aggregate, groups, inRows float64) bool {
	for _, g := range n.Groups {
		if c, ok := g.Expr.(*expr.Col); !ok || p.isClustered(n.Input, c.ID) {
			return false
		}
	}
	of := func(tables int) float64 { // the number of groups that so many tables have in all
		share := inRows / float64(tables)
		return float64(tables) * groups * -math.Expm1(-share/groups)
	}
	states := of(p.nodes)
	if states > largeTable*float64(p.nodes) {
		states = of(p.threads)
	}
	sent := float64(p.nodes-1) / float64(p.nodes)
	partial := plan.Aggregate{Groups: n.Groups, Aggs: n.Aggs, Phase: plan.AggPartial, States: make([]expr.ColID, len(n.Aggs))}
	return states > rawShare*inRows && inRows*sentCost(n.Input)*sent < states*(sentCost(&partial)*sent+stateCost*float64(len(n.Aggs)))
}

// rawShare is how many groups per row a partial phase must make at least for the rows to be sent:
// the number of groups is a guess, and rows of one frequent group go to one node.
const rawShare = 0.25

// isClustered reports whether column id of n is a scan's whose rows are clustered by it: except
// for a few, each group is then on one node.
func (p *placer) isClustered(n plan.Node, id expr.ColID) bool {
	s, ok := n.(*plan.Scan)
	if !ok {
		return slices.ContainsFunc(n.Children(), func(k plan.Node) bool { return p.isClustered(k, id) })
	}
	at := slices.IndexFunc(s.Cols, func(c plan.Column) bool { return c.ID == id })
	return at >= 0 && p.replicas != nil && s.Cols[at].Type.IsIntegral() && p.replicas.Clustered(s, s.Cols[at])
}

// sharedGroups is how many groups spread well over the nodes by their keys.
const sharedGroups = 1000

// keysBelow returns the columns that n groups by of an aggregation directly below, whose rows are
// best sent by these alone: else the rows of a DISTINCT below a grouping would be sent twice.
func (p *placer) keysBelow(n *plan.Aggregate) colSet {
	if len(n.Sets) > 0 || len(n.Groups) == 0 || p.rows(n) < sharedGroups {
		return nil
	}
	cols, in := columnsOf(groupKeys(n)), n.Input
	if len(cols) < len(n.Groups) {
		return nil
	}
	for {
		switch x := in.(type) {
		case *plan.Project:
			below := colSet{}
			for _, it := range x.Items {
				if c, ok := it.Expr.(*expr.Col); ok && cols[it.Col.ID] {
					below[c.ID] = true
				}
			}
			if len(below) < len(cols) {
				return nil
			}
			cols, in = below, x.Input
		case *plan.Filter:
			in = x.Input
		case *plan.Aggregate:
			return cols
		default:
			return nil
		}
	}
}

func groupKeys(n *plan.Aggregate) []expr.Expr {
	out := make([]expr.Expr, len(n.Groups))
	for i, g := range n.Groups {
		out[i] = g.Expr
	}
	return out
}

// mergeable reports whether partial states of all aggregates can be merged.
func mergeable(n *plan.Aggregate) bool {
	for _, a := range n.Aggs {
		c := a.Call
		if c.Distinct || len(c.OrderBy) > 0 || c.Direct > 0 || c.Machine.ByValue() {
			return false
		}
	}
	return true
}
