package stage

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// Where each node has all of a table, a node may also select from it the rows that an exchange by
// hash would send to it:
//
//	⋈                                ⋈
//	├─ HashBy o_custkey              ├─ scan orders  by hash of o_custkey
//	│  └─ scan orders         ─▶     └─ scan customer  by hash of c_custkey
//	└─ HashBy c_custkey
//	   └─ scan customer
//
// Each row is then hashed on each node, instead of being copied, sent and received. It is for
// columns that rows are not stored in the order of, and rows of other tables can be sent to those
// that were read so.

// pickCost is the cost, in rows read, of deciding whether a row is this node's.
const pickCost = 2

// copyCost is the cost of copying a text for a condition over some of the rows, where one over all
// rows would read it in place.
const copyCost = 10

// sentCost returns the cost, in rows read, of sending a row of n.
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

// pickedBy makes the rows of n, of distribution d, be read by the hash of keys, where that is
// possible and costs less than sending them.
func (p *placer) pickedBy(n plan.Node, d dist, keys []expr.Expr) bool {
	var by []expr.ColID
	var scan *plan.Scan
	for _, k := range keys {
		c, ok := k.(*expr.Col)
		if !ok {
			return false
		}
		o, ok := d.free[c.ID]
		if !ok || scan != nil && o.scan != scan || o.scan.ReadsOwnRows() && !p.lying[o.scan] {
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

// dividing returns the keys of a grouping that its rows are sent by: one key if the groups are
// estimated to spread by it nearly as well as by all, for there is less to hash then.
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
