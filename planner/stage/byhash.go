package stage

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// Where each node has all of a table, a node may also pick out of it the rows that an
// exchange by hash would send to it:
//
//	⋈                                ⋈
//	├─ HashBy o_custkey              ├─ scan orders  by hash of o_custkey
//	│  └─ scan orders         ─▶     └─ scan customer  by hash of c_custkey
//	└─ HashBy c_custkey
//	   └─ scan customer
//
// A row is then looked at by each node, which costs a hash, in place of being taken, sent
// and received. It is for the columns in whose order rows do not lie, and rows from
// elsewhere can be sent to meet those that were read so.

// pickCost is what it costs, in rows read, to see of a row whether it is this node's.
const pickCost = 2

// copyCost is what it costs to copy a text for a condition of some of the rows that lie
// together, where one of all would have read it where it lies.
const copyCost = 10

// sentCost is what it costs, in rows read, to send a row of n.
func sentCost(n plan.Node) float64 {
	cost := 4.0
	for _, c := range n.Schema() {
		if cost += 4; c.Type.IsString() || c.Type.OID == types.NumericOID && !c.Type.IsFixed() {
			cost += 4
		}
	}
	return cost
}

// sendBy brings rows to the node of the hash of keys: by reading them there, if that costs
// less than sending them. moved reports whether they are sent.
func (p *placer) sendBy(n plan.Node, d dist, keys []expr.Expr) (m plan.Node, at dist, moved bool) {
	if p.pickedBy(n, d, keys) {
		return n, hashDist(keys), false
	}
	m, at = p.hashBy(n, keys)
	return m, at, true
}

// pickedBy has the rows of n, of distribution d, read by the hash of keys, where they can
// be and that costs less than sending them.
func (p *placer) pickedBy(n plan.Node, d dist, keys []expr.Expr) bool {
	var by []expr.ColID
	var scan *plan.Scan
	for _, k := range keys {
		c, ok := k.(*expr.Col)
		if !ok {
			return false
		}
		o, ok := d.free[c.ID]
		if !ok || scan != nil && o.scan != scan || o.scan.Apart() && !p.lying[o.scan] {
			return false
		}
		scan, by = o.scan, append(by, o.col.ID)
	}
	if scan == nil || d.kind != spread && !d.lies {
		return false
	}
	looks := scan.Rows * float64(p.nodes-1) * pickCost * float64(len(by))
	read := colSet{}
	for _, c := range scan.Filter {
		plan.ExprColumns(c, read)
	}
	for _, c := range scan.Cols {
		if read[c.ID] && c.Type.IsString() {
			looks += scan.Rows * copyCost
		}
	}
	if looks > wholeRows && looks > p.rows(n)*sentCost(n)*float64(p.nodes-1)/float64(p.nodes) {
		return false
	}
	scan.ByHash = by
	delete(p.lying, scan)
	return true
}

// dividing are those of a grouping's keys that its rows are sent by: one by which the groups
// are thought to spread nearly as well as by all, for there is less to hash then.
func (p *placer) dividing(n *plan.Aggregate) []expr.Expr {
	all := groupKeys(n)
	if len(all) < 2 {
		return all
	}
	least := max(p.rows(n)/2, sharedGroups)
	for i, g := range n.Groups {
		if c, ok := g.Expr.(*expr.Col); ok && c.Typ.IsIntegral() && p.rows(&plan.Aggregate{Input: n.Input, Groups: n.Groups[i : i+1]}) >= least {
			return all[i : i+1]
		}
	}
	return all
}
