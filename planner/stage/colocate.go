package stage

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
)

// Replicas answers which rows of a table may be read on which nodes.
type Replicas interface {
	// Everywhere reports whether each node that takes part has all rows of a scan.
	Everywhere(*plan.Scan) bool
	// Clustered reports whether the nodes can divide a scan's rows by ranges of a column's
	// values so that few are read by two.
	Clustered(*plan.Scan, plan.Column) bool
	// Distributed returns the columns by whose hash a scan's rows lie on the nodes that take
	// part, in the order of the hash: each has the rows that an exchange by these would send
	// it. It is nil where they do not, or the scan does not read all of the columns.
	Distributed(*plan.Scan) []expr.ColID
}

// Where each node has all of a table, its rows need not be sent to others for a join: the node that
// needs them reads them. There are two ways to read for that:
//
//	whole   each node reads all rows, as the small right side of a join
//	ranges  each node reads the rows with a column's values in its range, the same of
//	        all tables that are joined or grouped by it
//
//	⋈ l_orderkey = o_orderkey              on node 1       on node 2
//	├─ scan lineitem  ranges of 1    ─▶    … 2,000,000     2,000,001 …
//	└─ scan orders    ranges of 1          … 2,000,000     2,000,001 …
//
// The tables need not be distributed by a key: rows that were loaded in the order of the column lie
// in few row groups a range, which zone maps find. Sources: the partition-wise join of Oracle and
// PostgreSQL; the zone maps of Moerkotte's "Small Materialized Aggregates", VLDB 1998.
//
// A scan gets its ranges at the first join or grouping, from the bottom up, that can use them;
// until then dist.free has the candidate columns. The first one decides, as the lowest join has the
// most rows.

// wholeRows is how many rows all nodes together may read redundantly rather than have one send
// them: the fixed cost of a stage.
const wholeRows = 200_000

// littleRows is up to how many rows each node reads whole unconditionally.
const littleRows = 16384

// sendCost is the cost of sending a row in rows read, filterCost that of a condition.
const (
	sendCost   = 8
	filterCost = 3
)

// origin is the scan's column that a column further up is.
type origin struct {
	scan *plan.Scan
	col  plan.Column
}

// free are the columns by whose ranges a node's rows would be distributed, were the scan
// read so.
type free map[expr.ColID]origin

// scan returns the distribution of a scan's rows.
func (p *placer) scan(n *plan.Scan) dist {
	n.Whole, n.Range, n.By, n.ByHash = false, 0, 0, nil
	d := dist{kind: spread}
	if p.replicas != nil && p.seen[n] == 1 {
		if n.ByHash = p.replicas.Distributed(n); n.ByHash != nil {
			d.kind, d.lies, p.lying[n] = hashed, true, true
			for _, id := range n.ByHash {
				d.keys = append(d.keys, colSet{id: true})
			}
		}
	}
	if !p.everywhere(n) {
		return d
	}
	d.free = free{}
	for _, c := range n.Cols {
		if c.Type.IsIntegral() {
			d.free[c.ID] = origin{n, c}
		}
	}
	return d
}

// everywhere reports whether a scan may be read whole or by ranges. One that stands in the
// plan twice is read one way.
func (p *placer) everywhere(n *plan.Scan) bool {
	return p.replicas != nil && p.seen[n] == 1 && p.replicas.Everywhere(n)
}

// count counts how often each scan stands in the plan.
func (p *placer) count(n plan.Node) {
	if s, ok := n.(*plan.Scan); ok {
		p.seen[s]++
	}
	for _, k := range n.Children() {
		p.count(k)
	}
}

// renamed follows the columns through a projection.
func (f free) renamed(items []plan.Item) free {
	out := free{}
	for _, it := range items {
		if c, ok := it.Expr.(*expr.Col); ok && f[c.ID].scan != nil {
			out[it.Col.ID] = f[c.ID]
		}
	}
	return out
}

// of returns the scan that may be read by ranges of e.
func (p *placer) of(f free, e expr.Expr) (origin, bool) {
	c, ok := e.(*expr.Col)
	if !ok || f[c.ID].scan == nil || p.lying[f[c.ID].scan] {
		return origin{}, false
	}
	return f[c.ID], p.replicas.Clustered(f[c.ID].scan, f[c.ID].col)
}

// divide makes a scan be read by ranges.
func (p *placer) divide(o origin, group int) {
	o.scan.Range, o.scan.By = group, o.col.ID
	p.ranged[group] = append(p.ranged[group], o.scan)
}

func (p *placer) newGroup() int {
	p.groups++
	return p.groups
}

// align makes the sides of a join be read so that rows that match are on one node. It returns the
// index of the key by whose ranges that is, and their number; -1 where it cannot.
func (p *placer) align(j *plan.Join, ld, rd dist) (at, group int) {
	if p.replicas == nil || whole(j) {
		return -1, 0
	}
	l, r := -1, -1
	if k := placed(ld, j.LKeys); ld.group > 0 && k != nil {
		l = k[0]
	}
	if k := placed(rd, j.RKeys); rd.group > 0 && k != nil {
		r = k[0]
	}
	switch {
	case l >= 0 && l == r:
		for _, s := range p.ranged[rd.group] {
			s.Range = ld.group
		}
		if ld.group != rd.group {
			p.ranged[ld.group] = append(p.ranged[ld.group], p.ranged[rd.group]...)
			delete(p.ranged, rd.group)
		}
		return l, ld.group
	case l >= 0:
		if o, ok := p.of(rd.free, j.RKeys[l]); ok {
			p.divide(o, ld.group)
			return l, ld.group
		}
	case r >= 0:
		if o, ok := p.of(ld.free, j.LKeys[r]); ok {
			p.divide(o, rd.group)
			return r, rd.group
		}
	}
	for i := range j.LKeys {
		lo, ok := p.of(ld.free, j.LKeys[i])
		ro, ok2 := p.of(rd.free, j.RKeys[i])
		if ok && ok2 {
			g := p.newGroup()
			p.divide(lo, g)
			p.divide(ro, g)
			return i, g
		}
	}
	return -1, 0
}

// alignScans makes scans be read so that rows that agree in cols are on one node, if they can be.
func (p *placer) alignScans(d dist, cols []expr.Expr) (dist, bool) {
	if d.within(columnsOf(cols)) {
		return d, true
	}
	for _, e := range cols {
		if o, ok := p.of(d.free, e); ok {
			g := p.newGroup()
			p.divide(o, g)
			return dist{kind: hashed, keys: []colSet{{e.(*expr.Col).ID: true}}, group: g}, true
		}
	}
	return d, false
}

// matched returns the distribution of an inner join whose rows are where its left rows were: by the
// right side's keys too, which are equal.
func (d dist) matched(j *plan.Join) dist { return d.equalled(j, j.LKeys, j.RKeys) }

// matchedBy is the same for a join whose rows are where its right rows were.
func (d dist) matchedBy(j *plan.Join) dist { return d.equalled(j, j.RKeys, j.LKeys) }

// equalled adds to the columns of a distribution, which are among own, those of an inner
// join's other side.
func (d dist) equalled(j *plan.Join, own, other []expr.Expr) dist {
	if j.Kind != plan.Inner {
		return d
	}
	out := dist{kind: d.kind, group: d.group, free: free{}}
	for c, o := range d.free {
		out.free[c] = o
	}
	for _, k := range d.keys {
		m := colSet{}
		for c := range k {
			m[c] = true
		}
		out.keys = append(out.keys, m)
	}
	for i := range j.LKeys {
		l, ok := own[i].(*expr.Col)
		r, ok2 := other[i].(*expr.Col)
		if !ok || !ok2 || l.Typ.OID != r.Typ.OID {
			continue
		}
		if o, ok := d.free[l.ID]; ok {
			out.free[r.ID] = o
		}
		for n, k := range d.keys {
			if k[l.ID] && (d.group > 0 || sameTypes(j, []int{i})) {
				out.keys[n][r.ID] = true
			}
		}
	}
	return out
}

// readable returns the cost, in rows read, of computing all rows of n on one node from its own
// data; ok is false where that is impossible, or they would not be the same on each node.
func (p *placer) readable(n plan.Node) (cost float64, ok bool) {
	switch n := n.(type) {
	case *plan.Scan:
		return n.Rows * float64(1+filterCost*len(n.Filter)), (n.Whole || !n.ReadsOwnRows() || p.lying[n]) && p.everywhere(n)
	case *plan.Filter, *plan.Project, *plan.Join:
		cost = p.rows(n)
	default:
		return 0, false
	}
	for _, e := range plan.Exprs(n) {
		if rewrite.IsVolatile(e) {
			return 0, false
		}
	}
	for _, k := range n.Children() {
		c, ok := p.readable(k)
		if !ok {
			return 0, false
		}
		cost += c
	}
	return cost, true
}

// keptCost is the cost, in rows read, of keeping a row of a join's right side.
const keptCost = 8

// probeWhole makes each node read all of a join's left side, for its own right rows, if that costs
// less than sending the right rows to all nodes and keeping them on each:
//
//	⋈ c_custkey = o_custkey          orders that each node has read, with
//	├─ scan customer  whole    ─▶    what it finds of them among all customers
//	└─ scan orders
//
// It is for joins whose left rows alone are not a result. The right side's keys save the left scan
// most of its rows.
func (p *placer) probeWhole(n *plan.Join, l plan.Node, ld, rd dist) bool {
	switch n.Kind {
	case plan.Inner, plan.Right, plan.RightSemi, plan.RightAnti:
	default:
		return false
	}
	if rd.atGateway() || whole(n) {
		return false
	}
	right := p.rows(n.R)
	all := right * (sentCost(n.R)*float64(p.nodes) + keptCost*float64(p.nodes-1))
	share := (p.rows(n.L)*sentCost(n.L) + right*sentCost(n.R)) * float64(p.nodes-1) / float64(p.nodes)
	probed := p.rows(n.L) * pickCost * float64(p.nodes-1)
	return p.readWhole(l, ld, max(wholeRows, min(all, share)-probed))
}

// readWhole returns n where each node reads all of it, if that costs less than sending it.
func (p *placer) readWhole(n plan.Node, d dist, limit float64) bool {
	if p.replicas == nil || d.kind != spread && !d.lies {
		return false
	}
	cost, ok := p.readable(n)
	if !ok || cost*float64(p.nodes-1) > limit {
		return false
	}
	p.wholly(n)
	return true
}

func (p *placer) wholly(n plan.Node) {
	if s, ok := n.(*plan.Scan); ok {
		s.Whole, s.ByHash = true, nil
		delete(p.lying, s)
	}
	for _, k := range n.Children() {
		p.wholly(k)
	}
}
